"""Counts the statements that an engine sends: `Engine(url, wrap=Statements())`."""

from collections.abc import Callable
from typing import Any

SENDING = ("query", "change", "autocommit", "send")
"""Methods of a connection that take a statement."""


class Statements:
    """Counts the statements of all connections of an engine; to look up tokens belongs to no page."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, connection: Any) -> "CountedConnection":
        return CountedConnection(connection, self)


class CountedConnection:
    """A connection whose statements are counted."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        self._connection, self._statements = connection, statements

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._connection, name)
        return self._counted(found) if name in SENDING else found

    def _counted(self, send: Callable[..., Any]) -> Callable[..., Any]:
        def counted(sql: str, *parameters: Any, **options: Any) -> Any:
            self._statements.count += "rowlock_tokens" not in sql
            return send(sql, *parameters, **options)

        return counted
