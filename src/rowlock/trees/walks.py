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

from rowlock.trees import spines
from rowlock.trees.nodes import Leaf

Cut = Callable[[list[Any], Any], int]
Take = Callable[[Leaf, int, int], Iterable[Any]]

CUTS: dict[str, tuple[Cut, Cut]] = {
    "[]": (bisect_left, bisect_right),
    "[)": (bisect_left, bisect_left),
    "(]": (bisect_right, bisect_right),
    "()": (bisect_right, bisect_left),
}


CHANGED = "a key was added to or removed from the tree during iteration"


class Walkable(spines.Rooted, Protocol):
    """What a walk needs of a tree besides: whose nodes are its own, and where to say what is read."""

    _token: object
    _readers: dict[object, Leaf]


def walk(
    tree: Walkable,
    take: Take,
    low: Any = None,
    high: Any = None,
    *,
    bounds: str = "[)",
    reverse: bool = False,
) -> Iterator[Any]:
    """Walk from one mark to another, None being no limit, showing of each entry what `take` takes."""
    if bounds not in CUTS:
        raise ValueError(f"bounds are one of {', '.join(CUTS)}, not {bounds!r}")
    return chain.from_iterable((_downwards if reverse else _upwards)(tree, take, low, high, CUTS[bounds]))


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


def _upwards(
    tree: Walkable, take: Take, low: Any, high: Any, cuts: tuple[Cut, Cut]
) -> Iterator[Iterable[Any]]:
    readers, me = tree._readers, object()
    turns, leaf = spines.edge(tree, last=False) if low is None else spines.seek(tree, low)
    start = 0 if low is None else cuts[0](leaf.marks, low)
    run = [leaf]
    try:
        while run:
            for leaf in run:
                marks = leaf.marks
                last = high is not None and marks and not marks[-1] < high
                stop = cuts[1](marks, high) if last else len(marks)
                if start < stop:
                    held = readers[me] = leaf if leaf.owner is tree._token else leaf.copy(None)
                    yield take(held, start, stop)
                    if tree._readers is not readers:
                        raise RuntimeError(CHANGED)
                if last:
                    return
                start = 0
            run = spines.rest(turns, back=False)
    finally:
        readers.pop(me, None)


def _downwards(
    tree: Walkable, take: Take, low: Any, high: Any, cuts: tuple[Cut, Cut]
) -> Iterator[Iterable[Any]]:
    readers, me = tree._readers, object()
    turns, leaf = spines.edge(tree, last=True) if high is None else spines.seek(tree, high)
    stop: int | None = len(leaf.marks) if high is None else cuts[1](leaf.marks, high)
    run = [leaf]
    try:
        while run:
            for leaf in run:
                marks = leaf.marks
                last = low is not None and marks and not low < marks[0]
                start = cuts[0](marks, low) if last else 0
                stop = len(marks) if stop is None else stop
                if start < stop:
                    held = readers[me] = leaf if leaf.owner is tree._token else leaf.copy(None)
                    yield take(held, stop, start)
                    if tree._readers is not readers:
                        raise RuntimeError(CHANGED)
                if last:
                    return
                stop = None
            run = spines.rest(turns, back=True)
    finally:
        readers.pop(me, None)
