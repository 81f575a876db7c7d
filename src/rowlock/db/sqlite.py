"""SQLite: one file, several processes, write-ahead log, flushed at every commit but those that may be forgotten."""

import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock.db import forks, sqlite_files
from rowlock.db.connections import RetryTransaction
from rowlock.db.database import PATIENCE, Database
from rowlock.db.semaphore import InterruptSafeSemaphore, Permit
from rowlock.db.sqlite_errors import busy, code, is_busy, translate_error
from rowlock.db.sqlite_executor import SqliteExecutor
from rowlock.db.statements import Dialect
from rowlock.db.transaction import Clock
from rowlock.db.urls import Address
from rowlock.environment import REAL_ENVIRONMENT, Deadline, Environment
from rowlock.errors import (
    DatabaseReadOnly,
    DatabaseUnreachable,
    InvalidTransaction,
    OutcomeUnknown,
    Unavailable,
)

if TYPE_CHECKING:
    from rowlock.db.inotify import FileWatch

OLDEST = (3, 37, 0)

# synchronous=NORMAL would lose acknowledged work at a power cut; claims hang on sessions by a foreign key.
PRAGMAS = (
    "pragma synchronous = full",
    "pragma foreign_keys = on",
    "pragma cache_size = -16000",
    "pragma busy_timeout = 0",
)
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
        "share": "",
        "lock": "",
        "lock_claim": "",
        "skip": "",
    },
    placeholder=":{}".format,
)


def open_database(
    address: Address,
    *,
    environment: Environment = REAL_ENVIRONMENT,
    clock: Clock | None = None,
    patience: float = PATIENCE,
    **options: Any,
) -> Database:
    """The database in a file; the file is made when the first transaction runs."""
    if sqlite3.sqlite_version_info < OLDEST:
        raise Unavailable(f"this Python has SQLite {sqlite3.sqlite_version}", "rowlock needs SQLite 3.37 or newer")
    options.pop("statement_seconds", None)  # nobody else is in the way of a statement here, and all are short
    write_lock = InterruptSafeSemaphore(1)
    wrap: Callable[[SqliteConnection], Any] = options.pop("wrap", lambda connection: connection)
    return Database(
        address,
        DIALECT,
        lambda place, deadline: wrap(SqliteConnection(place, deadline, environment=environment, write_lock=write_lock)),
        partial(borrow, address=address),
        environment=environment,
        clock=clock,
        patience=patience,
        keep_out_of_forks=partial(forks.watch, path=address.target),
        check_write_lock=partial(check_reentry, write_lock),
        **options,
    )


