"""Statements said to PostgreSQL by libpq itself: one at a time, or all of them before the first answer is awaited.

The driver does the same for two to three times the processor time, most of it for waits and small messages.
"""

import re
import select
from collections import deque
from hashlib import blake2b
from typing import Any, cast

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from rowlock.db.connections import Parameters, Pending, Row
from rowlock.errors import InvalidData

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")

_GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC)

# Kinds of numbers as the server calls them; it is left to find out what a text is meant to be.
_KINDS: dict[type, int] = {int: 20, float: 701, bool: 16}

Answer = list[PGresult]
"""The result of a statement, once it is there."""
_END: Answer = []
"""What comes after it, and is nothing."""
Kinds = tuple[int, ...]
Prepared = dict[Kinds, bytes]
"""The names of a statement on the server, by the kinds of its parameters."""


class LibpqSession:
    """What is said on a connection of our own, and heard; after an error in a trip it is good for nothing any more.

    A statement is prepared when it is first said, if `prepares`; parameters are sent as text.
    """

    def __init__(self, driver: "psycopg.Connection[Any]") -> None:
        self._pgconn = driver.pgconn
        self._encoding = driver.info.encoding
        self._reader = Transformer(driver)
        self._socket = select.poll()
        self._known: dict[str, tuple[bytes, tuple[str, ...], Prepared]] = {}
        self._awaited: deque[Answer] = deque()
        self.prepares = False
        """Whether the server keeps statements under a name; otherwise it parses and plans them every time."""
        self.pipelining = False
        self.unsent = False
        """Whether the socket had no room for all of it when we last looked."""

    def rows(self, sql: str, parameters: Parameters) -> list[Row]:
        """Say a statement and wait; all rows that it gives."""
        result = self._answered(sql, parameters)
        return self._rows(result) if result.nfields else []

    def count(self, sql: str, parameters: Parameters) -> int:
        """Say a statement and wait; how many rows it touched."""
        return self._answered(sql, parameters).command_tuples or 0

    def script(self, sql: str) -> None:
        """Send several statements without parameters in one message, and wait."""
        self._pgconn.send_query(sql.encode(self._encoding))
        for result in [*iter(self._next, None)]:
            self._checked(result)

    def begin(self) -> None:
        """From here on statements are only sent."""
        self._pgconn.enter_pipeline_mode()
        self._awaited.clear()
        self.pipelining = True

    def send(self, sql: str, parameters: Parameters) -> Pending:
        """Send a statement; its rows can be read when the trip has ended."""
        self._send(sql, parameters)
        answer: Answer = []
        self._awaited += answer, _END
        return lambda: self._rows(answer[0])

    def sync(self) -> None:
        """What was sent since the last one is a transaction: it commits here."""
        self._pgconn.pipeline_sync()
        self._awaited.append([])

    def end(self) -> None:
        """Wait for all answers; the driver's error for the first statement, or commit, that failed."""
        while not self._home():
            self._wait()

    def poll(self) -> bool:
        """The same without waiting: whether all answers are there."""
        self.unsent = bool(self._pgconn.flush())
        self._pgconn.consume_input()
        return self._home()

    def _home(self) -> bool:
        while self._awaited:
            if self._pgconn.is_busy():
                return False
            answer, result = self._awaited.popleft(), self._pgconn.get_result()
            if answer is not _END:
                answer.append(self._checked(result))
        self._pgconn.exit_pipeline_mode()
        self.pipelining = False
        return True

    def _answered(self, sql: str, parameters: Parameters) -> PGresult:
        self._send(sql, parameters)
        return self._alone()

    def _alone(self) -> PGresult:
        result = self._next()
        while self._next() is not None:
            pass
        return self._checked(result)

    def _send(self, sql: str, parameters: Parameters) -> None:
        known = self._known.get(sql)
        if known is None:
            names: dict[str, int] = {}
            numbered = _PLACEHOLDER.sub(lambda match: f"${names.setdefault(match[1], len(names) + 1)}", sql)
            known = self._known[sql] = numbered.replace("%%", "%").encode(self._encoding), tuple(names), {}
        text, names_of, prepared = known
        given = cast("dict[str, Any]", parameters)
        values = [given[name] for name in names_of]
        kinds = tuple([_KINDS.get(type(value), 0) for value in values])
        said = [self._said(value) for value in values]
        if not self.prepares:
            self._pgconn.send_query_params(text, said, kinds)
            return
        name = prepared.get(kinds)
        if name is None:
            name = _name(sql, kinds)
            self._prepare(name, text, kinds=kinds)
            prepared[kinds] = name
        self._pgconn.send_query_prepared(name, said)

    def _prepare(self, name: bytes, text: bytes, *, kinds: Kinds) -> None:
        self._pgconn.send_prepare(name, text, kinds)
        if self.pipelining:
            self._awaited += [], _END
        else:
            self._alone()

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

    def _checked(self, result: PGresult | None) -> PGresult:
        if result is None:
            raise psycopg.OperationalError("an answer is missing")
        if result.status not in _GOOD:
            raise error_from_result(result, self._encoding)
        return result

    def _next(self) -> PGresult | None:
        while self._pgconn.is_busy():
            self._wait()
        return self._pgconn.get_result()

    def _wait(self) -> None:
        # What the socket had no room for yet goes out while we wait.
        unsent = self._pgconn.flush()
        self._socket.register(self._pgconn.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
        self._socket.poll()
        self._pgconn.consume_input()


def _name(sql: str, kinds: Kinds) -> bytes:
    """A name made from the statement: behind an undetected pooler it must not stand for another client's one."""
    return f"rowlock_{blake2b(f'{sql}{kinds}'.encode(), digest_size=16).hexdigest()}".encode()
