"""A place in a tree that moves both ways."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, Generic, Protocol, TypeVar

from rowlock.trees.nodes import Leaf, Node
from rowlock.trees.spines import Spine

K = TypeVar("K")
V = TypeVar("V")

CURSOR = object()
NOTHING = Leaf(None, [], [], None)


class Traversable(Protocol):
    """What a cursor needs of a tree."""

    _root: Node
    _readers: dict[object, Leaf]

    def _mark(self, key: Any) -> Any: ...

    def _get(self, mark: Any, default: Any) -> Any: ...


class Cursor(Generic[K, V]):
    """A place in a tree: on an entry, before the first, after the last, or nowhere yet.

    Moves return whether the cursor is on an entry. Past either end it stays there, however often it
    is moved on; one step back returns to the entry at the end. After a key was added to or removed
    from the tree the cursor raises RuntimeError until it is placed anew.
    """

    __slots__ = ("_at", "_readers", "_spine", "_tree")

    def __init__(self, tree: Any) -> None:
        self._tree: Traversable = tree
        self._spine: Spine | None = None
        self._at = 0
        self._readers: dict[object, Leaf] | None = None

    @property
    def valid(self) -> bool:
        """Whether the cursor is on an entry. O(1)."""
        return self._spine is not None and 0 <= self._at < len(self._steady().leaf)

    @property
    def key(self) -> K:
        """The key of the entry; LookupError when on none. O(1)."""
        key: K = self._entry().leaf.keys[self._at]
        return key

    @property
    def value(self) -> V:
        """The value of the entry, None in a set; LookupError when on none. O(log n).

        It is looked up anew: a value may be replaced while the cursor stands on its key.
        """
        value: V = self._tree._get(self._entry().leaf.marks[self._at], None)
        return value

    @property
    def item(self) -> tuple[K, V]:
        """The key and the value of the entry; LookupError when on none. O(1)."""
        return self.key, self.value

    def first(self) -> bool:
        """Go to the smallest key. O(log n)."""
        spine = Spine(self._tree._root)
        spine.edge(last=False)
        return self._place(spine, 0)

    def last(self) -> bool:
        """Go to the largest key. O(log n)."""
        spine = Spine(self._tree._root)
        return self._place(spine, len(spine.edge(last=True)) - 1)

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
        if self._spine is None:
            return False
        self._at = min(self._at + 1, len(self._steady().leaf))
        return self._over()

    def prev(self) -> bool:
        """Go to the previous key. O(1), now and then O(log n)."""
        if self._spine is None:
            return False
        self._steady()
        self._at = max(self._at - 1, -1)
        return self._under()

    def reset(self) -> None:
        """Go back to nowhere."""
        self._spine = None

    def _seek(self, key: K, *, before: int) -> None:
        mark = self._tree._mark(key)
        spine = Spine(self._tree._root)
        self._place(spine, bisect_left(spine.seek(mark).marks, mark) - before)

    def _place(self, spine: Spine, at: int) -> bool:
        # The note left with the tree makes its next write change `_readers`, which every cursor looks at.
        self._readers = self._tree._readers
        self._readers[CURSOR] = NOTHING
        self._spine = spine
        self._at = at
        return self.valid

    def _over(self) -> bool:
        spine = self._steady()
        if self._at >= len(spine.leaf) and spine.step(back=False):
            self._at = 0
        return self._at < len(spine.leaf)

    def _under(self) -> bool:
        spine = self._steady()
        if self._at < 0 and spine.step(back=True):
            self._at = len(spine.leaf) - 1
        return self._at >= 0

    def _steady(self) -> Spine:
        if self._spine is None:
            raise LookupError("the cursor is on no entry")
        if self._readers is not self._tree._readers:
            raise RuntimeError("a key was added to or removed from the tree since the cursor was placed")
        return self._spine

    def _entry(self) -> Spine:
        if not self.valid:
            raise LookupError("the cursor is on no entry")
        return self._steady()
