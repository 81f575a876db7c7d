"""A place in a tree that moves both ways."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Generic, Protocol, TypeVar

from rowlock.trees import spines
from rowlock.trees.nodes import Leaf
from rowlock.trees.walks import Readers

K = TypeVar("K")
V = TypeVar("V")

CURSOR = object()


class Traversable(spines.Rooted, Protocol):
    """What a cursor needs of a tree besides."""

    _readers: Readers

    def _mark(self, key: Any) -> Any: ...

    def _get(self, mark: Any, default: Any) -> Any: ...


class Cursor(Generic[K, V]):
    """A place in a tree: on an entry, before the first, after the last, or nowhere yet.

    Moves return whether the cursor is on an entry. Past either end it stays there, however often it
    is moved on; one step back returns to the entry at the end. After a key was added to or removed
    from the tree the cursor raises RuntimeError until it is placed anew.
    """

    __slots__ = ("_at", "_leaf", "_readers", "_tree", "_turns")

    def __init__(self, tree: Any) -> None:
        self._tree: Traversable = tree
        self._leaf: Leaf | None = None
        self._turns: spines.Turns = []
        self._at = 0
        self._readers: Readers | None = None

    @property
    def valid(self) -> bool:
        """Whether the cursor is on an entry. O(1)."""
        return self._leaf is not None and 0 <= self._at < len(self._steady())

    @property
    def key(self) -> K:
        """The key of the entry; LookupError when on none. O(1)."""
        key: K = self._entry().keys[self._at]
        return key

    @property
    def value(self) -> V:
        """The value of the entry, None in a set; LookupError when on none. O(log n).

        It is looked up anew: a value may be replaced while the cursor stands on its key.
        """
        value: V = self._tree._get(self._entry().marks[self._at], None)
        return value

    @property
    def item(self) -> tuple[K, V]:
        """The key and the value of the entry; LookupError when on none. O(log n)."""
        return self.key, self.value

    def first(self) -> bool:
        """Go to the smallest key. O(log n)."""
        turns, leaf = spines.edge(self._tree, last=False)
        return self._place(turns, leaf, 0)

    def last(self) -> bool:
        """Go to the largest key. O(log n)."""
        turns, leaf = spines.edge(self._tree, last=True)
        return self._place(turns, leaf, len(leaf) - 1)

    def seek_ge(self, key: K) -> bool:
        """Go to the smallest key that is not below this one. O(log n)."""
        self._seek(key, before=0)
        return self._over()

    def seek_lt(self, key: K) -> bool:
        """Go to the largest key that is below this one. O(log n)."""
        self._seek(key, before=1)
        return self._under()

    def next(self) -> bool:
        """Go to the next key. O(1), now and then O(log n)."""
        if self._leaf is None:
            return False
        self._at = min(self._at + 1, len(self._steady()))
        return self._over()

    def prev(self) -> bool:
        """Go to the previous key. O(1), now and then O(log n)."""
        if self._leaf is None:
            return False
        self._steady()
        self._at = max(self._at - 1, -1)
        return self._under()

    def reset(self) -> None:
        """Go back to nowhere."""
        self._leaf = None

    def _seek(self, key: K, *, before: int) -> None:
        mark = self._tree._mark(key)
        turns, leaf = spines.seek(self._tree, mark)
        self._place(turns, leaf, bisect_left(leaf.marks, mark) - before)

    def _place(self, turns: spines.Turns, leaf: Leaf, at: int) -> bool:
        # The note left with the tree makes its next write change `_readers`, which every cursor looks at.
        self._readers = self._tree._readers
        self._readers[CURSOR] = ()
        self._turns, self._leaf, self._at = turns, leaf, at
        return self.valid

    def _over(self) -> bool:
        leaf = self._steady()
        if self._at >= len(leaf):
            neighbour = spines.step(self._turns, back=False)
            if neighbour is not None:
                self._leaf, self._at = neighbour, 0
        return self.valid

    def _under(self) -> bool:
        self._steady()
        if self._at < 0:
            neighbour = spines.step(self._turns, back=True)
            if neighbour is not None:
                self._leaf, self._at = neighbour, len(neighbour) - 1
        return self.valid

    def _steady(self) -> Leaf:
        if self._leaf is None:
            raise LookupError("the cursor is on no entry")
        if self._readers is not self._tree._readers:
            raise RuntimeError("a key was added to or removed from the tree since the cursor was placed")
        return self._leaf

    def _entry(self) -> Leaf:
        if not self.valid:
            raise LookupError("the cursor is on no entry")
        return self._steady()
