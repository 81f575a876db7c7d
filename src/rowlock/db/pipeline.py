"""Non-blocking pipelines: an event loop watches the socket and collects the results."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from rowlock.db.connections import PipelinedConnection, RetryTransaction
from rowlock.db.transaction import Transaction

T = TypeVar("T")

Work = Callable[[Transaction], Callable[[], Any]]
"""A piece of a pipeline: it sends statements, and its result is read when the pipeline has ended."""


class Pipeline:
    """A connection that runs one pipeline at a time; after an error it can only be closed."""

    def __init__(
        self, connection: PipelinedConnection, transaction_on: Callable[[PipelinedConnection], Transaction]
    ) -> None:
        self._connection = connection
        self._transaction_on = transaction_on
        self._pending: list[Callable[[], Any]] = []

    def fileno(self) -> int:
        """Return the socket's descriptor, to watch it."""
        return self._connection.fileno()

    @property
    def unsent(self) -> bool:
        """Whether the socket's buffer was full: watch for room to write too."""
        return self._connection.unsent

    def send(self, *works: Work) -> None:
        """Send all pieces without waiting for a result."""
        tx = self._transaction_on(self._connection)
        self._pending = _translated(self._connection.start, [partial(work, tx) for work in works])

    def poll(self) -> bool:
        """Send and receive what the socket is ready for; return whether all results are there."""
        return _translated(self._connection.poll)

    def results(self) -> list[Any]:
        """Return the results of the pieces, in order."""
        return [pending() for pending in self._pending]

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _translated(step: Callable[..., T], *arguments: Any) -> T:
    try:
        return step(*arguments)
    except RetryTransaction as conflict:
        raise conflict.error from None
