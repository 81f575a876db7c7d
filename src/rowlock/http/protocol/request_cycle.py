"""One request and its response: the `receive` and `send` of an ASGI application."""

import asyncio
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rowlock.http.asgi import EXTENSION, LARGE_BODY_BYTES, ClientDisconnected, Header

if TYPE_CHECKING:
    from rowlock.http.protocol.http_protocol import HTTPProtocol

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUS_LINES = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}
STATUSES_WITHOUT_BODY = (204, 304)
UNTIL_CLOSE = -1

_INVALID_NAME = re.compile(rb"[^!#$%&'*+\-.^_`|~0-9A-Za-z]")
_INVALID_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class RequestCycle:
    """A request that arrives in pieces, and the response to it."""

    def __init__(self, protocol: "HTTPProtocol", scope: dict[str, Any], *, keep_alive: bool, expect: bool) -> None:
        self._protocol = protocol
        self.scope = scope
        self.keep_alive = keep_alive
        """Whether the connection stays open after the response."""
        self.waiting_for_100_continue = expect
        self.more_body = True
        self.body = b""
        """What has arrived of the body and was not received by the application."""
        self.has_news = False
        """Whether `receive` has something to return."""
        self.disconnected = False
        """Whether the client disconnected before the response was complete."""
        self.response_started = False
        self.response_complete = False
        self.task: asyncio.Task[None] | None = None
        self._message_event: asyncio.Event | None = None
        self._chunked = False
        self._remaining = 0
        """Bytes of the response body that Content-Length still promises."""

    def notify(self) -> None:
        """Wake an application that waits in `receive`."""
        self.has_news = True
        if self._message_event is not None:
            self._message_event.set()
            self._message_event = None

    async def receive(self) -> dict[str, Any]:
        """Return what arrived of the body since the last call, or a disconnect."""
        protocol = self._protocol
        if self.waiting_for_100_continue and not self.response_started and self.scope["http_version"] != "1.0":
            self.waiting_for_100_continue = False
            protocol.write(CONTINUE)
        while not (self.has_news or self.disconnected or self.response_complete):
            protocol.flow.resume_reading()
            if self._message_event is None:
                self._message_event = asyncio.Event()
            await self._message_event.wait()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        self.has_news = False
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: dict[str, Any]) -> None:
        """Write an ASGI message, and wait until the client has read most of what was written."""
        flow = self._protocol.flow
        if flow.write_paused:
            await flow.drain()
        if self.disconnected:
            if message.get("confirm"):
                raise ClientDisconnected
            return
        kind = message["type"]
        if kind == EXTENSION and not self.response_started:
            await self._send_whole(message["status"], message["headers"], message["body"])
            if message["confirm"]:
                await self._confirm()
            self._finish()
        elif kind == "http.response.start" and not self.response_started:
            self._protocol.write(self._head(message["status"], message.get("headers", ())))
            self.response_started = True
        elif kind == "http.response.body" and self.response_started and not self.response_complete:
            self._send_body(message.get("body", b""), more=message.get("more_body", False))
            await flow.drain()
        else:
            raise RuntimeError(f"unexpected ASGI message {kind!r}")

    async def _send_whole(self, status: int, headers: Iterable[Header], body: bytes) -> None:
        protocol = self._protocol
        lines = [b"%b: %b\r\n" % header for header in (*protocol.server_state.default_headers, *headers)]
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise RuntimeError("invalid response header: it contains a line break")
        head = b"".join((STATUS_LINES[status], head, b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"))
        if self.scope["method"] == "HEAD":
            body = b""
        self.response_started = True
        if len(body) <= LARGE_BODY_BYTES:
            protocol.write_soon(head + body)
        else:
            protocol.write(head)
            protocol.write(body)
            await protocol.flow.drain()  # the application holds so much until it is read

    async def _confirm(self) -> None:
        """Raise ClientDisconnected if the client cannot have received the response."""
        await asyncio.sleep(0)  # until `write_soon` has written
        if not self.disconnected and not await self._protocol.delivered():
            self._protocol.abort()
        if self.disconnected:
            raise ClientDisconnected

    def _head(self, status: int, headers: Iterable[Header]) -> bytes:
        lines = [STATUS_LINES.get(status) or f"HTTP/1.1 {status} \r\n".encode()]
        length = None
        for given, value in (*self._protocol.server_state.default_headers, *headers):
            name = given.lower()
            if not name or _INVALID_NAME.search(name) or _INVALID_VALUE.search(value):
                raise RuntimeError(f"invalid response header {name[:100]!r}")
            if name == b"content-length":
                length = int(value)
            elif name == b"connection":
                self.keep_alive = self.keep_alive and b"close" not in value.lower()
                continue
            if name != b"transfer-encoding":
                lines.append(b"%b: %b\r\n" % (name, value))
        has_body = self.scope["method"] != "HEAD" and status not in STATUSES_WITHOUT_BODY
        self._remaining = length or 0 if has_body else 0
        self._chunked = length is None and has_body and self.scope["http_version"] != "1.0"
        if self._chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        elif length is None and has_body:
            self._remaining, self.keep_alive = UNTIL_CLOSE, False
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        return b"".join((*lines, b"\r\n"))

    def _send_body(self, body: bytes, *, more: bool) -> None:
        if self.scope["method"] != "HEAD":
            self._protocol.write(self._framed(body, more=more))
        if more:
            return
        if self._remaining > 0:
            raise RuntimeError("response body is shorter than its Content-Length")
        self._finish()

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        if self._chunked:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        if self._remaining != UNTIL_CLOSE:
            if len(body) > self._remaining:
                raise RuntimeError("response body is longer than its Content-Length")
            self._remaining -= len(body)
        return body

    def _finish(self) -> None:
        if not self.disconnected:
            self.response_complete = True
            self.notify()
            self._protocol.on_response_complete(self)
