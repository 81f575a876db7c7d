"""A connection that goes wrong when told to."""

from collections.abc import Callable
from typing import Any


class Faulty:
    """Stands before a real connection; calls what was arranged for a moment before or after a step of it."""

    def __init__(self, connection: Any, **arranged: Callable[[Any], None]) -> None:
        self._connection = connection
        self._arranged = arranged

    def __getattr__(self, name: str) -> Any:
        step = getattr(self._connection, name)
        before, after = self._arranged.get(f"before_{name}"), self._arranged.get(f"after_{name}")
        if before is None and after is None:
            return step

        def faulty(*arguments: Any, **options: Any) -> Any:
            if before is not None:
                before(self._connection)
            answer = step(*arguments, **options)
            if after is not None:
                after(self._connection)
            return answer

        return faulty


class Once:
    """Does something the n-th time it is called, and nothing at other times."""

    def __init__(self, what: Callable[[], None], at: int = 1) -> None:
        self._what = what
        self._left = at

    def __call__(self, *_: Any) -> None:
        self._left -= 1
        if self._left == 0:
            self._what()


def raising(error: Exception) -> Callable[[], None]:
    """Something that raises."""

    def raise_it() -> None:
        raise error

    return raise_it
