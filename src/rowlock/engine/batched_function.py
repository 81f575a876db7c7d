"""A function of the user's own for many callers at once: what they give at the same moment is one call of it."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from rowlock import db
from rowlock.engine.transaction import Transaction
from rowlock.group_commit import GroupedCall, GroupKey, groupable

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from rowlock.engine.grouped import Grouped

X = TypeVar("X")
Y = TypeVar("Y")


class BatchedFunction(Generic[X, Y]):
    """A function of yours, called once in one transaction for all that callers give at the same moment.

    It answers with one value for each, in order; an exception among them is raised to that caller alone, and stands for
    one for whom nothing was written. If it raises, it is called again for each of them by itself. Like a verb it may be
    run again after a conflict, so it keeps nothing.
    """

    def __init__(self, grouped: "Grouped", work: Callable[[Transaction, list[X]], Sequence[Y | Exception]]) -> None:
        self._grouped = grouped

        def at_once(tx: db.Transaction, calls: Sequence[GroupedCall]) -> list[Any]:
            return list(work(Transaction(lambda: tx), [call.group_key.argument for call in calls]))

        def alone(tx: db.Transaction, given: X) -> Y:
            (answer,) = work(Transaction(lambda: tx), [given])
            if isinstance(answer, Exception):
                raise answer
            return answer

        # Histories and audits tell of the function by its own name.
        alone.__module__, alone.__name__ = work.__module__, getattr(work, "__name__", type(work).__name__)
        # The number keeps two functions of one name apart; the name gives all processes the same order of locks.
        name = f"{work.__module__}.{getattr(work, '__qualname__', type(work).__name__)} {id(self)}"
        self._verb = groupable(lambda given: GroupKey(name, mergeable=True, argument=given), at_once)(alone)

    def __call__(self, given: X) -> Y:
        """Give it something and wait for the answer, which is durable."""
        return self._grouped.run(self._verb, given)

    def ask(self, given: X) -> "Future[Y]":
        """The same without waiting: the answer is a `concurrent.futures.Future`."""
        return self._grouped.ask(self._verb, given)

    def awaited(self, given: X) -> "asyncio.Future[Y]":
        """The same for a coroutine: await it."""
        return self._grouped.awaited(self._verb, given)
