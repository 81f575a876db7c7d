"""PostgreSQL by psycopg 3: prepared statements, one transaction to a connection at a time."""

import select
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import msgspec

from rowlock.db.connections import (
    TROUBLES,
    ConnectionLost,
    DriverCursor,
    LockTimeout,
    Parameters,
    Pending,
    RetryTransaction,
    Row,
)
from rowlock.db.database import Database
from rowlock.db.poolers import Pooler
from rowlock.db.statements import Dialect
from rowlock.db.urls import Address
from rowlock.environment import Deadline
from rowlock.errors import DatabaseUnreachable, DriverMissing, InvalidTransaction, InvalidUrl, OutcomeUnknown

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
    from psycopg.pq import TransactionStatus
    from psycopg.rows import tuple_row

    from rowlock.db.libpq import LibpqSession
    from rowlock.db.postgres_errors import translate_error, unreachable, words
except ImportError:
    raise DriverMissing("PostgreSQL needs the package psycopg", "run: pip install 'rowlock[postgres]'") from None

CONNECT_SECONDS = 10

DIALECT = Dialect(
    names=("postgres",),
    fragments={
        "now": "(extract(epoch from statement_timestamp()) * 1000)::bigint",
        "given_now": ":now::bigint",
        "keys": "json_array_elements_text(:keys::json) as given(key)",
        # An array, for the planner then looks up each key by the index, in order: two batches never deadlock.
        "among_keys": "= any (array(select json_array_elements_text(cast(:keys as json))))",
        "ids": "select value::bigint from json_array_elements_text(:ids::json)",
        # The text of a JSON array of numbers is that of an array of ours but for its brackets.
        "positions": "unnest(cast(translate(:positions, '[]', '{}') as bigint[])) as p (position)",
        # Adders hold the list's row against being dropped or idled; claimers still get by (see docs/design).
        "share": "for key share",
        "lock": "for no key update",
        "lock_claim": "for update of c",
        "skip": "for update skip locked",
    },
    placeholder="%({})s".format,
)

_LOCK_TIMEOUT = "55P03"
_AGAIN = ("40001", "40P01", _LOCK_TIMEOUT, "CR000")
# Of our own statements: two of one new row, or its owner just deleted. Who looks again sees what the other did.
_RACES = ("23503", "23505")
# A prepared statement is missing or exists already: a pooler has switched to another server connection.
_MISPREPARED = ("26000", "42P05")


def open_database(address: Address, *, dialect: Dialect = DIALECT, **options: Any) -> Database:
    """The database behind the address; nothing is sent before the first transaction."""
    wrap: Callable[[PostgresConnection], Any] = options.pop("wrap", lambda connection: connection)
    longest = round(1000 * options.pop("statement_seconds", 0))
    address = msgspec.structs.replace(address, statement_milliseconds=longest)
    pooler = Pooler(address.pooler)

    def opened(place: Address, _: Deadline) -> Any:
        # The listen address has another pooler, or none.
        return wrap(PostgresConnection(place, pooler if place.target == address.target else Pooler(place.pooler)))

    return Database(address, dialect, opened, partial(borrow, address=address), pooled=lambda: pooler.shares, **options)


