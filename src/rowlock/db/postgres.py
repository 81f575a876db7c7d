"""PostgreSQL by psycopg 3: prepared statements, one transaction at a time on a connection."""

import select
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, cast

import msgspec

from rowlock.db.database import Database, Driver
from rowlock.db.driver import ConnectionLost, Hint, Parameters, Pending, RetryTransaction, Row
from rowlock.db.statements import Dialect, channel_of
from rowlock.db.urls import Address
from rowlock.environment import Deadline
from rowlock.errors import DriverMissing, InvalidTransaction, OutcomeUnknown

try:
    import psycopg
    from psycopg.pq import TransactionStatus

    from rowlock.db.libpq import LibpqSession
    from rowlock.db.postgres_executor import (
        CONFLICTS,
        CONNECTION_FAILURE,
        POOL_IS_FULL,
        PostgresExecutor,
        borrow,
        connect,
        error_of,
        tcp_settings,
        translate_error,
    )
except ImportError:
    raise DriverMissing("PostgreSQL needs the package psycopg", "run: pip install 'rowlock[postgres]'") from None

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
        "lock_if_free": "for no key update skip locked",
        "lock_claim": "for update of c",
        "skip": "for update skip locked",
        "lock_exclusive": "for update",
        # At repeatable read a transaction does not see what others commit after it began.
        "sees_commits": "current_setting('transaction_isolation') <> 'repeatable read'",
        # A plan that was made while a table was small may read all of it for a few keys, and would be kept: so a plan
        # is made for each statement of this transaction, which takes 0.05 ms.
        "custom_plan": "(select set_config('plan_cache_mode', 'force_custom_plan', true)) as planner cross join",
        # Doubled, because a single one begins a placeholder.
        "modulo": "%%",
        "notify": "returning pg_notify('rowlock', cast(list as text))",
        # Whether somebody has requested a wake of the list that our statement has locked. Requests are seen as of its
        # begin: by now the list may be awake and asleep again, and then its row is another version than we saw. At
        # serializable to read them would bring conflicts.
        "wake_is_pending": (
            "(current_setting('transaction_isolation') = 'read committed'"
            " and l.ctid = (select seen.ctid from rowlock_lists seen where seen.name = :name)"
            " and exists (select 1 from rowlock_wakes w where w.list = l.id))"
        ),
    },
    placeholder="%({})s".format,
)

# CockroachDB as its difference from PostgreSQL: it serves at SERIALIZABLE and asks clients to retry (40001), has no
# advisory locks and no NOTIFY, and no statement may change one table twice. Its variants in sql/ are ….cockroach.sql.
COCKROACH = msgspec.structs.replace(
    DIALECT,
    names=("cockroach", "postgres"),
    fragments={
        **DIALECT.fragments,
        "share": "for share",
        "lock": "for update",
        "lock_if_free": "for update skip locked",
        "custom_plan": "",
        "notify": "",
        "wake_is_pending": "false",
    },
)

# A prepared statement is missing or exists already: a pooler has switched to another server connection.
_MISPREPARED = ("26000", "42P05")


def open_database(
    address: Address,
    *,
    statement_seconds: float = 0,
    wrap: Callable[["PostgresConnection"], Any] = lambda connection: connection,
    **options: Any,
) -> Database:
    """Return the database at the address; nothing is sent before the first transaction."""
    is_cockroach = address.dialect == "cockroach"
    address = msgspec.structs.replace(
        address,
        statement_milliseconds=round(1000 * statement_seconds),
        isolation="serializable" if is_cockroach else address.isolation,
    )
    pooler = Pooler(address.pooler)

    def open_connection(place: Address, _: Deadline) -> Any:
        # The listen address has another pooler, or none.
        return wrap(PostgresConnection(place, pooler if place.target == address.target else Pooler(place.pooler)))

    dialect = COCKROACH if is_cockroach else DIALECT
    driver = Driver(dialect, open_connection, partial(borrow, address=address), pooled=lambda: pooler.shares)
    return Database(address, driver, **options)


class Pooler:
    """What an engine knows about the pooler of its server; all its connections share this.

    A pooler in transaction mode may run each transaction on another server connection. A setting, a prepared statement
    or a LISTEN of one transaction is missing in the next, and affects other clients.
    """

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self.shares = mode == "transaction"
        """Whether other clients use the same server connections between our transactions."""

    def set_up(self, settings: Mapping[str, str], *, greeted_by: int) -> str:
        """Return a statement that tells whether no other client uses the session, and only then makes the settings.

        A pooler invents the process number of its greeting, so it differs from the process that runs the statement.
        This holds in session mode too, which cannot be detected: the address must say it.
        """
        test = "true" if self._mode == "session" else f"pg_backend_pid() = {greeted_by}"
        calls = [f"case when owned then set_config('{name}', '{value}', false) end" for name, value in settings.items()]
        return f"select {', '.join(['owned', *calls])} from (select {test} as owned) as session"  # noqa: S608

    def detected(self) -> None:
        """Remember that there is a pooler, unless the address says that it runs in session mode."""
        self.shares = self._mode != "session"


