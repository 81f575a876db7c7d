"""A transaction runs statements by name; verbs are functions whose first argument is one."""

from collections.abc import Callable, Iterable
from typing import Any

from rowlock.db.connections import Cursor, Later, Parameters, Row, Speech
from rowlock.db.statements import Statements

Clock = Callable[[], int]


class Transaction:
    """An open transaction of a database."""

    def __init__(self, connection: Speech, statements: Statements, clock: Clock | None = None) -> None:
        self._connection = connection
        self._statements = statements
        self._clock = clock

    def rows(self, name: str, /, **parameters: Any) -> list[Row]:
        """All rows that the statement gives."""
        return self._connection.query(self._text(name, parameters), parameters)

    def row(self, name: str, /, **parameters: Any) -> Row | None:
        """The first row that the statement gives, or None."""
        rows = self.rows(name, **parameters)
        return rows[0] if rows else None

    def value(self, name: str, /, **parameters: Any) -> Any:
        """The first column of the first row, or None."""
        row = self.row(name, **parameters)
        return None if row is None else row[0]

    def ask(self, name: str, /, **parameters: Any) -> Later:
        """Run the statement; its rows may be read only when the transaction has ended: for trips."""
        return self._connection.ask(self._text(name, parameters), parameters)

    def run(self, name: str, /, **parameters: Any) -> int:
        """Run the statement; how many rows it touched."""
        return self._connection.change(self._text(name, parameters), parameters)

    def script(self, sql: str) -> None:
        """Run several statements without parameters: a migration."""
        self._connection.script(sql)

    def execute(self, sql: str, parameters: Parameters = ()) -> Cursor:
        """Run SQL of the caller's own, in its driver's dialect."""
        return self._connection.execute(sql, parameters)

    def executemany(self, sql: str, rows: Iterable[Parameters]) -> Cursor:
        """Run SQL of the caller's own once per row."""
        return self._connection.executemany(sql, rows)

    def _text(self, name: str, parameters: dict[str, Any]) -> str:
        statement = self._statements[name]
        if self._clock is not None and statement.timed:
            parameters["now"] = self._clock()
        return statement.text
