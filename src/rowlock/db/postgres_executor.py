"""Statements on a psycopg connection, ours or a caller's, and what their errors mean."""

from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus
from psycopg.rows import tuple_row

from rowlock.db.connections import (
    DATABASE_FAULTS,
    ConnectionLost,
    DriverCursor,
    LockTimeout,
    Parameters,
    RetryTransaction,
    Row,
)
from rowlock.db.pending import Pending
from rowlock.db.postgres_errors import CONNECTION_FAILURE, error_of, translate_error
from rowlock.db.urls import Address
from rowlock.errors import DatabaseUnreachable, InvalidTransaction

_LOCK_TIMEOUT = "55P03"
CONFLICTS = ("40001", "40P01", _LOCK_TIMEOUT, "CR000")
# Of our own statements: two writers of one new row, or its owner just deleted. Run again, a statement sees the other.
_RACES = ("23503", "23505")


class PostgresExecutor:
    """Runs statements on a connection of the driver, ours or a caller's."""

    def __init__(self, driver: "psycopg.Connection[Any]", shown: str, *, lock_timeout: bool = False) -> None:
        self._driver = driver
        self._shown = shown
        self._lock_timeout = lock_timeout

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements and return its rows."""
        cursor = self._run(sql, parameters)
        return cursor.fetchall() if cursor.description else []

    def send(self, sql: str, parameters: Parameters = ()) -> Pending[list[Row]]:
        """Run one of our statements; its rows can be read when the transaction has ended."""
        return Pending(self._run(sql, parameters).fetchall)

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements and return how many rows it changed."""
        return self._run(sql, parameters).rowcount

    def script(self, sql: str) -> None:
        """Run a migration; without parameters the server takes many statements at once."""
        self._run(sql, ())

    def execute(self, sql: str, parameters: Parameters = ()) -> DriverCursor:
        """Run the caller's own statement; only conflicts and faults of the database are translated."""
        try:
            return self._driver.execute(sql, parameters or None)
        except psycopg.Error as error:
            raise self._translated(error, ours=False) from None

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""
        cursor = self._driver.cursor()
        try:
            cursor.executemany(sql, rows)
        except psycopg.Error as error:
            raise self._translated(error, ours=False) from None
        return cursor

    def _run(self, sql: str, parameters: Parameters) -> "psycopg.Cursor[Row]":
        try:
            return self._driver.cursor(row_factory=tuple_row).execute(sql, parameters or None)
        except psycopg.Error as error:
            raise self._translated(error) from None

    def _translated(self, error: psycopg.Error, *, ours: bool = True) -> Exception:
        """Return what to raise for a driver's error about a statement of ours, or of the caller's."""
        known = translate_error(error, self._shown)
        if self._lock_timeout and error.sqlstate == _LOCK_TIMEOUT:
            return LockTimeout(known)
        if error.sqlstate in CONFLICTS or (ours and error.sqlstate in _RACES):
            return RetryTransaction(known)
        if isinstance(known, DatabaseUnreachable):
            return ConnectionLost(known)
        if self._driver.closed:
            return ConnectionLost(error_of(CONNECTION_FAILURE, self._shown))
        return known if ours or isinstance(known, DATABASE_FAULTS) else error


class BorrowedPostgres(PostgresExecutor):
    """A caller's connection, inside a transaction of theirs; never committed, rolled back or run again by us."""

    def __init__(self, driver: "psycopg.Connection[Any]") -> None:
        if driver.closed:
            raise InvalidTransaction("the given psycopg connection is closed", "give an open one")
        status = driver.info.transaction_status
        if status == TransactionStatus.INERROR:
            raise InvalidTransaction("the given transaction has failed already", "roll it back and begin anew")
        if driver.autocommit and status == TransactionStatus.IDLE:
            what = "the given psycopg connection is in autocommit and has no open transaction"
            raise InvalidTransaction(what, "use it inside: with connection.transaction()")
        super().__init__(driver, "the given connection")

    def _translated(self, error: psycopg.Error, *, ours: bool = True) -> Exception:
        return translate_error(error, self._shown) if ours else error


def borrow(driver: Any, address: Address) -> BorrowedPostgres:
    """Join the transaction of a caller's psycopg connection to the same database."""
    if not isinstance(driver, psycopg.Connection):
        what = f"using= was given {type(driver).__name__}, but this engine's database is PostgreSQL"
        raise InvalidTransaction(what, "give an open psycopg 3, SQLAlchemy (postgresql+psycopg) or Django transaction")
    borrowed = BorrowedPostgres(driver)
    named = conninfo_to_dict(address.target).get("dbname")
    if named and named != driver.info.dbname:
        what = f"the given psycopg connection is to the database {driver.info.dbname!r}, not {named!r}"
        raise InvalidTransaction(what, "open the engine on that database, or the connection on this one")
    return borrowed
