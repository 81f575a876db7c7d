"""Maps and sets of intervals that find those which overlap an interval or a point.

An interval is a tuple (start, end): every x with start <= x < end. (k, k) is the point k. None as start or end means no
bound on that side.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from operator import is_
from typing import Any, TypeVar

from rowlock.trees.augmented import AugmentedMap, AugmentedSet, IncrementallyAugmented
from rowlock.trees.bulk_load import Columns
from rowlock.trees.cursors import Cursor
from rowlock.trees.maps import Source
from rowlock.trees.nodes import Leaf
from rowlock.trees.paths import Path

V = TypeVar("V")

Interval = tuple[Any, Any]

# Narrower than in other trees: a query reads whole nodes, and a write computes whole summaries again.
LEAF_WIDTH = 128
INNER_WIDTH = 128
# One latest end is kept for so many positions: computing more of them costs more than reading a few too many.
STRIDE = 4


class _Bottom:
    """A value below all others."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return self is not other

    def __gt__(self, other: object) -> bool:
        return False


class _Top:
    """A value above all others."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return False

    def __gt__(self, other: object) -> bool:
        return self is not other


BOTTOM = _Bottom()
TOP = _Top()


class IntervalBounds:
    """The earliest start and the latest end of each entry or child of a node.

    `reach` is the latest end so far, after every few of them. It ascends, so the first one that can reach a point is
    found by bisection.
    """

    __slots__ = ("ends", "reach", "starts")

    def __init__(self, starts: list[Any], ends: list[Any], reach: list[Any] | None = None) -> None:
        self.starts = starts
        self.ends = ends
        self.reach = _reach(ends) if reach is None else reach

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IntervalBounds) and self._all() == other._all()

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> IntervalBounds:
        """Copy the summary for a copy of its node."""
        return IntervalBounds(self.starts[:], self.ends[:], self.reach[:])

    def first(self, start: Any, before: int) -> int:
        """Return the position from which to look for those before a position that end after `start`."""
        block = before // STRIDE
        # Mostly only the nearest few can reach it: then there is nothing to search.
        if not block or not start < self.reach[block - 1]:
            return block * STRIDE
        return STRIDE * bisect_right(self.reach, start, 0, block)

    def widen(self, at: int, interval: Interval) -> None:
        """Extend the bounds of a child by a new interval."""
        start, end = interval
        if start < self.starts[at]:
            self.starts[at] = start
        if self.ends[at] < end:
            self.ends[at] = end
            self.reach = _reach(self.ends)

    def keeps_without(self, at: int, interval: Interval) -> bool:
        """Return whether a child keeps its bounds when one of its intervals is removed."""
        return bool(self.starts[at] < interval[0] and interval[1] < self.ends[at])

    def _all(self) -> tuple[list[Any], ...]:
        return self.starts, self.ends, self.reach


def _reach(ends: list[Any]) -> list[Any]:
    return list(accumulate((max(ends[at : at + STRIDE]) for at in range(0, len(ends), STRIDE)), max))


# The start of the query, the upper bound for starts of overlaps, and the bisection by which it is included or not.
Query = tuple[Any, Any, Callable[..., int]]
# Overlaps in a leaf: from the first position to the second those that end late enough, then all up to the third.
Find = tuple[Leaf, int, int, int]


def sort_key_of(interval: Interval) -> Interval:
    """Return the sort key of an interval; raise TypeError or ValueError if it is not one."""
    if not isinstance(interval, tuple) or len(interval) != 2:
        raise TypeError(f"an interval must be a tuple (start, end), got {interval!r}")
    start, end = interval
    if start is None or end is None:
        return _unbounded_sort_key(start, end)
    if not start <= end:
        raise ValueError(f"an interval must not start after its end, nor have a NaN, got {interval!r}")
    return interval


def _unbounded_sort_key(start: Any, end: Any) -> Interval:
    for limit in (start, end):
        if limit is not None and not limit <= limit:
            raise ValueError(f"an interval must not have a NaN, got {(start, end)!r}")
    return BOTTOM if start is None else start, TOP if end is None else end


def sort_by_bounds(columns: Columns) -> Columns:
    """Sort entries by end, then by start: sorting twice by plain bounds takes half the time of once by tuples."""
    rows = sorted(range(len(columns.sort_keys)), key=[end for _, end in columns.sort_keys].__getitem__)
    rows.sort(key=[start for start, _ in columns.sort_keys].__getitem__)
    if not all(map(is_, columns.sort_keys, columns.keys)):
        return columns.pick(rows)
    # All intervals are bounded: sort keys and keys are the same objects, which saves one pass over them.
    picked = columns._replace(keys=columns.sort_keys).pick(rows)
    return picked._replace(keys=picked.sort_keys[:])


def query_of(what: Any) -> Query:
    """Return the query for an interval; anything else is a point."""
    start, end = sort_key_of(what if isinstance(what, tuple) else (what, what))
    return start, end, bisect_right if start == end else bisect_left


class OverlapSearch(IncrementallyAugmented[Interval, V]):
    """Overlap search: the summary of a node is the bounds of its intervals."""

    __slots__ = ()

    _sort_columns = staticmethod(sort_by_bounds)

    @staticmethod
    def of_leaf(keys: list[Any], _vals: list[Any] | None) -> IntervalBounds:
        """Return the bounds of a leaf's intervals."""
        starts = [BOTTOM if start is None else start for start, _ in keys]
        return IntervalBounds(starts, [TOP if end is None else end for _, end in keys])

    @staticmethod
    def of_inner(summaries: list[IntervalBounds]) -> IntervalBounds:
        """Return the earliest start and the latest end of each child."""
        return IntervalBounds([child.starts[0] for child in summaries], [child.reach[-1] for child in summaries])

    def overlaps(self, what: Any) -> list[Interval]:
        """List the intervals that share a point with an interval or a point, in order. O(log n + found)."""
        query = query_of(what)
        start = query[0]
        found: list[Interval] = []
        for leaf, first, low, high in self._find(query):
            if first < low:
                keys, ends = leaf.keys, leaf.summary.ends
                found += [keys[at] for at in range(first, low) if start < ends[at]]
            found += leaf.keys[low:high]
        return found

    def cursor(self) -> IntervalCursor[V]:
        """Return a cursor that is not placed yet."""
        return IntervalCursor(self)

    def _options(self) -> dict[str, Any]:
        return {name: option for name, option in super()._options().items() if name != "key"}

    def _entry_changed(self, path: Path, leaf: Leaf, sort_key: Any, by: int) -> None:
        if not by:
            return
        leaf.summary = None
        for node, at in path:
            if node.summary is not None and by > 0:
                node.summary.widen(at, sort_key)
            elif node.summary is not None and not node.summary.keeps_without(at, sort_key):
                node.summary = None

    def _find(self, query: Query) -> list[Find]:
        finds: list[Find] = []
        if self._len:
            self._search(self._root, len(self._levels), query, finds)
        return finds

    def _search(self, node: Any, depth: int, query: Query, finds: list[Find]) -> None:
        start, end, cut = query
        bounds = node.summary or self._summary(node)
        while depth:
            depth -= 1
            # Children from `inside` on start late enough; the last intervals of the one before may do so too.
            inside = bisect_left(bounds.starts, start)
            stop = cut(bounds.starts, end, inside)
            if not stop:
                return
            inside = max(inside - 1, 0)
            children, ends = node.children, bounds.ends
            for at in range(bounds.first(start, inside), stop - 1):
                if at >= inside or start < ends[at]:
                    self._search(children[at], depth, query, finds)
            node = children[stop - 1]
            bounds = node.summary or self._summary(node)
        low = bisect_left(bounds.starts, start)
        finds.append((node, bounds.first(start, low), low, cut(bounds.starts, end, low)))


