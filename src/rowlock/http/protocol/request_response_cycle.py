"""One request and its response: the `receive` and `send` of an ASGI application."""

import asyncio
import fcntl
import logging
import re
import select
import socket
import sys
import termios
from collections.abc import Iterable
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rowlock.http.asgi import EXTENSION, LARGE_BODY_BYTES, Asgi, ClientDisconnected, Header

if TYPE_CHECKING:
    from rowlock.http.protocol.http_protocol import HTTPProtocol

log = logging.getLogger("rowlock.http")

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUS_LINES = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode() for each in HTTPStatus}
STATUSES_WITHOUT_BODY = (204, 304)
UNTIL_CLOSE = -1
ACKNOWLEDGE_SECONDS = 5.0
"""How long to wait until the client's kernel acknowledges or refuses a response; an unreachable client does neither."""
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.005, 0.1

_INVALID_NAME = re.compile(rb"[^!#$%&'*+\-.^_`|~0-9A-Za-z]")
_INVALID_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


class RequestResponseCycle:
    """A request that arrives in pieces, and the response to it."""

    def __init__(self, protocol: "HTTPProtocol", scope: dict[str, Any], *, keep_alive: bool, expect: bool) -> None:
        self._protocol = protocol
        self.scope = scope
        self.keep_alive = keep_alive
        """Whether the connection stays open after the response."""
        self.waiting_for_100_continue = expect
        self.body = b""
        """What has arrived of the body and was not received by the application."""
        self.more_body = True
        self.message_event = asyncio.Event()
        """Set when `receive` has something to return."""
        self.disconnected = False
        """Whether the client disconnected before the response was complete."""
        self.response_started = False
        self.response_complete = False
        self.task: asyncio.Task[None] | None = None
        self._chunked_encoding = False
        self._expected_content_length = 0
        """Bytes of the response body that Content-Length still promises."""

    async def run_asgi(self, app: Asgi) -> None:
        """Run the application; if it fails, respond with status 500, or abort a response that has begun."""
        protocol = self._protocol
        try:
            if not self.disconnected:  # it may have been refused in the read that brought its head
                await app(self.scope, self.receive, self.send)
        except Exception:
            log.exception("exception in ASGI application", extra={"path": self.scope["path"]})
        finally:
            protocol.server_state.tasks.discard(self.task)
            if self.response_complete or self.disconnected:
                pass
            elif self.response_started:
                protocol.abort()  # the client must see that the response is incomplete
            else:
                text = "error internal: something unexpected went wrong (hint: see the log)"
                protocol.send_refusal(500, text, has_body=self.scope["method"] != "HEAD")

    async def receive(self) -> dict[str, Any]:
        """Return what arrived of the body since the last call, or a disconnect."""
        protocol = self._protocol
        if self.waiting_for_100_continue and not self.response_started and self.scope["http_version"] != "1.0":
            self.waiting_for_100_continue = False
            protocol.write(CONTINUE)
        if not (self.disconnected or self.response_complete):
            if not self.message_event.is_set():
                protocol.flow.resume_reading()
                await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        body, self.body = self.body, b""
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: dict[str, Any]) -> None:
        """Write an ASGI message, and wait until the client has read most of what was written."""
        protocol = self._protocol
        if protocol.flow.write_paused:
            await protocol.flow.drain()
        if self.disconnected:
            if message.get("confirm"):
                raise ClientDisconnected
            return
        kind = message["type"]
        if kind == EXTENSION and not self.response_started:
            await self._send_whole(message)
        elif kind == "http.response.start" and not self.response_started:
            protocol.write(self._head(message["status"], message.get("headers", ())))
            self.response_started = True
        elif kind == "http.response.body" and self.response_started and not self.response_complete:
            body, more = message.get("body", b""), message.get("more_body", False)
            if self.scope["method"] != "HEAD":
                protocol.write(self._framed(body, more=more))
            if not more:
                if self._expected_content_length > 0:
                    raise RuntimeError("response body is shorter than its Content-Length")
                protocol.on_response_complete(self)
            await protocol.flow.drain()
        else:
            raise RuntimeError(f"unexpected ASGI message {kind!r}")

    async def _send_whole(self, message: dict[str, Any]) -> None:
        protocol, body = self._protocol, b"" if self.scope["method"] == "HEAD" else message["body"]
        lines = [b"%b: %b\r\n" % header for header in (*protocol.server_state.default_headers, *message["headers"])]
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise RuntimeError("invalid response header: it contains a line break")
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        self.response_started = True
        if len(body) <= LARGE_BODY_BYTES:
            protocol.write(b"".join((STATUS_LINES[message["status"]], head, end, body)))
        else:
            protocol.write(b"".join((STATUS_LINES[message["status"]], head, end)))
            protocol.write(body)
            await protocol.flow.drain()  # the application holds so much until it is read
        if message["confirm"]:
            if not self.disconnected and not await _is_delivered(protocol.transport):
                protocol.abort()
            if self.disconnected:
                raise ClientDisconnected
        if not self.disconnected:
            protocol.on_response_complete(self)

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
        self._expected_content_length = length or 0 if has_body else 0
        self._chunked_encoding = length is None and has_body and self.scope["http_version"] != "1.0"
        if self._chunked_encoding:
            lines.append(b"transfer-encoding: chunked\r\n")
        elif length is None and has_body:
            self._expected_content_length, self.keep_alive = UNTIL_CLOSE, False
        if not self.keep_alive:
            lines.append(b"connection: close\r\n")
        return b"".join((*lines, b"\r\n"))

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        if self._chunked_encoding:
            chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
            return chunk if more else chunk + b"0\r\n\r\n"
        if self._expected_content_length != UNTIL_CLOSE:
            if len(body) > self._expected_content_length:
                raise RuntimeError("response body is longer than its Content-Length")
            self._expected_content_length -= len(body)
        return body


async def _is_delivered(transport: asyncio.Transport) -> bool:
    """Return whether the client may have received what was written; False if it is known to be gone.

    A client that has closed its sending side may be gone or may still read. Its kernel decides: it acknowledges the
    response, or resets the connection. Only Linux tells.
    """
    if transport.is_closing() or not hasattr(select, "POLLRDHUP"):
        return not transport.is_closing()
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLRDHUP)
    if not poll.poll(0):
        return True
    loop, pause = asyncio.get_running_loop(), FIRST_PAUSE_SECONDS
    deadline = loop.time() + ACKNOWLEDGE_SECONDS
    while not transport.is_closing():
        sock, unacknowledged = transport.get_extra_info("socket"), bytearray(4)
        # In this order: after a reset nothing is left to send either.
        with suppress(OSError):
            fcntl.ioctl(sock.fileno(), termios.TIOCOUTQ, unacknowledged)
        unsent_bytes = transport.get_write_buffer_size() + int.from_bytes(unacknowledged, sys.byteorder)
        if sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return False
        if not unsent_bytes or loop.time() > deadline:
            return True
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
    return False
