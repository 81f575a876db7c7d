"""The keys, values and items of a map, as live views."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any, TypeVar

from rowlock.trees import walks

K = TypeVar("K")
V = TypeVar("V")


class Keys(KeysView[K]):
    """The keys of a map, in order."""

    _mapping: Any

    def __iter__(self) -> Iterator[K]:
        return walks.walk(self._mapping, walks.keys)

    def __reversed__(self) -> Iterator[K]:
        return walks.walk(self._mapping, walks.keys, reverse=True)


class Values(ValuesView[V]):
    """The values of a map, in the order of their keys."""

    _mapping: Any

    def __iter__(self) -> Iterator[V]:
        return walks.walk(self._mapping, walks.values)

    def __reversed__(self) -> Iterator[V]:
        return walks.walk(self._mapping, walks.values, reverse=True)

    def __contains__(self, value: object) -> bool:
        return any(mine is value or mine == value for mine in self)


class Items(ItemsView[K, V]):
    """The pairs of key and value of a map, in order."""

    _mapping: Any

    def __iter__(self) -> Iterator[tuple[K, V]]:
        return walks.walk(self._mapping, walks.items)

    def __reversed__(self) -> Iterator[tuple[K, V]]:
        return walks.walk(self._mapping, walks.items, reverse=True)