class IntervalCursor(Cursor[Interval, V]):
    """A cursor that also moves from overlap to overlap."""

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
        """Go to the next overlap of the search; after the last one the cursor is unplaced. O(log n)."""
        found = self._found
        key = next(found, None)
        if key is None:
            self.reset()
            return False
        self.seek_ge(key)
        self._found = found
        return True

    def reset(self) -> None:
        """Make the cursor unplaced, and end its search for overlaps."""
        super().reset()
        self._found = iter(())

    def _place(self, *where: Any) -> bool:
        self._found = iter(())
        return super()._place(*where)


class IntervalMap(OverlapSearch[V], AugmentedMap[Interval, V]):
    """A map from intervals (start, end) to values, ordered by start, then end."""

    __slots__ = ()

    def __init__(
        self,
        items: Source[Interval, V] = (),
        *,
        hashed: bool = False,
        leaf_width: int = LEAF_WIDTH,
        inner_width: int = INNER_WIDTH,
    ) -> None:
        super().__init__(items, key=sort_key_of, hashed=hashed, leaf_width=leaf_width, inner_width=inner_width)

    def overlap_items(self, what: Any) -> list[tuple[Interval, V]]:
        """List overlapping intervals with their values, in order. O(log n + found)."""
        query = query_of(what)
        start = query[0]
        found: list[tuple[Interval, V]] = []
        for leaf, first, low, high in self._find(query):
            keys, vals, ends = leaf.keys, leaf.vals or [], leaf.summary.ends
            found += [(keys[at], vals[at]) for at in range(first, low) if start < ends[at]]
            found += zip(keys[low:high], vals[low:high], strict=True)
        return found


class IntervalSet(OverlapSearch[None], AugmentedSet[Interval]):
    """A set of intervals (start, end), ordered by start, then end."""

    __slots__ = ()

    def __init__(
        self,
        elements: Iterable[Interval] = (),
        *,
        hashed: bool = False,
        leaf_width: int = LEAF_WIDTH,
        inner_width: int = INNER_WIDTH,
    ) -> None:
        super().__init__(elements, key=sort_key_of, hashed=hashed, leaf_width=leaf_width, inner_width=inner_width)
