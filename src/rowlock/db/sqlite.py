"""SQLite: one file, several processes, write-ahead log, flushed at every commit but those that may be forgotten."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock.db import forks
from rowlock.db.connections import TROUBLES, Cursor, Later, Parameters, Row, RunAgain
from rowlock.db.database import PATIENCE, Database
from rowlock.db.statements import Dialect
from rowlock.db.transaction import Clock
from rowlock.db.turns import Turn
from rowlock.db.urls import Address
from rowlock.errors import (
    DatabaseBusy,
    DatabaseCorrupt,
    DatabaseDenied,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnreachable,
    InvalidData,
    InvalidTransaction,
    OutcomeUnknown,
    RowlockError,
    SchemaMissing,
    Unavailable,
)
from rowlock.world import REAL, World

if TYPE_CHECKING:
    from rowlock.db.watching import Watch

OLDEST = (3, 37, 0)

# synchronous=NORMAL would lose acknowledged work at a power cut; claims hang on sessions by a foreign key.
PRAGMAS = (
    "pragma synchronous = full",
    "pragma foreign_keys = on",
    "pragma cache_size = -16000",
    "pragma busy_timeout = 0",
)
PACKED = "select json_group_array(json_array("
"""How a statement begins that gives all its rows as one value: whoever steps from row to row lets other threads in at
each of them, and waits for them, and even alone it takes longer than to read JSON."""
PAUSES = (0.0005, 0.02)
WATCH_SECONDS = 0.004
LONGEST_FLUSH = 0.05

DIALECT = Dialect(
    names=("sqlite",),
    fragments={
        "now": "cast(round((julianday('now') - 2440587.5) * 86400000) as integer)",
        "given_now": ":now",
        "keys": "(select value as key from json_each(:keys)) as given",
        "among_keys": "in (select value from json_each(:keys))",
        "ids": "select value from json_each(:ids)",
        "among_positions": "in (select value from json_each(:positions))",
        "share": "",
        "lock": "",
        "lock_claim": "",
        "skip": "",
    },
    placeholder=":{}".format,
)


def open_database(
    address: Address, *, world: World = REAL, clock: Clock | None = None, patience: float = PATIENCE, **options: Any
) -> Database:
    """The database in a file; the file is made when the first transaction runs."""
    if sqlite3.sqlite_version_info < OLDEST:
        raise Unavailable(f"this Python has SQLite {sqlite3.sqlite_version}", "rowlock needs SQLite 3.37 or newer")
    options.pop("statement_seconds", None)  # nobody else is in the way of a statement here, and all are short
    turn = Turn()
    wrap: Callable[[SqliteConnection], Any] = options.pop("wrap", lambda connection: connection)
    return Database(
        address,
        DIALECT,
        lambda place: wrap(SqliteConnection(place, world, turn, patience)),
        partial(borrow, address=address),
        world=world,
        clock=clock,
        patience=patience,
        keep_out_of_forks=partial(forks.watch, path=address.target),
        check_turn=turn.check,
        **options,
    )


class SqliteSpeech:
    """How statements are said to a connection of the driver, ours or a caller's."""

    def __init__(self, driver: sqlite3.Connection, shown: str) -> None:
        self._driver = driver
        self._shown = shown

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements; all rows that it gives. A variant may be several: the last one gives them."""
        *first, last = sql.split(";\n")
        try:
            cursor = self._cursor()
            for statement in first:
                cursor.execute(statement, parameters)
            rows = cursor.execute(last, parameters).fetchall()
            return msgspec.json.decode(rows[0][0], type=list[tuple[Any, ...]]) if last.startswith(PACKED) else rows
        except sqlite3.Error as error:
            raise self._failed(error) from None
        except OverflowError:
            raise _too_large() from None

    def ask(self, sql: str, parameters: Parameters = ()) -> Later:
        """Run one of our statements; nothing is gained by waiting here."""
        rows = self.query(sql, parameters)
        return lambda: rows

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements; how many rows it touched."""
        try:
            return self._cursor().execute(sql, parameters).rowcount
        except sqlite3.Error as error:
            raise self._failed(error) from None
        except OverflowError:
            raise _too_large() from None

    def script(self, sql: str) -> None:
        """Run a migration, statement by statement: the driver's own script would commit first."""
        statement = ""
        for line in sql.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self.change(statement)
                statement = ""

    def execute(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run the caller's own statement."""
        try:
            return self._driver.execute(sql, parameters)
        except sqlite3.Error as error:
            raise self._of_theirs(error) from None

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> Cursor:
        """Run the caller's own statement once per row."""
        try:
            return self._driver.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._of_theirs(error) from None

    def _of_theirs(self, error: sqlite3.Error) -> Exception:
        known = self._failed(error)
        return known if isinstance(known, RunAgain | TROUBLES) else error

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self._driver.cursor()
        cursor.row_factory = None  # a caller's connection may turn rows into something else
        return cursor

    def _failed(self, error: sqlite3.Error) -> Exception:
        return told(error, self._shown)


class SqliteConnection(SqliteSpeech):
    """A connection of our own; writers of one process take turns by a lock, processes by trying again."""

    def __init__(self, address: Address, world: World, turn: Turn, patience: float) -> None:
        self._world = world
        self._patience = patience
        self._turn = turn
        self._writing = False
        self._flushing = True
        self.usable = True
        self._version = 0
        self._watch: Watch | None = None
        self._path = address.target
        self._shown = address.shown
        super().__init__(self._open(address.target), address.shown)

    def _open(self, path: str) -> sqlite3.Connection:
        forks.check(path)
        file = Path(path)
        if file.is_dir():
            raise DatabaseUnreachable(f"{self._shown} is a directory", "name a file in it, such as rowlock.db")
        if not file.parent.is_dir():
            what = f"the folder of {self._shown} does not exist"
            raise DatabaseUnreachable(what, f"make it: mkdir -p '{file.parent}'")
        try:
            driver = sqlite3.connect(path, isolation_level=None, check_same_thread=False, cached_statements=256)
        except sqlite3.Error as error:
            raise told(error, self._shown) from None
        try:
            self._waiting(lambda: self._prepare(driver))
        except BaseException:
            driver.close()
            raise
        return driver

    def _prepare(self, driver: sqlite3.Connection) -> None:
        (mode,) = driver.execute("pragma journal_mode = wal").fetchone()
        if mode != "wal":
            raise DatabaseUnreachable(
                f"{self._shown} cannot use a write-ahead log here (its journal is {mode!r})",
                "keep it on a local file system that can share memory",
            )
        for pragma in PRAGMAS:
            driver.execute(pragma)

    def begin(self, *, write: bool, flushed: bool = True) -> None:
        """Take the file's write lock at once, so that nothing read here can be out of date when it writes.

        What is not flushed lies in the log before whatever is flushed after it, and lasts as soon as that does.
        """
        if not write:
            self._waiting(lambda: self._driver.execute("begin"))
            return
        self._turn.take()
        self._writing = True
        try:
            if not flushed:
                self._keep_commits(flushed=False)
            self._waiting(lambda: self._driver.execute("begin immediate"))
        except BaseException:
            self._end_turn()
            raise

    def commit(self) -> None:
        """Flush and end; when the flush itself fails nobody knows what the disk holds."""
        try:
            self._driver.execute("commit")
        except sqlite3.Error as error:
            self.rollback()
            known = told(error, self._shown)
            if isinstance(known, DatabaseFull):
                raise known from None
            raise OutcomeUnknown(f"{self._shown} failed while committing", "look before you ask again") from None
        self._end_turn()

    def rollback(self) -> None:
        """Forget the transaction."""
        try:
            if self._driver.in_transaction:
                self._driver.execute("rollback")
        except sqlite3.Error:
            self.usable = False
        self._end_turn()

    def trip(self, works: Sequence[Callable[[], Any]], *, flushed: bool = True) -> list[Any]:
        """Do all pieces in one transaction: one flush for all of them."""
        self.begin(write=True, flushed=flushed)
        try:
            answers = [work() for work in works]
        except BaseException:
            self.rollback()
            raise
        self.commit()
        return answers

    def hint(self, seconds: float) -> bool:
        """Watch the log for writes, then the file's version, which changes when a write is committed."""
        until = self._world.monotonic() + seconds
        if self._watch is None:
            from rowlock.db.watching import watch  # heavy, and only a waiting worker needs it

            self._watch = watch(f"{self._path}-wal")
        while not self._changed():
            left = until - self._world.monotonic()
            if left <= 0:
                return False
            if self._watch is None:
                self._world.sleep(min(WATCH_SECONDS, left))
            elif self._watch.wait(left) and self._committed():
                return True
        return True

    def _changed(self) -> bool:
        seen, self._version = self._version, self.query("pragma data_version")[0][0]
        return bool(self._version != seen)

    def _committed(self) -> bool:
        # A commit is seen a flush after it was written.
        until = self._world.monotonic() + LONGEST_FLUSH
        while not self._changed():
            if self._world.monotonic() > until:
                return False
            self._world.sleep(0.0005)
        return True

    def close(self) -> None:
        """Close the file."""
        self.usable = False
        if self._watch is not None:
            self._watch.close()
        self._driver.close()

    def _keep_commits(self, *, flushed: bool) -> None:
        self._driver.execute(f"pragma synchronous = {'full' if flushed else 'normal'}")
        self._flushing = flushed

    def _end_turn(self) -> None:
        try:
            if not self._flushing:
                self._keep_commits(flushed=True)
        except sqlite3.Error:
            self.usable = False
        if self._writing:
            self._writing = False
            self._turn.end()

    def _waiting(self, step: Callable[[], Any]) -> None:
        # SQLite's own waiting starves a process among eight; short jittered tries share the file evenly.
        start, (pause, longest) = self._world.monotonic(), PAUSES
        while True:
            try:
                step()
                return
            except sqlite3.Error as error:
                if not _busy(error):
                    raise told(error, self._shown) from None
                if self._world.monotonic() - start > self._patience:
                    raise RunAgain(told(error, self._shown)) from None
            self._world.sleep(self._world.jittered(pause))
            pause = min(pause * 1.5, longest)

    def _failed(self, error: sqlite3.Error) -> Exception:
        known = told(error, self._shown)
        return RunAgain(known) if _busy(error) else known


class BorrowedSqlite(SqliteSpeech):
    """A caller's connection, inside a transaction of theirs; never committed or rolled back by us."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        try:
            by_hand = driver.isolation_level is None or getattr(driver, "autocommit", None) is True
            if not driver.in_transaction and not by_hand:
                # The driver itself begins only at the first write; a savepoint before that would commit by its release.
                driver.execute("begin")
        except sqlite3.ProgrammingError:
            raise InvalidTransaction("the given sqlite3 connection is closed", "give an open one") from None
        if not driver.in_transaction:
            raise InvalidTransaction("the given sqlite3 connection has no open transaction", "execute begin first")
        super().__init__(driver, "the given connection")

    def _of_theirs(self, error: sqlite3.Error) -> Exception:
        return error


def borrow(driver: Any, address: Address) -> BorrowedSqlite:
    """Join the transaction of a caller's sqlite3 connection to the same file."""
    if not isinstance(driver, sqlite3.Connection):
        what = f"using= was given {type(driver).__name__}, but this engine's database is SQLite"
        raise InvalidTransaction(what, "give an open sqlite3, SQLAlchemy or Django transaction on the same file")
    borrowed = BorrowedSqlite(driver)
    files = [row[2] for row in borrowed.query("pragma database_list") if row[1] == "main"]
    if not any(file and Path(address.target).exists() and Path(file).samefile(address.target) for file in files):
        what = f"the given sqlite3 connection is to another file than {address.shown}"
        raise InvalidTransaction(what, "open the engine on that file, or the connection on this one")
    return borrowed


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL)


def told(error: sqlite3.Error, shown: str) -> RowlockError:
    """A driver's error in our words."""
    match _code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return DatabaseBusy(f"{shown} is held by another writer", "try again when its transaction has ended")
        case sqlite3.SQLITE_READONLY:
            return DatabaseReadOnly(f"{shown} cannot be written", "check its owner and mode, and those of its folder")
        case sqlite3.SQLITE_CANTOPEN:
            return DatabaseUnreachable(f"{shown} cannot be opened", "check that its folder exists and may be written")
        case sqlite3.SQLITE_FULL:
            return DatabaseFull(f"no room is left for {shown}", "free some space; nothing of this was written")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return DatabaseCorrupt(
                f"{shown} is damaged or not a SQLite database", "name another file, or restore a copy"
            )
        case sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return DatabaseDenied(f"{shown} may not be opened by this user", "check its owner and mode")
        case sqlite3.SQLITE_ERROR if "no such table" in str(error):
            return SchemaMissing(f"{shown} has no tables of rowlock", "run: rowlock migrate")
        case _:
            return Unavailable(f"{shown} failed", "run: rowlock doctor")


def _too_large() -> InvalidData:
    return InvalidData("a number is larger than any that can be stored", "nothing of this was written")
