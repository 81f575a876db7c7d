"""Walks over keys, values or items: forwards, backwards, between two bounds.

A walk hands out one leaf at a time and lets C code iterate over its lists, so an entry costs no
Python step. The tree knows which leaf a walk has in hand. A write that adds or removes a key first
takes the lists away from under it: the walk wakes up at its very next step and raises.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, NoReturn, Protocol

from rowlock.trees import spines
from rowlock.trees.nodes import Leaf

Cut = Callable[..., int]
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
    lead = downwards if reverse else upwards
    return chain.from_iterable(lead(tree, take, low, high, CUTS.get(bounds) or refuse(bounds)))


def refuse(bounds: str) -> NoReturn:
    """Raise ValueError for bounds that are none."""
    raise ValueError(f"bounds are one of {', '.join(CUTS)}, not {bounds!r}")


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
    count = stop - start
    if count == len(column):
        return column
    run: Any = iter(column) if count > 0 else reversed(column)
    run.__setstate__(start if count > 0 else start - 1)
    return islice(run, abs(count))


def upwards(
    tree: Walkable, take: Take, low: Any, high: Any, cuts: tuple[Cut, Cut]
) -> Iterator[Iterable[Any]]:
    """Lead from leaf to leaf, from the lower limit up."""
    readers, me = tree._readers, object()
    turns, leaf = spines.edge(tree, last=False) if low is None else spines.seek(tree, low)
    start = 0 if low is None else cuts[0](leaf.marks, low)
    # Most short ranges end in their first leaf: look for the end there at once.
    near = high is not None
    run = [leaf]
    try:
        while run:
            for leaf in run:
                marks = leaf.marks
                stop = len(marks)
                if near or (high is not None and not marks[-1] < high):
                    stop, near = cuts[1](marks, high, start), False
                last = stop < len(marks)
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


def downwards(
    tree: Walkable, take: Take, low: Any, high: Any, cuts: tuple[Cut, Cut]
) -> Iterator[Iterable[Any]]:
    """Lead from leaf to leaf, from the upper limit down."""
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
