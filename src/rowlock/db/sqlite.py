"""SQLite: one file, several processes, write-ahead log. Every commit is flushed, except of `unflushed` verbs."""

import os
import sqlite3
import stat
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowlock import forks
from rowlock.db.database import Database, Driver
from rowlock.db.driver import Hint, Parameters, RetryTransaction, Row
from rowlock.db.pool import InterruptSafeSemaphore, Permit
from rowlock.db.sqlite_executor import SqliteExecutor, borrow, busy, code, is_busy, translate_error
from rowlock.db.statements import Dialect
from rowlock.db.urls import Address
from rowlock.environment import REAL_ENVIRONMENT, Deadline, Environment
from rowlock.errors import (
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnreachable,
    InvalidTransaction,
    OutcomeUnknown,
    Unavailable,
)

if TYPE_CHECKING:
    from rowlock.db.inotify import FileWatch

OLDEST_VERSION = (3, 37, 0)

# synchronous=NORMAL would lose acknowledged work at a power cut; claims reference sessions by a foreign key.
PRAGMAS = (
    "pragma synchronous = full",
    "pragma foreign_keys = on",
    "pragma cache_size = -16000",
    "pragma busy_timeout = 0",
)
MIN_PAUSE_SECONDS, MAX_PAUSE_SECONDS = 0.0005, 0.02
POLL_SECONDS = 0.004
"""How often the file is read for hints where there is no inotify."""
MAX_FLUSH_SECONDS = 0.05
COMMIT_CHECK_SECONDS = 0.0002
LARGE_BLOCK_BYTES = 2**20
OWNER_ONLY = stat.S_IRUSR | stat.S_IWUSR

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
        "lock_if_free": "",
        "lock_claim": "",
        "skip": "",
        "lock_exclusive": "",
        "sees_commits": "true",
        "custom_plan": "",
        "modulo": "%",
        "notify": "",
        "wake_is_pending": "exists (select 1 from rowlock_wakes w where w.list = l.id)",
    },
    placeholder=":{}".format,
)


def open_database(
    address: Address,
    *,
    environment: Environment = REAL_ENVIRONMENT,
    statement_seconds: float = 0,  # noqa: ARG001  (all statements on a file are short)
    wrap: Callable[["SqliteConnection"], Any] = lambda connection: connection,
    **options: Any,
) -> Database:
    """Return the database in a file; the file is made when the first transaction runs."""
    if sqlite3.sqlite_version_info < OLDEST_VERSION:
        raise Unavailable(f"this Python has SQLite {sqlite3.sqlite_version}", "rowlock needs SQLite 3.37 or newer")
    lock = WriteLock()
    driver = Driver(
        DIALECT,
        lambda place, deadline: wrap(SqliteConnection(place, deadline, environment=environment, write_lock=lock)),
        partial(borrow, address=address),
        guard_forks=partial(forks.guard_file, path=address.target),
        check_write_lock=lock.check_reentry,
        embedded=True,
    )
    return Database(address, driver, environment=environment, **options)


class WritePermit(Permit, kw_only=True):
    """A connection's permit to write."""

    driver: sqlite3.Connection
    thread: int = 0
    """The thread that began the connection's last transaction."""


class WriteLock(InterruptSafeSemaphore[WritePermit]):
    """Held by the connection whose transaction may write: one of this process. Between processes SQLite's lock holds.

    All connections of an engine to a file share it.
    """

    def __init__(self) -> None:
        super().__init__(1)

    def check_reentry(self) -> None:
        """Refuse a thread that holds the lock by an open transaction: it would wait for itself."""
        for permit in self.holders():
            if permit.thread != threading.get_ident():
                continue
            with suppress(sqlite3.ProgrammingError):  # its connection is closed
                if permit.driver.in_transaction:
                    what = "this thread has a transaction open on this database already, and a file has one writer"
                    raise InvalidTransaction(what, 'write inside it: tx["name"].add(…), or add(…, using=tx)')
            self.release(permit)  # left behind by a call of this thread that was interrupted more than once


