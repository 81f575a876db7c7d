"""Maps and sets of intervals that find those which overlap an interval or a point.

An interval is a tuple (start, end): every x with start <= x < end. (k, k) is the point k. None as
the start or the end is no limit on that side.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

from rowlock.trees.augmented import Augmented, AugmentedMap, AugmentedSet
from rowlock.trees.cursors import Cursor
from rowlock.trees.maps import Source
from rowlock.trees.nodes import Leaf

V = TypeVar("V")

Interval = tuple[Any, Any]

# Narrower than other trees: a query looks at whole nodes, and a write makes whole summaries anew.
LEAF = 128
INNER = 64


class _Bottom:
    """Below everything."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return self is not other

    def __gt__(self, other: object) -> bool:
        return False


class _Top:
    """Above everything."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return self is not other


BOTTOM = _Bottom()
TOP = _Top()


class Ends(NamedTuple):
    """The largest end of each entry or child, and the largest so far.

    The latter never falls, so the first that can reach a point is found by bisection.
    """

    ends: list[Any]
    running: list[Any]


class Query(NamedTuple):
    """What to overlap with: from `start` up to the first mark not below, or not at or below, the end."""

    start: Any
    low: tuple[Any, ...]
    high: tuple[Any, ...]


def mark_of(interval: Interval) -> Interval:
    """Return what an interval is ordered by; refuse what is none."""
    if not isinstance(interval, tuple) or len(interval) != 2:
        raise TypeError(f"an interval is a tuple (start, end), not {interval!r}")
    start, end = interval
    if start is None or end is None:
        return _open_mark(start, end)
    if not start <= end:
        raise ValueError(f"an interval does not start after its end, nor at a NaN: {interval!r}")
    return interval


def _open_mark(start: Any, end: Any) -> Interval:
    for limit in (start, end):
        if limit is not None and not limit <= limit:
            raise ValueError(f"an interval has no NaN: {(start, end)!r}")
    return BOTTOM if start is None else start, TOP if end is None else end


def query_of(what: Any) -> Query:
    """Read an interval, or anything else as the point it is."""
    start, end = mark_of(what if isinstance(what, tuple) else (what, what))
    return Query(start, (start,), (start, TOP, TOP) if start == end else (end,))


class Spanning(Augmented[Interval, V]):
    """Overlap search: the summary of a node is the ends of what is in it."""

    __slots__ = ()

    @staticmethod
    def of_leaf(keys: list[Any], _vals: list[Any] | None) -> Ends:
        """Take the ends of intervals."""
        ends = [TOP if end is None else end for _, end in keys]
        return Ends(ends, list(accumulate(ends, max)))

    @staticmethod
    def of_inner(summaries: list[Ends]) -> Ends:
        """Take the largest end of each child."""
        ends = [summary.running[-1] for summary in summaries]
        return Ends(ends, list(accumulate(ends, max)))

    def overlaps(self, what: Any) -> list[Interval]:
        """List the intervals that share a point with an interval or a point, in order. O(log n + found)."""
        query = query_of(what)
        start = query.start
        found: list[Interval] = []
        for leaf, first, low, high in self._spans(query):
            keys = leaf.keys
            if first < low:
                ends = leaf.summary[0]
                found += [keys[at] for at in range(first, low) if start < ends[at]]
            if low < high:
                found += keys[low:high]
        return found

    def cursor(self) -> IntervalCursor[V]:
        """Make a cursor that is not yet on any entry."""
        return IntervalCursor(self)

    def _spans(self, query: Query) -> list[tuple[Leaf, int, int, int]]:
        """Leaves with overlaps: from `first` those that reach the start, from `low` to `high` all."""
        spans: list[tuple[Leaf, int, int, int]] = []
        if self._len:
            self._search(self._root, len(self._levels), query, spans)
        return spans

    def _search(self, node: Any, depth: int, query: Query, spans: list[Any]) -> None:
        start, low, high = query
        ends, running = node.summary or self._summary(node)
        marks = node.marks
        first = bisect_right(running, start)
        if not depth:
            below = bisect_left(marks, low)
            spans.append((node, first, below, bisect_left(marks, high, below)))
            return
        reached = bisect_left(marks, high)
        inside = bisect_left(marks, low)
        kids = node.kids
        for at in range(min(first, inside), reached + 1):
            if at >= inside or start < ends[at]:
                self._search(kids[at], depth - 1, query, spans)


class IntervalCursor(Cursor[Interval, V]):
    """A cursor that also goes from overlap to overlap."""

    __slots__ = ("_found",)

    _tree: Any

    def __init__(self, tree: Any) -> None:
        super().__init__(tree)
        self._found: Iterator[Interval] = iter(())

    def first_overlap(self, what: Any) -> bool:
        """Go to the first interval that overlaps an interval or a point. O(log n + overlaps)."""
        found = iter(self._tree.overlaps(what))
        self.reset()
        self._found = found
        return self.next_overlap()

    def next_overlap(self) -> bool:
        """Go to the next overlap of the same search; without one the cursor is on no entry. O(log n)."""
        found = self._found
        key = next(found, None)
        if key is None:
            self.reset()
            return False
        self.seek_ge(key)
        self._found = found
        return True

    def reset(self) -> None:
        """Go back to nowhere, and end a search for overlaps."""
        super().reset()
        self._found = iter(())

    def _place(self, *where: Any) -> bool:
        self._found = iter(())
        return super()._place(*where)


class IntervalMap(Spanning[V], AugmentedMap[Interval, V]):
    """A map from intervals (start, end) to values, ordered by start, then end."""

    __slots__ = ()

    def __init__(
        self,
        items: Source[Interval, V] = (),
        *,
        hashed: bool = False,
        leaf_width: int = LEAF,
        inner_width: int = INNER,
    ) -> None:
        super().__init__(items, key=mark_of, hashed=hashed, leaf_width=leaf_width, inner_width=inner_width)

    def overlap_items(self, what: Any) -> list[tuple[Interval, V]]:
        """List overlapping intervals with their values, in order. O(log n + found)."""
        query = query_of(what)
        found: list[tuple[Interval, V]] = []
        for leaf, first, low, high in self._spans(query):
            keys, vals, ends = leaf.keys, leaf.vals or [], leaf.summary[0]
            found += [(keys[at], vals[at]) for at in range(first, low) if query.start < ends[at]]
            found += zip(keys[low:high], vals[low:high], strict=True)
        return found

    def _options(self) -> dict[str, Any]:
        return _keyless(super()._options())


class IntervalSet(Spanning[None], AugmentedSet[Interval]):
    """A set of intervals (start, end), ordered by start, then end."""

    __slots__ = ()

    def __init__(
        self,
        elements: Iterable[Interval] = (),
        *,
        hashed: bool = False,
        leaf_width: int = LEAF,
        inner_width: int = INNER,
    ) -> None:
        super().__init__(elements, key=mark_of, hashed=hashed, leaf_width=leaf_width, inner_width=inner_width)

    def _options(self) -> dict[str, Any]:
        return _keyless(super()._options())


def _keyless(options: dict[str, Any]) -> dict[str, Any]:
    return {name: option for name, option in options.items() if name != "key"}
