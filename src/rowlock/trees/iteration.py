"""Iteration over keys, values or items, in both directions and between two bounds; and the views of a map.

An iterator yields one leaf at a time and lets C code iterate over its lists, so an entry costs no Python step. For a
range, or for items, these are copies, which also brings the objects into the cache. Keys alone are read in place. The
tree knows which lists are being read. A write that adds or removes a key first clears those lists (the tree goes on
with copies), so an iterator notices at its next step and raises.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from itertools import chain
from typing import Any, NoReturn, Protocol, TypeVar

from rowlock.trees import paths
from rowlock.trees.nodes import Leaf

Bisect = Callable[..., int]
Lists = tuple[list[Any], ...]
# What each iterator is reading: lists of its own, or a leaf of the tree itself.
Readers = dict[object, Lists | Leaf]
# Takes a slice of a leaf: the lists that are read, and an iterable over them.
Projection = Callable[[Leaf, slice], tuple[Lists, Iterable[Any]]]
# What to yield of each entry, the lower and the upper bound, and how to find their positions.
Span = tuple[Projection, Any, Any, tuple[Bisect, Bisect]]

BISECTIONS: dict[str, tuple[Bisect, Bisect]] = {
    "[]": (bisect_left, bisect_right),
    "[)": (bisect_left, bisect_left),
    "(]": (bisect_right, bisect_right),
    "()": (bisect_right, bisect_left),
}
CHANGED_DURING_ITERATION = "a key was added to or removed from the tree during iteration"


class IterableTree(paths.RootedTree, Protocol):
    """A tree as iteration needs it: with its owner token and the lists that are being read."""

    _len: int
    _token: object
    _readers: Readers


def iterate(
    tree: IterableTree,
    project: Projection,
    *,
    low: Any = None,
    high: Any = None,
    bounds: str = "[)",
    reverse: bool = False,
) -> Iterator[Any]:
    """Iterate from one sort key to another, None for no bound, and yield the projection of each entry."""
    lead = descending if reverse else ascending
    return chain.from_iterable(lead(tree, (project, low, high, BISECTIONS.get(bounds) or invalid_bounds(bounds))))


def invalid_bounds(bounds: str) -> NoReturn:
    """Raise ValueError for unknown bounds."""
    raise ValueError(f"bounds must be one of {', '.join(BISECTIONS)}, got {bounds!r}")


def release_lists(readers: Readers) -> dict[object, Lists]:
    """Leave lists that are read in place to their iterators, give the tree copies, and return what each one reads."""
    leaves = {held for held in list(readers.values()) if isinstance(held, Leaf)}
    old = {leaf: leaf.detach_lists() for leaf in leaves}
    return {me: old[held] if isinstance(held, Leaf) else held for me, held in list(readers.items())}


def keys(leaf: Leaf, part: slice) -> tuple[Lists, Iterable[Any]]:
    """Project a slice of a leaf to its keys."""
    run = leaf.keys[part]
    return (run,), run


def values(leaf: Leaf, part: slice) -> tuple[Lists, Iterable[Any]]:
    """Project a slice of a leaf to its values."""
    run = (leaf.vals or [])[part]
    return (run,), run


def items(leaf: Leaf, part: slice) -> tuple[Lists, Iterable[Any]]:
    """Project a slice of a leaf to pairs of key and value."""
    lists = leaf.keys[part], (leaf.vals or [])[part]
    return lists, zip(*lists, strict=False)


def ascending(tree: IterableTree, span: Span) -> Iterator[Iterable[Any]]:
    """Yield leaf by leaf, from the lower bound up."""
    if not tree._len:
        return
    project, low, high, cuts = span
    readers, me = tree._readers, object()
    leaf = tree._root
    children, at = [leaf], 0
    for _ in tree._levels:
        children, at = leaf.children, 0 if low is None else bisect_right(leaf.sort_keys, low)
        leaf = children[at]
    start = 0 if low is None else cuts[0](leaf.sort_keys, low)
    try:
        while children:
            leaf = children[at]
            sort_keys = leaf.sort_keys
            # A range that starts inside a leaf mostly ends there too: comparing the last sort key does not pay.
            whole = high is None or (not start and sort_keys[-1] < high)
            stop = len(sort_keys) if whole else cuts[1](sort_keys, high, start)
            if start < stop:
                if project is not keys:
                    readers[me], run = project(leaf, slice(start, stop))
                elif whole and not start and leaf.owner is tree._token:
                    readers[me], run = leaf, leaf.keys
                else:
                    run = leaf.keys[start:stop]
                    readers[me] = (run,)
                yield run
                if tree._readers is not readers:
                    raise RuntimeError(CHANGED_DURING_ITERATION)
            if stop < len(sort_keys):
                return
            at, start = at + 1, 0
            if at == len(children):
                children, at = paths.leaves_after(tree, sort_keys[-1]), 0
    finally:
        readers.pop(me, None)


def descending(tree: IterableTree, span: Span) -> Iterator[Iterable[Any]]:
    """Yield leaf by leaf, from the upper bound down."""
    project, low, high, cuts = span
    readers, me = tree._readers, object()
    nearest = paths.path_to_end(tree, last=True)[1] if high is None else paths.path_to(tree, high)[1]
    stop = len(nearest) if high is None else cuts[1](nearest.sort_keys, high)
    try:
        for leaf in chain((nearest,), paths.leaves_from(tree, high, back=True)):
            near = low is not None and leaf.sort_keys and not low < leaf.sort_keys[0]
            start = cuts[0](leaf.sort_keys, low) if near else 0
            lists, run = project(leaf, slice(start, stop if leaf is nearest else len(leaf)))
            for column in lists:
                column.reverse()
            readers[me] = lists
            yield run
            if tree._readers is not readers:
                raise RuntimeError(CHANGED_DURING_ITERATION)
            if near:
                return
    finally:
        readers.pop(me, None)


K = TypeVar("K")
V = TypeVar("V")


class OrderedView:
    """Iteration over what a view projects of each entry, in both directions."""

    _mapping: Any
    _project: Projection

    def __iter__(self) -> Iterator[Any]:
        return iterate(self._mapping, self._project)

    def __reversed__(self) -> Iterator[Any]:
        return iterate(self._mapping, self._project, reverse=True)


class SortedKeysView(OrderedView, KeysView[K]):
    """The keys of a map, in order."""

    _project = staticmethod(keys)


class SortedValuesView(OrderedView, ValuesView[V]):
    """The values of a map, in the order of their keys."""

    _project = staticmethod(values)

    def __contains__(self, value: object) -> bool:
        return any(mine is value or mine == value for mine in self)


class SortedItemsView(OrderedView, ItemsView[K, V]):
    """The pairs of key and value of a map, in order."""

    _project = staticmethod(items)