class SqliteConnection(SqliteExecutor):
    """A connection of our own. Writers of one process take turns by a lock, processes by trying again."""

    def __init__(
        self, address: Address, deadline: Deadline, *, environment: Environment, write_lock: WriteLock
    ) -> None:
        self._environment = environment
        self._write_lock = write_lock
        self._broken = False
        self._immutable = False
        self._was_full = False
        """Whether there was no room, and the log was not emptied since."""
        self._flushes: bool | None = True
        self._data_version = 0
        self._watch: FileWatch | None = None
        self._address = address
        super().__init__(self._open(deadline), address)
        self._permit = WritePermit(driver=self._driver)

    @property
    def usable(self) -> bool:
        """Whether the file is open, without a transaction, and the write lock is free."""
        if self._broken or self._immutable or self._driver.in_transaction:
            return False
        return self._permit not in self._write_lock.holders()

    def _open(self, deadline: Deadline) -> sqlite3.Connection:
        try:
            return self._prepared(open_file, deadline)
        except (DatabaseReadOnly, DatabaseUnreachable):
            if not is_read_only(self._address):
                raise
        self._immutable = True  # used once and never kept: it would not see what others write
        return self._prepared(open_immutable, deadline)

    def _prepared(self, open_driver: Callable[[Address], sqlite3.Connection], deadline: Deadline) -> sqlite3.Connection:
        try:
            driver = open_driver(self._address)
        except sqlite3.Error as error:
            raise translate_error(error, self._address) from None
        try:
            self._while_busy(lambda: self._prepare(driver), deadline)
        except BaseException:
            driver.close()
            raise
        return driver

    def _prepare(self, driver: sqlite3.Connection) -> None:
        (mode,) = driver.execute("pragma journal_mode = wal").fetchone()
        if mode != "wal" and not self._immutable:
            raise DatabaseUnreachable(
                f"{self._address.shown} cannot use a write-ahead log here (its journal is {mode!r})",
                "keep it on a local file system that can share memory",
            )
        for pragma in PRAGMAS:
            driver.execute(pragma)

    def begin(self, *, deadline: Deadline, flushed: bool = True) -> None:
        """Take the file's write lock at once, so that nothing read here can be out of date when it writes.

        A transaction that is not flushed lies in the log before the next one that is, and is durable as soon as that.
        """
        self._write_lock.check_reentry()
        self._permit.thread = threading.get_ident()
        if not self._write_lock.acquire(self._permit, deadline):
            raise RetryTransaction(busy(self._address))
        if self._was_full:
            self._empty_log()
        if self._flushes is not flushed:
            self._flushes = None  # after an exception it is unknown which of the two the driver uses
            self.change(f"pragma synchronous = {'full' if flushed else 'normal'}")
            self._flushes = flushed
        self._while_busy(partial(self._driver.execute, "begin immediate"), deadline)

    def commit(self) -> None:
        """Flush and end; if the flush itself fails it is unknown what the disk holds."""
        try:
            self._driver.execute("commit")
        except sqlite3.Error as error:
            self._was_full = self._was_full or code(error) == sqlite3.SQLITE_FULL
            self.rollback()
            if code(error) == sqlite3.SQLITE_FULL:
                raise translate_error(error, self._address) from None
            what = f"{self._address.shown} failed while committing"
            raise OutcomeUnknown(what, "look before you ask again") from None
        self._write_lock.release(self._permit)

    def rollback(self) -> None:
        """Roll back the transaction, if there is one, and release the write lock."""
        try:
            if self._driver.in_transaction:
                self._driver.execute("rollback")
        except sqlite3.Error:
            self._broken = True
        self._write_lock.release(self._permit)

    def _empty_log(self) -> None:
        """Move the log into the file and cut it off: on a small disk it may be what takes all the room.

        Before the first write after some space was freed: writes alone would fill it with more log, and leave no room
        for what the log holds.
        """
        with suppress(sqlite3.Error):  # still no room
            (blocked, *_) = self._driver.execute("pragma wal_checkpoint(truncate)").fetchone()
            self._was_full = bool(blocked)

    def autocommit(self, sql: str, parameters: Parameters = (), *, deadline: Deadline) -> list[Row]:
        """Run one of our statements as a transaction of its own; a variant may be several."""
        [rows] = self.pipeline([partial(self.query, sql, parameters)], deadline=deadline)
        return rows  # type: ignore[no-any-return]

    def pipeline(self, works: Sequence[Callable[[], Any]], *, deadline: Deadline, flushed: bool = True) -> list[Any]:
        """Do all pieces in one transaction: one flush for all of them."""
        try:
            self.begin(deadline=deadline, flushed=flushed)
            pending = [work() for work in works]
            self.commit()
        except BaseException:
            self.rollback()
            raise
        return pending

    def wait_for_hint(self, seconds: float) -> Hint | None:
        """Watch the log for writes, then the file's version, which changes when a write is committed."""
        until = self._environment.monotonic() + seconds
        if self._watch is None:
            from rowlock.db.inotify import watch  # heavy, and only a waiting worker needs it

            self._watch = watch(f"{self._address.target}-wal")
        while not self._changed():
            left = until - self._environment.monotonic()
            if left <= 0:
                return None
            if self._watch is None:
                self._environment.sleep(min(POLL_SECONDS, left))
            elif self._watch.wait(left) and self._committed():
                break
        return Hint()

    def _changed(self) -> bool:
        before = self._data_version
        [[self._data_version]] = self.query("pragma data_version")
        return self._data_version != before

    def _committed(self) -> bool:
        # A commit becomes visible a flush after it was written.
        until = self._environment.monotonic() + MAX_FLUSH_SECONDS
        while not self._changed():
            if self._environment.monotonic() > until:
                return False
            self._environment.sleep(COMMIT_CHECK_SECONDS)
        return True

    def close(self) -> None:
        """Close the file; first the transaction is rolled back, for a cursor that somebody keeps would hold it open."""
        self._broken = True
        self.rollback()
        if self._watch is not None:
            self._watch.close()
        self._driver.close()

    def _while_busy(self, step: Callable[[], Any], deadline: Deadline) -> None:
        # SQLite's own waiting starves a process among eight; short jittered tries share the file evenly.
        pause = MIN_PAUSE_SECONDS
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
            pause = min(pause * 1.5, MAX_PAUSE_SECONDS)

    def _translated(self, error: sqlite3.Error, *, caller_sql: bool = False) -> Exception:
        if is_busy(error):
            return RetryTransaction(translate_error(error, self._address))
        translated = super()._translated(error, caller_sql=caller_sql)
        self._was_full = self._was_full or isinstance(translated, DatabaseFull)
        return translated


