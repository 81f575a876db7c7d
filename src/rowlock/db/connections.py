"""One conversation with a database: the small interface that a driver fills and a simulator may stand in for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from rowlock.environment import Deadline
from rowlock.errors import DatabaseCorrupt, DatabaseDenied, DatabaseFull, DatabaseReadOnly, RowlockError

TROUBLES = DatabaseCorrupt | DatabaseDenied | DatabaseFull | DatabaseReadOnly
"""What is wrong with the database itself and not with what was said to it: ours to tell, also of a caller's own SQL."""

Parameters = Mapping[str, Any] | Sequence[Any]
Row = tuple[Any, ...]


Pending = Callable[[], list[Row]]
"""The rows of a statement that was asked for, read when the trip has come home."""


class DriverCursor(Protocol):
    """What a statement gives back."""

    @property
    def rowcount(self) -> int:
        """How many rows were touched."""

    def fetchall(self) -> list[Any]:
        """All rows of the answer."""

    def fetchone(self) -> Any:
        """The next row of the answer, or None."""


class StatementExecutor(Protocol):
    """Statements said to a connection: ours, or one that a caller lends us."""

    def query(self, sql: str, parameters: Parameters = ()) -> list[Row]:
        """Run one of our statements; all rows that it gives."""

    def send(self, sql: str, parameters: Parameters = ()) -> Pending:
        """Run one of our statements; its rows may be read only after its transaction has ended."""

    def change(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one of our statements; how many rows it touched."""

    def script(self, sql: str) -> None:
        """Run several statements without parameters: a migration."""

    def execute(self, sql: str, parameters: Parameters = ()) -> DriverCursor:
        """Run the caller's own statement; the driver's errors about it are the caller's."""

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> DriverCursor:
        """Run the caller's own statement once per row."""


class DatabaseConnection(StatementExecutor, Protocol):
    """A connection of our own, with its transactions."""

    @property
    def usable(self) -> bool:
        """Whether another transaction can be begun on it."""

    def begin(self, *, deadline: Deadline, flushed: bool = True) -> None:
        """Start a transaction, ready to write before anything is read; `rollback` follows if this raises.

        Unless it is `flushed` a power cut may forget it when it has been committed.
        """

    def commit(self) -> None:
        """Make it last; a failure here leaves the outcome unknown unless `RetryTransaction` says it did not land."""

    def rollback(self) -> None:
        """Forget the transaction, if there is one, and whatever `begin` has taken; never fails."""

    def pipeline(self, works: Sequence[Callable[[], Any]], *, deadline: Deadline, flushed: bool = True) -> list[Any]:
        """Do several pieces of work, each a whole transaction or all in one, at the price of one round trip.

        Each gives a function that reads its answer; a piece must be harmless to do again, for on an error nobody
        knows how far the trip went.
        """

    def wait_for_hint(self, seconds: float) -> bool:
        """Wait up to that long for a sign that somebody has added work; whether one came. Only a hint."""

    def close(self) -> None:
        """Forget the transaction and end the conversation; never fails, and may be called again."""


class PipelinedConnection(DatabaseConnection, Protocol):
    """A connection by a socket, whose answers an event loop can wait for."""

    @property
    def unsent(self) -> bool:
        """Whether the socket had no room for all that is to be sent."""

    def start(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Begin a trip that nobody waits for here; what reads its answers, when it has arrived."""

    def poll(self) -> bool:
        """Whether all answers are there; never waits."""

    def fileno(self) -> int:
        """The socket on which they come."""


class RetryTransaction(Exception):
    """The transaction did not land and may be run again; `error` is what to say when patience ends."""

    def __init__(self, error: RowlockError) -> None:
        super().__init__(str(error))
        self.error = error


class LockTimeout(Exception):
    """Somebody holds what is needed for longer than this connection waits; said only where it was told how long."""

    def __init__(self, error: RowlockError) -> None:
        super().__init__(str(error))
        self.error = error


class ConnectionLost(RetryTransaction):
    """The connection broke before COMMIT was asked for: nothing landed, and a new connection is needed."""
