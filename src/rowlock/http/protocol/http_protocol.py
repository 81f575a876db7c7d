"""One client connection: HTTP/1.1 requests, one after the other, each given to the ASGI application."""

import asyncio
import socket
import struct
from collections import deque
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.utils import get_local_addr, get_remote_addr, is_ssl

from rowlock.api.server_limits import MB
from rowlock.http.asgi import EXTENSION
from rowlock.http.protocol.request_response_cycle import RequestResponseCycle
from rowlock.http.protocol.timeouts import ENDING, NO_ROOM, Phase, Timeouts

MAX_PIPELINED_REQUESTS = 64
"""Requests that wait for the responses to earlier ones; the connection closes after so many."""
MAX_UNREAD_BODY_BYTES = 64 * 1024
"""Bytes of a body that the application has not received, before no more is read."""
MAX_DISCARDED_BYTES = 8 * MB
"""Bytes that are read and dropped after a response, so that a client which still sends reads that response."""
MAX_FRAMING_RATIO = 16
"""Bytes of chunk framing allowed for each byte of a chunked body."""
HEADERS_TOO_LARGE = "error too-large: the headers are larger than {} bytes (hint: send fewer)"
NO_LINGER = struct.pack("ii", 1, 0)
HEALTH_PATHS = (b"/livez", b"/readyz")
"""Paths that are answered also when there is no room for more connections."""
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
        self.cycle: RequestResponseCycle | None = None
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
        self._expect_100_continue = self._is_new_request = False
        self._parsed_head_bytes = self._raw_body_bytes = self._discarded_bytes = 0
        self._active: RequestResponseCycle | None = None
        self._pipeline: deque[RequestResponseCycle] = deque()
        self._app_state = app_state
        self._connection_scope: dict[str, Any] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit the connection, or refuse it for lack of room."""
        self.transport = transport
        self.server_state.connections.add(self)
        self.flow = FlowControl(transport)
        self.pause_writing = self.flow.pause_writing  # type: ignore[method-assign]
        self.resume_writing = self.flow.resume_writing  # type: ignore[method-assign]
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
        self._disconnect_cycles()
        self.resume_writing()

    def eof_received(self) -> bool:
        """Keep a half-closed connection open while the client may wait for a response."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body or self.phase in ENDING:
            return False
        self._half_closed = True
        cycle.scope["extensions"][EXTENSION]["half_closed"] = True
        # A long poll answers at once: a half-closed client looks like one that is gone.
        cycle.message_event.set()
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
            self.head_bytes = self._parsed_head_bytes if self._is_new_request else self.head_bytes + len(data)
            if self.head_bytes > max_head:
                self.refuse(431, HEADERS_TOO_LARGE.format(max_head))
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
            self._url, self._headers, self._expect_100_continue = b"", [], False
            self._is_new_request, self.head_bytes, self._parsed_head_bytes, self._discarded_bytes = True, 0, 0, 0

    def on_url(self, url: bytes) -> None:
        """Add a part of the request target."""
        self._url += url
        self._parsed_head_bytes += len(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers are ignored, because headers are checked before the body arrives."""
        if self.phase is Phase.HEADERS:
            name = name.lower()
            if name == b"expect" and value.lower() == b"100-continue":
                self._expect_100_continue = True
            self._headers.append((name, value))
            self._parsed_head_bytes += len(name) + len(value) + 4

    def on_headers_complete(self) -> None:
        """Give the request to the application, after those before it."""
        if self.discarding:
            return
        self.enter(Phase.BODY)
        parser, previous, version = self._parser, self.cycle, self._parser.get_http_version()
        self._refuse_invalid_head(version)
        if self.discarding or parser.should_upgrade():
            return
        url = httptools.parse_url(self._url)
        raw_path = url.path or b"/"
        path = raw_path.decode("ascii")
        scope = {
            **self._connection_scope,
            "http_version": version,
            "method": parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": raw_path,
            "query_string": url.query or b"",
            "headers": self._headers,
            "state": self._app_state.copy(),
            "extensions": {EXTENSION: {"half_closed": False}},
        }
        keep_alive = version != "1.0" and parser.should_keep_alive() and not self.health_only
        self.cycle = cycle = RequestResponseCycle(self, scope, keep_alive=keep_alive, expect=self._expect_100_continue)
        if previous is None or previous.response_complete:
            self._start(cycle)
        else:
            self._pipeline.append(cycle)
            cycle.keep_alive = keep_alive and len(self._pipeline) < MAX_PIPELINED_REQUESTS
            self.flow.pause_reading()

    def _refuse_invalid_head(self, version: str) -> None:
        names, max_bytes = [name for name, _ in self._headers], self.timeouts.limits.header_bytes
        codings = [value.strip().lower() for name, value in self._headers if name == b"transfer-encoding"]
        if names.count(b"host") != 1 and version != "1.0":
            self.refuse(400, "error invalid-head: there must be one Host header (hint: send it once)")
        elif codings and (version == "1.0" or codings != [b"chunked"]):
            self.refuse(400, "error invalid-head: unsupported Transfer-Encoding (hint: send chunked alone, or none)")
        elif self._parsed_head_bytes > max_bytes:
            self.refuse(431, HEADERS_TOO_LARGE.format(max_bytes))
        elif self.health_only and not (
            self._parser.get_method() in (b"GET", b"HEAD") and self._url.partition(b"?")[0] in HEALTH_PATHS
        ):
            self.refuse(503, NO_ROOM)

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
        cycle.message_event.set()
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
        cycle.message_event.set()

    def _discard(self, count: int) -> None:
        self._discarded_bytes += count
        if self._discarded_bytes > MAX_DISCARDED_BYTES:
            self.abort()

    def _start(self, cycle: RequestResponseCycle) -> None:
        self._active = cycle
        cycle.task = self.loop.create_task(cycle.run_asgi(self.app))
        self.server_state.tasks.add(cycle.task)

    def on_response_complete(self, cycle: RequestResponseCycle) -> None:
        """Start the next request of the pipeline, wait for another, or close."""
        cycle.response_complete = True
        cycle.message_event.set()
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
            self.send_refusal(status, text, has_body=not self._url or self._parser.get_method() != b"HEAD")

    def send_refusal(self, status: int, text: str, *, has_body: bool) -> None:
        """Send a response in place of the application's, and close."""
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
                cycle.message_event.set()

    def enter(self, phase: Phase) -> None:
        """Begin a phase, and count its time and its bytes anew."""
        if self.phase not in ENDING or phase in ENDING:
            self.phase, self.phase_since = phase, self.timeouts.now
            self.body_bytes = self._raw_body_bytes = 0

    def half_close(self) -> None:
        """Close the sending side and drop input for a while: a full close would reset a client that still sends."""
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
        """Write, unless the connection is about to end."""
        if self.phase is not Phase.LINGERING and not self.transport.is_closing():
            self.written_bytes += len(data)
            self.transport.write(data)


def _new_parser(protocol: HTTPProtocol) -> httptools.HttpRequestParser:
    parser = httptools.HttpRequestParser(protocol)
    # Input after the last request is ignored; it must not keep that request from its response.
    parser.set_dangerous_leniencies(lenient_data_after_close=True)
    return parser
