"""Connections: HTTP/1.1 as clients speak it, one request after the other, each given to an ASGI application.

uvicorn has a protocol of its own, which costs more than half of what a small request does, and waits for ever. This one
is told by whoever guards it when to stop waiting, and writes the answers of one turn of the event loop together: each
write wakes a client, and the first of many is the dearest.
"""

import asyncio
import logging
import socket
import ssl
import struct
from collections import deque
from typing import Any, ClassVar
from urllib.parse import unquote

import httptools

from rowlock.http.delivery import acknowledged, stopped_sending
from rowlock.http.exchanges import EXTENSION, Exchange

log = logging.getLogger("rowlock.http")

MOST_LINED_UP = 64
"""Requests that wait for the answers to others; the last of so many is the last of its connection."""
MOST_UNREAD = 64 * 1024
"""Bytes of a body that wait to be asked for, before no more is read."""
AT_ONCE = struct.pack("ii", 1, 0)
ASGI = {"version": "3.0", "spec_version": "2.3"}


class Outbox:
    """Connections that have something to write at the end of this turn of the event loop."""

    def __init__(self) -> None:
        self._waiting: list[Connection] = []

    def add(self, connection: "Connection") -> None:
        """Write what it has, soon."""
        self._waiting.append(connection)
        if len(self._waiting) == 1:
            connection.loop.call_soon(self._write)

    def _write(self) -> None:
        waiting, self._waiting = self._waiting, []
        for connection in waiting:
            connection.flush()


