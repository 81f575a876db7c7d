"""Results that come later."""

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Pending(Generic[T]):
    """The result of something that was sent to the database; it can be read when the pipeline has ended."""

    __slots__ = ("_read",)

    def __init__(self, read: Callable[[], T]) -> None:
        self._read = read

    def result(self) -> T:
        """Return the result."""
        return self._read()

    def map(self, function: Callable[[T], U]) -> "Pending[U]":
        """Return what the function makes of the result, pending too."""
        return Pending(lambda: function(self._read()))
