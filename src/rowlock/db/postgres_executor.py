"""Connections of psycopg, ours or a caller's, the statements on them, and what their errors mean."""

import re
from collections.abc import Iterable
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.pq import Conninfo, TransactionStatus
from psycopg.rows import tuple_row

from rowlock.db.driver import (
    DATABASE_FAULTS,
    ConnectionLost,
    DriverCursor,
    LockTimeout,
    Parameters,
    Pending,
    RetryTransaction,
    Row,
)
from rowlock.db.urls import OWN_OPTIONS, Address
from rowlock.errors import (
    DatabaseBusy,
    DatabaseDenied,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnreachable,
    InvalidData,
    InvalidTransaction,
    InvalidUrl,
    RowlockError,
    SchemaMissing,
    Unavailable,
)
from rowlock.names import closest

_UNKNOWN_OPTION = re.compile(r'(?:query parameter|connection option):? "([^"]+)"')
_LOCK_TIMEOUT = "55P03"
CONFLICTS = ("40001", "40P01", _LOCK_TIMEOUT, "CR000")
# Of our own statements: two writers of one new row, or its owner just deleted. Run again, a statement sees the other.
_RACES = ("23503", "23505")

POOL_IS_FULL = "query_wait_timeout"
_POOLER_HINT = (
    "try again; if a connection pooler runs in transaction mode, add pooler=transaction to the address, "
    "and open psycopg connections of your own with prepare_threshold=None"
)

CONNECTION_FAILURE = "08"
# A SQLSTATE, or the beginning of one: our error, with what to say and what to do.
_STATES: dict[str, tuple[type[RowlockError], str, str]] = {
    CONNECTION_FAILURE: (DatabaseUnreachable, "the connection to {} was lost", "check that the server runs"),
    POOL_IS_FULL: (
        DatabaseUnreachable,
        "the pooler of {} had no free connection in time",
        "raise its default_pool_size or query_wait_timeout, or run fewer workers",
    ),
    "28": (
        DatabaseDenied,
        "{} does not accept this user or password",
        "check the address, or set PGPASSWORD",
    ),
    "3D": (DatabaseUnreachable, "{} has no such database", "make it: createdb NAME"),
    "3F": (SchemaMissing, "{} has no such schema", "create it, or mend search_path"),
    "23503": (DatabaseBusy, "{} had somebody delete what this belongs to", "try again"),
    "23505": (DatabaseBusy, "{} had two writers of one new row", "try again"),
    "22": (InvalidData, "{} cannot store one of the values", "nothing of this was written"),
    "25P02": (InvalidTransaction, "an earlier statement of this transaction on {} has failed", "begin anew"),
    "26000": (DatabaseBusy, "{} has lost a prepared statement", _POOLER_HINT),
    "42P05": (DatabaseBusy, "{} has prepared a statement for another client", _POOLER_HINT),
    "25006": (DatabaseReadOnly, "{} is read-only", "name the primary server"),
    "40": (DatabaseBusy, "{} had too many conflicting writers", "try again"),
    "42501": (DatabaseDenied, "{} does not let this user do that", "grant it the rights that doctor names"),
    "42P01": (SchemaMissing, "{} has no tables of rowlock", "run: rowlock migrate"),
    "53100": (DatabaseFull, "no room is left on {}", "free some space; nothing was changed"),
    "53": (
        Unavailable,
        "{} has no resources for another connection",
        "raise max_connections (max_client_conn of a pooler), or stop something",
    ),
    "55P03": (DatabaseBusy, "{} held a lock for too long", "try again"),
    "57014": (DatabaseBusy, "{} took too long", "raise its statement_timeout, or try again"),
    "57P": (DatabaseUnreachable, "{} is shutting down or starting", "wait until it is back"),
}