class Connection(asyncio.Protocol):
    """One client; whoever runs it calls `shutdown`, and looks at `server_state` for what is still under way."""

    outbox: ClassVar[Outbox]

    def __init__(self, config: Any, server_state: Any, app_state: dict[str, Any], **_: Any) -> None:
        if not config.loaded:
            config.load()
        self.app = config.loaded_app
        self.loop = asyncio.get_running_loop()
        self.server_state = server_state
        self.transport: asyncio.Transport
        self.parser = _parser(self)
        self.url = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.exchange: Exchange | None = None
        """The latest."""
        self._running: Exchange | None = None
        self.is_full = False
        """Whether the client has much to read before more is written."""
        self.is_reading = True
        self.is_deaf = False
        """Whether what comes now is not looked at: it follows a last request."""
        self.is_broken = False
        """Whether something could not be written, because the client has gone."""
        self.has_parted = False
        """Whether nothing more is said, and the client may still send."""
        self._state = app_state
        self._expects = False
        self._facts: dict[str, Any] = {}
        self._lined_up: deque[Exchange] = deque()
        self._pending = b""
        self._drained = asyncio.Event()
        self._written = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """A client has come."""
        self.transport = transport
        self.server_state.connections.add(self)
        secure = isinstance(transport.get_extra_info("ssl_object"), ssl.SSLObject)
        self._facts = {
            "type": "http",
            "asgi": ASGI,
            "scheme": "https" if secure else "http",
            "server": _address(transport.get_extra_info("sockname")),
            "client": _address(transport.get_extra_info("peername")),
            "root_path": "",
        }

    @property
    def client(self) -> str:
        """The address it comes from; empty if it has none."""
        client = self._facts["client"]
        return client[0] if client else ""

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The client has gone, or was sent away."""
        self.server_state.connections.discard(self)
        self._pending = b""
        self.abandon()
        self.resume_writing()

    def abandon(self) -> None:
        """Nobody is there any more to be answered."""
        for exchange in (self._running, *self._lined_up, self.exchange):
            if exchange is not None and not exchange.answered:
                exchange.gone = True
                exchange.tell()

    def data_received(self, data: bytes) -> None:
        """Read it."""
        if self.is_deaf:
            return
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._stay(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.refuse(400, "error invalid-head: this is not HTTP (hint: check who is speaking)")

    def _stay(self, rest: bytes) -> None:
        """Read a request that asks for another protocol as if it did not: the parser would take its body for that."""
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        if method == b"CONNECT":
            self.refuse(400, "error invalid-head: this is no proxy (hint: ask it directly)")
            return
        head = [b"%b %b HTTP/%b" % (method, self.url, version)]
        head += [b"%b: %b" % header for header in self.headers if header[0] not in (b"connection", b"upgrade")]
        if any(name == b"connection" and b"close" in value.lower() for name, value in self.headers):
            head.append(b"connection: close")
        self.parser = _parser(self)
        Connection.data_received(self, b"\r\n".join(head) + b"\r\n\r\n" + rest)

    def refuse(self, status: int, words: str) -> None:
        """Say why and hang up; but what was asked before is answered first, and then nothing more is said."""
        asked = [each for each in (self._running, *self._lined_up) if each is not None and not each.answered]
        whole = [each for each in asked if not each.more_body]
        if whole:
            whole[-1].is_last = self.is_deaf = True
            self._lined_up = deque(each for each in self._lined_up if not each.more_body)
        elif asked and asked[0].begun:
            self.cut()
        else:
            # Before its first line is read nobody knows what is asked, and the parser still names what was before.
            self._refuse(status, words, bodiless=bool(self.url) and self.parser.get_method() == b"HEAD")

    def _refuse(self, status: int, words: str, *, bodiless: bool) -> None:
        body = f"{words}\n".encode()
        head = (
            f"HTTP/1.1 {status} Refused\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {len(body)}\r\n"
        )
        more = "retry-after: 1\r\n" if status == 503 else ""
        self.write(f"{head}{more}connection: close\r\n\r\n".encode() + (b"" if bodiless else body))
        self.abandon()
        self.part()

    def cut(self) -> None:
        """Hang up at once, and take nothing more off our hands: else the kernel would keep what nobody reads."""
        self.is_deaf = True
        self.abandon()
        if (sock := self.transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
        self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins; what follows a last one is not looked at."""
        self.is_deaf = self.is_deaf or (self.exchange is not None and self.exchange.is_last)
        self.url, self.headers, self._expects = b"", [], False

    def on_url(self, url: bytes) -> None:
        """Some of what it asks for."""
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers."""
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._expects = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Its head is there: have it answered, after those before it."""
        if self.is_deaf or self.parser.should_upgrade():
            return
        parser, before = self.parser, self.exchange
        version = parser.get_http_version()
        is_last = version == "1.0" or not parser.should_keep_alive()
        scope = {**self._facts, "http_version": version, **self._asked(), "state": self._state.copy()}
        exchange = Exchange(self, scope, is_last=is_last, awaits_continue=self._expects)
        scope["extensions"] = {EXTENSION: exchange}
        self.exchange = exchange
        if before is None or before.answered:
            self._start(exchange)
        else:
            self._lined_up.append(exchange)
            exchange.is_last = is_last or len(self._lined_up) == MOST_LINED_UP
            self.pause_reading()

    def _asked(self) -> dict[str, Any]:
        url = httptools.parse_url(self.url)
        raw = url.path or b"/"
        path = raw.decode("ascii")
        return {
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw,
            "query_string": url.query or b"",
            "headers": self.headers,
        }

    def _start(self, exchange: Exchange) -> None:
        self._running = exchange
        exchange.answering = self.loop.create_task(self._run(exchange))
        self.server_state.tasks.add(exchange.answering)

    async def _run(self, exchange: Exchange) -> None:
        try:
            if not exchange.gone:  # it may have been refused in the read that brought its head: then nothing is done
                await self.app(exchange.scope, exchange.receive, exchange.send)
        except Exception:
            log.exception("an answer went wrong", extra={"path": exchange.scope["path"]})
        finally:
            self.server_state.tasks.discard(exchange.answering)
            if not exchange.answered and not exchange.gone:
                self._fail(exchange)
            # They hold each other: without this the collector would have to find every single one.
            exchange.scope["extensions"].clear()

    def _fail(self, exchange: Exchange) -> None:
        """End what nobody answers."""
        if exchange.begun:
            self.cut()  # who reads must see that something is missing
            return
        words = "error internal: something unexpected went wrong (hint: see the log)"
        self._refuse(500, words, bodiless=exchange.scope["method"] == "HEAD")

    def on_body(self, body: bytes) -> None:
        """Some of its body."""
        exchange = self.exchange
        if exchange is None or exchange.answered or self.is_deaf:
            return
        exchange.feed(body)
        if exchange.unread > MOST_UNREAD:
            self.pause_reading()

    def on_message_complete(self) -> None:
        """All of it is there."""
        exchange = self.exchange
        if exchange is not None and not exchange.answered and not self.is_deaf and not self.parser.should_upgrade():
            exchange.more_body = False
            exchange.tell()

    def ended(self, exchange: Exchange) -> None:
        """It is answered: the next one that waits, or whoever comes."""
        self.server_state.total_requests += 1
        if exchange.is_last:
            if exchange.more_body or self.is_deaf or not self.is_reading:
                self.part()
            else:
                self.close()
        elif not self.transport.is_closing():
            self.resume_reading()
            if self._lined_up:
                self._start(self._lined_up.popleft())

    def eof_received(self) -> bool:
        """The client says no more: it reads what waits to be written, and the connection ends."""
        self.flush()
        return False

    def write(self, data: bytes) -> None:
        """Write it now."""
        self.flush()
        self._write(data)

    def write_soon(self, data: bytes) -> None:
        """Write it at the end of this turn of the event loop."""
        if self._pending:
            self._pending += data
        else:
            self._pending = data
            self.outbox.add(self)

    def flush(self) -> None:
        """Write what waits to be written."""
        data, self._pending = self._pending, b""
        if data:
            self._write(data)

    def _write(self, data: bytes) -> None:
        if not self.has_parted and not self.transport.is_closing():
            self._written += len(data)
            self.transport.write(data)
        self.is_broken = self.is_broken or self.transport.is_closing()

    async def arrived(self) -> bool:
        """Whether the client may have what was written; False if it is known to have gone.

        One that has closed its side may be gone, or read on: its machine refuses what we write, or acknowledges it.
        """
        if not self.is_broken and stopped_sending(self.transport) and not await acknowledged(self.transport):
            self.is_broken = True
            self.cut()
        return not self.is_broken

    def close(self) -> None:
        """Hang up when all is written."""
        self.is_deaf = True
        self.flush()
        self.transport.close()

    def part(self) -> None:
        """Say no more, and hang up when the client does: closed while it still sends, it would not read the answer."""
        if not self.transport.can_write_eof() or (self.exchange is not None and self.exchange.silent):
            self.close()
        elif not self.transport.is_closing():
            self.is_deaf = True
            self.flush()
            self.has_parted = True
            self.transport.write_eof()
            self.resume_reading()

    def shutdown(self) -> None:
        """Answer what has been asked, then hang up."""
        if self.has_parted or self.exchange is None or self.exchange.answered:
            self.close()
        else:
            self.exchange.is_last = True

    @property
    def taken(self) -> int:
        """How many bytes have left for the client."""
        return self._written - self.transport.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Read no more for now."""
        if self.is_reading and not self.transport.is_closing():
            self.is_reading = False
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on; who does not read does not see a client leave either."""
        if not self.is_reading and not self.transport.is_closing():
            self.is_reading = True
            self.transport.resume_reading()

    def pause_writing(self) -> None:
        """The client reads more slowly than we write."""
        self.is_full = True
        self._drained.clear()

    def resume_writing(self) -> None:
        """It has read most of it."""
        self.is_full = False
        self._drained.set()

    async def drained(self) -> None:
        """Wait until the client has read most of what was written."""
        if self.is_full:
            await self._drained.wait()


def _parser(connection: Connection) -> httptools.HttpRequestParser:
    parser = httptools.HttpRequestParser(connection)
    # What follows a last request is not looked at, and is no reason to leave that one unanswered.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser


def _address(name: Any) -> tuple[str, int] | None:
    """Host and port, of a socket that has them."""
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) and len(name) >= 2 else None
