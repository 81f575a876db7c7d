"""Statements said to SQLite, on a connection of ours or of a caller's."""

import sqlite3
from collections.abc import Iterable
from typing import Any

import msgspec

from rowlock.db.connections import TROUBLES, DriverCursor, Parameters, Pending, RetryTransaction, Row
from rowlock.db.sqlite_errors import translate_error
from rowlock.db.urls import Address
from rowlock.errors import InvalidData

PACKED = "select json_group_array(json_array("
"""How a statement begins that gives all its rows as one value: whoever steps from row to row lets other threads in at
each of them, and waits for them, and even alone it takes longer than to read JSON."""


class SqliteExecutor:
    """How statements are said to a connection of the driver, ours or a caller's."""

    def __init__(self, driver: sqlite3.Connection, address: Address) -> None:
        self._driver = driver
        self._address = address

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

    def send(self, sql: str, parameters: Parameters = ()) -> Pending:
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

    def execute(self, sql: str, parameters: Parameters = ()) -> DriverCursor:
        """Run the caller's own statement."""
        try:
            return self._driver.execute(sql, parameters)
        except sqlite3.Error as error:
            raise self._of_theirs(error) from None

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""
        try:
            return self._driver.executemany(sql, rows)
        except sqlite3.Error as error:
            raise self._of_theirs(error) from None

    def _of_theirs(self, error: sqlite3.Error) -> Exception:
        known = self._failed(error)
        return known if isinstance(known, RetryTransaction | TROUBLES) else error

    def _cursor(self) -> sqlite3.Cursor:
        cursor = self._driver.cursor()
        cursor.row_factory = None  # a caller's connection may turn rows into something else
        return cursor

    def _failed(self, error: sqlite3.Error) -> Exception:
        return translate_error(error, self._address)


def _too_large() -> InvalidData:
    return InvalidData("a number is larger than any that can be stored", "nothing of this was written")