class WritePermit(Permit):
    """A connection's permit for its turn to write."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        super().__init__()
        self._driver = driver

    @property
    def in_transaction(self) -> bool:
        """Whether its connection has a transaction open."""
        try:
            return self._driver.in_transaction
        except sqlite3.ProgrammingError:
            return False  # it is closed


def check_reentry(write_lock: InterruptSafeSemaphore) -> None:
    """Refuse a thread that has a transaction open and is about to wait for its own end."""
    for permit in write_lock.holders():
        if not isinstance(permit, WritePermit) or permit.thread != threading.get_ident():
            continue
        if permit.in_transaction:
            what = "this thread has a transaction open on this database already, and a file has one writer"
            raise InvalidTransaction(what, 'write inside it: tx["name"].add(…), or add(…, using=tx)')
        write_lock.release(permit)  # left behind by a call of this thread that was interrupted more than once


class SqliteConnection(SqliteExecutor):
    """A connection of our own; writers of one process take turns by a lock, processes by trying again."""

    def __init__(
        self, address: Address, deadline: Deadline, *, environment: Environment, write_lock: InterruptSafeSemaphore
    ) -> None:
        self._environment = environment
        self._write_lock = write_lock
        self._broken = False
        self._unchanging = False
        self._flushing: bool | None = True
        self._version = 0
        self._watch: FileWatch | None = None
        self._address = address
        super().__init__(self._open(deadline), address)
        self._permit = WritePermit(self._driver)

    @property
    def usable(self) -> bool:
        """Whether the file is open, without a transaction, and somebody else may write."""
        return not (
            self._broken
            or self._unchanging
            or self._permit.in_transaction
            or self._permit in self._write_lock.holders()
        )

    def _open(self, deadline: Deadline) -> sqlite3.Connection:
        try:
            return self._prepared(sqlite_files.open_file, deadline)
        except (DatabaseReadOnly, DatabaseUnreachable):
            if not sqlite_files.is_read_only(self._address):
                raise
        self._unchanging = True  # used once and never kept: it would not see what others write
        return self._prepared(sqlite_files.open_unchanging, deadline)

    def _prepared(self, way: Callable[[Address], sqlite3.Connection], deadline: Deadline) -> sqlite3.Connection:
        try:
            driver = way(self._address)
        except sqlite3.Error as error:
            raise translate_error(error, self._address) from None
        try:
            self._waiting(lambda: self._prepare(driver), deadline)
        except BaseException:
            driver.close()
            raise
        return driver

    def _prepare(self, driver: sqlite3.Connection) -> None:
        (mode,) = driver.execute("pragma journal_mode = wal").fetchone()
        if mode != "wal" and not self._unchanging:
            raise DatabaseUnreachable(
                f"{self._address.shown} cannot use a write-ahead log here (its journal is {mode!r})",
                "keep it on a local file system that can share memory",
            )
        for pragma in PRAGMAS:
            driver.execute(pragma)

    def begin(self, *, deadline: Deadline, flushed: bool = True) -> None:
        """Take the file's write lock at once, so that nothing read here can be out of date when it writes.

        What is not flushed lies in the log before whatever is flushed after it, and lasts as soon as that does.
        """
        check_reentry(self._write_lock)
        if not self._write_lock.acquire(self._permit, deadline):
            raise RetryTransaction(busy(self._address))
        self._flush(commits=flushed)
        self._waiting(lambda: self._driver.execute("begin immediate"), deadline)

    def commit(self) -> None:
        """Flush and end; when the flush itself fails nobody knows what the disk holds."""
        try:
            self._driver.execute("commit")
        except sqlite3.Error as error:
            self.rollback()
            if code(error) == sqlite3.SQLITE_FULL:
                raise translate_error(error, self._address) from None
            what = f"{self._address.shown} failed while committing"
            raise OutcomeUnknown(what, "look before you ask again") from None
        self._write_lock.release(self._permit)

    def rollback(self) -> None:
        """Forget the transaction, if there is one, and let the next one write."""
        try:
            if self._driver.in_transaction:
                self._driver.execute("rollback")
        except sqlite3.Error:
            self._broken = True
        self._write_lock.release(self._permit)

    def pipeline(self, works: Sequence[Callable[[], Any]], *, deadline: Deadline, flushed: bool = True) -> list[Any]:
        """Do all pieces in one transaction: one flush for all of them."""
        try:
            self.begin(deadline=deadline, flushed=flushed)
            answers = [work() for work in works]
            self.commit()
        except BaseException:
            self.rollback()
            raise
        return answers

    def wait_for_hint(self, seconds: float) -> bool:
        """FileWatch the log for writes, then the file's version, which changes when a write is committed."""
        until = self._environment.monotonic() + seconds
        if self._watch is None:
            from rowlock.db.inotify import watch  # heavy, and only a waiting worker needs it

            self._watch = watch(f"{self._address.target}-wal")
        while not self._changed():
            left = until - self._environment.monotonic()
            if left <= 0:
                return False
            if self._watch is None:
                self._environment.sleep(min(WATCH_SECONDS, left))
            elif self._watch.wait(left) and self._committed():
                return True
        return True

    def _changed(self) -> bool:
        seen, self._version = self._version, self.query("pragma data_version")[0][0]
        return bool(self._version != seen)

    def _committed(self) -> bool:
        # A commit is seen a flush after it was written.
        until = self._environment.monotonic() + LONGEST_FLUSH
        while not self._changed():
            if self._environment.monotonic() > until:
                return False
            self._environment.sleep(0.0005)
        return True

    def close(self) -> None:
        """Close the file; first the transaction is rolled back, for a cursor that somebody keeps would hold it open."""
        self._broken = True
        self.rollback()
        if self._watch is not None:
            self._watch.close()
        self._driver.close()

    def _flush(self, *, commits: bool) -> None:
        # Unknown while it changes: an exception must not leave behind what is believed and not so.
        if self._flushing is not commits:
            self._flushing = None
            self.change(f"pragma synchronous = {'full' if commits else 'normal'}")
            self._flushing = commits

    def _waiting(self, step: Callable[[], Any], deadline: Deadline) -> None:
        # SQLite's own waiting starves a process among eight; short jittered tries share the file evenly.
        pause, longest = PAUSES
        while True:
            try:
                step()
                return
            except sqlite3.Error as error:
                if not is_busy(error):
                    raise translate_error(error, self._address) from None
                if deadline.passed():
                    raise RetryTransaction(busy(self._address)) from None
            self._environment.sleep(self._environment.jittered(pause))
            pause = min(pause * 1.5, longest)

    def _failed(self, error: sqlite3.Error) -> Exception:
        known = translate_error(error, self._address)
        return RetryTransaction(known) if is_busy(error) else known


