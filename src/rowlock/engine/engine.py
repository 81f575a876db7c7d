"""An engine: work tracking on one database; and its lists for many callers, whose writes are committed together."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import msgspec

from rowlock import audit, db, schedules, schema, upkeep
from rowlock.audit import DEFAULT_KEEP, audited
from rowlock.db.database import MAX_CONNECTIONS, PATIENCE_SECONDS
from rowlock.db.transaction import Clock, Verb, Work, verb_name
from rowlock.durations import Duration, milliseconds
from rowlock.engine.counter import Counter
from rowlock.engine.handles import Handles
from rowlock.engine.list import List
from rowlock.engine.protocols import Writer
from rowlock.engine.tokens import Tokens
from rowlock.engine.transaction import Transaction
from rowlock.environment import REAL_ENVIRONMENT, Environment
from rowlock.errors import DatabaseBusy, InvalidTransaction, InvalidUrl
from rowlock.group_commit import GroupCommit, GroupedCall, GroupKey, groupable
from rowlock.operation_history import History, JoinedRecord, Sink, TransactionRecord, to_file
from rowlock.schedules import Tick

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

P = ParamSpec("P")
T = TypeVar("T")
X = TypeVar("X")
Y = TypeVar("Y")

DEFAULT_URL = "rowlock.db"


class Engine(Handles):
    """Work tracking on one database: `engine["downloads"]` is a list.

    A SQLite file is made and migrated when it is first used; a server's database is migrated by `rowlock migrate`.
    """

    def __init__(
        self,
        url: str | Path | db.Address | None = None,
        *,
        listen_url: str | None = None,
        schema: str | None = None,
        patience: float = PATIENCE_SECONDS,
        connections: int = MAX_CONNECTIONS,
        statement_seconds: float = 0,
        history: str | Path | Sink | None = None,
        environment: Environment = REAL_ENVIRONMENT,
        clock: Clock | None = None,
        wrap: Callable[[Any], Any] = lambda connection: connection,
    ) -> None:
        self.database = db.connect(
            _address(url, listen_url, schema=schema),
            patience=patience,
            connections=connections,
            statement_seconds=statement_seconds,
            environment=environment,
            clock=clock,
            wrap=wrap,
        )
        self.environment = environment
        sink = history or os.environ.get("ROWLOCK_HISTORY") or None
        sink = to_file(sink) if isinstance(sink, str | Path) else sink
        self._history = None if sink is None else History(sink, environment.monotonic)
        self._sessions = upkeep.monitor(self.database)
        self._schema_known = False
        self._grouped_lock = threading.Lock()
        self._grouped: Grouped | None = None
        self._tokens = Tokens(self, environment)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({self.database.address.shown!r})"

    @property
    def dialect(self) -> str:
        """The dialect for SQL of your own: "sqlite", "postgres" or "cockroach"."""
        return self.database.address.dialect

    def counter(self, name: str) -> Counter:
        """Return a counter by its name; it need not exist yet. Concurrent calls are committed together."""
        return self.grouped.counter(name)

    def tick(self) -> list[Tick]:
        """Add the items of all ticks that are due, as every worker does, and return the ticks."""
        self.make_ready()
        return self._noted("schedules.tick_due", lambda: schedules.tick_due(self.database))

    @property
    def tokens(self) -> Tokens:
        """The access tokens of this database, for the HTTP service."""
        return self._tokens

    def acting(
        self, who: str, *, token: int | None = None, request: str | None = None, keep: Duration = DEFAULT_KEEP
    ) -> AbstractContextManager[None]:
        """Open a block in which every verb that writes is audited under this name, in the write's own transaction."""
        return audit.acting(who, token=token, request=request, keep=keep)

    def upkeep(self, *, wait: Duration = 0) -> upkeep.UpkeepReport:
        """Run one bounded pass of housekeeping: end dead sessions, promote what is due, fold, prune.

        A session whose deadline has passed ends when this engine has seen no heartbeat of it for half of its expiry:
        by a later call, or by this one if it may `wait` so long.
        """
        self.make_ready()
        report = self._noted("upkeep.run_pass", lambda: upkeep.run_pass(self.database, self._sessions))
        if not wait:
            return report
        seconds = milliseconds(wait) / 1_000
        expired = self._noted(
            "upkeep.wait_and_expire", lambda: upkeep.wait_and_expire(self.database, self._sessions, seconds=seconds)
        )
        return msgspec.structs.replace(report, expired=report.expired + expired)

    @property
    def grouped(self) -> "Grouped":
        """The engine's lists for many threads at once: concurrent writes are committed together."""
        with self._grouped_lock:
            if self._grouped is None:
                self._grouped = Grouped(self)
            return self._grouped

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Open a transaction for your rows and ours: all of it commits at the end of the block, or nothing."""
        if self._history is not None:
            with self.late_transaction() as recorded:
                _ = recorded._tx  # begin now
                yield recorded
            return
        self.make_ready()
        with self.database.transaction() as tx:
            yield Transaction(lambda: tx)

    @contextmanager
    def late_transaction(self) -> Iterator[Transaction]:
        """Open a transaction that begins when it is first used, so that nothing is locked before."""
        self.make_ready()
        with ExitStack() as stack:
            record = None if self._history is None else stack.enter_context(TransactionRecord(self._history))
            tx = Transaction(lambda: stack.enter_context(self.database.transaction()), record)
            try:
                yield tx
                if record is not None:
                    record.commits()
            finally:
                tx._end()

    @contextmanager
    def dedicated_connection(self) -> Iterator[Writer]:
        """Open a connection outside of the pool, for calls that must not wait until others are done."""
        database = self.database.clone(connections=1)
        try:
            yield database if self._history is None else RecordedWriter(self, database)
        finally:
            database.close()

    def join(self, using: Any) -> Transaction:
        """Return your open transaction (sqlite3, psycopg, SQLAlchemy, Django) with our verbs; you commit it, or not."""
        if isinstance(using, Transaction):
            if not self.database.owns(using._tx):
                raise InvalidTransaction("the given transaction is one of another engine", "give one of this engine")
            return using
        ready = self._make_ready_at_once()
        joined = self.database.join(using)
        if not ready:
            schema.migrate_within(joined, self.database)
        return Transaction(lambda: joined, None if self._history is None else JoinedRecord(self._history))

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in a transaction of its own; again after a conflict or a lost connection."""
        self.make_ready()
        return self.recorded(self.database.run, audited(verb), *args, **kwargs)

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        self.make_ready()
        return self.recorded(self.database.read, verb, *args, **kwargs)

    def recorded(self, run: Callable[..., T], verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `run` with a verb and its arguments, and write the call to the history if there is one."""
        if self._history is None:
            return run(verb, *args, **kwargs)
        return self._history.record(verb_name(verb), {"args": args, **kwargs}, call=lambda: run(verb, *args, **kwargs))

    def _recorded_future(self, ask: Callable[..., X], verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> X:
        """Call `ask`, which returns a future, and write the call and its end to the history if there is one."""
        if self._history is None:
            return ask(verb, *args, **kwargs)
        return self._history.future(verb_name(verb), {"args": args, **kwargs}, ask=lambda: ask(verb, *args, **kwargs))

    def pipeline(self, *works: Work) -> list[Any]:
        """Do several pieces of work in one round trip and return their results; each must be idempotent."""
        self.make_ready()
        if self._history is None:
            return self.database.pipeline(*works)
        return self._history.record("pipeline", {"works": works}, call=lambda: self.database.pipeline(*works))

    def _noted(self, name: str, call: Callable[[], T]) -> T:
        """Do what is more than one transaction, and write it to the history if there is one."""
        return call() if self._history is None else self._history.record(name, {}, call=call)

    def make_ready(self) -> None:
        """Check the schema once: a SQLite file is migrated, a server's database must have been."""
        if self._schema_known:
            return
        # Without a lock: threads may do it at once, as processes may, and none waits out the patience of another.
        if self.database.driver.embedded:
            self._migrate_file(self.database)
        else:
            schema.require(self.database)
        self._schema_known = True

    def _make_ready_at_once(self) -> bool:
        """Check the schema for a caller who may hold the file's lock; return False if that is in the way."""
        if self._schema_known or not self.database.driver.embedded:
            self.make_ready()
            return True
        with closing(self.database.clone(connections=1, patience=0)) as impatient:
            try:
                self._migrate_file(impatient)
            except DatabaseBusy:
                return False
        self._schema_known = True
        return True

    def _migrate_file(self, database: db.Database) -> None:
        if schema.pending(database):
            schema.migrate(database)

    def migrate(self) -> list[str]:
        """Migrate the schema to what this program needs, and return the names of the migrations applied."""
        return [step.name for step in schema.migrate(self.database)]

    def close(self) -> None:
        """Finish the calls that wait, and close all connections; a closed engine is not used again."""
        if self._grouped is not None:
            self._grouped.close()
        self.database.close()


class RecordedWriter(msgspec.Struct, frozen=True):
    """A connection outside of the pool whose calls are written to the history."""

    engine: Engine
    database: db.Database

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes."""
        return self.engine.recorded(self.database.run, verb, *args, **kwargs)


class Grouped:
    """The engine's lists for many threads at once: concurrent writes are committed together.

    Each call is answered by itself, when it is durable; an error of one does not fail the others.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._recorded = engine._history is not None
        self._group_commit = GroupCommit(engine.database)

    def __getitem__(self, name: str) -> List:
        return List(self, name, environment=self._engine.environment)

    def counter(self, name: str) -> Counter:
        """Return a counter by its name; it need not exist yet."""
        return Counter(self, name)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in one transaction with those of others, and wait for its answer."""
        self._engine.make_ready()
        return self._engine.recorded(self._group_commit.run, audited(verb), *args, **kwargs)

    def ask(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        """Run a verb that writes in a group and return a `concurrent.futures.Future`."""
        self._engine.make_ready()
        if self._recorded:
            return self._engine._recorded_future(self._group_commit.ask, audited(verb), *args, **kwargs)
        return self._group_commit.ask(audited(verb), *args, **kwargs)

    def awaited(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "asyncio.Future[T]":
        """Run a verb that writes in a group and return an awaitable; no thread waits meanwhile."""
        self._engine.make_ready()
        if self._recorded:
            return self._engine._recorded_future(self._group_commit.awaited, audited(verb), *args, **kwargs)
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

        def merge(tx: db.Tx, calls: Sequence[GroupedCall]) -> list[Any]:
            return list(work(Transaction(lambda: tx), [call.group_key.argument for call in calls]))

        def alone(tx: db.Tx, argument: X) -> Y:
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


def _address(url: str | Path | db.Address | None, listen_url: str | None, *, schema: str | None) -> db.Address:
    given = schema
    if not url and (url := os.environ.get("ROWLOCK_DATABASE_URL")):
        # What these say belongs to that database.
        listen_url = listen_url or os.environ.get("ROWLOCK_LISTEN_URL")
        schema = schema or os.environ.get("ROWLOCK_SCHEMA")
    if isinstance(url, db.Address):
        address = url
    else:
        address = db.parse(db.with_schema(str(url) if isinstance(url, Path) else url or DEFAULT_URL, schema))
    if given and address.schema != given:
        what = f"schema must be the one that the address names, {address.schema!r}, got {given!r}"
        raise InvalidUrl(what, "name it once: in the address, or as schema=")
    return db.listening_at(address, listen_url) if listen_url else address
