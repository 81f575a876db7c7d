"""Maps and sets that know the position of every key, and the key at every position."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import accumulate, islice
from typing import Any, TypeVar, overload

from rowlock.trees import walks
from rowlock.trees.augmented import AugmentedMap, AugmentedSet, Patched
from rowlock.trees.cursors import Cursor
from rowlock.trees.nodes import Inner, Leaf
from rowlock.trees.shapes import Trail
from rowlock.trees.views import Items, Keys, Values

K = TypeVar("K")
V = TypeVar("V")
T = TypeVar("T")


class Tally:
    """How many entries are under each child of an inner node.

    Writes keep the counts up to date, so they need never be counted again; the running sums, which
    make reads quick, are made at the second read after a write: the first does with a plain sum.
    """

    __slots__ = ("counts", "running", "total")

    def __init__(self, counts: list[int]) -> None:
        self.counts = counts
        self.total = sum(self.counts)
        self.running: Any = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and (self.counts, self.total) == (other.counts, other.total)

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Tally:
        """Copy for a node that is about to be edited."""
        return Tally(self.counts[:])

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


class Ranked(Patched[K, V]):
    """Order statistics: the summary of an inner node is its tally, that of a leaf its size."""

    __slots__ = ()

    @staticmethod
    def of_leaf(keys: list[Any], _vals: list[Any] | None) -> Tally:
        """Count the entries of a leaf."""
        return Tally([len(keys)])

    @staticmethod
    def of_inner(summaries: list[Tally]) -> Tally:
        """Count the entries under each child."""
        return Tally([tally.total for tally in summaries])

    def rank(self, key: K) -> int:
        """Count the keys below this one, which need not be there itself. O(log n)."""
        mark = key if self._key is None else self._key(key)
        node: Any = self._root
        rank = 0
        for _ in self._levels:
            at = bisect_right(node.marks, mark)
            if at:
                tally = node.summary or self._summary(node)
                rank += tally.running[at - 1] if tally.running else tally.before(at)
            node = node.kids[at]
        return rank + bisect_left(node.marks, mark)

    def nth(self, position: int) -> K:
        """Return the key at a position from 0 to len - 1, or raise IndexError. O(log n)."""
        leaf, at = self._locate(position)
        key: K = leaf.keys[at]
        return key

    def cursor(self) -> RankedCursor[K, V]:
        """Make a cursor that is not yet on any entry."""
        return RankedCursor(self)

    def _locate(self, position: int) -> tuple[Leaf, int]:
        if not 0 <= position < self._len:
            raise IndexError(f"position {position} is not from 0 to {self._len - 1}")
        node: Any = self._root
        for _ in self._levels:
            tally = node.summary or self._summary(node)
            sums = tally.running or tally.sums()
            at = bisect_right(sums, position)
            if at:
                position -= sums[at - 1]
            node = node.kids[at]
        return node, position

    def _pick(self, take: Any, place: Any) -> Any:
        """What `take` takes of the entries at a position, or as a list of those in a slice."""
        if not isinstance(place, slice):
            leaf, at = self._locate(place + self._len if place < 0 else place)
            return next(iter(take(leaf, slice(at, at + 1))[1]))
        positions = range(self._len)[place]
        if not positions:
            return []
        low, high = sorted((positions[0], positions[-1]))
        run = list(islice(self._from(take, low), high - low + 1))
        return run[:: positions.step] if positions.step > 0 else run[::-1][:: -positions.step]

    def _from(self, take: Any, position: int) -> Iterator[Any]:
        leaf, at = self._locate(position)
        return walks.walk(self, take, low=leaf.marks[at])

    def _summarise(self, node: Any) -> Any:
        # A leaf's size needs no keeping, and is read here in one step for all the leaves of a node.
        if type(node) is Inner and type(node.kids[0]) is Leaf:
            return Tally([len(leaf.marks) for leaf in node.kids])
        return super()._summarise(node)

    def _changed(self, trail: Trail, _leaf: Leaf, _mark: Any, by: int) -> None:
        if by:
            for node, at in trail:
                tally = node.summary
                if tally is not None:
                    tally.counts[at] += by
                    tally.total += by
                    tally.running = None


class RankedCursor(Cursor[K, V]):
    """A cursor that knows its position."""

    __slots__ = ()

    _tree: Any

    @property
    def rank(self) -> int | None:
        """The position of the entry, None when on none. O(log n)."""
        return self._tree.rank(self.key) if self.valid else None

    def seek_nth(self, position: int) -> bool:
        """Go to a position; outside 0 to len - 1 the cursor is on no entry. O(log n)."""
        if 0 <= position < len(self._tree):
            return self.seek_ge(self._tree.nth(position))
        self.reset()
        return False


class RankedKeys(Keys[K]):
    """The keys of a ranked map, also by position."""

    def __getitem__(self, place: int | slice) -> Any:
        return self._mapping._pick(walks.keys, place)


class RankedValues(Values[V]):
    """The values of a ranked map, also by position."""

    def __getitem__(self, place: int | slice) -> Any:
        return self._mapping._pick(walks.values, place)


class RankedItems(Items[K, V]):
    """The items of a ranked map, also by position."""

    def __getitem__(self, place: int | slice) -> Any:
        return self._mapping._pick(walks.items, place)


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
        picked: T | list[T] = self._pick(walks.keys, place)
        return picked
