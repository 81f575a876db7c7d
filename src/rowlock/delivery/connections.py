"""HTTP connections: one socket to one checked address, with a deadline and a size limit, and a pool of idle ones."""

import io
import select
import socket
import ssl
import threading
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from http.client import HTTPResponse, IncompleteRead
from typing import Any

import msgspec

from rowlock.delivery.addresses import ResolvedAddress
from rowlock.delivery.responses import HttpResponse, compressed, phrase, too_large
from rowlock.forks import PerProcess
from rowlock.http_url import HttpUrl

MAX_HEAD_BYTES = 256 * 1024
"""Bytes for the status line, headers and chunk framing, beside the body."""
READ_BYTES = 64 * 1024


class ExchangeLimits:
    """How long an exchange may take, and how large its response may be."""

    def __init__(self, *, seconds: float, connect_seconds: float, max_bytes: int) -> None:
        self.deadline = time.monotonic() + seconds
        self.connect_seconds = min(seconds, connect_seconds)
        self.max_bytes = max_bytes

    @property
    def left(self) -> float:
        """Seconds until the deadline; TimeoutError after it."""
        seconds = self.deadline - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


class BoundedSocket(io.RawIOBase):
    """A socket to read from, within the limits of the current exchange. Closing a reader does not close the socket."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.limits: ExchangeLimits | None = None
        self.bytes_left = 0
        self.bytes_read = 0

    def readable(self) -> bool:
        """Return True: the socket is only read by this."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read some bytes; None if there is no exchange."""
        if self.limits is None:
            return None
        if self.bytes_left <= 0:
            raise too_large()
        self._socket.settimeout(self.limits.left)
        count = self._socket.recv_into(memoryview(buffer)[: self.bytes_left])
        self.bytes_left -= count
        self.bytes_read += count
        return count

    def close(self) -> None:
        """Do nothing: the owner of the connection closes the socket."""


class ResponseReader(io.BufferedReader):
    """Reads one response; `left_over` tells whether more bytes came than belong to it."""

    def __init__(self, wire: BoundedSocket) -> None:
        super().__init__(wire, READ_BYTES)
        self._wire = wire
        self._ended = False
        self.left_over = False

    def close(self) -> None:
        """End the response, once: the garbage collector may close this reader while the next one is in use."""
        if not self._ended:
            self._ended = True
            self._wire.limits = None
            self.left_over = bool(self.peek(1))