class PostgresExecutor:
    """How statements are said to a connection of the driver, ours or a caller's."""

    def __init__(self, driver: "psycopg.Connection[Any]", shown: str) -> None:
        self._driver = driver
        self._shown = shown
        self._hurried = False

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements; all rows that it gives."""
        try:
            cursor = self._cursor().execute(sql, parameters or None)
            return cursor.fetchall() if cursor.description else []
        except psycopg.Error as error:
            raise self._failed(error) from None

    def send(self, sql: str, parameters: Parameters = ()) -> Pending:
        """Run one of our statements; its rows may be read when the transaction has ended."""
        try:
            return self._cursor().execute(sql, parameters or None).fetchall
        except psycopg.Error as error:
            raise self._failed(error) from None

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements; how many rows it touched."""
        try:
            return self._cursor().execute(sql, parameters or None).rowcount
        except psycopg.Error as error:
            raise self._failed(error) from None

    def script(self, sql: str) -> None:
        """Run a migration; without parameters the server takes many statements at once."""
        self.change(sql)

    def execute(self, sql: str, parameters: Parameters = ()) -> DriverCursor:
        """Run the caller's own statement; conflicts are ours to run again."""
        try:
            return self._driver.execute(sql, parameters or None)
        except psycopg.Error as error:
            raise self._again(error) or self._of_theirs(error) from None

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""
        cursor = self._driver.cursor()
        try:
            cursor.executemany(sql, rows)
        except psycopg.Error as error:
            raise self._again(error) or self._of_theirs(error) from None
        return cursor

    def _cursor(self) -> "psycopg.Cursor[Row]":
        return self._driver.cursor(row_factory=tuple_row)

    def _again(self, error: psycopg.Error) -> RetryTransaction | LockTimeout | None:
        known = translate_error(error, self._shown)
        if self._hurried and error.sqlstate == _LOCK_TIMEOUT:
            return LockTimeout(known)
        if error.sqlstate in _AGAIN:
            return RetryTransaction(known)
        if self._driver.closed or isinstance(known, DatabaseUnreachable):
            is_known = isinstance(known, DatabaseUnreachable)
            return ConnectionLost(known if is_known else DatabaseUnreachable(*words("08", self._shown)))
        return None

    def _of_theirs(self, error: psycopg.Error) -> Exception:
        known = translate_error(error, self._shown)
        return known if isinstance(known, TROUBLES) else error

    def _failed(self, error: psycopg.Error) -> Exception:
        known = translate_error(error, self._shown)
        # Run again, one of our statements sees the row that another writer was faster to make.
        return RetryTransaction(known) if error.sqlstate in _RACES else self._again(error) or known


