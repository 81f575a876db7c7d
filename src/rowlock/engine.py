"""What a user holds: an Engine on a database, its lists, and transactions for your rows and ours together."""

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ParamSpec, Protocol, TypeVar

from rowlock import db, entries, items, lists, schema
from rowlock.db.database import PATIENCE, Verb
from rowlock.db.transaction import Clock
from rowlock.entries import Entries, Shared
from rowlock.history import History, Sink, to_file
from rowlock.model import (
    DEFAULT_PRIORITY,
    Added,
    Counts,
    Failure,
    Item,
    ListInfo,
    Moment,
    Progress,
    Settings,
)
from rowlock.names import check_name
from rowlock.world import REAL, World

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_URL = "rowlock.db"
Keys = str | Iterable[str]


class Runner(Protocol):
    """Whoever can run a verb: an engine in a transaction of its own, or a transaction that is open."""

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes."""

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""

    def join(self, using: Any) -> "Runner":
        """The same verbs inside a transaction that the caller has open."""


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

    def __getitem__(self, name: str) -> "List":
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

    @contextmanager
    def transaction(self) -> Iterator["Transaction"]:
        """A transaction for your rows and ours: all of it commits at the end of the block, or nothing."""
        self.make_ready()
        with self.database.transaction() as tx:
            yield Transaction(tx)

    def join(self, using: Any) -> "Transaction":
        """The verbs inside a transaction of yours (sqlite3, psycopg, SQLAlchemy, Django); you commit it, or not."""
        if isinstance(using, Transaction):
            return using
        self.make_ready()
        return Transaction(self.database.join(using))

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in a transaction of its own; again after a conflict or a lost connection."""
        self.make_ready()
        with self._history.operation(_name(verb), {"args": args, **kwargs}) as answer:
            result = self.database.run(verb, *args, **kwargs)
            answer(result)
        return result

    def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        self.make_ready()
        with self._history.operation(_name(verb), {"args": args, **kwargs}) as answer:
            result = self.database.read(verb, *args, **kwargs)
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
        """Close all connections; a closed engine is not used again."""
        self.database.close()


def _name(verb: Any) -> str:
    return f"{verb.__module__.rpartition('.')[2]}.{verb.__name__}"


class Transaction:
    """An open transaction: your own SQL, and lists whose changes commit with it."""

    def __init__(self, tx: db.Transaction) -> None:
        self._tx = tx

    def __getitem__(self, name: str) -> "List":
        check_name(name)
        return List(self, name)

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Run SQL of your own, with your driver's placeholders."""
        return self._tx.execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Any]) -> Any:
        """Run SQL of your own once per row."""
        return self._tx.executemany(sql, rows)

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb here; it lands when this transaction commits."""
        return verb(self._tx, *args, **kwargs)

    read = run

    def join(self, using: Any) -> "Transaction":
        """Another open transaction instead of this one: refused, one is enough."""
        if isinstance(using, Transaction) and using is self:
            return self
        raise TypeError("a list of an open transaction takes no using=")


class List:
    """A list by its name; it need not exist yet. Nothing is remembered here: each call asks the database."""

    def __init__(self, runner: Runner, name: str) -> None:
        self._runner = runner
        self.name = name

    def __repr__(self) -> str:
        return f"List({self.name!r})"

    def add(
        self,
        what: Entries,
        *,
        data: Any = None,
        due: Moment | None = None,
        gate: int | None = None,
        priority: int = DEFAULT_PRIORITY,
        strict: bool = False,
        using: Any = None,
    ) -> Added:
        """Add a key, any iterable of keys and mappings, or an open file of lines; if one is wrong, nothing is added.

        What is there already stays as it is; `strict` refuses it. `using` is an open transaction of yours to do it in.
        """
        shared = Shared(data, due, gate, priority)
        ready = entries.read_through(entries.batches(what, shared))
        runner = self._runner if using is None else self._runner.join(using)
        return runner.run(items.add, self.name, ready, strict=strict)

    def page(self, *, after: str = "", limit: int = 1000, state: str | None = None) -> list[Item]:
        """Items in the byte order of their keys, strictly after one."""
        return self._runner.read(items.page, self.name, after=after, limit=limit, state=state)

    def __iter__(self) -> Iterator[Item]:
        return self.items()

    def items(self, *, state: str | None = None, after: str = "", page: int = 1000) -> Iterator[Item]:
        """All items in the byte order of their keys, read page by page while you go."""
        while batch := self.page(after=after, limit=page, state=state):
            yield from batch
            after = batch[-1].key

    def show(self, key: str) -> Item:
        """One item as it stands; NoSuchItem if it is not there."""
        return self._runner.read(items.show, self.name, key)

    def failures(self, key: str, *, limit: int = 20) -> list[Failure]:
        """How an item has failed, the newest first."""
        return self._runner.read(items.failures, self.name, key, limit=limit)

    def increment(self, keys: Keys, *, error: str | None = None) -> int:
        """Note one failed attempt for each key that is there; how many were."""
        return self._runner.run(items.increment, self.name, _listed(keys), error=error)

    def done(self, keys: Keys) -> int:
        """Take off the list what has been done; how many were there."""
        return self._runner.run(items.done, self.name, _listed(keys))

    def abandon(self, keys: Keys) -> int:
        """Give up on items: off the list, undone; how many were there."""
        return self._runner.run(items.abandon, self.name, _listed(keys))

    def retry(self, keys: Keys) -> int:
        """Make failed and delayed items ready at once; how many were."""
        return self._runner.run(items.retry, self.name, _listed(keys))

    def info(self) -> ListInfo:
        """The list as a whole; NoSuchList if it is not there."""
        return self._runner.read(lists.show, self.name)

    def counts(self) -> Counts:
        """How many items stand in each state; exact, whatever their number."""
        return self.info().counts

    def progress(self) -> Progress:
        """What has happened to the list's items since it was made."""
        return self.info().progress

    def settings(self, *, version: int | None = None, **changes: Any) -> Settings:
        """The list's settings; those given are set first, making the list if need be."""
        if not changes:
            return self.info().settings
        return self._runner.run(lists.change_settings, self.name, changes, version=version)

    def pause(self) -> bool:
        """Stop handing out items; whether that changed anything. What is claimed may still be settled."""
        return self._runner.run(lists.pause, self.name)

    def resume(self) -> bool:
        """Hand out items again; whether that changed anything."""
        return self._runner.run(lists.resume, self.name)

    def rename(self, to: str) -> None:
        """Give the list another name; NameTaken if there is one of that name."""
        self._runner.run(lists.rename, self.name, to)
        self.name = to

    def drop(self) -> int:
        """Forget the list with all its items and history; how many items it had."""
        return self._runner.run(lists.drop, self.name)


def _listed(keys: Keys) -> list[str]:
    return [keys] if isinstance(keys, str) else list(keys)
