"""The application's own tables: its steps to make them, and its statements, one to a file."""

import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from rowlock import Engine, Invalid

HERE = Path(__file__).parent
STEPS = ("0001_chats",)
SEARCH = ("0001_search",)
DIALECTS = ("sqlite", "postgres")

log = logging.getLogger("rowlock.apps.chat")

_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_STATEMENT_END = re.compile(r";\n(?! |end)")


class Executes(Protocol):
    """A transaction, as far as statements need one."""

    def execute(self, sql: str, parameters: Any = ()) -> Any:
        """Run SQL of our own."""


class Tables:
    """The statements in the words of one database. Its methods are verbs: functions of a transaction."""

    def __init__(self, engine: Engine) -> None:
        if engine.dialect not in DIALECTS:
            raise Invalid("the chat application knows SQLite and PostgreSQL only", "give it one of these")
        self._engine = engine
        self._dialect = engine.dialect
        self.has_index = False
        """Whether there is an index to search by that must be asked by name."""

    def rows(self, tx: Executes, name: str, /, **parameters: Any) -> list[tuple[Any, ...]]:
        """Run a statement; all rows that it gives."""
        cursor = tx.execute(_statement(name, self._dialect), parameters)
        return cursor.fetchall() if cursor.description else []

    def make(self) -> None:
        """Take the steps that were not taken yet, each once, however many processes begin at the same time."""
        self._take_steps("chat/schema", STEPS)
        try:
            self._take_steps("chat/search", SEARCH)
        except Exception as error:
            # An extension that is not there or not allowed. Every search is right without an index, only slower.
            log.warning("no index to search messages by: %s", type(error).__name__)
        self.has_index = self._dialect == "sqlite" and self._engine.counter("chat/search").show() > 0

    def _take_steps(self, counter: str, steps: Sequence[str]) -> None:
        while self._engine.counter(counter).show() < len(steps):
            with suppress(_Taken), self._engine.transaction() as tx:
                # Whoever takes the number takes the step; all others wait here, and find that it was taken.
                number = tx.counter(counter).next()
                if number > len(steps):
                    raise _Taken
                self._run_script(tx, steps[number - 1])

    def _run_script(self, tx: Executes, name: str) -> None:
        script = (HERE / "migrations" / f"{name}.{self._dialect}.sql").read_text()
        for statement in filter(str.strip, _STATEMENT_END.split(script)):
            tx.execute(statement)


class _Taken(Exception):
    """Somebody else was faster."""


@cache
def _statement(name: str, dialect: str) -> str:
    own = HERE / "sql" / f"{name}.{dialect}.sql"
    text = (own if own.exists() else HERE / "sql" / f"{name}.sql").read_text()
    return text if dialect == "sqlite" else _PARAMETER.sub(r"%(\1)s", text)