class PostgresConnection(PostgresExecutor):
    """A connection of our own, in autocommit outside of our transactions."""

    def __init__(self, address: Address, pooler: Pooler) -> None:
        super().__init__(_connected(address), address.shown)
        self._libpq = LibpqSession(self._driver)
        self._pooler = pooler
        self._hurried = address.lock_milliseconds > 0
        self._listening = False
        timeouts = {"statement_timeout": address.statement_milliseconds, "lock_timeout": address.lock_milliseconds}
        wanted = {name: str(milliseconds) for name, milliseconds in timeouts.items() if milliseconds}
        # A trip's transactions have no begin that could say their level.
        settings = {"default_transaction_isolation": address.isolation, **wanted}
        self._begin = f"begin isolation level {address.isolation}"
        self._shared = pooler.shares or not self._is_ours(settings)
        self._libpq.prepares = not self._shared
        # Where the session is shared, settings are made at the beginning of each transaction.
        local = [f"set local {name} = {value}" for name, value in wanted.items()]
        self._opening = [self._begin, *local] if self._shared else ["begin"]
        self._reads_in_transactions = self._shared and (address.isolation != "read committed" or bool(local))

    def _is_ours(self, settings: dict[str, str]) -> bool:
        """Make the settings for the whole session if it is ours alone; return whether it is."""
        with self._closing_on_error():
            rows = self._libpq.rows(self._pooler.set_up(settings, greeted_by=self._driver.info.backend_pid), ())
        if not rows[0][0]:
            self._pooler.found()
        return bool(rows[0][0])

    @property
    def usable(self) -> bool:
        """Whether the server still listens and no transaction is open."""
        return not self._driver.closed and self._driver.info.transaction_status == TransactionStatus.IDLE

    def begin(self, *, deadline: Deadline, flushed: bool = True) -> None:  # noqa: ARG002
        """Start a transaction. What need not be flushed says so by a statement of its own."""
        if not self._shared:
            self.change(self._begin)
            return
        try:
            self._libpq.script("; ".join(self._opening))
        except psycopg.Error as error:
            raise self._failed(error) from None

    def commit(self) -> None:
        """Commit; a serialisation failure is a plain no, anything else that breaks here is unknown."""
        if self._driver.info.transaction_status == TransactionStatus.INERROR:
            self.rollback()  # the server would answer a commit with a rollback, and nobody would be told
            raise InvalidTransaction("a statement of this transaction has failed", "nothing of it was committed")
        try:
            self._libpq.count("commit", ())
        except psycopg.Error as error:
            self.rollback()
            if error.sqlstate in _AGAIN:
                raise RetryTransaction(translate_error(error, self._shown)) from None
            if error.sqlstate in _MISPREPARED:
                raise self._failed(error) from None
            what = f"the connection to {self._shown} broke at commit"
            raise OutcomeUnknown(what, "look before you ask again") from None

    def rollback(self) -> None:
        """Forget the transaction."""
        try:
            if not self._driver.closed and self._driver.info.transaction_status != TransactionStatus.IDLE:
                self._libpq.count("rollback", ())
        except psycopg.Error:
            self._driver.close()

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements; all rows that it gives."""
        if self._reads_in_transactions and self.usable:
            [later] = cast("list[Pending]", self._round_trip([partial(self.send, sql, parameters)]))
            return later()
        try:
            return self._libpq.rows(sql, parameters)
        except psycopg.Error as error:
            raise self._failed(error) from None

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements; how many rows it touched."""
        try:
            return self._libpq.count(sql, parameters)
        except psycopg.Error as error:
            raise self._failed(error) from None

    def script(self, sql: str) -> None:
        """Run a migration; only the driver sends many statements at once."""
        super().change(sql)

    def send(self, sql: str, parameters: Parameters = ()) -> Pending:
        """Send one of our statements; in a trip its rows arrive with everything else's."""
        if self._libpq.pipelining:
            return self._libpq.send(sql, parameters)
        rows = self.query(sql, parameters)
        return lambda: rows

    def pipeline(
        self,
        works: Sequence[Callable[[], Any]],
        *,
        deadline: Deadline,  # noqa: ARG002
        flushed: bool = True,  # noqa: ARG002
    ) -> list[Any]:
        """Send every piece as a transaction of its own, all of them before the first answer is awaited.

        They are apart so that a claim's lock does not wait for the flush of the settlement before it.
        """
        return self._round_trip(works)

    def _round_trip(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        with self._closing_on_error():
            answers = self._send_all(works)
            self._libpq.end()
        return answers

    def start(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """The same for who does not wait here: the answers may be read when all have arrived."""
        with self._closing_on_error():
            return self._send_all(works)

    def poll(self) -> bool:
        """Whether all is there that was sent for; never waits."""
        with self._closing_on_error():
            return self._libpq.poll()

    @property
    def unsent(self) -> bool:
        """Whether the socket had no room for all that is to be sent."""
        return self._libpq.unsent

    def fileno(self) -> int:
        """The socket that can be read when something may have arrived."""
        return self._driver.fileno()

    def _send_all(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        self._libpq.begin()
        # The last piece needs no begin and commit: the sync ends it. In a shared session it must begin with settings.
        apart = len(works) if self._shared else len(works) - 1
        answers = [*map(self._send_transaction, works[:apart]), *(work() for work in works[apart:])]
        self._libpq.sync()
        return answers

    def _send_transaction(self, work: Callable[[], Any]) -> Any:
        # Said in words: with a sync after each, both sides would be woken once more.
        for statement in self._opening:
            self._libpq.send(statement, ())
        answer = work()
        self._libpq.send("commit", ())
        return answer

    @contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            failed = self._failed(error)
            self._driver.close()  # answers may be under way, and statements not prepared that are believed to be
            raise failed from None
        except BaseException:
            self._driver.close()
            raise

    def wait_for_hint(self, seconds: float) -> bool:
        """Listen for the notification that wakes a sleeping list; through a pooler none arrives, so only wait."""
        if self._shared:
            select.select([], [], [], seconds)
            return False
        try:
            if not self._listening:
                self._driver.execute("listen rowlock")
                self._listening = True
            # The driver's own waiting spins before its deadline; the socket's does not.
            select.select([self._driver.fileno()], [], [], seconds)
            return any(True for _ in self._driver.notifies(timeout=0))
        except psycopg.Error as error:
            raise self._failed(error) from None

    def close(self) -> None:
        """Hang up."""
        self._driver.close()

    def _failed(self, error: psycopg.Error) -> Exception:
        if error.sqlstate not in _MISPREPARED:
            return super()._failed(error)
        self._pooler.found()
        self._driver.close()  # the next connection uses no names
        return ConnectionLost(translate_error(error, self._shown))


def _connected(address: Address) -> "psycopg.Connection[Any]":
    try:
        return psycopg.connect(
            address.target,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="rowlock",
            # It would forget everything that is prepared, ours too, after a rollback of what it has prepared.
            prepare_threshold=None,
        )
    except psycopg.Error as error:
        raise unreachable(error, address.shown) from None
    except UnicodeError:
        raise InvalidUrl(f"the host in {address.shown} cannot be a host's name", "check it for dots too many") from None


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

    def _failed(self, error: psycopg.Error) -> Exception:
        return translate_error(error, self._shown)

    def _again(self, error: psycopg.Error) -> RetryTransaction | None:  # noqa: ARG002
        return None

    def _of_theirs(self, error: psycopg.Error) -> Exception:
        return error


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
