"""HTTP connections: one socket to one checked address, with a deadline and a size limit, and a pool of idle ones."""

import io
import select
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from http.client import HTTPResponse, IncompleteRead
from typing import Any

import msgspec

from rowlock.delivery.addresses import ResolvedAddress
from rowlock.forks import PerProcess
from rowlock.http_url import HttpUrl

CONNECT_SECONDS = 5.0
MAX_HEAD_BYTES = 256 * 1024
"""Bytes for the status line, headers and chunk framing, beside the body."""
READ_BYTES = 16 * 1024
MAX_PHRASE_CHARACTERS = 100
RETRY_AFTER_STATUSES = (429, 503)
MIN_RETRY_AFTER_SECONDS, MAX_RETRY_AFTER_SECONDS = 1.0, 3_600.0
MAX_IDLE_SECONDS = 30.0
MAX_AGE_SECONDS = 300.0
"""Age at which a connection is replaced, so that a host that has moved is resolved and checked again."""
MAX_IDLE_CONNECTIONS = 256


class HttpResponse(msgspec.Struct, frozen=True):
    """A response of the server."""

    status: int
    phrase: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def ok(self) -> bool:
        """Whether the status is 2xx."""
        return 200 <= self.status < 300

    @property
    def line(self) -> str:
        """The status line: `503 Service Unavailable`."""
        return f"{self.status} {self.phrase}".rstrip()

    @property
    def retry_after_seconds(self) -> float | None:
        """The Retry-After of a 429 or 503 in seconds, or None. A time is read by the clock of the server."""
        after, date = self.headers.get("retry-after", "").strip(), self.headers.get("date")
        if self.status not in RETRY_AFTER_STATUSES or not after:
            return None
        try:
            if after.isascii() and after.isdecimal():
                seconds = float(after)
            else:
                now = parsedate_to_datetime(date).timestamp() if date else time.time()
                seconds = parsedate_to_datetime(after).timestamp() - now
        except (ValueError, TypeError, OverflowError):
            return None
        return min(max(seconds, MIN_RETRY_AFTER_SECONDS), MAX_RETRY_AFTER_SECONDS)


class RejectedResponse(Exception):
    """The rest of a response is not read: a short reason, and a sentence part for people."""

    def __init__(self, reason: str, words: str) -> None:
        super().__init__(words)
        self.reason = reason


def _too_large() -> RejectedResponse:
    return RejectedResponse("too large", "it is too large")


class ExchangeLimits:
    """How long an exchange may take and how large its response may be, and how much of that is used up."""

    def __init__(self, seconds: float, max_bytes: int) -> None:
        self.connect_seconds = min(seconds, CONNECT_SECONDS)
        self.max_bytes = max_bytes
        self.bytes_read = 0
        self._deadline = time.monotonic() + seconds

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; TimeoutError after it."""
        seconds = self._deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


class BoundedSocket(io.RawIOBase):
    """A socket to read from, within the limits of the current exchange."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.limits: ExchangeLimits | None = None

    def readable(self) -> bool:
        """Return True: the socket is only read by this."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read some bytes; None if there is no exchange."""
        if self.limits is None:
            return None
        bytes_left = self.limits.max_bytes + MAX_HEAD_BYTES - self.limits.bytes_read
        if bytes_left <= 0:
            raise _too_large()
        self._socket.settimeout(self.limits.seconds_left)
        count = self._socket.recv_into(memoryview(buffer)[:bytes_left])
        self.limits.bytes_read += count
        return count


class ResponseReader(io.BufferedReader):
    """Reads the responses of a connection. The standard library closes it after each one, which does nothing."""

    def close(self) -> None:
        """Do nothing: the next response is read by this reader too."""


