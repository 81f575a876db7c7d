"""The copy-on-write B-tree under all the maps and sets.

All entries are in the leaves, as plain lists searched by `bisect`. A node may be edited in place by
the tree whose token it carries; `clone()` shares the root and gives both trees a new token, so the
next write on either side copies just the nodes it passes through.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Generic, Self, TypeVar

from rowlock.trees import walks
from rowlock.trees.bulk import Columns, admit, arrange, build, by_mark
from rowlock.trees.cursors import Cursor
from rowlock.trees.nodes import Leaf, newick
from rowlock.trees.shapes import Trail, grow, path, shrink
from rowlock.trees.walks import CUTS, Readers, downwards, release, upwards
from rowlock.trees.widths import INNER, Fill, inner_fill, leaf_fill

K = TypeVar("K")
V = TypeVar("V")

MISSING: Any = object()


class Tree(Generic[K, V]):
    """What maps and sets have in common: ordered entries, walks, cursors, clones.

    `_key` gives a key's mark (None: a key is its own mark). `_front` is the hash table of a hashed
    tree. With either, `_detour` sends writes another way. `_readers` has the lists that walks are
    reading; adding or removing a key empties them and so ends the walks.
    """

    __slots__ = (
        "__weakref__",
        "_detour",
        "_front",
        "_inner",
        "_key",
        "_leaf",
        "_leaf_least",
        "_leaf_most",
        "_len",
        "_levels",
        "_readers",
        "_root",
        "_token",
    )

    _has_values = True
    _broad = INNER
    _root: Any
    _len: int
    _levels: tuple[None, ...]
    _readers: Readers
    _token: object

    def _set_up(self, *, key: Callable[[K], Any] | None, hashed: bool, leaf_width: int, inner_width: int) -> None:
        self._key = key
        self._front: dict[Any, Any] | None = {} if hashed else None
        self._detour = hashed or key is not None
        self._leaf = leaf_fill(leaf_width)
        self._inner: Fill = inner_fill(inner_width)
        self._leaf_least, self._leaf_most = self._leaf
        self._readers = {}
        self._load(self._arranged([], [] if self._has_values else None))

    def __len__(self) -> int:
        return self._len

    def __iter__(self) -> Iterator[K]:
        return walks.walk(self, walks.keys)

    def __reversed__(self) -> Iterator[K]:
        return walks.walk(self, walks.keys, reverse=True)

    def __contains__(self, key: object) -> bool:
        mark = key if self._key is None else self._key(key)  # type: ignore[arg-type]
        if self._front is not None:
            return mark in self._front
        marks = self._seek(mark).marks
        at = bisect_left(marks, mark)
        return at < len(marks) and bool(marks[at] == mark)

    def __copy__(self) -> Self:
        return self.clone()

    def copy(self) -> Self:
        """Clone the tree; the name dict and set give it. O(1)."""
        return self.clone()

    def clone(self) -> Self:
        """Make an independent copy that shares all nodes until either side writes. O(1).

        The clone of a hashed tree is not hashed: its look-ups go through the tree.
        """
        if self._readers:
            self._readers.update(release(self._readers))
        twin = object.__new__(type(self))
        twin._key = self._key
        twin._front = None
        twin._detour = self._key is not None
        twin._leaf = self._leaf
        twin._inner = self._inner
        twin._leaf_least = self._leaf_least
        twin._leaf_most = self._leaf_most
        twin._root = self._root
        twin._levels = self._levels
        twin._len = self._len
        twin._readers = {}
        twin._token = object()
        self._token = object()
        return twin

    def clear(self) -> None:
        """Drop every entry; clones keep theirs. O(1)."""
        self._load(self._arranged([], [] if self._has_values else None))

    @property
    def height(self) -> int:
        """The number of levels: 0 when empty, 1 for a lone leaf."""
        return len(self._levels) + 1 if self._len else 0

    def first(self) -> K:
        """Return the smallest key, or raise KeyError when empty. O(log n)."""
        return self._edge(last=False)

    def last(self) -> K:
        """Return the largest key, or raise KeyError when empty. O(log n)."""
        return self._edge(last=True)

    def range(
        self, low: K | None = None, high: K | None = None, *, bounds: str = "[)", reverse: bool = False
    ) -> Iterator[K]:
        """Walk over the keys from low to high; None is no limit. O(log n + keys shown).

        `bounds` says whether the limits themselves belong: "[)", "[]", "(]" or "()".
        """
        if self._key is not None:
            low, high = self._limit(low), self._limit(high)
        # What `walk` does, without the call: it would be a tenth of a short range.
        lead = downwards if reverse else upwards
        return chain.from_iterable(lead(self, (walks.keys, low, high, CUTS.get(bounds) or walks.refuse(bounds))))

    def cursor(self) -> Cursor[K, V]:
        """Make a cursor that is not yet on any entry."""
        return Cursor(self)

    def newick(self) -> str:
        """Draw the tree, nodes in parentheses and `;` at the end, for looking at its shape. O(n)."""
        return f"{newick(self._root) if self._len else ''};"

    def _edge(self, *, last: bool) -> K:
        if not self._len:
            raise KeyError("the tree is empty")
        at = -1 if last else 0
        node: Any = self._root
        for _ in self._levels:
            node = node.kids[at]
        key: K = node.keys[at]
        return key

    def _mark(self, key: Any) -> Any:
        return key if self._key is None else self._key(key)

    def _limit(self, key: Any) -> Any:
        return None if key is None else self._mark(key)

    def _seek(self, mark: Any) -> Leaf:
        node: Any = self._root
        for _ in self._levels:
            node = node.kids[bisect_right(node.marks, mark)]
        leaf: Leaf = node
        return leaf

    def _get(self, mark: Any, default: Any) -> Any:
        node: Any = self._root
        for _ in self._levels:
            node = node.kids[bisect_right(node.marks, mark)]
        marks = node.marks
        at = bisect_left(marks, mark)
        if at < len(marks) and marks[at] == mark:
            return None if node.vals is None else node.vals[at]
        return default

    # The two writes below are written out flat, and keep no path: a call or a list for each level would
    # cost a fifth of their time. Whatever is rare goes down a second time, with care; so does the first
    # write into a leaf that is not the tree's own (who owns a leaf owns all nodes above it). Nothing is
    # changed before the last comparison, so a key that cannot be compared leaves the tree as it was.

    def _put(self, key: K, value: V) -> None:
        if self._detour:
            return self._put_aside(key, value)
        node = self._root
        for _ in self._levels:
            node = node.kids[bisect_right(node.marks, key)]
        if node.owner is not self._token:
            return self._put_in(key, key, value)
        marks, vals = node.marks, node.vals
        size = len(marks)
        at = bisect_left(marks, key)
        if at < size and marks[at] == key:
            if vals is not None:
                vals[at] = value
            return None
        # A NaN, below and above nothing, always arrives at position 0, as does the first key.
        if not at or size >= self._leaf_most or self._readers:
            return self._put_in(key, key, value)
        marks.insert(at, key)
        if vals is not None:
            vals.insert(at, value)
        self._len += 1
        return None

    def _take(self, key: K, default: Any = MISSING) -> Any:
        if self._detour:
            return self._take_aside(key, default)
        node = self._root
        for _ in self._levels:
            node = node.kids[bisect_right(node.marks, key)]
        marks, vals = node.marks, node.vals
        size = len(marks)
        at = bisect_left(marks, key)
        if at == size or marks[at] != key:
            return self._absent(key, default)
        if size <= self._leaf_least or node.owner is not self._token or self._readers:
            return self._take_out(key, key, default)
        del marks[at]
        self._len -= 1
        return None if vals is None else vals.pop(at)

    def _put_aside(self, key: K, value: V) -> None:
        """Write where there is a key function or a hash table; what either refuses reaches neither."""
        mark = self._mark(key)
        front = self._front
        if front is not None:
            hash(mark)
        self._put_in(mark, key, value)
        if front is not None:
            front[mark] = value

    def _take_aside(self, key: K, default: Any) -> Any:
        """Remove where there is a key function or a hash table."""
        mark = self._mark(key)
        front = self._front
        if front is not None:
            hash(mark)
        value = self._take_out(mark, key, default)
        if front is not None:
            front.pop(mark, None)
        return value

    def _put_in(self, mark: Any, key: K, value: V) -> None:
        """Set the value of a mark, whatever it takes."""
        trail, leaf = way = path(self, mark)
        at = bisect_left(leaf.marks, mark)
        if at < len(leaf) and leaf.marks[at] == mark:
            if leaf.vals is not None:
                leaf.vals[at] = value
            return self._changed(trail, leaf, mark, 0)
        if not at:
            admit(mark)
        if self._readers:
            self._interrupt()
        self._len += 1
        leaf.insert(at, (mark, key, value))
        if len(leaf) > self._leaf_most:
            return grow(self, way)
        return self._changed(trail, leaf, mark, 1)

    def _take_out(self, mark: Any, key: K, default: Any) -> Any:
        """Remove a mark and return its value, whatever it takes."""
        trail, leaf = way = path(self, mark)
        at = bisect_left(leaf.marks, mark)
        if at == len(leaf) or leaf.marks[at] != mark:
            return self._absent(key, default)
        if self._readers:
            self._interrupt()
        self._len -= 1
        value = leaf.remove(at)
        if len(leaf) < self._leaf_least:
            shrink(self, way)
        else:
            self._changed(trail, leaf, mark, -1)
        return value

    def _changed(self, trail: Trail, leaf: Leaf, mark: Any, by: int) -> None:
        """Learn that the leaf at the end of a trail has a mark more (1), less (-1), or another value (0)."""

    def _absent(self, key: K, default: Any) -> Any:
        if default is MISSING:
            raise KeyError(key)
        return default

    def _own(self, node: Any) -> Any:
        return node.copy(self._token)

    def _interrupt(self) -> None:
        """End all walks, as a key is about to be added or removed."""
        held, self._readers = release(self._readers), {}
        for lists in held.values():
            for column in lists:
                column.clear()

    def _load(self, columns: Columns) -> None:
        """Let arranged entries be all there is."""
        if self._front is not None:
            self._front = dict(zip(columns.marks, columns.vals or columns.marks, strict=True))
        if self._readers:
            self._interrupt()
        self._token = object()
        self._root, levels = build(columns, (self._leaf, self._inner), owner=self._token)
        self._levels = (None,) * levels
        self._len = len(columns.marks)

    _in_order = staticmethod(by_mark)

    def _arranged(self, keys: list[K], vals: list[V] | None) -> Columns:
        """Entries in any order as columns of this tree, each mark once and in order."""
        marks = keys if self._key is None else list(map(self._key, keys))
        return arrange(Columns(marks, keys, vals), self._in_order)

    def _merge(self, keys: list[K], vals: list[V] | None) -> None:
        """Write many entries: into a new tree when they are many against those here, else one by one."""
        if len(keys) * 8 <= self._len:
            for at, key in enumerate(keys):
                self._put(key, None if vals is None else vals[at])  # type: ignore[arg-type]
            return
        old_keys = list(self)
        old_vals = None if vals is None else list(walks.walk(self, walks.values))
        self._load(self._arranged(old_keys + keys, None if old_vals is None else old_vals + (vals or [])))

    def _options(self) -> dict[str, Any]:
        """What a tree like this one is made with."""
        return {
            "key": self._key,
            "hashed": self._front is not None,
            "leaf_width": self._leaf.most,
            "inner_width": self._inner.most - 1,
        }
