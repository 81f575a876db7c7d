"""Exchanges: one request and the answer to it, as ASGI has them; an answer that is whole can be written at once."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any, Protocol

EXTENSION = "rowlock.exchange"
"""Under what an application finds the exchange."""
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUS_LINES = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}
BODILESS = (204, 304)
LARGE = 256 * 1024
"""Bytes of an answer that are not copied, and not forgotten before the client has read most of them."""

_WRONG_NAME = re.compile(rb"[^!#$%&'*+\-.^_`|~0-9A-Za-z]")
_WRONG_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")

Header = tuple[bytes, bytes]


class Wire(Protocol):
    """What an exchange needs of the connection that it goes over."""

    server_state: Any

    def write(self, data: bytes) -> None:
        """Write it now."""

    def write_soon(self, data: bytes) -> None:
        """Write it at the end of this turn of the event loop."""

    def resume_reading(self) -> None:
        """Read on; who does not read does not see a client leave either."""

    async def drained(self) -> None:
        """Wait until the client has read most of what was written."""

    async def arrived(self) -> bool:
        """Whether the client may have what was written; False if it is known to have gone."""

    def ended(self, exchange: "Exchange") -> None:
        """It is answered."""


class Exchange:
    """A request that comes in pieces, and its answer."""

    __slots__ = (
        "_body",
        "_chunked",
        "_connection",
        "_left",
        "_news",
        "_waiting",
        "answered",
        "answering",
        "awaits_continue",
        "begun",
        "confirms",
        "gone",
        "is_last",
        "more_body",
        "scope",
        "silent",
    )

    def __init__(self, connection: Wire, scope: dict[str, Any], *, is_last: bool, awaits_continue: bool) -> None:
        self._connection = connection
        self.scope = scope
        self.is_last = is_last
        """Whether the connection ends with the answer."""
        self.awaits_continue = awaits_continue
        """Whether the client sends no body before it is told to."""
        self.more_body = True
        """Whether some of the request may still come."""
        self.begun = False
        """Whether some of the answer is written."""
        self.answered = False
        """Whether all of it is."""
        self.gone = False
        """Whether the client is, before it was answered."""
        self.confirms = False
        """Whether to find out if the answer can have reached the client: if not, the client is gone."""
        self.silent = False
        """Whether the client has closed its side; it may still listen."""
        self.answering: asyncio.Task[None] | None = None
        """Who answers it."""
        self._body = b""
        self._news = False
        self._waiting: asyncio.Event | None = None
        self._chunked = False
        self._left = 0

    @property
    def unread(self) -> int:
        """How much of the body has come and was not asked for."""
        return len(self._body)

    def feed(self, body: bytes) -> None:
        """Some of the body has come."""
        self._body = self._body + body if self._body else body
        self.tell()

    def tell(self) -> None:
        """Something is new for whoever waits for the request to go on."""
        self._news = True
        if self._waiting is not None:
            self._waiting.set()
            self._waiting = None

    async def receive(self) -> dict[str, Any]:
        """What of the body has come since, or that there is nobody any more to be answered."""
        connection = self._connection
        if self.awaits_continue and not self.begun and self.scope["http_version"] != "1.0":
            self.awaits_continue = False
            connection.write(CONTINUE)
        while not (self._news or self.gone or self.answered):
            connection.resume_reading()
            if self._waiting is None:
                self._waiting = asyncio.Event()
            await self._waiting.wait()
        if self.gone or self.answered:
            return {"type": "http.disconnect"}
        self._news = False
        body, self._body = self._body, b""
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def reply(self, *, status: int, headers: Sequence[Header], body: bytes, common: bytes) -> None:
        """Write a whole answer, with headers that are written already, unless the client has gone."""
        connection = self._connection
        await connection.drained()
        if self.gone:
            return
        lines = [b"%b: %b\r\n" % header for header in (*connection.server_state.default_headers, *headers)]
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise RuntimeError("a header holds the end of a line")
        close = b"connection: close\r\n" if self.is_last else b""
        shown = b"" if self.scope["method"] == "HEAD" else body
        self.begun = True
        if len(shown) <= LARGE:
            connection.write_soon(b"".join((STATUS_LINES[status], head, common, close, b"\r\n", shown)))
        else:
            connection.write(b"".join((STATUS_LINES[status], head, common, close, b"\r\n")))
            connection.write(shown)
            await connection.drained()  # who answers with so much holds it until it is read
        if self.confirms and not self.gone:
            await asyncio.sleep(0)  # until what waits to be written has been
            self.gone = self.gone or not await connection.arrived()
        if not self.gone:
            self._end()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message of ASGI, and wait until the client has taken most of it: no more is made before."""
        connection = self._connection
        await connection.drained()
        if self.gone:
            return
        expected = "http.response.body" if self.begun else "http.response.start"
        if self.answered or message["type"] != expected:
            raise RuntimeError(f"{message['type']!r} cannot be sent now")
        if self.begun:
            self._send_body(message.get("body", b""), more=message.get("more_body", False))
            await connection.drained()
        else:
            connection.write(self._head(message["status"], message.get("headers", ())))
            self.begun = True

    def _head(self, status: int, headers: Iterable[Header]) -> bytes:
        lines = [STATUS_LINES.get(status) or f"HTTP/1.1 {status} \r\n".encode()]
        length = None
        for given, value in (*self._connection.server_state.default_headers, *headers):
            name = given.lower()
            if not name or _WRONG_NAME.search(name) or _WRONG_VALUE.search(value):
                raise RuntimeError("a header is none")
            if name == b"content-length":
                length = int(value)
            elif name == b"connection":
                self.is_last = self.is_last or b"close" in value.lower()
                continue
            if name != b"transfer-encoding":
                lines.append(b"%b: %b\r\n" % (name, value))
        bodiless = self.scope["method"] == "HEAD" or status in BODILESS
        self._left = 0 if bodiless or length is None else length
        self._chunked = length is None and not bodiless and self.scope["http_version"] != "1.0"
        if self._chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        elif length is None and not bodiless:
            self._left, self.is_last = -1, True  # its end is that of the connection
        if self.is_last:
            lines.append(b"connection: close\r\n")
        return b"".join((*lines, b"\r\n"))

    def _send_body(self, body: bytes, *, more: bool) -> None:
        if self.scope["method"] != "HEAD":
            self._connection.write(self._framed(body, more=more))
        if more:
            return
        if self._left > 0:
            raise RuntimeError("the body is shorter than its length says")
        self._end()

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        if self._chunked:
            piece = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return piece if more else piece + b"0\r\n\r\n"
        if self._left >= 0:
            self._left -= len(body)
            if self._left < 0:
                raise RuntimeError("the body is longer than its length says")
        return body

    def _end(self) -> None:
        self.answered = True
        self.tell()
        self._connection.ended(self)