class PostgresConnection(PostgresExecutor):
    """A connection of our own, in autocommit outside of our transactions."""

    def __init__(self, address: Address, pooler: Pooler) -> None:
        super().__init__(connect(address), address.shown, lock_timeout=address.lock_milliseconds > 0)
        self._libpq = LibpqSession(self._driver)
        self._pooler = pooler
        self._listening = False
        self._channel = "" if address.dialect == "cockroach" else channel_of(address.schema)
        timeouts = {"statement_timeout": address.statement_milliseconds, "lock_timeout": address.lock_milliseconds}
        wanted = {name: str(milliseconds) for name, milliseconds in timeouts.items() if milliseconds}
        # The transactions of a pipeline have no BEGIN that could set their level.
        settings = {"default_transaction_isolation": address.isolation, **wanted, **tcp_settings(address)}
        self._begin = f"begin isolation level {address.isolation}"
        self._shared = pooler.shares or not self._set_up_session(settings)
        self._libpq.prepares = not self._shared
        # Where the session is shared, settings are made at the beginning of each transaction.
        local = [f"set local {name} = {value}" for name, value in wanted.items()]
        self._opening = [self._begin, *local] if self._shared else ["begin"]
        self._reads_in_transactions = self._shared and (address.isolation != "read committed" or bool(local))

    def _set_up_session(self, settings: dict[str, str]) -> bool:
        """Make the settings for the whole session if no other client uses it; return whether that is so."""
        with self._closing_on_error():
            rows = self._libpq.query(self._pooler.set_up(settings, greeted_by=self._driver.info.backend_pid), ())
        [[owned, *_]] = rows
        if not owned:
            self._pooler.detected()
        return bool(owned)

    @property
    def usable(self) -> bool:
        """Whether the connection is open and no transaction is."""
        return not self._driver.closed and self._driver.info.transaction_status == TransactionStatus.IDLE

    def begin(self, *, deadline: Deadline, flushed: bool = True) -> None:  # noqa: ARG002
        """Begin a transaction. A statement that need not be flushed sets that itself."""
        if not self._shared:
            self.change(self._begin)
            return
        try:
            self._libpq.script("; ".join(self._opening))
        except psycopg.Error as error:
            raise self._translated(error) from None

    def commit(self) -> None:
        """Commit; after a serialisation failure nothing was committed, after any other error that is unknown."""
        if self._driver.info.transaction_status == TransactionStatus.INERROR:
            self.rollback()  # the server would answer COMMIT with a rollback, without an error
            raise InvalidTransaction("a statement of this transaction has failed", "nothing of it was committed")
        try:
            self._libpq.change("commit", ())
        except psycopg.Error as error:
            self.rollback()
            if error.sqlstate in CONFLICTS:
                raise RetryTransaction(translate_error(error, self._shown)) from None
            if error.sqlstate in _MISPREPARED:
                raise self._translated(error) from None
            what = f"the connection to {self._shown} broke at commit"
            raise OutcomeUnknown(what, "look before you ask again") from None

    def rollback(self) -> None:
        """Roll back the transaction, if there is one."""
        try:
            if not self._driver.closed and self._driver.info.transaction_status != TransactionStatus.IDLE:
                self._libpq.change("rollback", ())
        except psycopg.Error:
            self._driver.close()

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements and return its rows."""
        if self._reads_in_transactions and self.usable:
            [pending] = self._round_trip([partial(self.send, sql, parameters)])
            return cast("Pending[list[Row]]", pending).result()
        try:
            return self._libpq.query(sql, parameters)
        except psycopg.Error as error:
            raise self._translated(error) from None

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements and return how many rows it changed."""
        try:
            return self._libpq.change(sql, parameters)
        except psycopg.Error as error:
            raise self._translated(error) from None

    def autocommit(self, sql: str, parameters: Parameters = (), *, deadline: Deadline) -> list[Row]:
        """Run one of our statements as a transaction of its own, by one message and one answer."""
        if self._reads_in_transactions:
            return self._in_transaction(sql, parameters, deadline)
        if self._libpq.has_input():
            self._driver.close()  # an idle connection has nothing to read, unless it was cut
            raise ConnectionLost(error_of(CONNECTION_FAILURE, self._shown))
        try:
            return self._libpq.query(sql, parameters)
        except psycopg.Error as error:
            raise self._refusal(error) from None

    def _refusal(self, error: psycopg.Error) -> Exception:
        """Return what to raise for a statement that commits by itself: what the server refuses was not committed."""
        state, libpq = error.sqlstate or "", self._libpq
        # A pooler says by a state of class 08 that it has lost the server, or that it found none in time.
        refused = POOL_IS_FULL in str(error) or state[:2] not in ("", CONNECTION_FAILURE)
        if not libpq.sent or (state in CONFLICTS if libpq.answered else refused):
            return self._translated(error)
        self._driver.close()
        return OutcomeUnknown(f"the connection to {self._shown} broke at commit", "look before you ask again")

    def _in_transaction(self, sql: str, parameters: Parameters, deadline: Deadline) -> list[Row]:
        """Run a statement in a transaction that begins with settings: the session is shared."""
        try:
            self.begin(deadline=deadline)
            rows = self._libpq.query(sql, parameters)
            self.commit()
        except psycopg.Error as error:
            self.rollback()
            raise self._translated(error) from None
        except BaseException:
            self.rollback()
            raise
        return rows

    def send(self, sql: str, parameters: Parameters = ()) -> Pending[list[Row]]:
        """Send one of our statements; in a pipeline its rows arrive with those of the others."""
        if self._libpq.pipelining:
            return self._libpq.send(sql, parameters)
        rows = self.query(sql, parameters)
        return Pending(lambda: rows)

    def pipeline(
        self,
        works: Sequence[Callable[[], Any]],
        *,
        deadline: Deadline,  # noqa: ARG002
        flushed: bool = True,  # noqa: ARG002
    ) -> list[Any]:
        """Send every piece as a transaction of its own, all of them before the first result is awaited.

        A claim after settlements is a piece, so that its lock does not wait for their flush.
        """
        return self._round_trip(works)

    def _round_trip(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        pending = self.send_pipeline(works)
        with self._closing_on_error():
            self._libpq.receive()
        return pending

    def send_pipeline(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Send every piece as a transaction of its own; nothing is waited for."""
        # The last piece needs no BEGIN and COMMIT: the sync ends it. In a shared session it must begin with settings.
        explicit = len(works) if self._shared else len(works) - 1
        pending = []
        with self._closing_on_error():
            self._libpq.enter_pipeline()
            for number, work in enumerate(works):
                # BEGIN and COMMIT as statements: a sync after each piece would wake both sides once more.
                for statement in self._opening if number < explicit else ():
                    self._libpq.send(statement, ())
                pending.append(work())
                if number < explicit:
                    self._libpq.send("commit", ())
            self._libpq.sync()
        return pending

    def exchange(self) -> bool:
        """Read what the socket has and send what it takes; return whether something is left to send."""
        with self._closing_on_error():
            return self._libpq.exchange()

    def receive_arrived(self) -> bool:
        """Take the results that have arrived, and return whether these were all of the pipeline."""
        with self._closing_on_error():
            return self._libpq.receive_arrived()

    def fileno(self) -> int:
        """Return the socket's number."""
        return self._driver.fileno()

    @contextmanager
    def _closing_on_error(self) -> Iterator[None]:
        try:
            yield
        except psycopg.Error as error:
            translated = self._translated(error)
            self._driver.close()  # results may be under way, and a statement may not be prepared that is noted so
            raise translated from None
        except BaseException:
            self._driver.close()
            raise

    def wait_for_hint(self, seconds: float) -> Hint | None:
        """Listen for the notification that wakes a sleeping list; only wait where none comes: pooler, CockroachDB."""
        if self._shared or not self._channel:
            select.select([], [], [], seconds)
            return None
        try:
            if not self._listening:
                self._driver.execute(f'listen "{self._channel}"')
                self._listening = True
            # The driver's own waiting spins before its deadline; the socket's does not.
            socket = select.poll()  # select() takes no descriptor above 1,023
            socket.register(self._driver.fileno(), select.POLLIN)
            socket.poll(1000 * seconds)
            payloads = [notification.payload for notification in self._driver.notifies(timeout=0)]
            return Hint({int(payload) for payload in payloads if payload.isdecimal()}) if payloads else None
        except psycopg.Error as error:
            raise self._translated(error) from None

    def close(self) -> None:
        """Close the connection."""
        self._driver.close()

    def _translated(self, error: psycopg.Error, *, caller_sql: bool = False) -> Exception:
        if caller_sql or error.sqlstate not in _MISPREPARED:
            return super()._translated(error, caller_sql=caller_sql)
        self._pooler.detected()
        self._driver.close()  # the next connection prepares no statements
        return ConnectionLost(translate_error(error, self._shown))
