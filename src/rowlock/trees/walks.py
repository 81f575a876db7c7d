"""Walks over keys, values or items: forwards, backwards, between two bounds.

A walk hands out one leaf at a time and lets C code iterate over its lists, so an entry costs no
Python step. The tree knows which leaf a walk has in hand. A write that adds or removes a key first
takes the lists away from under it: the walk wakes up at its very next step and raises.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, Protocol

from rowlock.trees.nodes import Leaf
from rowlock.trees.spines import Spine

Cut = Callable[[list[Any], Any], int]
Take = Callable[[Leaf, int, int], Iterable[Any]]
# From which mark to which, None being no limit, and where to cut so that a limit itself belongs or not.
Limits = tuple[Any, Any, Cut, Cut]

CUTS: dict[str, tuple[Cut, Cut]] = {
    "[]": (bisect_left, bisect_right),
    "[)": (bisect_left, bisect_left),
    "(]": (bisect_right, bisect_right),
    "()": (bisect_right, bisect_left),
}


CHANGED = "a key was added to or removed from the tree during iteration"


class Walkable(Protocol):
    """What a walk needs of a tree: where it starts, and where to say what it holds."""

    _root: Any
    _token: object
    _levels: tuple[None, ...]
    _readers: dict[object, Leaf]

    def _seek(self, mark: Any) -> Leaf: ...


ALL: Limits = (None, None, bisect_left, bisect_right)


def cuts(bounds: str) -> tuple[Cut, Cut]:
    """Read whether the limits of a walk belong to it."""
    if bounds not in CUTS:
        raise ValueError(f"bounds are one of {', '.join(CUTS)}, not {bounds!r}")
    return CUTS[bounds]


def walk(tree: Walkable, take: Take, within: Limits = ALL) -> Iterator[Any]:
    """Walk upwards, showing of each entry what `take` takes."""
    return chain.from_iterable(upwards(tree, take, within))


def walk_back(tree: Walkable, take: Take, within: Limits = ALL) -> Iterator[Any]:
    """Walk downwards, showing of each entry what `take` takes."""
    return chain.from_iterable(downwards(tree, take, within))


def keys(leaf: Leaf, start: int, stop: int) -> Iterable[Any]:
    """Take the keys from one position to another; downwards where the second is the smaller."""
    return _run(leaf.keys, start, stop)


def values(leaf: Leaf, start: int, stop: int) -> Iterable[Any]:
    """Take the values from one position to another."""
    return _run(leaf.vals or [], start, stop)


def items(leaf: Leaf, start: int, stop: int) -> Iterable[Any]:
    """Take pairs of key and value from one position to another."""
    return zip(_run(leaf.keys, start, stop), _run(leaf.vals or [], start, stop), strict=False)


def _run(column: list[Any], start: int, stop: int) -> Iterable[Any]:
    """Iterate over a part of a list without copying it: who empties the list ends the iteration."""
    if start > stop:
        back: Any = reversed(column)
        back.__setstate__(start - 1)
        return islice(back, start - stop)
    if stop - start == len(column):
        return column
    run: Any = iter(column)
    run.__setstate__(start)
    return islice(run, stop - start)


def upwards(tree: Walkable, take: Take, within: Limits) -> Iterator[Iterable[Any]]:
    """Take one leaf after the other, from the lower limit to the upper."""
    low, high, cut_low, cut_high = within
    readers, me = tree._readers, object()
    leaf = _edge(tree, 0) if low is None else tree._seek(low)
    start = 0 if low is None else cut_low(leaf.marks, low)
    run, spine = [leaf], None
    try:
        while run:
            for leaf in run:
                marks = leaf.marks
                last = high is not None and marks and not marks[-1] < high
                stop = cut_high(marks, high) if last else len(marks)
                if start < stop:
                    held = readers[me] = leaf if leaf.owner is tree._token else leaf.copy(None)
                    yield take(held, start, stop)
                    if tree._readers is not readers:
                        raise RuntimeError(CHANGED)
                if last:
                    return
                start = 0
            spine = spine or _spine(tree, low, last=False)
            run = spine.rest(back=False)
    finally:
        readers.pop(me, None)


def downwards(tree: Walkable, take: Take, within: Limits) -> Iterator[Iterable[Any]]:
    """Take one leaf after the other, from the upper limit to the lower."""
    low, high, cut_low, cut_high = within
    readers, me = tree._readers, object()
    leaf = _edge(tree, -1) if high is None else tree._seek(high)
    stop: int | None = len(leaf.marks) if high is None else cut_high(leaf.marks, high)
    run, spine = [leaf], None
    try:
        while run:
            for leaf in run:
                marks = leaf.marks
                last = low is not None and marks and not low < marks[0]
                start = cut_low(marks, low) if last else 0
                stop = len(marks) if stop is None else stop
                if start < stop:
                    held = readers[me] = leaf if leaf.owner is tree._token else leaf.copy(None)
                    yield take(held, stop, start)
                    if tree._readers is not readers:
                        raise RuntimeError(CHANGED)
                if last:
                    return
                stop = None
            spine = spine or _spine(tree, high, last=True)
            run = spine.rest(back=True)
    finally:
        readers.pop(me, None)


def _edge(tree: Walkable, at: int) -> Leaf:
    node: Any = tree._root
    for _ in tree._levels:
        node = node.kids[at]
    leaf: Leaf = node
    return leaf


def _spine(tree: Walkable, mark: Any, *, last: bool) -> Spine:
    # Made only when a walk leaves its first leaf: most short ranges never do.
    spine = Spine(tree._root)
    if mark is None:
        spine.edge(last=last)
    else:
        spine.seek(mark)
    return spine