class OutgoingConnection:
    """A connection for one exchange after another, used by one thread at a time."""

    def __init__(self, connected: socket.socket) -> None:
        self.generation = 0
        self._socket = connected
        self._wire = BoundedSocket(connected)
        self._reader: ResponseReader | None = None
        self.opened_at = time.monotonic()

    @property
    def bytes_read(self) -> int:
        """How many bytes of the current response have come."""
        return self._wire.bytes_read

    def exchange(self, request: bytes, limits: ExchangeLimits) -> tuple[HttpResponse, bool]:
        """Send a request; return the response and whether the connection can be used again."""
        self._wire.limits, self._wire.bytes_left, self._wire.bytes_read = limits, limits.max_bytes + MAX_HEAD_BYTES, 0
        self._send(request, limits)
        response = HTTPResponse(self, method=request[: request.index(b" ")].decode())  # type: ignore[arg-type]
        response.begin()
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise compressed()
        body = _body(response, limits.max_bytes)
        response.close()
        headers = {name.lower(): value for name, value in response.headers.items()}
        reusable = not response.will_close and self._reader is not None and not self._reader.left_over
        return HttpResponse(response.status, phrase(response.status, response.reason), headers, body), reusable

    def makefile(self, _: str) -> ResponseReader:
        """Return a reader for a response; the standard library calls this as on a socket."""
        self._reader = ResponseReader(self._wire)
        return self._reader

    def _send(self, request: bytes, limits: ExchangeLimits) -> None:
        rest = memoryview(request)
        while rest:
            self._socket.settimeout(limits.left)
            try:
                rest = rest[self._socket.send(rest) :]
            except (BrokenPipeError, ConnectionResetError):
                return  # the server may have responded before it read the whole request

    @property
    def is_quiet(self) -> bool:
        """Whether nothing came since the last response, not even a close: only then is the next response ours."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0
        return not pending and not poll.poll(0)

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _body(response: HTTPResponse, max_bytes: int) -> bytes:
    if response.length is not None and response.length > max_bytes:
        raise too_large()
    pieces, size = [], 0
    while piece := response.read(READ_BYTES):
        pieces.append(piece)
        size += len(piece)
        if size > max_bytes:
            raise too_large()
    if response.length:
        raise IncompleteRead(b"", response.length)
    return b"".join(pieces)


def connect(
    target: HttpUrl, addresses: Sequence[ResolvedAddress], *, limits: ExchangeLimits, tls: ssl.SSLContext | None
) -> OutgoingConnection:
    """Connect to the first address that accepts; only to these, because they were checked."""
    deadline = time.monotonic() + min(limits.connect_seconds, limits.left)
    failure: OSError = TimeoutError()
    for address, left in zip(addresses, range(len(addresses), 0, -1), strict=True):
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
        return OutgoingConnection(plain if tls is None else _secured(plain, tls, target, limits))
    raise failure


def _secured(plain: socket.socket, tls: ssl.SSLContext, target: HttpUrl, limits: ExchangeLimits) -> ssl.SSLSocket:
    try:
        plain.settimeout(min(limits.connect_seconds, limits.left))
        return tls.wrap_socket(plain, server_hostname=target.host.removesuffix("."))
    except BaseException:
        plain.close()
        raise


MAX_IDLE_SECONDS = 30.0
MAX_AGE_SECONDS = 300.0
"""Age at which a connection is replaced, so that a host that has moved is resolved and checked again."""
MAX_IDLE_CONNECTIONS = 256
PURGE_SECONDS = 1.0
"""How often expired connections of all origins are closed, at most."""

Origin = tuple[str, str, int]


class IdleConnection(msgspec.Struct, frozen=True):
    """A connection that is not in use, and since when."""

    connection: OutgoingConnection
    since: float

    def expired(self, now: float) -> bool:
        """Return whether it must not be used again."""
        return now - self.since > MAX_IDLE_SECONDS or now - self.connection.opened_at > MAX_AGE_SECONDS


class _IdleConnections:
    """The idle connections of one process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._by_origin: defaultdict[Origin, deque[IdleConnection]] = defaultdict(deque)
        self._count = 0
        self._purged_at = time.monotonic()

    def pop(self, origin: Origin) -> IdleConnection | None:
        """Remove and return the connection that was used last, so that surplus ones expire."""
        idle = self._by_origin.get(origin)
        if not idle:
            return None
        self._count -= 1
        return idle.pop()

    def push(self, origin: Origin, idle: IdleConnection) -> bool:
        """Add a connection; return False if there are too many."""
        if self._count >= MAX_IDLE_CONNECTIONS:
            return False
        self._by_origin[origin].append(idle)
        self._count += 1
        return True

    def purge(self, now: float) -> list[OutgoingConnection]:
        """Remove and return expired connections, if it has not been done just before."""
        if now - self._purged_at <= PURGE_SECONDS:
            return []
        expired = []
        for origin, idle in list(self._by_origin.items()):
            while idle and idle[0].expired(now):
                expired.append(idle.popleft().connection)
            if not idle:
                del self._by_origin[origin]
        self._count -= len(expired)
        self._purged_at = now
        return expired

    def clear(self) -> list[OutgoingConnection]:
        """Remove and return all connections."""
        every = [each.connection for idle in self._by_origin.values() for each in idle]
        self._by_origin.clear()
        self._count = 0
        return every


class ConnectionPool:
    """Idle connections by origin, kept for the next request. A forked child does not use those of its parent."""

    def __init__(self) -> None:
        self._idle = PerProcess(_IdleConnections)
        self.generation = 0
        """How often the pool was closed: connections of an earlier generation are not kept."""

    def take(self, target: HttpUrl) -> OutgoingConnection | None:
        """Return a connection to the target that can still be used, or None."""
        while (idle := self._pop(target)) is not None:
            if idle.connection.is_quiet and not idle.expired(time.monotonic()):
                return idle.connection
            idle.connection.close()
        return None

    def _pop(self, target: HttpUrl) -> IdleConnection | None:
        idle = self._idle.get()
        with idle.lock:
            return idle.pop(_origin(target))

    def keep(self, target: HttpUrl, connection: OutgoingConnection) -> None:
        """Keep a connection, or close it if it is too old or there are too many."""
        now, idle = time.monotonic(), self._idle.get()
        with idle.lock:
            closing = idle.purge(now)
            usable = connection.generation == self.generation and now - connection.opened_at < MAX_AGE_SECONDS
            if not usable or not idle.push(_origin(target), IdleConnection(connection, now)):
                closing.append(connection)
        for each in closing:
            each.close()

    def close(self) -> None:
        """Close all idle connections; those in use are closed when they are returned."""
        idle = self._idle.get()
        with idle.lock:
            self.generation += 1
            every = idle.clear()
        for connection in every:
            connection.close()


def _origin(target: HttpUrl) -> Origin:
    return target.scheme, target.host, target.port
