"""A transaction runs statements by name; verbs are functions whose first argument is one.

A verb may be marked: it can run in a pipeline, can be one statement, or need not be flushed.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

import msgspec

from rowlock.db.driver import DriverCursor, Parameters, Pending, RetryTransaction, Row, StatementExecutor
from rowlock.db.statements import Statements
from rowlock.errors import RowlockError

Clock = Callable[[], int]
P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
V = TypeVar("V", bound=Callable[..., Any])


class Tx(msgspec.Struct, eq=False):
    """An open transaction, the first argument of every verb; `rowlock.Transaction` is what users hold."""

    connection: StatementExecutor
    statements: Statements
    clock: Clock | None = None
    writes: int = 0
    """Statements so far that wrote or failed: while it does not grow, the transaction is as clean as before."""
    broken: bool = False
    """Whether a rollback to a savepoint has failed: no statement may follow."""
    memo: dict[str, Any] = {}
    """What verbs remember until the transaction ends."""
    ended: bool = False
    """Whether it was begun here and has been committed or rolled back."""
    optimistic: bool = False
    """Whether a conflict is no harm yet: the verb is run again then, and not optimistic any more."""
    driver_is_open: Callable[[], bool] | None = None
    """Whether a caller's connection has a transaction open."""

    def is_open(self) -> bool:
        """Return whether it is neither committed nor rolled back yet, as far as can be seen."""
        return not self.ended if self.driver_is_open is None else self.driver_is_open()

    def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        """Run the statement and return its rows."""
        return self._execute(self.connection.query, name, parameters)

    def structs(self, kind: type[S], name: str, /, **parameters: Any) -> list[S]:
        """Run the statement and decode its rows, each column into the field of its name."""
        return self.statements.decoder(kind, name)(self._execute(self.connection.query, name, parameters))

    def struct(self, kind: type[S], name: str, /, **parameters: Any) -> S | None:
        """Run the statement and decode its first row; None if it gives none."""
        rows = self._execute(self.connection.query, name, parameters)
        return self.statements.decoder(kind, name)(rows[:1])[0] if rows else None

    def row(self, name: str, /, **parameters: Any) -> Row | None:
        """Run the statement and return its first row, or None."""
        rows = self._execute(self.connection.query, name, parameters)
        return rows[0] if rows else None

    def value(self, name: str, /, **parameters: Any) -> Any:
        """Run the statement and return the first column of its first row, or None."""
        rows = self._execute(self.connection.query, name, parameters)
        return rows[0][0] if rows else None

    def send(self, name: str, /, **parameters: Any) -> Pending[list[Row]]:
        """Run the statement in a pipeline; its rows can be read when the pipeline has ended."""
        return self._execute(self.connection.send, name, parameters)

    def send_to_server(self, name: str, /, **parameters: Any) -> None:
        """Send a lock or planner settings; not to SQLite, where a writing transaction is alone on its file."""
        if self.statements.for_server:
            self.send(name, **parameters)

    def run(self, name: str, /, **parameters: Any) -> int:
        """Run the statement and return how many rows it changed."""
        return self._execute(self.connection.change, name, parameters)

    @contextmanager
    def savepoint(self) -> Iterator[None]:
        """Undo what the block has done if it raises; the transaction goes on."""
        self.connection.change("savepoint rowlock")
        try:
            yield
        except RetryTransaction:
            raise
        except Exception as refusal:
            self.memo.clear()  # what verbs remember may just have been undone
            try:
                self.connection.change("rollback to savepoint rowlock")
                self.connection.change("release savepoint rowlock")
            except RowlockError:
                self.broken = True
                raise refusal from None
            raise
        self.connection.change("release savepoint rowlock")

    def execute(self, sql: str, parameters: Parameters = ()) -> DriverCursor:
        """Run SQL of the caller's own, in its driver's dialect."""
        self.writes += 1
        return self.connection.execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run SQL of the caller's own once per row."""
        self.writes += 1
        return self.connection.executemany(sql, rows)

    def _execute(self, method: Callable[[str, Parameters], T], name: str, parameters: dict[str, Any]) -> T:
        statement = self.statements.get(name)
        if self.clock is not None and statement.timed:
            parameters["now"] = self.clock()
        self.writes += statement.writes
        try:
            return method(statement.text, parameters)
        except BaseException:
            self.writes += 1
            raise


class Autocommit(msgspec.Struct, frozen=True):
    """Stands for the connection of a transaction that is one query."""

    query: Callable[[str, Parameters], list[Row]]
    """Runs one of our statements, commits it and returns its rows: in one round trip."""


Verb = Callable[Concatenate[Tx, P], T]
Work = Callable[[Tx], Pending[Any]]
"""A piece of a pipeline: it sends statements, and its result is read when the pipeline has ended."""


def single_statement(single: Callable[..., Any]) -> Callable[[V], V]:
    """Mark a verb: `single` takes its arguments and does its work by one query, which needs no transaction around it.

    It returns None where that is not enough; then it has changed nothing, and the verb itself runs.
    """

    def mark(verb: V) -> V:
        vars(verb)["single_statement"] = single
        return verb

    return mark


def unflushed(work: V) -> V:
    """Mark a verb or a piece of a pipeline: if a power cut loses it after its commit, no harm is done."""
    vars(work)["unflushed"] = True
    return work


def is_flushed(work: Callable[..., Any]) -> bool:
    """Return whether it must be on the disk when its commit returns."""
    return not getattr(work, "unflushed", False)


def verb_name(verb: Callable[..., Any]) -> str:
    """Return noun and verb, as in `items.show`: the module and the name of the function."""
    return f"{verb.__module__.rpartition('.')[2]}.{verb.__name__}"


class PipelinedVerb(Generic[P, T]):
    """A verb in one spelling: call it like any other, or `bind` its arguments and give it to a pipeline.

    The function sends its statements and returns their result as pending: in a pipeline it is read only after the
    transaction has ended, so one statement's rows cannot decide what the next one is.
    """

    def __init__(self, send: Callable[Concatenate[Tx, P], Pending[T]]) -> None:
        self.send = send
        self.__name__ = send.__name__
        update_wrapper(self, send)

    def __call__(self, tx: Tx, /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run it alone."""
        return self.send(tx, *args, **kwargs).result()

    def __repr__(self) -> str:
        return verb_name(self)

    def bind(self, *args: P.args, **kwargs: P.kwargs) -> "BoundVerb":
        """Return the call as a piece of a pipeline."""
        return BoundVerb(self, args, kwargs, unflushed=getattr(self, "unflushed", False))


class BoundVerb(msgspec.Struct, frozen=True):
    """A call of a pipelined verb, to be sent together with others."""

    verb: PipelinedVerb[Any, Any]
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    unflushed: bool = False
    """Whether a power cut may forget it after it was answered."""

    def __call__(self, tx: Tx) -> Pending[Any]:
        """Send it."""
        return self.verb.send(tx, *self.args, **self.kwargs)


pipelined = PipelinedVerb
"""Make a verb of a function that sends statements and returns their result as pending."""
