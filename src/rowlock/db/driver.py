"""The interface of one database connection, which each driver implements and a test may wrap."""

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from rowlock.environment import Deadline
from rowlock.errors import DatabaseCorrupt, DatabaseDenied, DatabaseFull, DatabaseReadOnly, RowlockError

DATABASE_FAULTS = DatabaseCorrupt | DatabaseDenied | DatabaseFull | DatabaseReadOnly
"""Errors about the database itself and not about a statement: translated also for a caller's own SQL."""

T = TypeVar("T")
U = TypeVar("U")
Parameters = Mapping[str, Any] | Sequence[Any]
Row = tuple[Any, ...]


class Pending(msgspec.Struct, Generic[T], frozen=True):
    """The result of something that was sent to the database; `result()` may be called when the pipeline has ended."""

    result: Callable[[], T]

    def map(self, function: Callable[[T], U]) -> "Pending[U]":
        """Return what the function makes of the result, pending too."""
        return Pending(lambda: function(self.result()))


class Hint(msgspec.Struct, frozen=True):
    """A message that somebody may have added work."""

    lists: Set[int] = frozenset()
    """The numbers of the lists that it is about, as far as the database says."""


class DriverCursor(Protocol):
    """What the driver gives back for a statement of the caller's."""

    @property
    def rowcount(self) -> int:
        """How many rows were changed."""

    def fetchall(self) -> list[Any]:
        """Return all rows."""

    def fetchone(self) -> Any:
        """Return the next row, or None."""


class StatementExecutor(Protocol):
    """Runs statements on a connection, ours or one that a caller lends us."""

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements and return its rows."""

    def send(self, sql: str, parameters: Parameters = ()) -> Pending[list[Row]]:
        """Run one of our statements; its rows can be read when its transaction has ended."""

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements and return how many rows it changed."""

    def script(self, sql: str) -> None:
        """Run several statements without parameters: a migration."""

    def execute(self, sql: str, parameters: Parameters = ()) -> DriverCursor:
        """Run the caller's own statement; the driver's errors about it are raised as they are."""

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""


class DatabaseConnection(StatementExecutor, Protocol):
    """A connection of our own, with its transactions."""

    @property
    def usable(self) -> bool:
        """Whether another transaction can be begun on it."""

    def begin(self, *, deadline: Deadline, flushed: bool = True) -> None:
        """Begin a transaction with the right to write; call `rollback` if this raises.

        A power cut after its commit may lose a transaction that is not `flushed`.
        """

    def commit(self) -> None:
        """Commit; an error leaves the outcome unknown, except for `RetryTransaction`: then nothing was committed."""

    def rollback(self) -> None:
        """Roll back the transaction, if there is one, and release what `begin` has locked; never raises."""

    def autocommit(self, sql: str, parameters: Parameters = (), *, deadline: Deadline) -> list[Row]:
        """Run one of our statements as a transaction of its own, in one round trip, and return its rows.

        Nothing was committed if this raises, except for `OutcomeUnknown`.
        """

    def pipeline(self, works: Sequence[Callable[[], Any]], *, deadline: Deadline, flushed: bool = True) -> list[Any]:
        """Do several pieces of work, each a transaction or all in one, in one round trip.

        A piece must be idempotent: after an error it is unknown how many were committed.
        """

    def wait_for_hint(self, seconds: float) -> Hint | None:
        """Wait for a hint that somebody has added work; None if none came. Hints may be lost or wrong."""

    def close(self) -> None:
        """Roll back the transaction and close the connection; never raises, and may be called again."""


class SocketConnection(DatabaseConnection, Protocol):
    """A connection to a server: somebody else may wait for its socket."""

    def send_pipeline(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Send every piece as a transaction of its own; nothing is waited for."""

    def exchange(self) -> bool:
        """Read what the socket has and send what it takes; return whether something is left to send."""

    def receive_arrived(self) -> bool:
        """Take the results that have arrived, and return whether these were all of the pipeline."""

    def fileno(self) -> int:
        """Return the socket's number."""


class RetryTransaction(Exception):
    """The transaction was not committed and may be run again; `error` is raised when patience ends."""

    def __init__(self, error: RowlockError) -> None:
        super().__init__(str(error))
        self.error = error


class ConnectionLost(RetryTransaction):
    """The connection broke before COMMIT was sent: nothing was committed, and a new connection is needed."""


class LockTimeout(Exception):
    """Another transaction holds a lock for longer than this connection was set to wait."""

    def __init__(self, error: RowlockError) -> None:
        super().__init__(str(error))
        self.error = error
