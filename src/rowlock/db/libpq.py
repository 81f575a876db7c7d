"""Statements sent through libpq directly: one at a time, or all of a pipeline before the first result is awaited.

psycopg's own cursors and pipelines take two to three times the processor time, most of it for waits and small messages
(docs/design/decisions/0010).
"""

import re
import select
from collections import deque
from contextlib import suppress
from hashlib import blake2b
from typing import Any, cast

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from rowlock.db.driver import Parameters, Pending, Row
from rowlock.errors import InvalidData

_PLACEHOLDER = re.compile(r"%\((\w+)\)s")

_GOOD = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK, ExecStatus.PIPELINE_SYNC)

# The server's numbers of types; for text it finds the type by itself.
_TYPE_OIDS: dict[type, int] = {int: 20, float: 701, bool: 16}

ResultSlot = list[PGresult]
"""Holds the result of a statement, once it is there."""
_NULL: ResultSlot = []
"""Stands for the null result that libpq gives after each statement's."""
TypeOids = tuple[int, ...]
PreparedNames = dict[TypeOids, bytes]
"""The names of a statement on the server, by the types of its parameters."""


class LibpqSession:
    """Sends statements on a connection of our own and receives their results.

    A statement is prepared when it is first sent, if `prepares`; parameters are sent as text. After an error in a
    pipeline the connection can only be closed.
    """

    def __init__(self, driver: "psycopg.Connection[Any]") -> None:
        self._pgconn = driver.pgconn
        self._encoding = driver.info.encoding
        self._transformer = Transformer(driver)
        self._socket = select.poll()
        self._known: dict[str, tuple[bytes, tuple[str, ...], PreparedNames]] = {}
        self._expected: deque[ResultSlot] = deque()
        self.prepares = False
        """Whether the server keeps statements under a name; otherwise it parses and plans them every time."""
        self.pipelining = False
        self.sent = False
        """Whether the last statement may have reached the server; otherwise an error came before it was sent."""
        self.answered = False
        """Whether the last statement was answered; an error after that is one of its commit."""

    def has_input(self) -> bool:
        """Return whether the server has sent something that nobody has read."""
        self._socket.register(self._pgconn.socket, select.POLLIN)
        return bool(self._socket.poll(0))

    def query(self, sql: str, parameters: Parameters) -> list[Row]:
        """Run a statement and return its rows."""
        self._send(sql, parameters)
        result = self._last_result()
        return self._load_rows(result) if result.nfields else []

    def change(self, sql: str, parameters: Parameters) -> int:
        """Run a statement and return how many rows it changed."""
        self._send(sql, parameters)
        return self._last_result().command_tuples or 0

    def script(self, sql: str) -> None:
        """Run several statements without parameters, sent in one message."""
        self._pgconn.send_query(sql.encode(self._encoding))
        self._last_result()

    def enter_pipeline(self) -> None:
        """Only send statements from here on."""
        self._pgconn.enter_pipeline_mode()
        self._expected.clear()
        self.pipelining = True

    def send(self, sql: str, parameters: Parameters) -> Pending[list[Row]]:
        """Send a statement in a pipeline."""
        self._send(sql, parameters)
        slot: ResultSlot = []
        self._expected += slot, _NULL
        return Pending(lambda: self._load_rows(slot[0]))

    def sync(self) -> None:
        """End the implicit transaction of the statements since the last sync: the server commits it."""
        self._pgconn.pipeline_sync()
        self._expected.append([])

    def receive(self) -> None:
        """Wait for all results; raise the driver's error for the first statement, or commit, that failed."""
        while not self.receive_arrived():
            self._wait()

    def receive_arrived(self) -> bool:
        """Take the results that libpq has read already, and return whether these were all; raise as `receive` does."""
        while self._expected:
            if self._pgconn.is_busy():
                return False
            slot, result = self._expected.popleft(), self._pgconn.get_result()
            if slot is not _NULL:
                slot.append(self._check(result))
        self._pgconn.exit_pipeline_mode()
        self.pipelining = False
        return True

    def exchange(self) -> bool:
        """Read what the socket has and send what it takes; return whether something is left to send."""
        self._pgconn.consume_input()
        return bool(self._pgconn.flush())

    def _last_result(self) -> PGresult:
        """Receive the results of what was sent, and return the last one or raise the first error.

        After an error of the server the connection may be lost: that is no news.
        """
        last, self.answered = None, False
        while last is None or last.status in _GOOD:
            result = self._next_result()
            if result is None:
                return self._check(last)
            last, self.answered = result, last is not None
        with suppress(psycopg.Error):
            while self._next_result() is not None:
                pass
        return self._check(last)

    def _send(self, sql: str, parameters: Parameters) -> None:
        self.sent = False
        known = self._known.get(sql)
        if known is None:
            names: dict[str, int] = {}
            numbered = _PLACEHOLDER.sub(lambda match: f"${names.setdefault(match[1], len(names) + 1)}", sql)
            known = self._known[sql] = numbered.replace("%%", "%").encode(self._encoding), tuple(names), {}
        text, parameter_names, prepared = known
        given = cast("dict[str, Any]", parameters)
        values = [given[name] for name in parameter_names]
        types = tuple([_TYPE_OIDS.get(type(value), 0) for value in values])
        encoded = [self._encode(value) for value in values]
        if not self.prepares:
            self.sent = True
            self._pgconn.send_query_params(text, encoded, types)
            return
        name = prepared.get(types)
        if name is None:
            name = _prepared_name(sql, types)
            self._pgconn.send_prepare(name, text, types)
            if self.pipelining:
                self._expected += [], _NULL
            else:
                self._last_result()
            prepared[types] = name
        self.sent = True
        self._pgconn.send_query_prepared(name, encoded)

    def _encode(self, value: Any) -> bytes | None:
        if value is None:
            return None
        text = str(value).encode(self._encoding)
        if b"\0" in text:
            raise InvalidData("a zero byte cannot be stored as text", "leave it out")
        return text

    def _load_rows(self, result: PGresult) -> list[Row]:
        self._transformer.set_pgresult(result)
        return self._transformer.load_rows(0, result.ntuples, tuple)

    def _check(self, result: PGresult | None) -> PGresult:
        if result is None:
            raise psycopg.OperationalError("the server sent no result")
        if result.status not in _GOOD:
            raise error_from_result(result, self._encoding)
        return result

    def _next_result(self) -> PGresult | None:
        while self._pgconn.is_busy():
            self._wait()
        return self._pgconn.get_result()

    def _wait(self) -> None:
        # What the socket had no room for yet is sent while we wait.
        unsent = self._pgconn.flush()
        self._socket.register(self._pgconn.socket, select.POLLIN | (select.POLLOUT if unsent else 0))
        self._socket.poll()
        self._pgconn.consume_input()


def _prepared_name(sql: str, types: TypeOids) -> bytes:
    """Return a name made from the statement, which behind an undetected pooler is never that of another statement."""
    return f"rowlock_{blake2b(f'{sql}{types}'.encode(), digest_size=16).hexdigest()}".encode()
