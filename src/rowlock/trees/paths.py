"""Paths from the root to a leaf, to its neighbours, and back up to split and merge nodes.

Leaves have no links to their neighbours: these would have to be copied with every leaf, and nothing could be shared
between clones. The path that leads to a leaf stands in for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Protocol

from rowlock.trees.nodes import Fill, Inner, Leaf

# For each level from the root down: the children there, and the position of the one that the path goes through.
Branches = list[tuple[list[Any], int]]


class RootedTree(Protocol):
    """A tree as paths need it: with a root, and one element for each inner level."""

    _root: Any
    _levels: tuple[None, ...]


def path_to(tree: RootedTree, sort_key: Any) -> tuple[Branches, Leaf]:
    """Return the path to the leaf where a sort key is or would be, and the leaf."""
    branches: Branches = []
    node = tree._root
    for _ in tree._levels:
        at = bisect_right(node.sort_keys, sort_key)
        children = node.children
        branches.append((children, at))
        node = children[at]
    return branches, node


def path_to_end(tree: RootedTree, *, last: bool) -> tuple[Branches, Leaf]:
    """Return the path to the first or the last leaf, and the leaf."""
    branches: Branches = []
    node = tree._root
    for _ in tree._levels:
        branches.append((node.children, len(node.children) - 1 if last else 0))
        node = node.children[-1 if last else 0]
    return branches, node


def next_leaf(branches: Branches, *, back: bool) -> Leaf | None:
    """Move a path to the neighbouring leaf and return it; at the end return None and stay."""
    by = -1 if back else 1
    for level in reversed(range(len(branches))):
        children, at = branches[level]
        if 0 <= at + by < len(children):
            branches[level] = (children, at + by)
            return _descend_edge(branches, level, last=back)
    return None


def next_leaves(branches: Branches, *, back: bool) -> list[Leaf]:
    """Move a path past the next leaf and its later siblings under one parent, and return them all."""
    if next_leaf(branches, back=back) is None:
        return []
    children, at = branches[-1]
    branches[-1] = (children, 0 if back else len(children) - 1)
    return children[at::-1] if back else children[at:]


def leaves_after(tree: RootedTree, sort_key: Any) -> list[Leaf]:
    """Return the leaves under the node that follows the parent of a sort key's leaf; none at the end."""
    branches, _ = path_to(tree, sort_key)
    if branches:
        children, _ = branches[-1]
        branches[-1] = (children, len(children) - 1)
    return next_leaves(branches, back=False)


def leaves_from(tree: RootedTree, sort_key: Any, *, back: bool) -> Iterator[Leaf]:
    """Iterate over the leaves after that of a sort key, or before it; None is the first leaf, or the last."""
    branches, _ = path_to_end(tree, last=back) if sort_key is None else path_to(tree, sort_key)
    run = next_leaves(branches, back=back)
    while run:
        yield from run
        run = next_leaves(branches, back=back)


def _descend_edge(branches: Branches, level: int, *, last: bool) -> Leaf:
    """Follow the first or the last child on all levels below one."""
    children, at = branches[level]
    for below in range(level + 1, len(branches)):
        children = children[at].children
        at = len(children) - 1 if last else 0
        branches[below] = (children, at)
    leaf: Leaf = children[at]
    return leaf


# The inner nodes above a leaf, each with the position of the child that the path goes through.
Path = list[tuple[Inner, int]]
PathToLeaf = tuple[Path, Any]


def own_path(tree: Any, sort_key: Any) -> PathToLeaf:
    """Copy shared nodes down to the leaf of a sort key; after this, splits and merges need no comparisons."""
    token = tree._token
    node = tree._root
    if node.owner is not token:
        node = tree._root = tree._copy_for_writing(node)
    path: Path = []
    for _ in tree._levels:
        at = bisect_right(node.sort_keys, sort_key)
        path.append((node, at))
        children = node.children
        node = children[at]
        if node.owner is not token:
            node = children[at] = tree._copy_for_writing(node)
    return path, node


def split_upwards(tree: Any, path_to_leaf: PathToLeaf) -> None:
    """Split a leaf that is too full, and every node above it that becomes so."""
    path, leaf = path_to_leaf
    leaf.summary = None
    new_child: Any = leaf.split(tree._token)
    for parent, at in reversed(path):
        parent.summary = None
        if new_child:
            parent.insert_child(at, new_child)
            new_child = parent.split(tree._token) if len(parent) > tree._inner.max_size else None
    if new_child:
        separator, right = new_child
        tree._root = Inner(tree._token, [separator], [tree._root, right])
        tree._levels += (None,)


def merge_upwards(tree: Any, path_to_leaf: PathToLeaf) -> None:
    """Merge a leaf that is too small with a sibling, and every node above it that becomes so."""
    path, leaf = path_to_leaf
    leaf.summary = None
    fill = tree._leaf
    for parent, at in reversed(path):
        parent.summary = None
        if len(parent.children[at]) < fill.min_size:
            _merge_children(tree, parent, max(at - 1, 0), fill)
        fill = tree._inner
    while tree._levels and len(tree._root) == 1:
        tree._root = tree._root.children[0]
        tree._levels = tree._levels[1:]


def _merge_children(tree: Any, parent: Inner, at: int, fill: Fill) -> None:
    """Merge two siblings into one node, or into two of equal size if one would be too full."""
    left, right = parent.children[at : at + 2]
    if left.owner is not tree._token:
        left = parent.children[at] = tree._copy_for_writing(left)
    left.summary = None
    left.append(right, parent.sort_keys[at])
    del parent.sort_keys[at]
    del parent.children[at + 1]
    if len(left) > fill.merge_limit:
        parent.insert_child(at, left.split(tree._token))
