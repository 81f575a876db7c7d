"""Nodes that get too full are split, nodes that get too small are merged: how a tree changes its shape."""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

from rowlock.trees.nodes import Inner
from rowlock.trees.widths import Fill

# The inner nodes on the way down to a leaf, each with the position of the child the way goes through.
Trail = list[tuple[Inner, int]]
Way = tuple[Trail, Any]


def path(tree: Any, mark: Any) -> Way:
    """Own every node down to the leaf of a mark: after this a reshaping need not compare any more."""
    token = tree._token
    node = tree._root
    if node.owner is not token:
        node = tree._root = tree._own(node)
    trail: Trail = []
    for _ in tree._levels:
        at = bisect_right(node.marks, mark)
        trail.append((node, at))
        kids = node.kids
        node = kids[at]
        if node.owner is not token:
            node = kids[at] = tree._own(node)
    return trail, node


def grow(tree: Any, way: Way) -> None:
    """Split a leaf that is too full, and every node on the way to it that becomes so."""
    trail, leaf = way
    leaf.summary = None
    newcomer: Any = leaf.split(tree._token)
    for parent, at in reversed(trail):
        parent.summary = None
        if newcomer:
            parent.adopt(at, newcomer)
            newcomer = parent.split(tree._token) if len(parent) > tree._inner.most else None
    if newcomer:
        separator, right = newcomer
        tree._root = Inner(tree._token, [separator], [tree._root, right])
        tree._levels += (None,)


def shrink(tree: Any, way: Way) -> None:
    """Mend a leaf that is too small, and every node on the way to it that becomes so."""
    trail, leaf = way
    leaf.summary = None
    fill = tree._leaf
    for parent, at in reversed(trail):
        parent.summary = None
        if len(parent.kids[at]) < fill.least:
            _mend(tree, parent, max(at - 1, 0), fill)
        fill = tree._inner
    while tree._levels and len(tree._root) == 1:
        tree._root = tree._root.kids[0]
        tree._levels = tree._levels[1:]


def _mend(tree: Any, parent: Inner, at: int, fill: Fill) -> None:
    """Make one node of two neighbours, or two of equal size where one would be too full."""
    left, right = parent.kids[at : at + 2]
    if left.owner is not tree._token:
        left = parent.kids[at] = tree._own(left)
    left.summary = None
    left.absorb(right, parent.marks[at])
    del parent.marks[at]
    del parent.kids[at + 1]
    if len(left) > fill.merged:
        parent.adopt(at, left.split(tree._token))