class OutgoingConnection:
    """A connection for one exchange after another, used by one thread at a time."""

    def __init__(self, connected: socket.socket, origin: str, *, generation: int) -> None:
        self.origin, self.generation = origin, generation
        self.opened_at = self.idle_since = time.monotonic()
        self._socket = connected
        self._wire = BoundedSocket(connected)
        self._reader = ResponseReader(self._wire, READ_BYTES)

    def exchange(self, request: bytes, limits: ExchangeLimits) -> tuple[HttpResponse, bool]:
        """Send a request; return the response and whether the connection can be used again."""
        self._wire.limits = limits
        self._send(request, limits)
        response = HTTPResponse(self, method=request[: request.index(b" ")].decode())  # type: ignore[arg-type]
        response.begin()
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            # Not requested, and it may expand a thousand times.
            raise RejectedResponse("compressed", "it is compressed, which was not requested")
        body = _body(response, limits.max_bytes)
        self._wire.limits = None
        headers = {name.lower(): value for name, value in response.headers.items()}
        # Bytes that are left in the buffer belong to no request.
        reusable = not response.will_close and not self._reader.peek(1)
        return HttpResponse(response.status, _phrase(response), headers, body), reusable

    def makefile(self, _: str) -> ResponseReader:
        """Return the reader of responses; the standard library calls this as on a socket."""
        return self._reader

    def _send(self, request: bytes, limits: ExchangeLimits) -> None:
        rest = memoryview(request)
        while rest:
            self._socket.settimeout(limits.seconds_left)
            try:
                rest = rest[self._socket.send(rest) :]
            except (BrokenPipeError, ConnectionResetError):
                return  # the server may have responded before it read the whole request

    @property
    def usable(self) -> bool:
        """Whether it is young, and nothing came since the last response, not even a close: the next one is ours."""
        if self.expired(time.monotonic()):
            return False
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0
        return not pending and not poll.poll(0)

    def expired(self, now: float) -> bool:
        """Return whether it is too old, or was idle for too long."""
        return now - self.idle_since > MAX_IDLE_SECONDS or now - self.opened_at > MAX_AGE_SECONDS

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _body(response: HTTPResponse, max_bytes: int) -> bytes:
    if response.length is not None and response.length > max_bytes:
        raise _too_large()
    body = response.read(max_bytes + 1)
    if len(body) > max_bytes:
        raise _too_large()
    if response.length:
        raise IncompleteRead(b"", response.length)
    return body


def _phrase(response: HTTPResponse) -> str:
    phrase = response.reason.strip()
    if phrase and phrase.isprintable():
        return phrase[:MAX_PHRASE_CHARACTERS]
    return HTTPStatus(response.status).phrase if response.status in HTTPStatus._value2member_map_ else ""


def connect(
    target: HttpUrl, addresses: Sequence[ResolvedAddress], *, limits: ExchangeLimits, tls: ssl.SSLContext | None
) -> socket.socket:
    """Connect to the first address that accepts; only to these, because they were checked."""
    deadline = time.monotonic() + min(limits.connect_seconds, limits.seconds_left)
    failure: OSError = TimeoutError()
    for left, address in zip(range(len(addresses), 0, -1), addresses, strict=True):
        plain = socket.socket(address.family, socket.SOCK_STREAM)
        try:
            # The time is shared, so that every address is tried.
            plain.settimeout(max(0.001, (deadline - time.monotonic()) / left))
            plain.connect(address.socket_address)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            plain.close()
            failure = error
            continue
        return plain if tls is None else _secured(plain, tls, target, limits)
    raise failure


def _secured(plain: socket.socket, tls: ssl.SSLContext, target: HttpUrl, limits: ExchangeLimits) -> ssl.SSLSocket:
    try:
        plain.settimeout(min(limits.connect_seconds, limits.seconds_left))
        return tls.wrap_socket(plain, server_hostname=target.host.removesuffix("."))
    except BaseException:
        plain.close()
        raise


class _IdleConnections:
    """The idle connections of one process, in the order in which they were last used."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.connections: list[OutgoingConnection] = []


class ConnectionPool:
    """Idle connections, kept for the next request. A forked child does not use those of its parent."""

    def __init__(self) -> None:
        self._idle = PerProcess(_IdleConnections)
        self.generation = 0
        """How often the pool was closed: connections of an earlier generation are not kept."""

    def take(self, origin: str) -> OutgoingConnection | None:
        """Return the usable connection to an origin that was used last, or None. Surplus ones expire."""
        while (connection := self._pop(origin)) is not None and not connection.usable:
            connection.close()
        return connection

    def _pop(self, origin: str) -> OutgoingConnection | None:
        idle = self._idle.get()
        with idle.lock:
            for position, connection in reversed(list(enumerate(idle.connections))):
                if connection.origin == origin:
                    return idle.connections.pop(position)
        return None

    def keep(self, connection: OutgoingConnection) -> None:
        """Keep a connection, and close those that have expired or are too many."""
        idle, now = self._idle.get(), time.monotonic()
        connection.idle_since = now
        closing: list[OutgoingConnection] = []
        with idle.lock:
            kept = idle.connections
            (kept if connection.generation == self.generation else closing).append(connection)
            while kept and (kept[0].expired(now) or len(kept) > MAX_IDLE_CONNECTIONS):
                closing.append(kept.pop(0))
        for each in closing:
            each.close()

    def close(self) -> None:
        """Close all idle connections; those in use are closed when they are returned."""
        idle = self._idle.get()
        with idle.lock:
            self.generation += 1
            closing, idle.connections = idle.connections, []
        for connection in closing:
            connection.close()