def open_file(address: Address) -> sqlite3.Connection:
    """Open the file, and make it first if it does not exist; later it may turn out that it can only be read."""
    forks.check_file(address.target)
    file = Path(address.target)
    if file.is_dir():
        raise DatabaseUnreachable(f"{address.shown} is a directory", "name a file in it, such as rowlock.db")
    if not file.parent.is_dir():
        what = f"the folder of {address.shown} does not exist"
        raise DatabaseUnreachable(what, f"make it: mkdir -p '{file.parent}'")
    # Made without opening it: closing a descriptor of ours would drop all locks that SQLite has on the file meanwhile.
    # SQLite gives its log and its index the mode of the file. If this fails, SQLite says why, or makes it itself.
    if not file.exists():
        with suppress(OSError):
            os.mknod(file.resolve(), stat.S_IFREG | OWNER_ONLY)
    return _connect(address.target)


def is_read_only(address: Address) -> bool:
    """Return whether this user can write neither the file nor its folder, as on a read-only mount."""
    file = Path(address.target)
    return file.is_file() and not os.access(file, os.W_OK) and not os.access(file.parent, os.W_OK)


def open_immutable(address: Address) -> sqlite3.Connection:
    """Open a file that can only be read, where SQLite cannot make what it shares with other processes.

    It then reads without any lock: right only while nobody writes, so such a connection should not be kept.
    """
    file = Path(address.target)
    log = Path(f"{address.target}-wal")
    if log.is_file() and log.stat().st_size:
        what = f"{address.shown} cannot be read here: part of it is in {log.name}, and nothing can be written beside it"
        raise DatabaseUnreachable(what, f"copy {file.name} and {log.name} to a folder that can be written, open that")
    return _connect(f"{file.absolute().as_uri()}?mode=ro&immutable=1", uri=True)


def _connect(where: str, *, uri: bool = False) -> sqlite3.Connection:
    # glibc keeps twice as much freed memory as the largest block that was ever given back. Without this it returns the
    # temporary tables of each statement to the system: a claim then takes 280 µs in place of 30.
    bytes(LARGE_BLOCK_BYTES)
    return sqlite3.connect(where, isolation_level=None, check_same_thread=False, cached_statements=256, uri=uri)
