"""A database that runs verbs: in a transaction, again after a conflict, on a new connection after a loss."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any, ParamSpec, TypeVar, cast

import msgspec

from rowlock.db.async_reader import AsyncReader
from rowlock.db.driver import (
    ConnectionLost,
    DatabaseConnection,
    Hint,
    Pending,
    RetryTransaction,
    SocketConnection,
    StatementExecutor,
)
from rowlock.db.orm_connections import driver_connection, in_transaction
from rowlock.db.pool import Pool
from rowlock.db.statements import Dialect, Statements, channel_of
from rowlock.db.transaction import Autocommit, Clock, Tx, Verb, Work, is_flushed
from rowlock.db.urls import Address, parse
from rowlock.environment import REAL_ENVIRONMENT, Deadline, Environment
from rowlock.errors import Invalid

P = ParamSpec("P")
T = TypeVar("T")

MAX_CONNECTIONS = 32
PATIENCE_SECONDS = 30.0
"""How long a verb is run again after conflicts and lost connections."""
MIN_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS = 0.002, 1.0


def _by_transaction(works: Sequence[Work]) -> list[list[Work]]:
    """Return the pieces of a pipeline by their transactions: those next to each other that are flushed share a flush.

    A piece that is not flushed has a transaction of its own, so that its locks are not held until a flush.
    """
    groups: list[list[Work]] = []
    for work in works:
        if groups and is_flushed(work) and is_flushed(groups[-1][-1]):
            groups[-1].append(work)
        else:
            groups.append([work])
    return groups


def _send_all(works: Sequence[Work], tx: Tx) -> list[Pending[Any]]:
    return [work(tx) for work in works]


class Driver(msgspec.Struct, frozen=True):
    """How to reach one kind of database."""

    dialect: Dialect
    open_connection: Callable[[Address, Deadline], DatabaseConnection]
    borrow: Callable[[Any], StatementExecutor]
    """Join the transaction of a caller's connection."""
    guard_forks: Callable[[Pool], None] = lambda _: None
    """Prepare a pool for forks of this process."""
    check_write_lock: Callable[[], None] = lambda: None
    """Refuse a thread that would wait for a transaction of its own."""
    pooled: Callable[[], bool] = lambda: False
    """Return whether the connections so far go through a pooler in transaction mode."""
    embedded: bool = False
    """Whether the database runs in this process and belongs to the program, which migrates it without being asked."""


