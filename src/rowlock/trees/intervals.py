"""Maps and sets of intervals that find those which overlap an interval or a point.

An interval is a tuple (start, end): every x with start <= x < end. (k, k) is the point k. None as
the start or the end is no limit on that side.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from operator import is_
from typing import Any, TypeVar

from rowlock.trees.augmented import AugmentedMap, AugmentedSet, Patched
from rowlock.trees.bulk import Columns
from rowlock.trees.cursors import Cursor
from rowlock.trees.maps import Source
from rowlock.trees.nodes import Leaf
from rowlock.trees.shapes import Trail

V = TypeVar("V")

Interval = tuple[Any, Any]

# Narrower than other trees: a query looks at whole nodes, and a write makes whole summaries anew.
LEAF = 128
INNER = 128
# One latest end is kept for so many positions: making it costs more than looking at a few too many.
STRIDE = 4


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


class Bounds:
    """Where each entry or child of a node starts, at the earliest, and ends, at the latest.

    `reach` is the latest end so far, after every few of them. It never falls, so the first that can
    reach a point is found by bisection.
    """

    __slots__ = ("ends", "reach", "starts")

    def __init__(self, starts: list[Any], ends: list[Any], reach: list[Any] | None = None) -> None:
        self.starts = starts
        self.ends = ends
        self.reach = _reach(ends) if reach is None else reach

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bounds) and self._all() == other._all()

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Bounds:
        """Copy for a node that is about to be edited."""
        return Bounds(self.starts[:], self.ends[:], self.reach[:])

    def first(self, start: Any, before: int) -> int:
        """Where to look from for those before a position that end after `start`."""
        block = before // STRIDE
        # Mostly none but the nearest few can: then there is nothing to search.
        if not block or not start < self.reach[block - 1]:
            return block * STRIDE
        return STRIDE * bisect_right(self.reach, start, 0, block)

    def widen(self, at: int, interval: Interval) -> None:
        """Learn that a child has one more interval."""
        start, end = interval
        if start < self.starts[at]:
            self.starts[at] = start
        if self.ends[at] < end:
            self.ends[at] = end
            self.reach = _reach(self.ends)

    def spares(self, at: int, interval: Interval) -> bool:
        """Tell whether a child has the same bounds without an interval of its own."""
        return bool(self.starts[at] < interval[0] and interval[1] < self.ends[at])

    def _all(self) -> tuple[list[Any], ...]:
        return self.starts, self.ends, self.reach


def _reach(ends: list[Any]) -> list[Any]:
    return list(accumulate((max(ends[at : at + STRIDE]) for at in range(0, len(ends), STRIDE)), max))


# The start of what is to be overlapped, the limit for the starts of what overlaps, and whether that is one.
Query = tuple[Any, Any, Callable[..., int]]
# Overlaps in a leaf: from the first position to the second those that end late enough, then all to the third.
Find = tuple[Leaf, int, int, int]


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


def by_bounds(columns: Columns) -> Columns:
    """Sort entries by end, then by start: twice by bare bounds takes half the time of once by tuples."""
    rows = sorted(range(len(columns.marks)), key=[end for _, end in columns.marks].__getitem__)
    rows.sort(key=[start for start, _ in columns.marks].__getitem__)
    if not all(map(is_, columns.marks, columns.keys)):
        return columns.pick(rows)
    # Nothing is without limit: the marks are the keys, and one pass over them all is spared.
    picked = columns._replace(keys=columns.marks).pick(rows)
    return picked._replace(keys=picked.marks[:])


def query_of(what: Any) -> Query:
    """Read an interval, or anything else as the point it is."""
    start, end = mark_of(what if isinstance(what, tuple) else (what, what))
    return start, end, bisect_right if start == end else bisect_left


class Spanning(Patched[Interval, V]):
    """Overlap search: the summary of a node is the ends of what is in it."""

    __slots__ = ()

    _in_order = staticmethod(by_bounds)

    @staticmethod
    def of_leaf(keys: list[Any], _vals: list[Any] | None) -> Bounds:
        """Take the bounds of intervals."""
        starts = [BOTTOM if start is None else start for start, _ in keys]
        return Bounds(starts, [TOP if end is None else end for _, end in keys])

    @staticmethod
    def of_inner(summaries: list[Bounds]) -> Bounds:
        """Take the earliest start and the latest end of each child."""
        return Bounds([kid.starts[0] for kid in summaries], [kid.reach[-1] for kid in summaries])

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
        """Make a cursor that is not yet on any entry."""
        return IntervalCursor(self)

    def _changed(self, trail: Trail, leaf: Leaf, mark: Any, by: int) -> None:
        if not by:
            return
        leaf.summary = None
        for node, at in trail:
            if node.summary is not None and by > 0:
                node.summary.widen(at, mark)
            elif node.summary is not None and not node.summary.spares(at, mark):
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
            # Children from `inside` on start late enough; the one before has some that do, at its end.
            inside = bisect_left(bounds.starts, start)
            stop = cut(bounds.starts, end, inside)
            if not stop:
                return
            inside = max(inside - 1, 0)
            kids, ends = node.kids, bounds.ends
            for at in range(bounds.first(start, inside), stop - 1):
                if at >= inside or start < ends[at]:
                    self._search(kids[at], depth, query, finds)
            node = kids[stop - 1]
            bounds = node.summary or self._summary(node)
        low = bisect_left(bounds.starts, start)
        finds.append((node, bounds.first(start, low), low, cut(bounds.starts, end, low)))


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
        start = query[0]
        found: list[tuple[Interval, V]] = []
        for leaf, first, low, high in self._find(query):
            keys, vals, ends = leaf.keys, leaf.vals or [], leaf.summary.ends
            found += [(keys[at], vals[at]) for at in range(first, low) if start < ends[at]]
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