# What libpq says when it cannot connect, with its meaning and what to do.
_UNREACHED = {
    "Connection refused": (": nothing listens there", "check host and port, and that the server runs"),
    "could not translate host name": (": no host has that name", "check how it is written, and the network"),
    "failed to resolve host": (": no host has that name", "check how it is written, and the network"),
    "No such file or directory": (": there is no such socket", "check that the server runs, or name a host"),
    "timeout expired": (": it has not answered in time", "check the host, the network, and what lies between"),
    "Network is unreachable": (": there is no way to that network", "check the host, and the network"),
    "server does not support SSL": (": it speaks no TLS", "leave sslmode out, or turn TLS on there"),
    "certificate verify failed": (": its certificate is not trusted", "check sslrootcert and the host's name"),
}


# Options of libpq, each unless the address has it. A network that drops packets says nothing: then a connection ends
# after 10 seconds without an answer of the other machine, in place of hours.
CONNECTION_OPTIONS = {
    "connect_timeout": "10",
    "application_name": "rowlock",
    "keepalives_idle": "5",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "10000",
}
# The server's settings for the same. Otherwise the transaction of a worker that is cut off holds its locks for hours.
TCP_SETTINGS = {
    "tcp_keepalives_idle": "keepalives_idle",
    "tcp_keepalives_interval": "keepalives_interval",
    "tcp_keepalives_count": "keepalives_count",
    "tcp_user_timeout": "tcp_user_timeout",
}


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
            raise self._translated(error, caller_sql=True) from None

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""
        cursor = self._driver.cursor()
        try:
            cursor.executemany(sql, rows)
        except psycopg.Error as error:
            raise self._translated(error, caller_sql=True) from None
        return cursor

    def _run(self, sql: str, parameters: Parameters) -> "psycopg.Cursor[Row]":
        try:
            return self._driver.cursor(row_factory=tuple_row).execute(sql, parameters or None)
        except psycopg.Error as error:
            raise self._translated(error) from None

    def _translated(self, error: psycopg.Error, *, caller_sql: bool = False) -> Exception:
        """Return what to raise for a driver's error about a statement of rowlock, or of the caller."""
        known = translate_error(error, self._shown)
        if self._lock_timeout and error.sqlstate == _LOCK_TIMEOUT:
            return LockTimeout(known)
        if error.sqlstate in CONFLICTS or (not caller_sql and error.sqlstate in _RACES):
            return RetryTransaction(known)
        if isinstance(known, DatabaseUnreachable):
            return ConnectionLost(known)
        if self._driver.closed:
            return ConnectionLost(error_of(CONNECTION_FAILURE, self._shown))
        return known if not caller_sql or isinstance(known, DATABASE_FAULTS) else error


class BorrowedPostgres(PostgresExecutor):
    """A caller's connection, inside an open transaction; it is never committed, rolled back or run again here."""

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

    def _translated(self, error: psycopg.Error, *, caller_sql: bool = False) -> Exception:
        return error if caller_sql else translate_error(error, self._shown)


class _SharedConnection(psycopg.Connection[Any]):
    """The connection of an async program, for plain code that runs while nothing else uses it."""

    def __init__(self, asynchronous: "psycopg.AsyncConnection[Any]") -> None:
        if asynchronous.lock.locked():
            what = "the given psycopg connection is in use by another task"
            raise InvalidTransaction(what, "give each task a connection of its own")
        super().__init__(asynchronous.pgconn)
        self._autocommit = asynchronous.autocommit
        self.prepare_threshold = None  # both would give the same names to prepared statements

    def __del__(self, *_: object) -> None:
        """Leave the connection to its owner, who closes it."""


def borrow(driver: Any, address: Address) -> BorrowedPostgres:
    """Join the transaction of a caller's psycopg connection to the same database."""
    if isinstance(driver, psycopg.AsyncConnection):
        driver = _SharedConnection(driver)
    if not isinstance(driver, psycopg.Connection):
        what = f"using= was given {type(driver).__name__}, but this engine's database is PostgreSQL"
        raise InvalidTransaction(what, "give an open psycopg 3, SQLAlchemy (postgresql+psycopg) or Django transaction")
    borrowed = BorrowedPostgres(driver)
    named = conninfo_to_dict(address.target).get("dbname")
    if named and named != driver.info.dbname:
        what = f"the given psycopg connection is to the database {driver.info.dbname!r}, not {named!r}"
        raise InvalidTransaction(what, "open the engine on that database, or the connection on this one")
    return borrowed


