"""Statements on a sqlite3 connection, ours or a caller's."""

import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rowlock.db.columns import PACKED
from rowlock.db.connections import DATABASE_FAULTS, DriverCursor, Parameters, Row
from rowlock.db.pending import Pending
from rowlock.db.sqlite_errors import translate_error
from rowlock.db.urls import Address
from rowlock.errors import InvalidData, InvalidTransaction


class SqliteExecutor:
    """Runs statements on a connection of the driver, ours or a caller's."""

    def __init__(self, driver: sqlite3.Connection, address: Address) -> None:
        self._driver = driver
        self._address = address

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements and return its rows. A variant may be several: the last one gives the rows."""
        *first, last = sql.split(";\n")
        try:
            cursor = self._cursor()
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
            return self._cursor().execute(sql, parameters).rowcount
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
            raise self._translated(error, ours=False) from None

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""
        try:
            return self._driver.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._translated(error, ours=False) from None

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self._driver.cursor()
        cursor.row_factory = None  # a caller's connection may turn rows into something else
        return cursor

    def _translated(self, error: sqlite3.Error, *, ours: bool = True) -> Exception:
        """Return what to raise for a driver's error about a statement of ours, or of the caller's."""
        known = translate_error(error, self._address)
        return known if ours or isinstance(known, DATABASE_FAULTS) else error


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

    def _translated(self, error: sqlite3.Error, *, ours: bool = True) -> Exception:
        return super()._translated(error) if ours else error


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
