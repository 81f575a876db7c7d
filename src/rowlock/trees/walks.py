"""Walks over keys, values or items: forwards, backwards, between two bounds.

A walk hands out one leaf at a time and lets C code iterate over its lists, so an entry costs no Python
step. Of a range, or of items, these are copies: copying brings the objects near, all at once. Keys alone
are read in place. The tree knows what is being read. A write that adds or removes a key first empties
those lists (and leaves others to the tree): the walk wakes up at its very next step and raises.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NoReturn, Protocol

from rowlock.trees import spines
from rowlock.trees.nodes import Leaf

Cut = Callable[..., int]
Lists = tuple[list[Any], ...]
# Of each walk what it is reading: lists of its own, or a leaf of the tree itself.
Readers = dict[object, Lists | Leaf]
# Lists of what a leaf has in a slice, and a walk over them.
Take = Callable[[Leaf, slice], tuple[Lists, Iterable[Any]]]
# What to show of each entry, the lower and the upper limit, and how to find where they are.
Span = tuple[Take, Any, Any, tuple[Cut, Cut]]

CUTS: dict[str, tuple[Cut, Cut]] = {
    "[]": (bisect_left, bisect_right),
    "[)": (bisect_left, bisect_left),
    "(]": (bisect_right, bisect_right),
    "()": (bisect_right, bisect_left),
}


CHANGED = "a key was added to or removed from the tree during iteration"


class Walkable(spines.Rooted, Protocol):
    """What a walk needs of a tree besides: whose nodes are its own, and where to say what is read."""

    _len: int
    _token: object
    _readers: Readers


def walk(
    tree: Walkable,
    take: Take,
    *,
    low: Any = None,
    high: Any = None,
    bounds: str = "[)",
    reverse: bool = False,
) -> Iterator[Any]:
    """Walk from one mark to another, None being no limit, showing of each entry what `take` takes."""
    lead = downwards if reverse else upwards
    return chain.from_iterable(lead(tree, (take, low, high, CUTS.get(bounds) or refuse(bounds))))


def refuse(bounds: str) -> NoReturn:
    """Raise ValueError for bounds that are none."""
    raise ValueError(f"bounds are one of {', '.join(CUTS)}, not {bounds!r}")


def release(readers: Readers) -> dict[object, Lists]:
    """Leave to walks the lists they read in place, and copies to the tree; say what each has now."""
    leaves = {held for held in list(readers.values()) if isinstance(held, Leaf)}
    old = {leaf: leaf.shed() for leaf in leaves}
    return {me: old[held] if isinstance(held, Leaf) else held for me, held in list(readers.items())}


def keys(leaf: Leaf, part: slice) -> tuple[Lists, Iterable[Any]]:
    """Take the keys in a slice."""
    run = leaf.keys[part]
    return (run,), run


def values(leaf: Leaf, part: slice) -> tuple[Lists, Iterable[Any]]:
    """Take the values in a slice."""
    run = (leaf.vals or [])[part]
    return (run,), run


def items(leaf: Leaf, part: slice) -> tuple[Lists, Iterable[Any]]:
    """Take pairs of key and value in a slice."""
    lists = leaf.keys[part], (leaf.vals or [])[part]
    return lists, zip(*lists, strict=False)


def upwards(tree: Walkable, span: Span) -> Iterator[Iterable[Any]]:
    """Lead from leaf to leaf, from the lower limit up."""
    if not tree._len:
        return
    take, low, high, cuts = span
    readers, me = tree._readers, object()
    leaf = tree._root
    kids, at = [leaf], 0
    for _ in tree._levels:
        kids, at = leaf.kids, 0 if low is None else bisect_right(leaf.marks, low)
        leaf = kids[at]
    start = 0 if low is None else cuts[0](leaf.marks, low)
    try:
        while kids:
            leaf = kids[at]
            marks = leaf.marks
            # A range that starts within a leaf mostly ends there too: its last mark is not worth a look.
            whole = high is None or (not start and marks[-1] < high)
            stop = len(marks) if whole else cuts[1](marks, high, start)
            if start < stop:
                if take is not keys:
                    readers[me], run = take(leaf, slice(start, stop))
                elif whole and not start and leaf.owner is tree._token:
                    readers[me], run = leaf, leaf.keys
                else:
                    run = leaf.keys[start:stop]
                    readers[me] = (run,)
                yield run
                if tree._readers is not readers:
                    raise RuntimeError(CHANGED)
            if stop < len(marks):
                return
            at, start = at + 1, 0
            if at == len(kids):
                kids, at = spines.after(tree, marks[-1]), 0
    finally:
        readers.pop(me, None)


def downwards(tree: Walkable, span: Span) -> Iterator[Iterable[Any]]:
    """Lead from leaf to leaf, from the upper limit down."""
    take, low, high, cuts = span
    readers, me = tree._readers, object()
    nearest = spines.edge(tree, last=True)[1] if high is None else spines.seek(tree, high)[1]
    stop = len(nearest) if high is None else cuts[1](nearest.marks, high)
    try:
        for leaf in chain((nearest,), spines.beyond(tree, high, back=True)):
            near = low is not None and leaf.marks and not low < leaf.marks[0]
            start = cuts[0](leaf.marks, low) if near else 0
            lists, run = take(leaf, slice(start, stop if leaf is nearest else len(leaf)))
            for column in lists:
                column.reverse()
            readers[me] = lists
            yield run
            if tree._readers is not readers:
                raise RuntimeError(CHANGED)
            if near:
                return
    finally:
        readers.pop(me, None)
