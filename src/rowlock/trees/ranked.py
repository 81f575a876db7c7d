"""Maps and sets that know the position of every key, and the key at every position."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice
from typing import Any, TypeVar, overload

from rowlock.trees import iteration
from rowlock.trees.augmented import AugmentedMap, AugmentedSet, IncrementallyAugmented
from rowlock.trees.cursors import Cursor
from rowlock.trees.iteration import OrderedView, SortedItemsView, SortedKeysView, SortedValuesView
from rowlock.trees.nodes import Inner, Leaf, even_slices
from rowlock.trees.paths import Path

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class ChildCounts:
    """How many entries are under each child of an inner node.

    Writes keep the counts up to date. The running sums, which make reads fast, are computed at the second read after a
    write; the first read uses a plain sum.
    """

    __slots__ = ("counts", "running", "total")

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts
        self.total = sum(self.counts)
        self.running: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChildCounts) and (self.counts, self.total) == (other.counts, other.total)

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> ChildCounts:
        """Copy the summary for a copy of its node."""
        return ChildCounts(self.counts[:])

    def before(self, at: int) -> int:
        """Count the entries under the first children, one or more."""
        if self.running is not None:
            return self.sums()[at - 1]
        self.running = ()
        counts = self.counts
        return sum(counts[:at]) if at * 2 < len(counts) else self.total - sum(counts[at:])

    def sums(self) -> list[int]:
        """The running sums of the counts."""
        if not self.running:
            self.running = list(accumulate(self.counts))
        sums: list[int] = self.running
        return sums


class Ranked(IncrementallyAugmented[K, V]):
    """Order statistics: the summary of an inner node is the counts of its children, that of a leaf its size."""

    __slots__ = ()

    @staticmethod
    def of_leaf(keys: list[Any], _vals: list[Any] | None) -> ChildCounts:
        """Count the entries of a leaf."""
        return ChildCounts([len(keys)])

    @staticmethod
    def of_inner(summaries: list[ChildCounts]) -> ChildCounts:
        """Count the entries under each child."""
        return ChildCounts([counts.total for counts in summaries])

    def rank(self, key: K) -> int:
        """Count the keys below this one, which need not exist. O(log n)."""
        sort_key = key if self._key is None else self._key(key)
        node: Any = self._root
        rank = 0
        for _ in self._levels:
            at = bisect_right(node.sort_keys, sort_key)
            if at:
                counts = node.summary or self._summary(node)
                rank += counts.running[at - 1] if counts.running else counts.before(at)
            node = node.children[at]
        return rank + bisect_left(node.sort_keys, sort_key)

    def nth(self, position: int) -> K:
        """Return the key at a position from 0 to len - 1, or raise IndexError. O(log n)."""
        leaf, at = self._locate(position)
        key: K = leaf.keys[at]
        return key

    def cursor(self) -> RankedCursor[K, V]:
        """Return a cursor that is not placed yet."""
        return RankedCursor(self)

    def _locate(self, position: int) -> tuple[Leaf, int]:
        if not 0 <= position < self._len:
            raise IndexError(f"position must be 0 to {self._len - 1}, got {position}")
        node: Any = self._root
        for _ in self._levels:
            counts = node.summary or self._summary(node)
            sums = counts.running or counts.sums()
            at = bisect_right(sums, position)
            if at:
                position -= sums[at - 1]
            node = node.children[at]
        return node, position

    def _pick(self, project: Any, place: Any) -> Any:
        """Return the projection of the entry at a position, or a list of those in a slice."""
        if not isinstance(place, slice):
            leaf, at = self._locate(place + self._len if place < 0 else place)
            return next(iter(project(leaf, slice(at, at + 1))[1]))
        positions = range(self._len)[place]
        if not positions:
            return []
        low, high = sorted((positions[0], positions[-1]))
        run = list(islice(self._from(project, low), high - low + 1))
        return run[:: positions.step] if positions.step > 0 else run[::-1][:: -positions.step]

    def _from(self, project: Any, position: int) -> Iterator[Any]:
        leaf, at = self._locate(position)
        return iteration.iterate(self, project, low=leaf.sort_keys[at])

    def _summarise(self, node: Any) -> Any:
        # The size of a leaf need not be cached; here the sizes of all leaves of a node are read in one step.
        if type(node) is Inner and type(node.children[0]) is Leaf:
            return ChildCounts([len(leaf.sort_keys) for leaf in node.children])
        return super()._summarise(node)

    def _entry_changed(self, path: Path, _leaf: Leaf, _sort_key: Any, by: int) -> None:
        if by:
            for node, at in path:
                counts = node.summary
                if counts is not None:
                    counts.counts[at] += by
                    counts.total += by
                    counts.running = None


class RankedCursor(Cursor[K, V]):
    """A cursor that knows its position."""

    __slots__ = ()

    _tree: Any

    @property
    def rank(self) -> int | None:
        """The position of the entry, None if the cursor is not on an entry. O(log n)."""
        return self._tree.rank(self.key) if self.valid else None

    def seek_nth(self, position: int) -> bool:
        """Go to a position; outside 0 to len - 1 the cursor becomes unplaced. O(log n)."""
        if 0 <= position < len(self._tree):
            return self.seek_ge(self._tree.nth(position))
        self.reset()
        return False


class PositionedView(OrderedView):
    """A view whose entries are also found by position."""

    def __getitem__(self, place: int | slice) -> Any:
        return self._mapping._pick(self._project, place)


class RankedKeys(PositionedView, SortedKeysView[K]):
    """The keys of a ranked map, also by position."""


class RankedValues(PositionedView, SortedValuesView[V]):
    """The values of a ranked map, also by position."""


class RankedItems(PositionedView, SortedItemsView[K, V]):
    """The items of a ranked map, also by position."""


class RankedMap(Ranked[K, V], AugmentedMap[K, V]):
    """A sorted map with `rank`, `nth`, and views that are indexed and sliced by position."""

    __slots__ = ()

    def keys(self) -> RankedKeys[K]:
        """Return a live view of the keys; `[i]` and `[i:j]` go by position."""
        return RankedKeys(self)

    def values(self) -> RankedValues[V]:
        """Return a live view of the values; `[i]` and `[i:j]` go by position."""
        return RankedValues(self)

    def items(self) -> RankedItems[K, V]:
        """Return a live view of the items; `[i]` and `[i:j]` go by position."""
        return RankedItems(self)


class RankedSet(Ranked[T, None], AugmentedSet[T]):
    """A sorted set with `rank`, `nth`, and elements by position: `s[3]`, `s[-1]`, `s[10:20]`."""

    __slots__ = ()

    @overload
    def __getitem__(self, place: int) -> T: ...

    @overload
    def __getitem__(self, place: slice) -> list[T]: ...

    def __getitem__(self, place: int | slice) -> T | list[T]:
        """Return the element at a position, or a list of those in a slice. O(log n + elements)."""
        picked: T | list[T] = self._pick(iteration.keys, place)
        return picked


def ranges(keys: RankedMap[K, Any] | RankedSet[K] | Iterable[K], parts: int) -> list[tuple[K | None, K]]:
    """Cut keys into (low, high] ranges whose sizes differ by at most one. O(parts * log n) when ranked.

    The ranges are disjoint and contain all keys; the first has no lower bound: None. If there are fewer keys than
    parts, there is one range for each key. Keys that are not ranked are sorted first.
    """
    if parts < 1:
        raise ValueError(f"parts must be at least 1, got {parts}")
    ranked: Any = keys if isinstance(keys, RankedMap | RankedSet) else RankedSet(keys)
    if not ranked:
        return []
    cuts = even_slices(len(ranked), min(parts, len(ranked)))
    highs = [ranked.nth(cut.stop - 1) for cut in cuts]
    return list(zip([None, *highs[:-1]], highs, strict=True))
