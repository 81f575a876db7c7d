"""Lists for many callers at once: what they write at the same moment is one transaction."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from rowlock import audit
from rowlock.db.database import Verb
from rowlock.engine.batched_function import BatchedFunction
from rowlock.engine.counter import Counter
from rowlock.engine.list import List
from rowlock.engine.transaction import Transaction
from rowlock.group_commit import GroupCommit
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
    """The engine's lists for many threads at once: what they write at the same moment is committed together.

    Each call is answered by itself, when it is durable; one that is refused takes nobody with it.
    """

    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._group_commit = GroupCommit(engine.database)

    def __getitem__(self, name: str) -> List:
        check_name(name)
        return List(self, name)

    def counter(self, name: str) -> Counter:
        """A counter by its name; it need not exist yet."""
        check_name(name, "counter")
        return Counter(self, name)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in one transaction with those of others, and wait for its answer."""
        self._engine.make_ready()
        return self._engine.recorded(self._group_commit.run, audit.audited(verb), *args, **kwargs)

    def ask(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """The same without waiting: the answer is a `concurrent.futures.Future`; no history is written of it."""
        self._engine.make_ready()
        return self._group_commit.ask(audit.audited(verb), *args, **kwargs)

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """The same for a coroutine: await it. No thread waits meanwhile."""
        self._engine.make_ready()
        return self._group_commit.awaited(audit.audited(verb), *args, **kwargs)

    def together(self, work: Callable[[Transaction, list[X]], Sequence[Y | Exception]]) -> BatchedFunction[X, Y]:
        """A function of yours for many callers: what they give at the same moment is one call, in one transaction."""
        return BatchedFunction(self, work)

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads: by itself."""
        return self._engine.read(verb, *args, **kwargs)

    def join(self, using: Any) -> Transaction:
        """The verbs inside a transaction of yours."""
        return self._engine.join(using)

    def close(self) -> None:
        """Finish what waits, and take no more; the engine does so when it is closed."""
        self._group_commit.close()