def connect(address: Address) -> "psycopg.Connection[Any]":
    """Open a connection of our own, in autocommit."""
    try:
        target = make_conninfo(**_options(address))
        # The driver's own preparing would deallocate all prepared statements, ours too, after some rollbacks.
        return psycopg.connect(target, autocommit=True, prepare_threshold=None)
    except psycopg.Error as error:
        raise translate_connect_error(error, address.shown) from None
    except UnicodeError:
        raise InvalidUrl(f"invalid host name in {address.shown}", "check it for too many dots") from None


def tcp_settings(address: Address) -> dict[str, str]:
    """Return when the server gives up a connection without an answer: as we do. CockroachDB has no such settings."""
    options = {} if address.dialect == "cockroach" else _options(address)
    given = {setting: str(options[option]) for setting, option in TCP_SETTINGS.items() if option in options}
    return {setting: value for setting, value in given.items() if value.isdecimal()}


def _options(address: Address) -> dict[str, Any]:
    return {**CONNECTION_OPTIONS, **conninfo_to_dict(address.target)}


def translate_connect_error(error: psycopg.Error, shown: str) -> Exception:
    """Return why a connection could not be opened; ConnectionLost where another try may succeed."""
    if _mentions(error, "too many clients", "too many connections", "slots are reserved", "no more connections"):
        return ConnectionLost(error_of("53", shown))
    if isinstance(translate_error(error, shown), DatabaseDenied) or _mentions(
        error, "password", 'role "', "authentication", "pg_hba.conf"
    ):
        return error_of("28", shown)
    if _mentions(error, "does not exist"):
        return error_of("3D", shown)
    if _mentions(error, "invalid connection option", "invalid URI", "invalid percent-encoded"):
        return _unknown_part(error, shown)
    if _mentions(error, "unsupported startup parameter"):
        what = f"the pooler at {shown} takes no options for a session: {str(error).rpartition(': ')[2]}"
        return InvalidUrl(what, "leave it out, and set it for the role: alter role NAME set search_path = …")
    why, hint = next(
        (meant for said, meant in _UNREACHED.items() if said in str(error)),
        ("", "check host and port, and that the server runs"),
    )
    return ConnectionLost(DatabaseUnreachable(f"{shown} cannot be reached{why}", hint))


def _unknown_part(error: psycopg.Error, shown: str) -> InvalidUrl:
    """Return the error for an address with an option that neither we nor libpq have; it suggests the closest one."""
    found = _UNKNOWN_OPTION.search(str(error))
    known = [*OWN_OPTIONS, *(option.keyword.decode() for option in Conninfo.get_defaults())]
    near = closest(found[1], known) if found else None
    what = f"the address {shown} has a part that PostgreSQL does not know{f': {found[1]}' if found else ''}"
    return InvalidUrl(what, f"did you mean {near!r}?" if near else "see docs/reference/configuration.md")


def translate_error(error: psycopg.Error, shown: str) -> RowlockError:
    """Return our error for the driver's."""
    # Without a state it was the driver that refused a value, as the server would have: a NUL in a text.
    state = error.sqlstate or ("22" if isinstance(error, psycopg.DataError) else "")
    # PgBouncer has one state for all of its own errors, and libpq often loses it when the connection is closed.
    if state in ("", "08P01") and _mentions(error, POOL_IS_FULL):
        state = POOL_IS_FULL
    for known in (state, state[:3], state[:2]):
        if known in _STATES:
            return error_of(known, shown)
    return Unavailable(f"{shown} failed{f' (SQLSTATE {state})' if state else ''}", "run: rowlock doctor")


def error_of(state: str, shown: str) -> RowlockError:
    """Return our error for a known SQLSTATE."""
    kind, what, hint = _STATES[state]
    return kind(what.format(shown), hint)


def _mentions(error: psycopg.Error, *words: str) -> bool:
    return any(word in str(error) for word in words)
