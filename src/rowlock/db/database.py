"""A database that runs verbs: in a transaction, again after a conflict, on a new connection after a loss."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import msgspec

from rowlock.db.adapters import driver_connection, in_transaction
from rowlock.db.connections import (
    ConnectionLost,
    DatabaseConnection,
    PipelinedConnection,
    RetryTransaction,
    StatementExecutor,
)
from rowlock.db.pipeline import Pipeline
from rowlock.db.pool import Pool
from rowlock.db.statements import Dialect, Statements
from rowlock.db.transaction import Clock, Transaction
from rowlock.db.urls import Address, parse
from rowlock.environment import REAL_ENVIRONMENT, Deadline, Environment

P = ParamSpec("P")
T = TypeVar("T")
Verb = Callable[Concatenate[Transaction, P], T]
W = TypeVar("W", bound=Callable[..., Any])

PATIENCE = 30.0
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 1.0


def unflushed(work: W) -> W:
    """Mark a verb or a piece of a trip: a power cut that forgets it after it was answered does no harm."""
    vars(work)["unflushed"] = True
    return work


def is_flushed(work: Callable[..., Any]) -> bool:
    """Whether it must be on the disk when it is answered."""
    return not getattr(work, "unflushed", False)


class Database:
    """One database: give it verbs."""

    def __init__(
        self,
        address: Address,
        dialect: Dialect,
        open_connection: Callable[[Address, Deadline], DatabaseConnection],
        borrow: Callable[[Any], StatementExecutor],
        *,
        environment: Environment = REAL_ENVIRONMENT,
        clock: Clock | None = None,
        connections: int = 32,
        patience: float = PATIENCE,
        keep_out_of_forks: Callable[[Pool], None] = lambda _: None,
        check_write_lock: Callable[[], None] = lambda: None,
        pooled: Callable[[], bool] = lambda: False,
    ) -> None:
        self.address = address
        self.dialect = dialect
        self.environment = environment
        self.patience = patience
        self._open = open_connection
        self._borrow = borrow
        self._keep_out_of_forks = keep_out_of_forks
        self.check_write_lock = check_write_lock
        self.pooled = pooled
        """Whether the connections so far go through a pooler in transaction mode."""
        self._clock = clock
        self._statements = Statements(dialect, movable_clock=clock is not None)
        self._pool = Pool(partial(open_connection, address), connections, shown=address.shown)
        keep_out_of_forks(self._pool)
        self._reached = False

    @property
    def clock_is_given(self) -> bool:
        """Whether a clock was given in place of the database's own, as tests do."""
        return self._clock is not None

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in one transaction; again after a conflict or a lost connection.

        OutcomeUnknown means that the connection broke at COMMIT: it may have landed, so it is not run again.
        """
        flushed = is_flushed(verb)
        return self._again(partial(self._once, lambda tx: verb(tx, *args, **kwargs), flushed=flushed))

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads; each statement sees what is committed when it starts."""
        return self._again(partial(self._once_reading, lambda tx: verb(tx, *args, **kwargs)))

    def pipeline(self, *works: Callable[[Transaction], Callable[[], Any]]) -> list[Any]:
        """Do several pieces of work for one round trip; each must be harmless to do again. Their answers, in order."""
        return self._again(partial(self._pipelined, works))

    def open_pipeline(self) -> Pipeline:
        """A connection of its own for an event loop, to a database that is a server; to open it may take a while."""
        try:
            return Pipeline(
                cast("PipelinedConnection", self._open(self.address, self._deadline())), self._transaction_on
            )
        except RetryTransaction as conflict:
            raise conflict.error from None

    def wait_for_hint(self, seconds: float) -> bool:
        """Wait up to that long for a sign that somebody has added work; whether one came."""
        try:
            return self._pool.lend(lambda connection: connection.wait_for_hint(seconds), self._deadline())
        except RetryTransaction as conflict:
            raise conflict.error from None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction in the caller's hands: committed at the end of the block; not run again."""
        deadline = self._deadline()
        try:
            with self._pool.connection(deadline) as connection:
                self._reached = True
                tx = self._transaction_on(connection)
                try:
                    connection.begin(deadline=deadline)
                    yield tx
                    connection.commit()
                except BaseException:
                    connection.rollback()
                    raise
                finally:
                    tx.ended = True
        except RetryTransaction as conflict:
            raise conflict.error from None

    def join(self, using: Any) -> Transaction:
        """The open transaction of a caller's own connection: never committed, rolled back or run again by us."""
        driver = driver_connection(using)
        joined = self._transaction_on(self._borrow(driver))
        joined.is_open = partial(in_transaction, driver)
        return joined

    def owns(self, tx: Transaction) -> bool:
        """Whether the transaction was begun here."""
        return tx.statements is self._statements

    def _transaction_on(self, connection: StatementExecutor) -> Transaction:
        return Transaction(connection, self._statements, self._clock)

    def clone(
        self, *, connections: int, lock_seconds: float = 0, patience: float | None = None, listening: bool = False
    ) -> "Database":
        """The same database by connections of its own; with `patience`, nothing is tried again for longer than that.

        With `lock_seconds` they wait no longer for a row that somebody has locked: `LockTimeout`, and nothing landed.
        With `listening` they are for `wait_for_hint`, and use the listen address if there is one.
        """
        address = (self.address.listen if listening else None) or self.address
        made = Database(
            msgspec.structs.replace(address, lock_milliseconds=round(1000 * lock_seconds)),
            self.dialect,
            self._open,
            self._borrow,
            environment=self.environment,
            clock=self._clock,
            connections=connections,
            patience=self.patience if patience is None else patience,
            keep_out_of_forks=self._keep_out_of_forks,
            check_write_lock=self.check_write_lock,
            pooled=self.pooled,
        )
        made._reached = self._reached
        return made

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _deadline(self) -> Deadline:
        return self.environment.deadline(self.patience)

    def _once(self, work: Callable[[Transaction], T], deadline: Deadline, *, flushed: bool) -> T:
        def committed(connection: DatabaseConnection) -> T:
            self._reached = True
            try:
                connection.begin(deadline=deadline, flushed=flushed)
                answer = work(self._transaction_on(connection))
                connection.commit()
            except BaseException:
                # Also when somebody interrupts the beginning or the commit: others wait for our turn to end.
                connection.rollback()
                raise
            return answer

        return self._pool.lend(committed, deadline)

    def _pipelined(self, works: Sequence[Callable[[Transaction], Callable[[], Any]]], deadline: Deadline) -> list[Any]:
        def pipelined(connection: DatabaseConnection) -> list[Any]:
            self._reached = True
            tx = self._transaction_on(connection)
            flushed = any(map(is_flushed, works))
            pieces = [partial(work, tx) for work in works]
            return [answer() for answer in connection.pipeline(pieces, deadline=deadline, flushed=flushed)]

        return self._pool.lend(pipelined, deadline)

    def _once_reading(self, work: Callable[[Transaction], T], deadline: Deadline) -> T:
        def looked(connection: DatabaseConnection) -> T:
            self._reached = True
            return work(self._transaction_on(connection))

        return self._pool.lend(looked, deadline)

    def _again(self, work: Callable[[Deadline], T]) -> T:
        deadline, pause = self._deadline(), FIRST_PAUSE
        while True:
            try:
                return work(deadline)
            except RetryTransaction as conflict:
                if isinstance(conflict, ConnectionLost):
                    self._pool.forget_idle()
                # A database that was never there is a wrong address; one that was there is coming back.
                if deadline.passed() or (isinstance(conflict, ConnectionLost) and not self._reached):
                    raise conflict.error from None
            self.environment.sleep(self.environment.jittered(pause))
            pause = min(pause * 2, LONGEST_PAUSE)


def connect(url: str | Address, **options: Any) -> Database:
    """Open a database by its address; nothing is sent before the first verb runs."""
    address = url if isinstance(url, Address) else parse(url)
    # A driver is imported only for the database that needs it.
    module = import_module(f"rowlock.db.{address.dialect}")
    database: Database = module.open_database(address, **options)
    return database
