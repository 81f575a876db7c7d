"""The way from the root to a leaf, and from there to its neighbours.

Leaves do not know their neighbours: links between them would have to be copied with every leaf and
so defeat sharing. The turns taken on the way down stand in for them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Any, Protocol

from rowlock.trees.nodes import Leaf

# For each level from the root down: the children there, and which of them the way goes through.
Turns = list[tuple[list[Any], int]]


class Rooted(Protocol):
    """What a way starts from: a root, and one element for each inner level."""

    _root: Any
    _levels: tuple[None, ...]


def seek(tree: Rooted, mark: Any) -> tuple[Turns, Leaf]:
    """Go to the leaf where a mark is, or would be."""
    turns: Turns = []
    node = tree._root
    for _ in tree._levels:
        at = bisect_right(node.marks, mark)
        kids = node.kids
        turns.append((kids, at))
        node = kids[at]
    return turns, node


def edge(tree: Rooted, *, last: bool) -> tuple[Turns, Leaf]:
    """Go to the first or the last leaf."""
    turns: Turns = []
    node = tree._root
    for _ in tree._levels:
        turns.append((node.kids, len(node.kids) - 1 if last else 0))
        node = node.kids[-1 if last else 0]
    return turns, node


def step(turns: Turns, *, back: bool) -> Leaf | None:
    """Turn to the neighbouring leaf and return it; where there is none, stay."""
    by = -1 if back else 1
    for level in reversed(range(len(turns))):
        kids, at = turns[level]
        if 0 <= at + by < len(kids):
            turns[level] = (kids, at + by)
            return _dive(turns, level, last=back)
    return None


def rest(turns: Turns, *, back: bool) -> list[Leaf]:
    """Turn past the next leaf and those that follow it under the same node; return them all."""
    if step(turns, back=back) is None:
        return []
    kids, at = turns[-1]
    turns[-1] = (kids, 0 if back else len(kids) - 1)
    return kids[at::-1] if back else kids[at:]


def after(tree: Rooted, mark: Any) -> list[Leaf]:
    """The leaves under the node that follows the one above the leaf of a mark; none at the end."""
    turns, _ = seek(tree, mark)
    if turns:
        kids, _ = turns[-1]
        turns[-1] = (kids, len(kids) - 1)
    return rest(turns, back=False)


def beyond(tree: Rooted, mark: Any, *, back: bool) -> Iterator[Leaf]:
    """Go through the leaves after that of a mark, or before it; None is the first, or the last."""
    turns, _ = edge(tree, last=back) if mark is None else seek(tree, mark)
    run = rest(turns, back=back)
    while run:
        yield from run
        run = rest(turns, back=back)


def _dive(turns: Turns, level: int, *, last: bool) -> Leaf:
    """Keep to one edge on all levels below this one."""
    kids, at = turns[level]
    for below in range(level + 1, len(turns)):
        kids = kids[at].kids
        at = len(kids) - 1 if last else 0
        turns[below] = (kids, at)
    leaf: Leaf = kids[at]
    return leaf
