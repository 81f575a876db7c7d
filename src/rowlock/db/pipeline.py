"""Non-blocking pipelines: an event loop watches the socket and collects the results."""

from collections.abc import Callable
from functools import partial
from typing import Any

from rowlock.db.connections import PipelinedConnection, RetryTransaction
from rowlock.db.transaction import Transaction

Work = Callable[[Transaction], Callable[[], Any]]


class Pipeline:
    """A connection of its own, one pipeline at a time; after an error it is good for nothing but to be closed."""

    def __init__(
        self, connection: PipelinedConnection, transaction_on: Callable[[PipelinedConnection], Transaction]
    ) -> None:
        self._connection = connection
        self._transaction_on = transaction_on
        self._answers: list[Callable[[], Any]] = []

    def fileno(self) -> int:
        """The socket to watch."""
        return self._connection.fileno()

    @property
    def unsent(self) -> bool:
        """Whether the socket had no room for all of it: watch for that too."""
        return self._connection.unsent

    def send(self, *works: Work) -> None:
        """Send everything off; nothing is waited for."""
        tx = self._transaction_on(self._connection)
        self._answers = _in_our_words(self._connection.start, [partial(work, tx) for work in works])

    def poll(self) -> bool:
        """Take in what has come, send what the socket had no room for; whether all answers are there."""
        home: bool = _in_our_words(self._connection.poll)
        return home

    def results(self) -> list[Any]:
        """What the works brought home, in order."""
        return [answer() for answer in self._answers]

    def close(self) -> None:
        """Hang up."""
        self._connection.close()


def _in_our_words(say: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return say(*arguments)
    except RetryTransaction as conflict:
        raise conflict.error from None
