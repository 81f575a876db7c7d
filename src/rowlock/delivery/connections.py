"""Connections: one socket to one checked address; reading has a deadline and a limit, whatever comes."""

import io
import select
import socket
import ssl
import time
from collections.abc import Sequence
from http.client import HTTPResponse, IncompleteRead
from typing import Any

from rowlock.delivery.resolver import ResolvedAddress
from rowlock.delivery.responses import HttpResponse, compressed, phrase, too_large
from rowlock.http_url import HttpUrl

HEAD_BYTES = 256 * 1024
"""Room for status, headers and what chunks are wrapped in, beside the body."""
PIECE = 64 * 1024


class ExchangeLimits:
    """How long an exchange may take, and how much may come of it."""

    def __init__(self, *, seconds: float, connecting: float, largest: int) -> None:
        self.until = time.monotonic() + seconds
        self.connecting = min(seconds, connecting)
        self.largest = largest

    @property
    def left(self) -> float:
        """Seconds that are left; TimeoutError if there are none."""
        seconds = self.until - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds


class BoundedSocket(io.RawIOBase):
    """What comes from a socket, until the limits of the present exchange. Closing a reader of it does not close it."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self.limits: ExchangeLimits | None = None
        self.room = 0
        self.heard = 0

    def readable(self) -> bool:
        """It is for reading only."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Some bytes; none if no exchange is going on."""
        if self.limits is None:
            return None
        if self.room <= 0:
            raise too_large()
        self._socket.settimeout(self.limits.left)
        count = self._socket.recv_into(memoryview(buffer)[: self.room])
        self.room -= count
        self.heard += count
        return count

    def close(self) -> None:
        """Nothing: the connection is closed by whoever holds it."""


class ResponseReader(io.BufferedReader):
    """Reads one answer; notices if more came than belongs to it."""

    def __init__(self, wire: BoundedSocket) -> None:
        super().__init__(wire, PIECE)
        self._wire = wire
        self._ended = False
        self.left_over = False

    def close(self) -> None:
        """End the answer, once: also a reader that is thrown away later comes here, when the next one is at work."""
        if not self._ended:
            self._ended = True
            self._wire.limits = None
            self.left_over = bool(self.peek(1))


class OutgoingConnection:
    """A connection that is used for one exchange after another, by one thread at a time."""

    def __init__(self, connected: socket.socket) -> None:
        self.era = 0
        self._socket = connected
        self._wire = BoundedSocket(connected)
        self._reader: ResponseReader | None = None
        self.born = time.monotonic()

    @property
    def heard(self) -> int:
        """How many bytes have come in the present exchange."""
        return self._wire.heard

    def exchange(self, request: bytes, limits: ExchangeLimits) -> tuple[HttpResponse, bool]:
        """Send a request and read its answer; and whether the connection can be used again."""
        self._wire.limits, self._wire.room, self._wire.heard = limits, limits.largest + HEAD_BYTES, 0
        self._send(request, limits)
        response = HTTPResponse(self, method=request[: request.index(b" ")].decode())  # type: ignore[arg-type]
        response.begin()
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise compressed()
        body = _body(response, limits.largest)
        response.close()
        headers = {name.lower(): value for name, value in response.headers.items()}
        again = not response.will_close and self._reader is not None and not self._reader.left_over
        return HttpResponse(response.status, phrase(response.status, response.reason), headers, body), again

    def makefile(self, _: str) -> ResponseReader:
        """What an answer is read from, as the standard library asks a socket for it."""
        self._reader = ResponseReader(self._wire)
        return self._reader

    def _send(self, request: bytes, limits: ExchangeLimits) -> None:
        rest = memoryview(request)
        while rest:
            self._socket.settimeout(limits.left)
            try:
                rest = rest[self._socket.send(rest) :]
            except (BrokenPipeError, ConnectionResetError):
                return  # it may have answered before it heard us out

    @property
    def is_quiet(self) -> bool:
        """Whether nothing has come since the last answer, not even its end: then the next answer is to our question."""
        poll = select.poll()
        poll.register(self._socket, select.POLLIN)
        pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending() > 0
        return not pending and not poll.poll(0)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()


def _body(response: HTTPResponse, largest: int) -> bytes:
    if response.length is not None and response.length > largest:
        raise too_large()
    pieces, size = [], 0
    while piece := response.read(PIECE):
        pieces.append(piece)
        size += len(piece)
        if size > largest:
            raise too_large()
    if response.length:
        raise IncompleteRead(b"", response.length)
    return b"".join(pieces)


def connect(
    target: HttpUrl, places: Sequence[ResolvedAddress], *, limits: ExchangeLimits, tls: ssl.SSLContext | None
) -> OutgoingConnection:
    """Connect to the first place that answers: these and no others, for they are what was checked."""
    until = time.monotonic() + min(limits.connecting, limits.left)
    trouble: OSError = TimeoutError()
    for place, waiting in zip(places, range(len(places), 0, -1), strict=True):
        plain = socket.socket(place.family, socket.SOCK_STREAM)
        try:
            # Those that wait for their turn must have one, too.
            plain.settimeout(max(0.001, (until - time.monotonic()) / waiting))
            plain.connect(place.socket_address)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            plain.close()
            trouble = error
            continue
        return OutgoingConnection(plain if tls is None else _secured(plain, tls, target, limits))
    raise trouble


def _secured(plain: socket.socket, tls: ssl.SSLContext, target: HttpUrl, limits: ExchangeLimits) -> ssl.SSLSocket:
    try:
        plain.settimeout(min(limits.connecting, limits.left))
        return tls.wrap_socket(plain, server_hostname=target.host.removesuffix("."))
    except BaseException:
        plain.close()
        raise