class BorrowedSqlite(SqliteExecutor):
    """A caller's connection, inside a transaction of theirs; never committed or rolled back by us."""

    def __init__(self, driver: sqlite3.Connection, address: Address) -> None:
        super().__init__(driver, msgspec.structs.replace(address, shown="the given connection"))
        try:
            by_hand = driver.isolation_level is None or getattr(driver, "autocommit", None) is True
            if not driver.in_transaction and not by_hand:
                # The driver itself begins only at the first write; a savepoint before that would commit by its release.
                driver.execute("begin immediate")
            begun = driver.in_transaction
        except sqlite3.ProgrammingError:
            raise InvalidTransaction("the given sqlite3 connection is closed", "give an open one") from None
        except sqlite3.Error as error:
            raise self._failed(error) from None
        if not begun:
            raise InvalidTransaction("the given sqlite3 connection has no open transaction", "execute begin first")

    def take_write_lock(self) -> None:
        """Wait for other writers now, for as long as the connection's own timeout says.

        A transaction that has read before it writes is refused at once, without waiting, when somebody else has written
        meanwhile; one that was begun by hand, or by Django, has often read nothing yet.
        """
        try:
            self._driver.execute("delete from sqlite_sequence where false")
        except sqlite3.Error as error:
            # What else is wrong (no schema yet, an old snapshot, a file that can only be read) is told when it matters.
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY:
                raise self._failed(error) from None

    def _of_theirs(self, error: sqlite3.Error) -> Exception:
        return error


def borrow(driver: Any, address: Address) -> BorrowedSqlite:
    """Join the transaction of a caller's sqlite3 connection to the same file."""
    if not isinstance(driver, sqlite3.Connection):
        what = f"using= was given {type(driver).__name__}, but this engine's database is SQLite"
        raise InvalidTransaction(what, "give an open sqlite3, SQLAlchemy or Django transaction on the same file")
    borrowed = BorrowedSqlite(driver, address)
    files = [row[2] for row in borrowed.query("pragma database_list") if row[1] == "main"]
    if not any(file and Path(address.target).exists() and Path(file).samefile(address.target) for file in files):
        what = f"the given sqlite3 connection is to another file than {address.shown}"
        raise InvalidTransaction(what, "open the engine on that file, or the connection on this one")
    borrowed.take_write_lock()
    return borrowed
