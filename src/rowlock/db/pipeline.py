"""A pipeline on PostgreSQL: statements that are all sent before the first answer is awaited, by libpq itself.

The driver's own pipeline does the same for three times the processor time, most of it for waits and small messages.
"""

import re
import select
from typing import Any, cast

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from rowlock.db.connections import Later, Parameters, Row
from rowlock.errors import InvalidData

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")

_GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC)

Answer = list[PGresult]
"""The result of a statement, once it is there."""
Prepared = tuple[bytes, tuple[str, ...]]
"""The name of a statement on the server, and of its parameters in their order."""


class Pipeline:
    """One at a time on a connection of our own; after an error that connection is good for nothing but to be closed.

    Each statement is prepared when it is first said, its parameters are sent as text, and the server knows their types.
    """

    def __init__(self, driver: "psycopg.Connection[Any]") -> None:
        self._wire = driver.pgconn
        self._encoding = driver.info.encoding
        self._reader = Transformer(driver)
        self._socket = select.poll()
        self._prepared: dict[str, Prepared] = {}
        self._awaited: list[Answer | None] = []
        self.open = False

    def begin(self) -> None:
        """From here on statements are only sent."""
        self._wire.enter_pipeline_mode()
        self._awaited, self.open = [], True

    def ask(self, sql: str, parameters: Parameters) -> Later:
        """Send a statement; its rows can be read when the pipeline has ended."""
        name, names = self._prepared.get(sql) or self._prepare(sql)
        given = cast("dict[str, Any]", parameters)
        self._wire.send_query_prepared(name, [self._said(given[each]) for each in names])
        answer: Answer = []
        self._awaited.append(answer)
        return lambda: self._rows(answer[0])

    def sync(self) -> None:
        """What was sent since the last one is a transaction: it commits here."""
        self._wire.pipeline_sync()
        self._awaited.append(None)

    def end(self) -> None:
        """Wait for all answers; the driver's error for the first statement, or commit, that failed."""
        for answer in self._awaited:
            result = self._next()
            if result is None:
                raise psycopg.OperationalError("an answer is missing")
            if result.status not in _GOOD:
                raise error_from_result(result, self._encoding)
            if answer is not None:
                answer.append(result)
                self._next()  # nothing: the end of this one
        self._wire.exit_pipeline_mode()
        self.open = False

    def _prepare(self, sql: str) -> Prepared:
        names: dict[str, int] = {}
        numbered = _PLACEHOLDER.sub(lambda match: f"${names.setdefault(match[1], len(names) + 1)}", sql)
        name = f"rowlock_{len(self._prepared)}".encode()
        self._wire.send_prepare(name, numbered.replace("%%", "%").encode(self._encoding))
        self._awaited.append([])
        prepared = self._prepared[sql] = name, tuple(names)
        return prepared

    def _said(self, value: Any) -> bytes | None:
        if value is None:
            return None
        text = str(value).encode(self._encoding)
        if b"\0" in text:
            raise InvalidData("a zero byte cannot be stored as text", "leave it out")
        return text

    def _rows(self, result: PGresult) -> list[Row]:
        self._reader.set_pgresult(result)
        return self._reader.load_rows(0, result.ntuples, tuple)

    def _next(self) -> PGresult | None:
        while self._wire.is_busy():
            # What the socket had no room for yet goes out while we wait.
            unsent = self._wire.flush()
            self._socket.register(self._wire.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
            self._socket.poll()
            self._wire.consume_input()
        return self._wire.get_result()
