"""Walks over keys, values or items: forwards, backwards, between two bounds.

A walk hands out one leaf's entries at a time, as a private copy that C code then iterates over, so
an entry costs no Python step. The copy is known to the tree: a write that adds or removes a key
empties it, the walk wakes up at its very next step, and raises instead of showing a wrong entry.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, Protocol

from rowlock.trees.nodes import Leaf, Node
from rowlock.trees.spines import Spine

Cut = Callable[[list[Any], Any], int]
Span = tuple[Leaf, int, int]
Portion = tuple[list[Any], Iterable[Any]]

CUTS: dict[str, tuple[Cut, Cut]] = {
    "[]": (bisect_left, bisect_right),
    "[)": (bisect_left, bisect_left),
    "(]": (bisect_right, bisect_right),
    "()": (bisect_right, bisect_left),
}


class Walkable(Protocol):
    """What a walk needs of a tree: where it starts, and where to say what it holds."""

    _root: Node
    _readers: dict[object, list[Any]]


class Limits(NamedTuple):
    """From which mark to which; None is no limit. The cuts say whether a limit itself belongs."""

    low: Any = None
    high: Any = None
    cut_low: Cut = bisect_left
    cut_high: Cut = bisect_right


ALL = Limits()


def limits(low: Any, high: Any, bounds: str) -> Limits:
    """Read two marks and the bounds between which a walk goes."""
    if bounds not in CUTS:
        raise ValueError(f"bounds are one of {', '.join(CUTS)}, not {bounds!r}")
    return Limits(low, high, *CUTS[bounds])


def walk(tree: Walkable, take: Callable[..., Portion], within: Limits = ALL) -> Iterator[Any]:
    """Walk upwards, showing of each entry what `take` takes."""
    return chain.from_iterable(_portions(tree, _upwards(tree, within), take))


def walk_back(tree: Walkable, take: Callable[..., Portion], within: Limits = ALL) -> Iterator[Any]:
    """Walk downwards, showing of each entry what `take` takes."""
    return chain.from_iterable(_portions(tree, _downwards(tree, within), take, turned=True))


def keys(leaf: Leaf, span: slice) -> Portion:
    """Take the keys."""
    part = leaf.keys[span]
    return part, part


def values(leaf: Leaf, span: slice) -> Portion:
    """Take the values."""
    part = _values(leaf)[span]
    return part, part


def items(leaf: Leaf, span: slice) -> Portion:
    """Take pairs of key and value; they end as soon as the keys do."""
    part = leaf.keys[span]
    return part, zip(part, _values(leaf)[span], strict=False)


def _values(leaf: Leaf) -> list[Any]:
    return leaf.vals or []


def _portions(
    tree: Walkable, spans: Iterator[Span], take: Callable[..., Portion], *, turned: bool = False
) -> Iterator[Iterable[Any]]:
    readers = tree._readers
    me = object()
    try:
        for leaf, start, stop in spans:
            span = _turned(start, stop) if turned else slice(start, stop)
            readers[me], portion = take(leaf, span)
            yield portion
            if tree._readers is not readers:
                raise RuntimeError("a key was added to or removed from the tree during iteration")
    finally:
        readers.pop(me, None)


def _turned(start: int, stop: int) -> slice:
    if stop <= start:
        return slice(0, 0)
    return slice(stop - 1, start - 1 if start else None, -1)


def _upwards(tree: Walkable, within: Limits) -> Iterator[Span]:
    low, high, cut_low, cut_high = within
    spine = Spine(tree._root)
    leaf = spine.edge(last=False) if low is None else spine.seek(low)
    start = 0 if low is None else cut_low(leaf.marks, low)
    while high is None or not leaf.marks or leaf.marks[-1] < high:
        yield leaf, start, len(leaf.marks)
        if not spine.step(back=False):
            return
        leaf, start = spine.leaf, 0
    yield leaf, start, cut_high(leaf.marks, high)


def _downwards(tree: Walkable, within: Limits) -> Iterator[Span]:
    low, high, cut_low, cut_high = within
    spine = Spine(tree._root)
    leaf = spine.edge(last=True) if high is None else spine.seek(high)
    stop = len(leaf.marks) if high is None else cut_high(leaf.marks, high)
    while low is None or not leaf.marks or low < leaf.marks[0]:
        yield leaf, 0, stop
        if not spine.step(back=True):
            return
        leaf = spine.leaf
        stop = len(leaf.marks)
    yield leaf, cut_low(leaf.marks, low), stop
