"""Handles for many callers at once: what they write at the same moment is committed together."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from rowlock import db
from rowlock.audit import audited
from rowlock.db.database import Verb
from rowlock.engine.counter import Counter
from rowlock.engine.list import List
from rowlock.engine.transaction import Transaction
from rowlock.group_commit import GroupCommit, GroupedCall, GroupKey, groupable
from rowlock.names import check_name

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from rowlock.engine.engine import Engine

P = ParamSpec("P")
T = TypeVar("T")
X = TypeVar("X")
Y = TypeVar("Y")


class Grouped:
    """The engine's lists for many threads at once: concurrent writes are committed together.

    Each call is answered by itself, when it is durable; an error of one does not fail the others.
    """

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._group_commit = GroupCommit(engine.database)

    def __getitem__(self, name: str) -> List:
        check_name(name)
        return List(self, name)

    def counter(self, name: str) -> Counter:
        """Return a counter by its name; it need not exist yet."""
        check_name(name, "counter")
        return Counter(self, name)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in one transaction with those of others, and wait for its answer."""
        self._engine.make_ready()
        return self._engine.recorded(self._group_commit.run, audited(verb), *args, **kwargs)

    def ask(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run a verb that writes in a group and return a `concurrent.futures.Future`; the history does not show it."""
        self._engine.make_ready()
        return self._group_commit.ask(audited(verb), *args, **kwargs)

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """Run a verb that writes in a group and return an awaitable; no thread waits meanwhile."""
        self._engine.make_ready()
        return self._group_commit.awaited(audited(verb), *args, **kwargs)

    def together(self, work: Callable[[Transaction, list[X]], Sequence[Y | Exception]]) -> "BatchedFunction[X, Y]":
        """Return a function of yours for many callers: concurrent calls are one call of it, in one transaction."""
        return BatchedFunction(self, work)

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads, by itself."""
        return self._engine.read(verb, *args, **kwargs)

    def join(self, using: Any) -> Transaction:
        """Return your open transaction with our verbs."""
        return self._engine.join(using)

    def close(self) -> None:
        """Finish the calls that wait, and take no more; closing the engine does so."""
        self._group_commit.close()


class BatchedFunction(Generic[X, Y]):
    """A function of yours, called once in one transaction for all arguments that callers give at the same moment.

    It returns one value for each, in order; an exception among them is raised to that caller alone, for whom nothing
    may have been written. If it raises, it is called again for each argument by itself. Like a verb it may be run again
    after a conflict, so it keeps no state.
    """

    def __init__(self, grouped: Grouped, work: Callable[[Transaction, list[X]], Sequence[Y | Exception]]) -> None:
        self._grouped = grouped

        def merge(tx: db.Transaction, calls: Sequence[GroupedCall]) -> list[Any]:
            return list(work(Transaction(lambda: tx), [call.group_key.argument for call in calls]))

        def alone(tx: db.Transaction, argument: X) -> Y:
            (answer,) = work(Transaction(lambda: tx), [argument])
            if isinstance(answer, Exception):
                raise answer
            return answer

        # Histories and audits show the function by its own name.
        alone.__module__, alone.__name__ = work.__module__, getattr(work, "__name__", type(work).__name__)
        # The number tells two functions of one name apart; the name gives all processes the same order of locks.
        name = f"{work.__module__}.{getattr(work, '__qualname__', type(work).__name__)} {id(self)}"
        self._verb = groupable(lambda argument: GroupKey(name, mergeable=True, argument=argument), merge)(alone)

    def __call__(self, given: X) -> Y:
        """Call it and wait for the answer, which is durable."""
        return self._grouped.run(self._verb, given)

    def ask(self, given: X) -> "Future[Y]":
        """Call it and return a `concurrent.futures.Future` of the answer."""
        return self._grouped.ask(self._verb, given)

    def awaited(self, given: X) -> "asyncio.Future[Y]":
        """Call it and return an awaitable of the answer."""
        return self._grouped.awaited(self._verb, given)
