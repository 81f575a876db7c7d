"""A map whose keys are always in order."""

from __future__ import annotations

from collections.abc import (
    Callable,
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    ValuesView,
)
from functools import partial
from reprlib import recursive_repr
from typing import Any, Self, TypeVar

from rowlock.trees import iteration
from rowlock.trees.iteration import SortedItemsView, SortedKeysView, SortedValuesView
from rowlock.trees.nodes import LEAF_WIDTH
from rowlock.trees.tree import MISSING, Tree

K = TypeVar("K")
V = TypeVar("V")

Source = Mapping[K, V] | Iterable[tuple[K, V]]


class SortedMap(Tree[K, V], MutableMapping[K, V]):
    """A mutable mapping in the order of its keys, with clones in constant time.

    `key` orders keys by what it returns for them; keys for which it returns equals are one key.
    `hashed` keeps a dict beside the tree for quick look-ups, at the cost of its memory.
    """

    __slots__ = ()

    def __init__(
        self,
        items: Source[K, V] = (),
        *,
        key: Callable[[K], Any] | None = None,
        hashed: bool = False,
        leaf_width: int = LEAF_WIDTH,
        inner_width: int | None = None,
    ) -> None:
        self._configure(key=key, hashed=hashed, leaf_width=leaf_width, inner_width=inner_width)
        # A dict already maps keys to values: sort the keys alone, without another copy of it.
        direct = type(items) is dict and key is None
        self._load(self._sorted_columns(*(_sort(items) if direct else _unzip(items))))

    def __getitem__(self, key: K) -> V:
        table = self._hash_table
        if table is not None and self._key is None:
            return table[key]  # type: ignore[no-any-return]
        value: V = self._get(key if self._key is None else self._key(key), MISSING)
        if value is MISSING:
            raise KeyError(key)
        return value

    def get(self, key: K, default: Any = None) -> Any:
        """Return the value of a key, or the default. O(log n), hashed O(1)."""
        sort_key = key if self._key is None else self._key(key)
        return self._get(sort_key, default) if self._hash_table is None else self._hash_table.get(sort_key, default)

    # Bound directly, not called by a method: this saves one call for every write.
    __setitem__ = Tree._set
    __delitem__ = Tree._remove

    def upsert(self, key: K, value: V) -> tuple[bool, V | None]:
        """Set a value; return whether it replaced another, and the replaced value. O(log n)."""
        old = self.get(key, MISSING)
        self[key] = value
        return (False, None) if old is MISSING else (True, old)

    def pop(self, key: K, default: Any = MISSING) -> Any:
        """Remove a key and return its value, or the default; KeyError if there is neither. O(log n)."""
        return self._remove(key, default)

    def popitem(self, *, last: bool = True) -> tuple[K, V]:
        """Remove the largest key, or the smallest, and return it with its value. O(log n)."""
        key = self._end_key(last=last)
        return key, self.pop(key)

    def setdefault(self, key: K, default: Any = None) -> Any:
        """Return the value of a key; a missing key gets the default first. O(log n)."""
        value = self.get(key, MISSING)
        if value is MISSING:
            self[key] = value = default
        return value

    def update(self, items: Any = (), /, **more: Any) -> None:
        """Set many values: O(m log n), or O(n + m log m) if they are many in relation to those here."""
        keys, vals = _unzip(items)
        self._set_many(keys + list(more), vals + list(more.values()))

    def keys(self) -> KeysView[K]:
        """Return a live view of the keys."""
        return SortedKeysView(self)

    def values(self) -> ValuesView[V]:
        """Return a live view of the values."""
        return SortedValuesView(self)

    def items(self) -> ItemsView[K, V]:
        """Return a live view of the pairs of key and value."""
        return SortedItemsView(self)

    def range_items(
        self, low: K | None = None, high: K | None = None, *, bounds: str = "[)", reverse: bool = False
    ) -> Iterator[tuple[K, V]]:
        """Iterate over the items from low to high, as `range` does over the keys. O(log n + items yielded)."""
        low, high = self._sort_bound(low), self._sort_bound(high)
        return iteration.iterate(self, iteration.items, low=low, high=high, bounds=bounds, reverse=reverse)

    def __or__(self, other: Mapping[K, V]) -> Self:
        if not isinstance(other, Mapping):
            return NotImplemented
        union = self.clone()
        union.update(other)
        return union

    def __ror__(self, other: Mapping[K, V]) -> Self:
        if not isinstance(other, Mapping):
            return NotImplemented
        union = type(self)(other, **self._options())
        union.update(self)
        return union

    def __ior__(self, other: Source[K, V]) -> Self:
        self.update(other)
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mapping):
            return NotImplemented
        if isinstance(other, SortedMap) and other._root is self._root:
            return True
        return len(self) == len(other) and _has_all(other, self.items())

    __hash__ = None  # type: ignore[assignment]

    @recursive_repr()
    def __repr__(self) -> str:
        inside = ", ".join(f"{key!r}: {value!r}" for key, value in self.items())
        return f"{type(self).__name__}({{{inside}}})"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options()), (list(self.items()),)

    @classmethod
    def fromkeys(cls, keys: Iterable[K], value: V) -> Self:
        """Return a map with one value for all of these keys. O(n log n)."""
        return cls((key, value) for key in keys)


def _unzip(items: Any) -> tuple[list[Any], list[Any]]:
    if isinstance(items, SortedMap):
        return list(items), list(items.values())
    if isinstance(items, Mapping) or hasattr(items, "keys"):
        keys = list(items.keys())
        return keys, list(items.values()) if isinstance(items, dict) else [items[key] for key in keys]
    pairs = list(items)
    return [key for key, _ in pairs], [value for _, value in pairs]


def _sort(items: Any) -> tuple[list[Any], list[Any]]:
    keys = sorted(items)
    return keys, list(map(items.__getitem__, keys))


def _has_all(other: Mapping[Any, Any], items: Iterable[tuple[Any, Any]]) -> bool:
    try:
        return all(_same(other.get(key, MISSING), value) for key, value in items)
    except TypeError:  # a key that cannot be compared or hashed is not in the other mapping
        return False


def _same(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)
