"""An engine: work tracking on one database."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import msgspec

from rowlock import audit, db, schedules, schema, upkeep
from rowlock.audit import DEFAULT_KEEP
from rowlock.db.database import PATIENCE_SECONDS, Verb
from rowlock.db.transaction import Clock
from rowlock.durations import Duration, milliseconds
from rowlock.engine.counter import Counter
from rowlock.engine.grouped import Grouped
from rowlock.engine.handles import Handles
from rowlock.engine.runner import Writer
from rowlock.engine.tokens import Tokens
from rowlock.engine.transaction import Transaction
from rowlock.environment import REAL_ENVIRONMENT, Environment
from rowlock.errors import DatabaseBusy, InvalidTransaction
from rowlock.history import History, Sink, to_file
from rowlock.schedules import Tick

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_URL = "rowlock.db"


class Engine(Handles):
    """Work tracking on one database: `engine["downloads"]` is a list.

    A SQLite file is made and migrated when it is first used; a server's database is migrated by `rowlock migrate`.
    """

    def __init__(
        self,
        url: str | Path | None = None,
        *,
        listen_url: str | None = None,
        patience: float = PATIENCE_SECONDS,
        history: str | Path | Sink | None = None,
        environment: Environment = REAL_ENVIRONMENT,
        clock: Clock | None = None,
        **options: Any,
    ) -> None:
        url = str(url) if isinstance(url, Path) else url
        if not url and (url := os.environ.get("ROWLOCK_DATABASE_URL")):
            listen_url = listen_url or os.environ.get("ROWLOCK_LISTEN_URL")  # what it says belongs to that database
        address = db.parse(url or DEFAULT_URL)
        if listen_url:
            address = db.listening_at(address, listen_url)
        self.database = db.connect(address, patience=patience, environment=environment, clock=clock, **options)
        self.environment = environment
        sink = history or os.environ.get("ROWLOCK_HISTORY") or None
        self._history = History(to_file(sink) if isinstance(sink, str | Path) else sink, environment.monotonic)
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
        """What SQL of your own must speak: "sqlite", "postgres" or "cockroach"."""
        return self.database.address.dialect

    def counter(self, name: str) -> Counter:
        """A counter by its name; it need not exist yet. What many ask of counters at once is one transaction."""
        return self.grouped.counter(name)

    def tick(self) -> list[Tick]:
        """Make the items of all ticks that have come, as every worker does; what was done."""
        self.make_ready()
        return schedules.tick_due(self.database)

    @property
    def tokens(self) -> Tokens:
        """The access tokens of this database: who may do what over HTTP."""
        return self._tokens

    def acting(
        self, who: str, *, token: int | None = None, request: str | None = None, keep: Duration = DEFAULT_KEEP
    ) -> AbstractContextManager[None]:
        """A block in which every verb that writes is recorded as done by somebody, in the write's own transaction."""
        return audit.acting(who, token=token, request=request, keep=keep)

    def upkeep(self, *, wait: Duration = 0) -> upkeep.UpkeepReport:
        """One bounded pass of housekeeping: end dead sessions, promote what is due, fold, prune.

        A session whose deadline has passed ends when this engine has seen no heartbeat of it for half of its expiry:
        by a later call, or by this one if it may `wait` so long.
        """
        self.make_ready()
        report = upkeep.run_pass(self.database, self._sessions)
        if not wait:
            return report
        expired = upkeep.wait_and_expire(self.database, self._sessions, seconds=milliseconds(wait) / 1_000)
        return msgspec.structs.replace(report, expired=report.expired + expired)

    @property
    def grouped(self) -> Grouped:
        """The same lists for many threads at once: what they write at the same moment is committed together."""
        with self._grouped_lock:
            if self._grouped is None:
                self._grouped = Grouped(self)
            return self._grouped

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """A transaction for your rows and ours: all of it commits at the end of the block, or nothing."""
        self.make_ready()
        with self.database.transaction() as tx:
            yield Transaction(lambda: tx)

    @contextmanager
    def late_transaction(self) -> Iterator[Transaction]:
        """A transaction that begins when it is first used: a handler that thinks before it writes locks nothing yet."""
        self.make_ready()
        with ExitStack() as stack:
            yield Transaction(lambda: stack.enter_context(self.database.transaction()))

    @contextmanager
    def dedicated_connection(self) -> Iterator[Writer]:
        """The same database by a connection of its own, for what must not wait until others are done."""
        database = self.database.clone(connections=1)
        try:
            yield database
        finally:
            database.close()

    def join(self, using: Any) -> Transaction:
        """The verbs inside a transaction of yours (sqlite3, psycopg, SQLAlchemy, Django); you commit it, or not."""
        if isinstance(using, Transaction):
            if not self.database.owns(using._tx):
                raise InvalidTransaction("the given transaction is one of another engine", "give one of this engine")
            return using
        ready = self._make_ready_at_once()
        joined = self.database.join(using)
        if not ready:
            schema.migrate_within(joined, self.database)
        return Transaction(lambda: joined)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in a transaction of its own; again after a conflict or a lost connection."""
        self.make_ready()
        return self.recorded(audit.audited_runner(self.database.run), verb, *args, **kwargs)

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        self.make_ready()
        return self.recorded(self.database.read, verb, *args, **kwargs)

    def recorded(self, way: Callable[..., T], verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb by the given way, and write it down in the history if there is one."""
        with self._history.operation(_name(verb), {"args": args, **kwargs}) as answer:
            result = way(verb, *args, **kwargs)
            answer(result)
        return result

    def pipeline(self, *works: Callable[[db.Transaction], Callable[[], Any]]) -> list[Any]:
        """Do several pieces of work for the price of one round trip; each must be harmless to do again."""
        self.make_ready()
        with self._history.operation("pipeline", {"works": works}) as answer:
            result = self.database.pipeline(*works)
            answer(result)
        return result

    def make_ready(self) -> None:
        """See to the schema once: an embedded file is migrated, a server's must have been."""
        if self._schema_known:
            return
        # Without a lock: threads may do it at once, as processes may, and none waits out the patience of another.
        if self._embedded:
            self._migrate_file(self.database)
        else:
            schema.require(self.database)
        self._schema_known = True

    def _make_ready_at_once(self) -> bool:
        """The same for a caller who may hold the file's lock: not ready if that is in the way."""
        if self._schema_known or not self._embedded:
            self.make_ready()
            return True
        with closing(self.database.clone(connections=1, patience=0)) as impatient:
            try:
                self._migrate_file(impatient)
            except DatabaseBusy:
                return False
        self._schema_known = True
        return True

    @property
    def _embedded(self) -> bool:
        return self.database.address.dialect == "sqlite"

    def _migrate_file(self, database: db.Database) -> None:
        if schema.pending(database):
            schema.migrate(database)

    def migrate(self) -> list[str]:
        """Bring the schema to what this program needs; the names of the steps taken."""
        return [step.name for step in schema.migrate(self.database)]

    def close(self) -> None:
        """Finish what waits, and close all connections; a closed engine is not used again."""
        if self._grouped is not None:
            self._grouped.close()
        self.database.close()


def _name(verb: Any) -> str:
    return f"{verb.__module__.rpartition('.')[2]}.{verb.__name__}"
