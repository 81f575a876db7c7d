"""Cursors: positions in a tree that move in both directions."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Generic, Protocol, TypeVar

from rowlock.trees import paths
from rowlock.trees.iteration import Readers
from rowlock.trees.nodes import Leaf

K = TypeVar("K")
V = TypeVar("V")

CURSOR = object()


class CursorTree(paths.RootedTree, Protocol):
    """A tree as cursors need it."""

    _readers: Readers

    def _sort_key(self, key: Any) -> Any: ...

    def _get(self, sort_key: Any, default: Any) -> Any: ...


class Cursor(Generic[K, V]):
    """A position in a tree: on an entry, before the first, after the last, or unplaced.

    Moves return whether the cursor is on an entry. Past either end it stays there, however often it is moved; one step
    back returns to the last or first entry. After a key was added to or removed from the tree the cursor raises
    RuntimeError until it is placed again.
    """

    __slots__ = ("_at", "_branches", "_leaf", "_readers", "_tree")

    def __init__(self, tree: Any) -> None:
        self._tree: CursorTree = tree
        self._leaf: Leaf | None = None
        self._branches: paths.Branches = []
        self._at = 0
        self._readers: Readers | None = None

    @property
    def valid(self) -> bool:
        """Whether the cursor is on an entry. O(1)."""
        return self._leaf is not None and 0 <= self._at < len(self._checked_leaf())

    @property
    def key(self) -> K:
        """The key of the entry; LookupError if the cursor is not on an entry. O(1)."""
        key: K = self._entry().keys[self._at]
        return key

    @property
    def value(self) -> V:
        """The value of the entry, None in a set; LookupError if the cursor is not on an entry. O(log n).

        It is looked up again, because a value may be replaced while the cursor is on its key.
        """
        value: V = self._tree._get(self._entry().sort_keys[self._at], None)
        return value

    @property
    def item(self) -> tuple[K, V]:
        """The key and the value of the entry; LookupError if the cursor is not on an entry. O(log n)."""
        return self.key, self.value

    def first(self) -> bool:
        """Go to the smallest key. O(log n)."""
        branches, leaf = paths.path_to_end(self._tree, last=False)
        return self._place(branches, leaf, 0)

    def last(self) -> bool:
        """Go to the largest key. O(log n)."""
        branches, leaf = paths.path_to_end(self._tree, last=True)
        return self._place(branches, leaf, len(leaf) - 1)

    def seek_ge(self, key: K) -> bool:
        """Go to the smallest key that is not below this one. O(log n)."""
        self._seek_from(key, before=0)
        return self._to_next_leaf()

    def seek_lt(self, key: K) -> bool:
        """Go to the largest key that is below this one. O(log n)."""
        self._seek_from(key, before=1)
        return self._to_previous_leaf()

    def next(self) -> bool:
        """Go to the next key. O(1), O(log n) at the end of a leaf."""
        if self._leaf is None:
            return False
        self._at = min(self._at + 1, len(self._checked_leaf()))
        return self._to_next_leaf()

    def prev(self) -> bool:
        """Go to the previous key. O(1), O(log n) at the start of a leaf."""
        if self._leaf is None:
            return False
        self._checked_leaf()
        self._at = max(self._at - 1, -1)
        return self._to_previous_leaf()

    def reset(self) -> None:
        """Make the cursor unplaced."""
        self._leaf = None

    def _seek_from(self, key: K, *, before: int) -> None:
        sort_key = self._tree._sort_key(key)
        branches, leaf = paths.path_to(self._tree, sort_key)
        self._place(branches, leaf, bisect_left(leaf.sort_keys, sort_key) - before)

    def _place(self, branches: paths.Branches, leaf: Leaf, at: int) -> bool:
        # With an entry in `_readers` the next write replaces that dictionary, by which every cursor notices the write.
        self._readers = self._tree._readers
        self._readers[CURSOR] = ()
        self._branches, self._leaf, self._at = branches, leaf, at
        return self.valid

    def _to_next_leaf(self) -> bool:
        leaf = self._checked_leaf()
        if self._at >= len(leaf):
            neighbour = paths.next_leaf(self._branches, back=False)
            if neighbour is not None:
                self._leaf, self._at = neighbour, 0
        return self.valid

    def _to_previous_leaf(self) -> bool:
        self._checked_leaf()
        if self._at < 0:
            neighbour = paths.next_leaf(self._branches, back=True)
            if neighbour is not None:
                self._leaf, self._at = neighbour, len(neighbour) - 1
        return self.valid

    def _checked_leaf(self) -> Leaf:
        if self._leaf is None:
            raise LookupError("the cursor is not on an entry")
        if self._readers is not self._tree._readers:
            raise RuntimeError("a key was added to or removed from the tree since the cursor was placed")
        return self._leaf

    def _entry(self) -> Leaf:
        if not self.valid:
            raise LookupError("the cursor is not on an entry")
        return self._checked_leaf()
