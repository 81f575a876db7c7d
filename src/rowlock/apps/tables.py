"""Tables of an application's own: the steps that make them, and its statements, one to a file."""

import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from rowlock import Engine, Transaction

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_STATEMENT_END = re.compile(r";\n(?! |end)")


class Executes(Protocol):
    """A transaction, as far as statements need one."""

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Run SQL of our own."""


class AppTables:
    """The SQL files below an application's folder, in the words of one database.

    `sql/NOUN/VERB.sql` is a statement, `migrations/STEP.sql` a step. A file `….DIALECT.sql` beside one replaces it on
    that database. The HTTP service reads and writes none of these tables: only the application does.
    """

    def __init__(self, engine: Engine, folder: Path) -> None:
        self._engine = engine
        self._folder = folder

    def rows(self, tx: Executes, name: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement; all rows that it gives."""
        cursor = tx.execute(_statement(self._folder, name, self._engine.dialect), parameters)
        return cursor.fetchall() if cursor.description else []

    def take_steps(self, counter: str, steps: Sequence[str]) -> None:
        """Take the steps that were not taken yet, each once, however many processes begin at the same time."""

        def take(tx: Transaction, asked: list[str]) -> list[str]:
            return [self._take_step(tx, name, steps=steps) for name in asked]

        # Run as a verb, so that it is run again after a conflict with another process that begins.
        take_next = self._engine.grouped.together(take)
        while self._engine.counter(counter).show() < len(steps):
            with suppress(_Taken):
                take_next(counter)

    def _take_step(self, tx: Transaction, counter: str, *, steps: Sequence[str]) -> str:
        # Whoever takes the number takes the step; all others wait here, and find that it was taken.
        number = tx.counter(counter).next()
        if number > len(steps):
            raise _Taken
        self._run_script(tx, steps[number - 1])
        return steps[number - 1]

    def _run_script(self, tx: Executes, step: str) -> None:
        script = _text(self._folder / "migrations" / step, self._engine.dialect)
        for statement in filter(str.strip, _STATEMENT_END.split(script)):
            tx.execute(statement)


class _Taken(Exception):
    """Another process took the step first."""


@cache
def _statement(folder: Path, name: str, dialect: str) -> str:
    text = _text(folder / "sql" / name, dialect)
    return text if dialect == "sqlite" else _PARAMETER.sub(r"%(\1)s", text)


def _text(path: Path, dialect: str) -> str:
    own = path.with_name(f"{path.name}.{dialect}.sql")
    return (own if own.exists() else path.with_name(f"{path.name}.sql")).read_text()
