"""One client connection: HTTP/1.1 requests, one after the other, each given to the ASGI application."""

import asyncio
import logging
import socket
import struct
from collections import deque
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl

from rowlock.api.limits import MB
from rowlock.http.asgi import EXTENSION
from rowlock.http.protocol.delivery import acknowledged, stopped_sending
from rowlock.http.protocol.heads import check_head, head_size, headers_too_large, is_health_check
from rowlock.http.protocol.request_cycle import RequestCycle
from rowlock.http.protocol.timeouts import ENDING, NO_ROOM, Phase, Timeouts

log = logging.getLogger("rowlock.http")

MAX_PIPELINED_REQUESTS = 64
"""Requests that wait for the responses to earlier ones; the connection closes after so many."""
MAX_UNREAD_BODY_BYTES = 64 * 1024
"""Bytes of a body that the application has not received, before no more is read."""
MAX_DISCARDED_BYTES = 8 * MB
"""Bytes that are read and dropped after a response, so that a client which still sends reads that response."""
MAX_FRAMING_RATIO = 16
"""Bytes of chunk framing allowed for each byte of a chunked body."""
NO_LINGER = struct.pack("ii", 1, 0)
ASGI = {"version": "3.0", "spec_version": "2.3"}


class HTTPProtocol(asyncio.Protocol):
    """One client connection; uvicorn's server calls `shutdown` and waits for what is in `server_state`."""

    def __init__(
        self, config: Any, server_state: Any, app_state: dict[str, Any], *, timeouts: Timeouts, **_: Any
    ) -> None:
        if not config.loaded:
            config.load()
        self.app = config.loaded_app
        self.loop = asyncio.get_running_loop()
        self.server_state = server_state
        self.timeouts = timeouts
        self.transport: asyncio.Transport
        self.flow: FlowControl
        self.address = ""
        self.health_only = False
        """Whether it came when there was no room: it may make one request, for health."""
        self.cycle: RequestCycle | None = None
        """The latest request; earlier ones may still wait for their responses."""
        self.phase, self.phase_since = Phase.HEADERS, 0.0
        self.head_bytes = 0
        """Bytes that arrived for a request line and headers that are not complete."""
        self.body_bytes = 0
        """Bytes of the request's body, without its chunk framing, that arrived in this phase."""
        self.written_bytes = 0
        self.discarding = False
        """Whether input is ignored: it follows the last request of the connection."""
        self._half_closed = False
        self._parser = _new_parser(self)
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._expect = self._is_new_request = False
        self._raw_body_bytes = self._discarded_bytes = 0
        self._active: RequestCycle | None = None
        self._pipeline: deque[RequestCycle] = deque()
        self._write_buffer = b""
        self._app_state = app_state
        self._connection_scope: dict[str, Any] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection, or refuse it for lack of room."""
        self.transport = transport
        self.server_state.connections.add(self)
        self.flow = FlowControl(transport)
        client = get_remote_addr(transport)
        self.address = client[0] if client else ""
        self._connection_scope = {
            "type": "http",
            "asgi": ASGI,
            "scheme": "https" if is_ssl(transport) else "http",
            "server": get_local_addr(transport),
            "client": client,
            "root_path": "",
        }
        if not self.timeouts.admit(self):
            self.refuse(503, NO_ROOM)
            self.close()  # a lingering close would take room
        self.phase_since = self.timeouts.now

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Tell the application that the client has disconnected."""
        self.timeouts.remove(self)
        self.server_state.connections.discard(self)
        self._write_buffer = b""
        self._disconnect_cycles()
        self.resume_writing()

    def eof_received(self) -> bool:
        """Keep a half-closed connection open while the client may wait for a response."""
        self.flush()
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body or self.phase in ENDING:
            return False
        self._half_closed = True
        cycle.scope["extensions"][EXTENSION]["half_closed"] = True
        # A long poll answers at once: a half-closed client looks like one that is gone.
        cycle.notify()
        return True

    def shutdown(self) -> None:
        """Respond to the requests that have arrived, then close."""
        self.timeouts.hurry()
        if self.phase is Phase.LINGERING or self.cycle is None or self.cycle.response_complete:
            self.close()
        else:
            self.cycle.keep_alive = False

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, within the bounds on headers, on chunk framing and on discarded input."""
        if self.phase is Phase.LINGERING:
            self._discard(len(data))
        if self.discarding or self.transport.is_closing():
            return
        self._is_new_request, was_in_body = False, self.phase is Phase.BODY
        self._raw_body_bytes += len(data)
        self._feed(data)
        in_body = was_in_body and self.phase is Phase.BODY
        max_head = self.timeouts.limits.header_bytes
        if self.phase is Phase.HEADERS:
            # The read that began a request may hold the end of an earlier body: only what was parsed is counted.
            parsed_bytes = head_size(self._headers, self._url)
            self.head_bytes = parsed_bytes if self._is_new_request else self.head_bytes + len(data)
            if self.head_bytes > max_head:
                self.refuse(*headers_too_large(max_head))
        elif in_body and self._raw_body_bytes > max_head + MAX_FRAMING_RATIO * self.body_bytes:
            self.refuse(413, "error too-large: the body is mostly chunk framing (hint: send larger chunks)")

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._ignore_upgrade(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            self.refuse(400, "error invalid-head: malformed HTTP request (hint: send HTTP/1.1)")

    def _ignore_upgrade(self, rest: bytes) -> None:
        """Parse the request again without its Upgrade header: the parser takes its body for another protocol."""
        method, version = self._parser.get_method(), self._parser.get_http_version().encode()
        if method == b"CONNECT":
            self.refuse(400, "error invalid-head: CONNECT is not supported (hint: this server is not a proxy)")
        if self.discarding:
            return
        head = [b"%b %b HTTP/%b" % (method, self._url, version)]
        head += [b"%b: %b" % header for header in self._headers if header[0] not in (b"connection", b"upgrade")]
        if any(name == b"connection" and b"close" in value.lower() for name, value in self._headers):
            head.append(b"connection: close")
        self._parser = _new_parser(self)
        self._feed(b"\r\n".join(head) + b"\r\n\r\n" + rest)

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.discarding = self.discarding or (self.cycle is not None and not self.cycle.keep_alive)
        if not self.discarding:
            self.enter(Phase.HEADERS)
            self._url, self._headers, self._expect = b"", [], False
            self._is_new_request, self.head_bytes, self._discarded_bytes = True, 0, 0

    def on_url(self, url: bytes) -> None:
        """Add a part of the request target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers are ignored, because headers are checked before the body arrives."""
        if self.phase is Phase.HEADERS:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self._expect = True
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """Give the request to the application, after those before it."""
        if self.discarding:
            return
        self.enter(Phase.BODY)
        previous, version = self.cycle, self._parser.get_http_version()
        if refusal := check_head(self._headers, self._url, version=version, limits=self.timeouts.limits):
            self.refuse(*refusal)
        elif self.health_only and not is_health_check(self._parser.get_method(), self._url):
            self.refuse(503, NO_ROOM)
        if self.discarding or self._parser.should_upgrade():
            return
        keep_alive = version != "1.0" and self._parser.should_keep_alive() and not self.health_only
        self.cycle = cycle = RequestCycle(self, self._scope(version), keep_alive=keep_alive, expect=self._expect)
        if previous is None or previous.response_complete:
            self._start(cycle)
        else:
            self._pipeline.append(cycle)
            cycle.keep_alive = keep_alive and len(self._pipeline) < MAX_PIPELINED_REQUESTS
            self.flow.pause_reading()

    def _scope(self, version: str) -> dict[str, Any]:
        url = httptools.parse_url(self._url)
        raw_path = url.path or b"/"
        path = raw_path.decode("ascii")
        return {
            **self._connection_scope,
            "http_version": version,
            "method": self._parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": url.query or b"",
            "headers": self._headers,
            "state": self._app_state.copy(),
            "extensions": {EXTENSION: {"half_closed": False}},
        }

    def on_body(self, body: bytes) -> None:
        """Add a part of the body; drop it if the response is complete."""
        self.body_bytes += len(body)
        cycle = self.cycle
        if cycle is None or self.discarding:
            return
        if cycle.response_complete:
            self._discard(len(body))
            return
        cycle.body = cycle.body + body if cycle.body else body
        cycle.notify()
        if len(cycle.body) > MAX_UNREAD_BODY_BYTES:
            self.flow.pause_reading()

    def on_message_complete(self) -> None:
        """End a request: the client waits for the response."""
        cycle = self.cycle
        if self.discarding or self._parser.should_upgrade():
            return
        if cycle is None or cycle.response_complete:
            self.enter(Phase.IDLE)
            return
        self.enter(Phase.RESPONSE)
        cycle.more_body = False
        cycle.notify()

    def _discard(self, count: int) -> None:
        self._discarded_bytes += count
        if self._discarded_bytes > MAX_DISCARDED_BYTES:
            self.abort()

    def _start(self, cycle: RequestCycle) -> None:
        self._active = cycle
        cycle.task = self.loop.create_task(self._run(cycle))
        self.server_state.tasks.add(cycle.task)

    async def _run(self, cycle: RequestCycle) -> None:
        try:
            if not cycle.disconnected:  # it may have been refused in the read that brought its head
                await self.app(cycle.scope, cycle.receive, cycle.send)
        except Exception:
            log.exception("exception in ASGI application", extra={"path": cycle.scope["path"]})
        finally:
            self.server_state.tasks.discard(cycle.task)
            if not cycle.response_complete and not cycle.disconnected:
                self._fail(cycle)

    def _fail(self, cycle: RequestCycle) -> None:
        if cycle.response_started:
            self.abort()  # the client must see that the response is incomplete
        else:
            text = "error internal: something unexpected went wrong (hint: see the log)"
            self._send_refusal(500, text, has_body=cycle.scope["method"] != "HEAD")

    def on_response_complete(self, cycle: RequestCycle) -> None:
        """Start the next request of the pipeline, wait for another, or close."""
        self.server_state.total_requests += 1
        is_latest = cycle is self.cycle
        if self.phase is Phase.RESPONSE and is_latest:
            self.enter(Phase.IDLE)
        if not cycle.keep_alive:
            if cycle.more_body or self.discarding or self.flow.read_paused:
                self.half_close()
            else:
                self.close()
        elif not self.transport.is_closing():
            self.flow.resume_reading()
            if self._pipeline:
                self._start(self._pipeline.popleft())
        if self._half_closed and is_latest:
            self.close()

    def refuse(self, status: int, text: str) -> None:
        """Refuse the latest request and close; requests before it are answered instead, and it is not."""
        pending = [each for each in (self._active, *self._pipeline) if each is not None and not each.response_complete]
        complete = [each for each in pending if not each.more_body]
        if complete:
            complete[-1].keep_alive, self.discarding = False, True
            self._pipeline = deque(each for each in self._pipeline if not each.more_body)
        elif pending and pending[0].response_started:
            self.abort()
        else:
            # Until its target is read, the parser still names the method of the previous request.
            self._send_refusal(status, text, has_body=not self._url or self._parser.get_method() != b"HEAD")

    def _send_refusal(self, status: int, text: str, *, has_body: bool) -> None:
        body = f"{text}\n".encode()
        head = f"HTTP/1.1 {status} Refused\r\ncontent-type: text/plain; charset=utf-8\r\n"
        retry = "retry-after: 1\r\n" if status == 503 else ""
        head += f"content-length: {len(body)}\r\n{retry}connection: close\r\n\r\n"
        self.write(head.encode() + (body if has_body else b""))
        self._disconnect_cycles()
        self.half_close()

    def _disconnect_cycles(self) -> None:
        for cycle in (self._active, *self._pipeline):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.notify()

    def enter(self, phase: Phase) -> None:
        """Begin a phase, and count its time and its bytes anew."""
        if self.phase not in ENDING or phase in ENDING:
            self.phase, self.phase_since = phase, self.timeouts.now
            self.body_bytes = self._raw_body_bytes = 0

    def half_close(self) -> None:
        """Close the sending side and drop input for a while: a full close would reset a client that still sends."""
        self.flush()
        self.enter(Phase.LINGERING)
        self._discarded_bytes = 0
        if not self.transport.can_write_eof() or self._half_closed:
            self.close()
        elif not self.transport.is_closing():
            self.discarding = True
            self.transport.write_eof()
            self.flow.resume_reading()

    def close(self) -> None:
        """Close when all is written."""
        if self.phase is not Phase.CLOSING:
            self.enter(Phase.CLOSING)
        self.discarding = True
        self.flush()
        self.transport.close()

    def abort(self) -> None:
        """Close at once; without a linger the kernel also drops what the client has not read."""
        self.timeouts.remove(self)
        self.discarding = True
        self._disconnect_cycles()
        if (sock := self.transport.get_extra_info("socket")) is not None:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
        self.transport.abort()

    def write(self, data: bytes) -> None:
        """Write at once, after what `write_soon` was given."""
        self._write_buffer += data
        self.flush()

    def write_soon(self, data: bytes) -> None:
        """Write at the end of this iteration of the event loop, together with the responses of other connections.

        Each write wakes a client; the first of several in a row costs most.
        """
        if not self._write_buffer:
            self.loop.call_soon(self.flush)
        self._write_buffer += data

    def flush(self) -> None:
        """Write what `write_soon` was given."""
        data, self._write_buffer = self._write_buffer, b""
        if data and self.phase is not Phase.LINGERING and not self.transport.is_closing():
            self.written_bytes += len(data)
            self.transport.write(data)

    async def delivered(self) -> bool:
        """Return whether the client may have received what was written; False if it is known to be gone.

        A client that has closed its sending side may be gone or read on: its kernel acknowledges the response or not.
        """
        transport = self.transport
        return not transport.is_closing() and (not stopped_sending(transport) or await acknowledged(transport))

    def pause_writing(self) -> None:
        """Make `send` wait: the client reads more slowly than the server writes."""
        self.flow.pause_writing()

    def resume_writing(self) -> None:
        """Let `send` go on: the client has read most of what was written."""
        self.flow.resume_writing()


def _new_parser(protocol: HTTPProtocol) -> httptools.HttpRequestParser:
    parser = httptools.HttpRequestParser(protocol)
    # Input after the last request is ignored; it must not keep that request from its response.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser
