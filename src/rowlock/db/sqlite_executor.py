"""Statements on a sqlite3 connection, ours or a caller's, and what their errors mean."""

import os
import sqlite3
from collections.abc import Iterable
from functools import lru_cache
from operator import methodcaller
from pathlib import Path
from typing import Any

import msgspec

from rowlock.db.driver import DATABASE_FAULTS, DriverCursor, Parameters, Pending, Row
from rowlock.db.row_decoders import PACKED
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
    RowlockError,
    SchemaMissing,
    Unavailable,
)

_BUSY = sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL
_split = lru_cache(1_000)(methodcaller("split", ";\n"))  # else 1 µs of an add, and 3 of a claim of one item and its end

MIN_FREE_BYTES = 65_536
"""Bytes that SQLite needs beside a file to use it: the index of its write-ahead log begins with half of them."""


class SqliteExecutor:
    """Runs statements on a connection of the driver, ours or a caller's."""

    def __init__(self, driver: sqlite3.Connection, address: Address) -> None:
        self._driver = driver
        self._address = address

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements and return its rows. A variant may be several: the last one gives the rows."""
        *first, last = _split(sql)
        try:
            cursor = self._driver.cursor()
            cursor.row_factory = None  # a caller's connection may turn rows into something else
            for statement in first:
                cursor.execute(statement, parameters)
            rows = cursor.execute(last, parameters).fetchall()
            return msgspec.json.decode(rows[0][0], type=list[tuple[Any, ...]]) if last.startswith(PACKED) else rows
        except sqlite3.Error as error:
            raise self._translated(error) from None
        except OverflowError:
            raise _too_large() from None

    def send(self, sql: str, parameters: Parameters = ()) -> Pending[list[Row]]:
        """Run one of our statements at once: a file has no round trip to save."""
        rows = self.query(sql, parameters)
        return Pending(lambda: rows)

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements and return how many rows it changed."""
        try:
            return self._driver.execute(sql, parameters).rowcount
        except sqlite3.Error as error:
            raise self._translated(error) from None
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

    def execute(self, sql: str, parameters: Parameters = ()) -> DriverCursor:
        """Run the caller's own statement."""
        try:
            return self._driver.execute(sql, parameters)
        except sqlite3.Error as error:
            raise self._translated(error, caller_sql=True) from None

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""
        try:
            return self._driver.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._translated(error, caller_sql=True) from None

    def _translated(self, error: sqlite3.Error, *, caller_sql: bool = False) -> Exception:
        """Return what to raise for a driver's error about a statement of rowlock, or of the caller."""
        known = translate_error(error, self._address)
        return known if not caller_sql or isinstance(known, DATABASE_FAULTS) else error


class BorrowedSqlite(SqliteExecutor):
    """A caller's connection, inside an open transaction; it is never committed or rolled back here."""

    def __init__(self, driver: sqlite3.Connection, address: Address) -> None:
        super().__init__(driver, msgspec.structs.replace(address, shown="the given connection"))
        try:
            by_hand = driver.isolation_level is None or getattr(driver, "autocommit", None) is True
            if not driver.in_transaction and not by_hand:
                # The driver itself begins only at the first write; a savepoint before that would commit by its release.
                driver.execute("begin immediate")
            begun = driver.in_transaction
        except sqlite3.ProgrammingError as error:
            if "thread" in str(error):
                what = "the given sqlite3 connection can be used only in the thread that has opened it"
                hint = "open it with check_same_thread=False; in SQLAlchemy by connect_args"
                raise InvalidTransaction(what, hint) from None
            raise InvalidTransaction("the given sqlite3 connection is closed", "give an open one") from None
        except sqlite3.Error as error:
            raise self._translated(error) from None
        if not begun:
            raise InvalidTransaction("the given sqlite3 connection has no open transaction", "execute begin first")

    def take_write_lock(self) -> None:
        """Wait for other writers now, for as long as the connection's own timeout says.

        A transaction that has read before it writes is refused at once, without waiting, if another one has written
        meanwhile; one that was begun by hand, or by Django, has often read nothing yet.
        """
        try:
            self._driver.execute("delete from sqlite_sequence where false")
        except sqlite3.Error as error:
            # Other errors (no schema yet, an old snapshot, a read-only file) are raised when they matter.
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_BUSY:
                raise self._translated(error) from None

    def _translated(self, error: sqlite3.Error, *, caller_sql: bool = False) -> Exception:
        return error if caller_sql else super()._translated(error)


