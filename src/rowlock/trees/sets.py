"""A set whose elements are always in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableSet, Set
from functools import partial
from reprlib import recursive_repr
from typing import Any, Self, TypeVar

from rowlock.trees.nodes import LEAF_WIDTH
from rowlock.trees.tree import Tree

T = TypeVar("T")


class SortedSet(Tree[T, None], MutableSet[T]):
    """A mutable set in the order of its elements, with clones in constant time.

    `key` orders elements by what it returns for them; elements for which it returns equals are one.
    `hashed` keeps a dict beside the tree for quick look-ups, at the cost of its memory.
    """

    __slots__ = ()

    _has_values = False

    def __init__(
        self,
        elements: Iterable[T] = (),
        *,
        key: Callable[[T], Any] | None = None,
        hashed: bool = False,
        leaf_width: int = LEAF_WIDTH,
        inner_width: int | None = None,
    ) -> None:
        self._configure(key=key, hashed=hashed, leaf_width=leaf_width, inner_width=inner_width)
        self._load(self._sorted_columns(list(elements), None))

    def add(self, value: T) -> None:
        """Add an element; an equal one that exists stays. O(log n)."""
        self._set(value, None)

    def discard(self, value: T) -> None:
        """Remove an element if it exists. O(log n)."""
        self._remove(value, None)

    def remove(self, value: T) -> None:
        """Remove an element, or raise KeyError. O(log n)."""
        self._remove(value)

    def pop(self, *, last: bool = True) -> T:
        """Remove and return the largest element, or the smallest; KeyError if empty. O(log n)."""
        element = self._end_key(last=last)
        self._remove(element, None)
        return element

    def update(self, *others: Iterable[T]) -> None:
        """Add many elements: O(m log n), or O(n + m log m) if they are many in relation to those here."""
        for other in others:
            self._set_many(list(other), None)

    def union(self, *others: Iterable[T]) -> Self:
        """Return a new set with the elements of all. It starts as a clone, so it costs what `update` costs."""
        whole = self.clone()
        whole.update(*others)
        return whole

    def intersection(self, *others: Iterable[T]) -> Self:
        """Return a new set with the elements that are in all. O(n + m log m)."""
        shared = self.clone()
        for other in others:
            theirs = self._like(other)
            shared = self._like(element for element in shared if element in theirs)
        return shared

    def difference(self, *others: Iterable[T]) -> Self:
        """Return a new set without the elements of the others. It starts as a clone: O(m log n)."""
        rest = self.clone()
        for other in others:
            for element in list(other):
                rest.discard(element)
        return rest

    def symmetric_difference(self, other: Iterable[T]) -> Self:
        """Return a new set with the elements that are in just one of the two. O(n + m log m)."""
        theirs = self._like(other)
        return self.difference(theirs).union(theirs.difference(self))

    def issubset(self, other: Iterable[T]) -> bool:
        """Return whether every element is also in the other. O(n log m)."""
        return self <= self._like(other)

    def issuperset(self, other: Iterable[T]) -> bool:
        """Return whether every element of the other is here. O(m log n)."""
        return all(element in self for element in other)

    def __or__(self, other: Iterable[Any]) -> Self:
        return self.union(other) if isinstance(other, Set) else NotImplemented

    def __and__(self, other: Iterable[Any]) -> Self:
        return self.intersection(other) if isinstance(other, Set) else NotImplemented

    def __sub__(self, other: Iterable[Any]) -> Self:
        return self.difference(other) if isinstance(other, Set) else NotImplemented

    def __xor__(self, other: Iterable[Any]) -> Self:
        return self.symmetric_difference(other) if isinstance(other, Set) else NotImplemented

    __ror__ = __or__
    __rand__ = __and__
    __rxor__ = __xor__

    def __rsub__(self, other: Iterable[Any]) -> Self:
        return self._like(other).difference(self) if isinstance(other, Set) else NotImplemented

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Set):
            return NotImplemented
        if isinstance(other, SortedSet) and other._root is self._root:
            return True
        return len(self) == len(other) and _holds_all(other, self)

    __hash__ = None  # type: ignore[assignment]

    @recursive_repr()
    def __repr__(self) -> str:
        return f"{type(self).__name__}([{', '.join(map(repr, self))}])"

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), **self._options()), (list(self),)

    def _like(self, elements: Iterable[Any]) -> Self:
        return type(self)(elements, **self._options())


def _holds_all(other: Set[Any], elements: Iterable[Any]) -> bool:
    try:
        return all(element in other for element in elements)
    except TypeError:  # an element that cannot be compared or hashed is not in the other set
        return False
