"""An engine: work tracking on one database."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from rowlock import audit, counters, db, lists, schedules, schema, sessions, topics, upkeep
from rowlock.audit import KEEP, LAST, Record
from rowlock.counters import CounterInfo
from rowlock.db.database import PATIENCE, Verb
from rowlock.db.transaction import Clock
from rowlock.durations import Duration
from rowlock.engine.counter import Counter
from rowlock.engine.grouped import Grouped
from rowlock.engine.list import List
from rowlock.engine.schedule import Schedule
from rowlock.engine.session import Session
from rowlock.engine.tokens import Tokens
from rowlock.engine.topic import Topic
from rowlock.engine.transaction import Transaction
from rowlock.errors import InvalidTransaction
from rowlock.history import History, Sink, to_file
from rowlock.model import ListInfo, Moment, TopicInfo
from rowlock.names import check_name
from rowlock.schedules import ScheduleInfo, Tick
from rowlock.sessions import SessionInfo
from rowlock.topics import check_topic
from rowlock.world import REAL, World

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_URL = "rowlock.db"


class Engine:
    """Work tracking on one database: `engine["downloads"]` is a list.

    A SQLite file is made and migrated when it is first used; a server's database is migrated by `rowlock migrate`.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        patience: float = PATIENCE,
        history: str | Path | Sink | None = None,
        world: World = REAL,
        clock: Clock | None = None,
        **options: Any,
    ) -> None:
        address = db.parse(url or os.environ.get("ROWLOCK_DATABASE_URL") or DEFAULT_URL)
        self.database = db.connect(address, patience=patience, world=world, clock=clock, **options)
        self.world = world
        sink = history or os.environ.get("ROWLOCK_HISTORY") or None
        self._history = History(to_file(sink) if isinstance(sink, str | Path) else sink, world.monotonic)
        self._schema_known = False
        self._schema_lock = threading.Lock()
        self._grouped: Grouped | None = None
        self._tokens = Tokens(self, world)

    def __getitem__(self, name: str) -> List:
        check_name(name)
        return List(self, name)

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Engine({self.database.address.shown!r})"

    def lists(self, *, after: str = "", limit: int = 1000) -> list[ListInfo]:
        """Lists in the order of their names, strictly after one, with counts and progress."""
        return self.read(lists.page, after=after, limit=limit)

    def counter(self, name: str) -> Counter:
        """A counter by its name; it need not exist yet. What many ask of counters at once is one transaction."""
        return self.grouped.counter(name)

    def counters(self, *, after: str = "", limit: int = 1000) -> list[CounterInfo]:
        """Counters in the order of their names, strictly after one."""
        return self.read(counters.page, after=after, limit=limit)

    def topic(self, name: str) -> Topic:
        """A topic by its name: standing queries, and the records that are held against them."""
        check_topic(name)
        return Topic(self, name)

    def topics(self, *, after: str = "", limit: int = 1000) -> list[TopicInfo]:
        """Topics in the order of their names, strictly after one."""
        return self.read(topics.page, after=after, limit=limit)

    def sessions(self, *, limit: int = 1000) -> list[SessionInfo]:
        """Who is at work, the oldest first."""
        return self.read(sessions.page, limit=limit)

    def schedule(self, name: str) -> Schedule:
        """A schedule by its name: recurring work."""
        check_name(name, "schedule")
        return Schedule(self, name)

    def schedules(self, *, after: str = "", limit: int = 1000) -> list[ScheduleInfo]:
        """Schedules in the order of their names, strictly after one."""
        return self.read(schedules.page, after=after, limit=limit)

    def tick(self) -> list[Tick]:
        """Make the items of all ticks that have come, as every worker does; what was done."""
        self.make_ready()
        return schedules.tick_due(self.database)

    def session(
        self, *, holder: str | None = None, expiry: Duration = "15s", details: Any = None, beats: bool = True
    ) -> Session:
        """A session to claim under: it beats by itself, and its claims end with it. Use it in a with block.

        Without `beats` it lives for its expiry and may outlive this process: see `rejoin`.
        """
        return Session(self, holder=holder, expiry=expiry, details=details, beats=beats)

    def rejoin(self, session: str, *, expiry: Duration = "15s") -> Session:
        """A session without a heart that was opened elsewhere, by its id; `beat` keeps it alive for its expiry."""
        found = Session(self, holder=None, expiry=expiry, details=None, beats=False)
        found.id = session
        return found

    @property
    def tokens(self) -> Tokens:
        """The access tokens of this database: who may do what over HTTP."""
        return self._tokens

    def acting(
        self, who: str, *, token: int | None = None, request: str | None = None, keep: Duration = KEEP
    ) -> AbstractContextManager[None]:
        """A block in which every verb that writes is recorded as done by somebody, in the write's own transaction."""
        return audit.acting(who, token=token, request=request, keep=keep)

    def audit(
        self, *, of: str | None = None, since: Moment | None = None, before: int = LAST, limit: int = 1000
    ) -> list[Record]:
        """What was done in `acting` blocks, the newest first: of one list, in the last while or since a moment."""
        return self.read(audit.page, of=of, since=since, before=before, limit=limit)

    def upkeep(self) -> upkeep.Report:
        """One bounded pass of housekeeping: bury dead sessions, promote what is due, fold, prune."""
        self.make_ready()
        return upkeep.once(self.database)

    @property
    def grouped(self) -> Grouped:
        """The same lists for many threads at once: what they write at the same moment is committed together."""
        with self._schema_lock:
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

    def join(self, using: Any) -> Transaction:
        """The verbs inside a transaction of yours (sqlite3, psycopg, SQLAlchemy, Django); you commit it, or not."""
        if isinstance(using, Transaction):
            if not self.database.owns(using._tx):
                raise InvalidTransaction("the given transaction is one of another engine", "give one of this engine")
            return using
        self.make_ready()
        joined = self.database.join(using)
        return Transaction(lambda: joined)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in a transaction of its own; again after a conflict or a lost connection."""
        self.make_ready()
        return self.recorded(audit.by(self.database.run), verb, *args, **kwargs)

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

    def trip(self, *works: Callable[[db.Transaction], Callable[[], Any]]) -> list[Any]:
        """Do several pieces of work for the price of one round trip; each must be harmless to do again."""
        self.make_ready()
        with self._history.operation("trip", {"works": len(works)}) as answer:
            result = self.database.trip(*works)
            answer(result)
        return result

    def make_ready(self) -> None:
        """See to the schema once: an embedded file is migrated, a server's must have been."""
        if self._schema_known:
            return
        with self._schema_lock:
            if self.database.address.dialect == "sqlite":
                if schema.pending(self.database):
                    schema.migrate(self.database)
            else:
                schema.require(self.database)
            self._schema_known = True

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