def borrow(driver: Any, address: Address) -> BorrowedSqlite:
    """Join the transaction of a caller's sqlite3 connection to the same file."""
    if not isinstance(driver, sqlite3.Connection):
        what = f"using= was given {type(driver).__name__}, but this engine's database is SQLite"
        raise InvalidTransaction(what, "give an open sqlite3, SQLAlchemy or Django transaction on the same file")
    borrowed = BorrowedSqlite(driver, address)
    files = [file for _, name, file in borrowed.query("pragma database_list") if name == "main"]
    if not any(file and Path(address.target).exists() and Path(file).samefile(address.target) for file in files):
        what = f"the given sqlite3 connection is to another file than {address.shown}"
        raise InvalidTransaction(what, "open the engine on that file, or the connection on this one")
    borrowed.take_write_lock()
    return borrowed


def _too_large() -> InvalidData:
    return InvalidData("a number is larger than any that can be stored", "nothing of this was written")


def code(error: sqlite3.Error) -> int:
    """Return the primary result code of an error, or 0 if it has none."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def is_busy(error: sqlite3.Error) -> bool:
    """Return whether another connection holds a lock, so that another try may succeed."""
    return code(error) in _BUSY


def translate_error(error: sqlite3.Error, address: Address) -> RowlockError:
    """Return our error for the driver's."""
    shown = address.shown
    match code(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED | sqlite3.SQLITE_PROTOCOL:
            return busy(address)
        case sqlite3.SQLITE_READONLY:
            hint = "check its owner and mode, those of its folder, and whether its file system is mounted read-only"
            return DatabaseReadOnly(f"{shown} cannot be written", hint)
        case sqlite3.SQLITE_FULL:
            return _full(address)
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_IOERR if _no_room(address.target):
            return _full(address)
        case sqlite3.SQLITE_CANTOPEN:
            return DatabaseUnreachable(f"{shown} cannot be opened", "check that its folder exists and may be written")
        case sqlite3.SQLITE_IOERR:
            name = getattr(error, "sqlite_errorname", "SQLITE_IOERR")
            what = f"the file system failed to read or write {shown} ({name})"
            return Unavailable(what, "check the disk, then run: rowlock doctor")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            what = f"{shown} is damaged or not a SQLite database"
            return DatabaseCorrupt(what, "name another file, or restore a copy")
        case sqlite3.SQLITE_PERM | sqlite3.SQLITE_AUTH:
            return DatabaseDenied(f"{shown} may not be opened by this user", "check its owner and mode")
        case sqlite3.SQLITE_ERROR if "no such table" in str(error):
            return SchemaMissing(f"{shown} has no tables of rowlock", "run: rowlock migrate")
        case _:
            return Unavailable(f"{shown} failed", "run: rowlock doctor")


def busy(address: Address) -> DatabaseBusy:
    """Return the error for a writer that has not ended in time."""
    return DatabaseBusy(f"{address.shown} is held by another writer", "try again when its transaction has ended")


def _full(address: Address) -> DatabaseFull:
    return DatabaseFull(f"no room is left for {address.shown}", "free some space; nothing was changed")


def _no_room(path: str) -> bool:
    # SQLite reports a full disk only when it writes to the file or its log, not when it creates them.
    try:
        disk = os.statvfs(Path(path).parent)
    except OSError:
        return False
    blocks, files = (disk.f_bfree, disk.f_ffree) if os.geteuid() == 0 else (disk.f_bavail, disk.f_favail)
    # A file system that counts neither has 0 of both, also in all.
    return (disk.f_blocks > 0 and blocks * disk.f_frsize < MIN_FREE_BYTES) or (disk.f_files > 0 and files == 0)