class Database:
    """One database: it runs verbs in transactions."""

    def __init__(
        self,
        address: Address,
        driver: Driver,
        *,
        environment: Environment = REAL_ENVIRONMENT,
        clock: Clock | None = None,
        connections: int = MAX_CONNECTIONS,
        patience: float = PATIENCE_SECONDS,
    ) -> None:
        check_seconds("patience", patience)
        check_connections(connections)
        self.address = address
        self.driver = driver
        self.environment = environment
        self.patience = patience
        self.clock = clock
        """Given in place of the database's own clock, as tests do."""
        self._statements = self._statements_in(address.schema)
        self._joining_statements = self._statements if driver.embedded or address.schema else None
        self._pool = Pool(partial(driver.open_connection, address), connections, shown=address.shown)
        driver.guard_forks(self._pool)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in one transaction; again after a conflict or a lost connection.

        OutcomeUnknown means that the connection broke at COMMIT: it may have landed, so it is not run again. A verb
        that can run as one statement does.
        """
        single: Callable[..., T | None] | None = getattr(verb, "single_statement", None)
        if single is not None:

            def autocommitted(connection: DatabaseConnection, deadline: Deadline) -> T | None:
                alone = Autocommit(partial(connection.autocommit, deadline=deadline))
                return single(Tx(cast("StatementExecutor", alone), self._statements, self.clock), *args, **kwargs)

            answer = self._retrying(autocommitted)
            if answer is not None:
                return answer

        tries = iter([self._statements.for_server])

        def committed(connection: DatabaseConnection, deadline: Deadline) -> T:
            tx = Tx(connection, self._statements, self.clock, optimistic=next(tries, False))
            try:
                connection.begin(deadline=deadline, flushed=is_flushed(verb))
                answer = verb(tx, *args, **kwargs)
                connection.commit()
            except BaseException:
                # Also when somebody interrupts the beginning or the commit: others wait for the lock.
                connection.rollback()
                raise
            finally:
                tx.ended = True
            return answer

        return self._retrying(committed)

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads; each statement sees what is committed when it starts."""
        return self._retrying(lambda connection, _: verb(Tx(connection, self._statements, self.clock), *args, **kwargs))

    def pipeline(self, *works: Work) -> list[Any]:
        """Do several pieces of work in one round trip and return their results; each must be idempotent."""

        def pipelined(connection: DatabaseConnection, deadline: Deadline) -> list[Any]:
            tx = Tx(connection, self._statements, self.clock)
            pieces = [partial(_send_all, group, tx) for group in _by_transaction(works)]
            flushed = any(map(is_flushed, works))
            answers = connection.pipeline(pieces, deadline=deadline, flushed=flushed)
            return [each.result() for group in answers for each in group]

        return self._retrying(pipelined)

    def wait_for_hint(self, seconds: float) -> Hint | None:
        """Wait for a hint that somebody has added work; None if none came."""
        deadline = self.environment.deadline(self.patience)
        with _raising_conflicts():
            return self._pool.lend(lambda connection, _: connection.wait_for_hint(seconds), deadline)

    @contextmanager
    def transaction(self) -> Iterator[Tx]:
        """Open a transaction for a block: committed at its end, rolled back if it raises, never run again."""
        deadline = self.environment.deadline(self.patience)
        with _raising_conflicts(), self._pool.connection(deadline) as connection:
            tx = Tx(connection, self._statements, self.clock)
            try:
                connection.begin(deadline=deadline)
                yield tx
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            finally:
                tx.ended = True

    def join(self, using: Any) -> Tx:
        """Return the open transaction of a caller's connection; it is never committed, rolled back or retried here."""
        driver = driver_connection(using)
        is_open = partial(in_transaction, driver)
        borrowed = self.driver.borrow(driver)
        return Tx(borrowed, self._statements_for_joining(), self.clock, driver_is_open=is_open)

    def _statements_for_joining(self) -> Statements:
        """Return statements that name the schema of our tables: the caller may have another search_path."""
        if self._joining_statements is None:
            schema = self.read(lambda tx: tx.value("migrations/schema"))
            self._joining_statements = self._statements_in(schema or "")
        return self._joining_statements

    def _statements_in(self, schema: str) -> Statements:
        is_timed, channel = self.clock is not None, channel_of(self.address.schema)
        return Statements(self.driver.dialect, movable_clock=is_timed, schema=schema, channel=channel)

    def owns(self, tx: Tx) -> bool:
        """Return whether the transaction was begun or joined here."""
        return tx.statements in (self._statements, self._joining_statements)

    def clone(
        self, *, connections: int, lock_seconds: float = 0, patience: float | None = None, listening: bool = False
    ) -> "Database":
        """Return the same database with a pool of its own.

        `lock_seconds` bounds the wait for a row that another transaction has locked: then LockTimeout is raised, and
        nothing is committed. `listening` is for `wait_for_hint`: the listen address is used if there is one.
        """
        address = (self.address.listen if listening else None) or self.address
        made = Database(
            msgspec.structs.replace(address, lock_milliseconds=round(1000 * lock_seconds)),
            self.driver,
            environment=self.environment,
            clock=self.clock,
            connections=connections,
            patience=self.patience if patience is None else patience,
        )
        made._pool.has_connected = self._pool.has_connected
        return made

    def async_reader(self) -> AsyncReader:
        """Open a connection of its own whose answers an event loop waits for; only for a server's database."""
        deadline = self.environment.deadline(self.patience)
        with _raising_conflicts():
            connection = cast("SocketConnection", self.driver.open_connection(self.address, deadline))
        return AsyncReader(connection, Tx(connection, self._statements, self.clock))

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    def _retrying(self, work: Callable[[DatabaseConnection, Deadline], T]) -> T:
        """Do the work on a connection of the pool; again after a conflict or a lost connection, until the deadline."""
        deadline, pause = self.environment.deadline(self.patience), MIN_BACKOFF_SECONDS
        while True:
            try:
                return self._pool.lend(work, deadline)
            except RetryTransaction as conflict:
                lost = isinstance(conflict, ConnectionLost)
                if lost:
                    self._pool.close_idle()
                # A database that was never there is a wrong address; one that was there is coming back.
                if deadline.passed() or (lost and not self._pool.has_connected):
                    raise conflict.error from None
            self.environment.sleep(self.environment.jittered(pause))
            pause = min(pause * 2, MAX_BACKOFF_SECONDS)


@contextmanager
def _raising_conflicts() -> Iterator[None]:
    """Raise the error of a conflict to the caller, where nothing is run again."""
    try:
        yield
    except RetryTransaction as conflict:
        raise conflict.error from None


def check_seconds(name: str, value: Any) -> None:
    """Refuse what is not a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise Invalid(f"{name} must be a number of seconds, 0 or more, got {value!r}", f"write {name}=2.5 for 2500 ms")


def check_connections(number: Any) -> None:
    """Refuse what is not a number of connections."""
    if isinstance(number, bool) or not isinstance(number, int) or number < 1:
        raise Invalid(
            f"connections must be a whole number, 1 or more, got {number!r}", f"leave it out for {MAX_CONNECTIONS}"
        )


def connect(url: str | Address, **options: Any) -> Database:
    """Open a database by its address; nothing is sent before the first verb runs."""
    check_seconds("statement_seconds", options.get("statement_seconds", 0))
    address = url if isinstance(url, Address) else parse(url)
    # A driver is imported only for the database that needs it.
    module = import_module(f"rowlock.db.{'sqlite' if address.dialect == 'sqlite' else 'postgres'}")
    database: Database = module.open_database(address, **options)
    return database
