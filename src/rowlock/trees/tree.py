"""The copy-on-write B-tree under all the maps and sets.

All entries are in the leaves, as plain lists searched by `bisect`. Only the tree whose token a node carries may write
to it in place. `clone()` shares the root and gives both trees a new token, so the next write on either side copies only
the nodes on its path.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, Generic, Self, TypeVar

from rowlock.trees import iteration
from rowlock.trees.bulk_load import Columns, build_tree, check_orderable, sort_by_sort_key, sort_distinct
from rowlock.trees.cursors import Cursor
from rowlock.trees.invariants import check
from rowlock.trees.iteration import BISECTIONS, Readers, ascending, descending, release_lists
from rowlock.trees.nodes import INNER_WIDTH, Fill, Leaf, inner_fill, leaf_fill, newick
from rowlock.trees.paths import Path, merge_upwards, own_path, split_upwards

K = TypeVar("K")
V = TypeVar("V")

MISSING: Any = object()


class Tree(Generic[K, V]):
    """What maps and sets have in common: sorted entries, iteration, cursors, clones.

    `_key` returns the sort key of a key (None: a key is its own sort key). `_hash_table` belongs to a hashed tree.
    `_indirect` is true if there is either, and writes need more steps. `_readers` has the lists that iterators are
    reading; adding or removing a key clears them, which ends the iterators.
    """

    __slots__ = (
        "__weakref__",
        "_hash_table",
        "_indirect",
        "_inner",
        "_key",
        "_leaf",
        "_leaf_max",
        "_leaf_min",
        "_len",
        "_levels",
        "_readers",
        "_root",
        "_token",
    )

    _has_values = True
    _default_inner_width = INNER_WIDTH
    _root: Any
    _len: int
    _levels: tuple[None, ...]
    _readers: Readers
    _token: object

    def _configure(
        self, *, key: Callable[[K], Any] | None, hashed: bool, leaf_width: int, inner_width: int | None
    ) -> None:
        self._key = key
        self._hash_table: dict[Any, Any] | None = {} if hashed else None
        self._indirect = hashed or key is not None
        self._leaf = leaf_fill(leaf_width)
        self._inner: Fill = inner_fill(self._default_inner_width if inner_width is None else inner_width)
        self._leaf_min, self._leaf_max = self._leaf
        self._readers = {}
        self._load(self._sorted_columns([], [] if self._has_values else None))

    def __len__(self) -> int:
        return self._len

    def __iter__(self) -> Iterator[K]:
        return iteration.iterate(self, iteration.keys)

    def __reversed__(self) -> Iterator[K]:
        return iteration.iterate(self, iteration.keys, reverse=True)

    def __contains__(self, key: object) -> bool:
        sort_key = key if self._key is None else self._key(key)  # type: ignore[arg-type]
        if self._hash_table is not None:
            return sort_key in self._hash_table
        sort_keys = self._find_leaf(sort_key).sort_keys
        at = bisect_left(sort_keys, sort_key)
        return at < len(sort_keys) and bool(sort_keys[at] == sort_key)

    def __copy__(self) -> Self:
        return self.clone()

    def copy(self) -> Self:
        """Clone the tree, under the name that dict and set use. O(1)."""
        return self.clone()

    def clone(self) -> Self:
        """Make an independent copy that shares all nodes until either side writes. O(1).

        The clone of a hashed tree is not hashed: its look-ups search the tree.
        """
        if self._readers:
            self._readers.update(release_lists(self._readers))
        twin = object.__new__(type(self))
        twin._key = self._key
        twin._hash_table = None
        twin._indirect = self._key is not None
        twin._leaf = self._leaf
        twin._inner = self._inner
        twin._leaf_min = self._leaf_min
        twin._leaf_max = self._leaf_max
        twin._root = self._root
        twin._levels = self._levels
        twin._len = self._len
        twin._readers = {}
        twin._token = object()
        self._token = object()
        return twin

    def clear(self) -> None:
        """Remove all entries; clones keep theirs. O(1)."""
        self._load(self._sorted_columns([], [] if self._has_values else None))

    @property
    def height(self) -> int:
        """The number of levels: 0 if empty, 1 for a single leaf."""
        return len(self._levels) + 1 if self._len else 0

    def first(self) -> K:
        """Return the smallest key, or raise KeyError if empty. O(log n)."""
        return self._end_key(last=False)

    def last(self) -> K:
        """Return the largest key, or raise KeyError if empty. O(log n)."""
        return self._end_key(last=True)

    def range(
        self, low: K | None = None, high: K | None = None, *, bounds: str = "[)", reverse: bool = False
    ) -> Iterator[K]:
        """Iterate over the keys from low to high; None for no bound. O(log n + keys yielded).

        `bounds` says whether low and high are included: "[)", "[]", "(]" or "()".
        """
        if self._key is not None:
            low, high = self._sort_bound(low), self._sort_bound(high)
        # As `iterate`, without the call: it would be a tenth of the time of a short range.
        lead = descending if reverse else ascending
        return chain.from_iterable(
            lead(self, (iteration.keys, low, high, BISECTIONS.get(bounds) or iteration.invalid_bounds(bounds)))
        )

    def cursor(self) -> Cursor[K, V]:
        """Return a cursor that is not placed yet."""
        return Cursor(self)

    def check(self) -> None:
        """Assert every invariant of the tree. O(n)."""
        check(self)

    def newick(self) -> str:
        """Draw the tree in the Newick format, to inspect its shape. O(n)."""
        return f"{newick(self._root) if self._len else ''};"

    def _end_key(self, *, last: bool) -> K:
        if not self._len:
            raise KeyError("the tree is empty")
        at = -1 if last else 0
        node: Any = self._root
        for _ in self._levels:
            node = node.children[at]
        key: K = node.keys[at]
        return key

    def _sort_key(self, key: Any) -> Any:
        return key if self._key is None else self._key(key)

    def _sort_bound(self, key: Any) -> Any:
        return None if key is None else self._sort_key(key)

    def _find_leaf(self, sort_key: Any) -> Leaf:
        node: Any = self._root
        for _ in self._levels:
            node = node.children[bisect_right(node.sort_keys, sort_key)]
        leaf: Leaf = node
        return leaf

    def _get(self, sort_key: Any, default: Any) -> Any:
        node: Any = self._root
        for _ in self._levels:
            node = node.children[bisect_right(node.sort_keys, sort_key)]
        sort_keys = node.sort_keys
        at = bisect_left(sort_keys, sort_key)
        if at < len(sort_keys) and sort_keys[at] == sort_key:
            return None if node.vals is None else node.vals[at]
        return default

    # The two writes below are inlined and keep no path: a call or a list for each level would cost a fifth of their
    # time. Rare cases search a second time, by path; so does the first write into a leaf that is shared (the owner of a
    # leaf owns all nodes above it). Nothing is changed before the last comparison, so a key that cannot be compared
    # leaves the tree as it was.

    def _set(self, key: K, value: V) -> None:
        if self._indirect:
            return self._set_indirectly(key, value)
        node = self._root
        for _ in self._levels:
            node = node.children[bisect_right(node.sort_keys, key)]
        if node.owner is not self._token:
            return self._set_by_path(key, key, value)
        sort_keys, vals = node.sort_keys, node.vals
        size = len(sort_keys)
        at = bisect_left(sort_keys, key)
        if at < size and sort_keys[at] == key:
            if vals is not None:
                vals[at] = value
            return None
        # A NaN, which is neither below nor above anything, always gets position 0, as does the first key.
        if not at or size >= self._leaf_max or self._readers:
            return self._set_by_path(key, key, value)
        sort_keys.insert(at, key)
        if vals is not None:
            vals.insert(at, value)
        self._len += 1
        return None

    def _remove(self, key: K, default: Any = MISSING) -> Any:
        if self._indirect:
            return self._remove_indirectly(key, default)
        node = self._root
        for _ in self._levels:
            node = node.children[bisect_right(node.sort_keys, key)]
        sort_keys, vals = node.sort_keys, node.vals
        size = len(sort_keys)
        at = bisect_left(sort_keys, key)
        if at == size or sort_keys[at] != key:
            return self._default_or_raise(key, default)
        if size <= self._leaf_min or node.owner is not self._token or self._readers:
            return self._remove_by_path(key, key, default)
        del sort_keys[at]
        self._len -= 1
        return None if vals is None else vals.pop(at)

    def _set_indirectly(self, key: K, value: V) -> None:
        """Set a value where there is a key function or a hash table; a key that either refuses changes neither."""
        sort_key = self._sort_key(key)
        table = self._hash_table
        if table is not None:
            hash(sort_key)
        self._set_by_path(sort_key, key, value)
        if table is not None:
            table[sort_key] = value

    def _remove_indirectly(self, key: K, default: Any) -> Any:
        """Remove a key where there is a key function or a hash table."""
        sort_key = self._sort_key(key)
        table = self._hash_table
        if table is not None:
            hash(sort_key)
        value = self._remove_by_path(sort_key, key, default)
        if table is not None:
            table.pop(sort_key, None)
        return value

    def _set_by_path(self, sort_key: Any, key: K, value: V) -> None:
        """Set the value of a sort key; copies and splits nodes as needed."""
        path, leaf = path_to_leaf = own_path(self, sort_key)
        at = bisect_left(leaf.sort_keys, sort_key)
        if at < len(leaf) and leaf.sort_keys[at] == sort_key:
            if leaf.vals is not None:
                leaf.vals[at] = value
            return self._entry_changed(path, leaf, sort_key, 0)
        if not at:
            check_orderable(sort_key)
        if self._readers:
            self._stop_iterators()
        self._len += 1
        leaf.insert(at, (sort_key, key, value))
        if len(leaf) > self._leaf_max:
            return split_upwards(self, path_to_leaf)
        return self._entry_changed(path, leaf, sort_key, 1)

    def _remove_by_path(self, sort_key: Any, key: K, default: Any) -> Any:
        """Remove a sort key and return its value; copies and merges nodes as needed."""
        path, leaf = path_to_leaf = own_path(self, sort_key)
        at = bisect_left(leaf.sort_keys, sort_key)
        if at == len(leaf) or leaf.sort_keys[at] != sort_key:
            return self._default_or_raise(key, default)
        if self._readers:
            self._stop_iterators()
        self._len -= 1
        value = leaf.remove(at)
        if len(leaf) < self._leaf_min:
            merge_upwards(self, path_to_leaf)
        else:
            self._entry_changed(path, leaf, sort_key, -1)
        return value

    def _entry_changed(self, path: Path, leaf: Leaf, sort_key: Any, by: int) -> None:
        """Hook: the leaf at the end of a path has one sort key more (1), one less (-1), or another value (0)."""

    def _default_or_raise(self, key: K, default: Any) -> Any:
        if default is MISSING:
            raise KeyError(key)
        return default

    def _copy_for_writing(self, node: Any) -> Any:
        return node.copy(self._token)

    def _stop_iterators(self) -> None:
        """Stop all iterators, because a key is about to be added or removed."""
        held, self._readers = release_lists(self._readers), {}
        for lists in held.values():
            for column in lists:
                column.clear()

    def _load(self, columns: Columns) -> None:
        """Replace the contents by sorted entries."""
        if self._hash_table is not None:
            self._hash_table = dict(zip(columns.sort_keys, columns.vals or columns.sort_keys, strict=True))
        if self._readers:
            self._stop_iterators()
        self._token = object()
        self._root, levels = build_tree(columns, (self._leaf, self._inner), owner=self._token)
        self._levels = (None,) * levels
        self._len = len(columns.sort_keys)

    _sort_columns = staticmethod(sort_by_sort_key)

    def _sorted_columns(self, keys: list[K], vals: list[V] | None) -> Columns:
        """Return entries given in any order as sorted columns, each sort key once."""
        sort_keys = keys if self._key is None else list(map(self._key, keys))
        return sort_distinct(Columns(sort_keys, keys, vals), self._sort_columns)

    def _set_many(self, keys: list[K], vals: list[V] | None) -> None:
        """Set many entries: by building a new tree if they are many in relation to those here, else one by one."""
        if len(keys) * 8 <= self._len:
            for at, key in enumerate(keys):
                self._set(key, None if vals is None else vals[at])  # type: ignore[arg-type]
            return
        old_keys = list(self)
        old_vals = None if vals is None else list(iteration.iterate(self, iteration.values))
        self._load(self._sorted_columns(old_keys + keys, None if old_vals is None else old_vals + (vals or [])))

    def _options(self) -> dict[str, Any]:
        """Return the arguments that make a tree like this one."""
        return {
            "key": self._key,
            "hashed": self._hash_table is not None,
            "leaf_width": self._leaf.max_size,
            "inner_width": self._inner.max_size - 1,
        }
