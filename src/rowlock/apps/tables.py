"""Tables of an application: its migrations, and its statements, one to a file."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import msgspec

from rowlock import Engine, Transaction

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_STATEMENT_END = re.compile(r";\n(?! |end)")


class SqlExecutor(Protocol):
    """Anything that can execute SQL: a transaction of an engine."""

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Execute a statement."""


class AppTables:
    """The SQL files below an application's folder, for the database of an engine.

    `sql/NOUN/VERB.sql` is a statement, `migrations/NAME.sql` a migration. A file `….DIALECT.sql` beside one replaces it
    on that database. Only the application reads and writes these tables, never the HTTP service.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder

    def rows(self, tx: SqlExecutor, name: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """Execute a statement by name and return all rows; a parameter that is a list is passed as JSON."""
        passed = {
            key: msgspec.json.encode(value).decode() if isinstance(value, list) else value
            for key, value in parameters.items()
        }
        cursor = tx.execute(_statement(self._folder, name, self._engine.dialect), passed)
        return cursor.fetchall() if cursor.description else []

    def migrate(self, counter: str, migrations: Sequence[str]) -> None:
        """Run the migrations that were not run yet, each once, however many processes start at the same time.

        The counter says how many have been run.
        """

        def run_next(tx: Transaction, counters: list[str]) -> list[str]:
            return [self._run_next(tx, name, migrations=migrations) for name in counters]

        # As a grouped function, so that it is repeated after a conflict with another process that starts.
        repeated = self._engine.grouped.together(run_next)
        while self._engine.counter(counter).show() < len(migrations):
            with suppress(_AlreadyRun):
                repeated(counter)

    def _run_next(self, tx: Transaction, counter: str, *, migrations: Sequence[str]) -> str:
        # The process that gets the number runs the migration; others wait for the counter, and find that it was run.
        number = tx.counter(counter).next()
        if number > len(migrations):
            raise _AlreadyRun
        self._run_script(tx, migrations[number - 1])
        return migrations[number - 1]

    def _run_script(self, tx: SqlExecutor, migration: str) -> None:
        script = _text(self._folder / "migrations" / migration, self._engine.dialect)
        for statement in filter(str.strip, _STATEMENT_END.split(script)):
            tx.execute(statement)


class _AlreadyRun(Exception):
    """Another process ran the migration first."""


@cache
def _statement(folder: Path, name: str, dialect: str) -> str:
    text = _text(folder / "sql" / name, dialect)
    return text if dialect == "sqlite" else _PARAMETER.sub(r"%(\1)s", text)


def _text(path: Path, dialect: str) -> str:
    own = path.with_name(f"{path.name}.{dialect}.sql")
    return (own if own.exists() else path.with_name(f"{path.name}.sql")).read_text()
