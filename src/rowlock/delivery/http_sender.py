"""Sender of HTTP requests: signed, bounded in time and size, on pooled connections."""

import os
import ssl
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from http.client import HTTPException, IncompleteRead, RemoteDisconnected

import msgspec

from rowlock.delivery.addresses import AllowedHosts, ResolvedAddress, Resolver
from rowlock.delivery.connections import (
    CONNECT_SECONDS,
    ConnectionPool,
    ExchangeLimits,
    HttpResponse,
    OutgoingConnection,
    RejectedResponse,
    connect,
)
from rowlock.delivery.signatures import signed
from rowlock.errors import NoAnswer
from rowlock.http_url import HttpUrl, check_header
from rowlock.names import split_names

MAX_RESPONSE_BYTES = 1024 * 1024


class OutgoingRequest(msgspec.Struct, frozen=True):
    """A request to send: an id that stays the same if it is sent again, a body, and the keys to sign it with."""

    id: str
    body: bytes
    headers: Mapping[str, str] = {}
    keys: tuple[bytes, ...] = ()


class Sender:
    """Sends requests from any thread. It follows no redirects, uses no proxy and decompresses nothing."""

    def __init__(self, *, allow: Iterable[str] = (), max_bytes: int = MAX_RESPONSE_BYTES) -> None:
        self._allowed = AllowedHosts(allow)
        self._max_bytes = max_bytes
        self._resolver = Resolver()
        self._pool = ConnectionPool()

    def post(self, target: HttpUrl, request: OutgoingRequest, *, seconds: float = 30.0) -> HttpResponse:
        """Send a request, signed if it has keys, and return the response, whatever its status.

        Raises NoAnswer, with a `reason`, if there is no valid response in time, and HostNotAllowed for a private host.
        """
        signature = signed(request.id, request.body, keys=request.keys, at=int(time.time()))
        headers = {"content-type": "application/json", **_lower(request.headers), **signature}
        return self._send(target, _request("POST", target, headers, request.body), seconds=seconds, reuse=True)

    def get(self, target: HttpUrl, *, headers: Mapping[str, str] | None = None, seconds: float = 5.0) -> HttpResponse:
        """Send a GET request on a connection of its own; raises as `post` does."""
        sent = _request("GET", target, {**_lower(headers or {}), "connection": "close"}, None)
        return self._send(target, sent, seconds=seconds, reuse=False)

    def check(self, target: HttpUrl, *, seconds: float = CONNECT_SECONDS) -> None:
        """Raise HostNotAllowed if `post` would; a host that cannot be resolved now is accepted."""
        try:
            self._resolve(target, ExchangeLimits(seconds, self._max_bytes))
        except OSError:
            return

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()

    def _send(self, target: HttpUrl, sent: bytes, *, seconds: float, reuse: bool) -> HttpResponse:
        limits = ExchangeLimits(seconds, self._max_bytes)
        try:
            if reuse and (idle := self._pool.take(target.origin)) is not None:
                try:
                    return self._exchange(idle, sent, limits, keep=True)
                except (OSError, HTTPException) as error:
                    if limits.bytes_read or isinstance(error, TimeoutError):
                        raise
                    # Most likely closed by the server while idle. Sending again is safe: the id is the same.
            return self._exchange(self._connected(target, limits), sent, limits, keep=reuse)
        except (OSError, HTTPException, ValueError, OverflowError, RejectedResponse) as error:
            reason, words = _describe(error, seconds)
            raise NoAnswer(f"{target.shown} gave no answer: {words}", reason=reason) from None

    def _exchange(
        self, connection: OutgoingConnection, sent: bytes, limits: ExchangeLimits, *, keep: bool
    ) -> HttpResponse:
        reusable = False
        try:
            response, reusable = connection.exchange(sent, limits)
        finally:
            if reusable and keep:
                self._pool.keep(connection)
            else:
                connection.close()
        return response

    def _connected(self, target: HttpUrl, limits: ExchangeLimits) -> OutgoingConnection:
        generation = self._pool.generation
        try:
            addresses = self._resolve(target, limits)
            connected = connect(target, addresses, limits=limits, tls=self._tls if target.secure else None)
        except TimeoutError:
            raise RejectedResponse("timeout", f"no connection within {limits.connect_seconds:g}s") from None
        return OutgoingConnection(connected, target.origin, generation=generation)

    def _resolve(self, target: HttpUrl, limits: ExchangeLimits) -> list[ResolvedAddress]:
        # Resolved once: the addresses that were checked are connected to, whatever the name resolves to a moment later.
        seconds = min(limits.connect_seconds, limits.seconds_left)
        addresses = self._resolver.resolve(target.host, target.port, seconds=seconds)
        self._allowed.check(target, (each.address for each in addresses))
        return addresses

    @cached_property
    def _tls(self) -> ssl.SSLContext:
        context = ssl.create_default_context()
        context.set_alpn_protocols(["http/1.1"])
        return context


def sender_from_environment(hosts: Iterable[str] | None = None) -> Sender:
    """Return a sender that may reach these private hosts, or those of ROWLOCK_ALLOW_HOSTS if None."""
    return Sender(allow=split_names(os.environ.get("ROWLOCK_ALLOW_HOSTS", "")) if hosts is None else hosts)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _request(method: str, target: HttpUrl, headers: Mapping[str, str], body: bytes | None) -> bytes:
    every = {
        "user-agent": "rowlock",
        "accept": "application/json",
        **headers,
        "host": target.authority,
        "accept-encoding": "identity",
        **({} if body is None else {"content-length": str(len(body))}),
    }
    for name, value in every.items():
        check_header(name, value)
    lines = [f"{method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (body or b"")


def _describe(error: Exception, seconds: float) -> tuple[str, str]:
    """Return a short reason and a sentence part for people; no key, no query and no text of a library."""
    match error:
        case RejectedResponse():
            return error.reason, str(error)
        case TimeoutError():
            return "timeout", f"timed out after {seconds:g}s"
        case ssl.SSLCertVerificationError():
            return "tls", f"its certificate is not trusted: {error.verify_message}"
        case ssl.SSLError():
            return "tls", f"TLS failed: {(error.reason or 'no reason given').lower().replace('_', ' ')}"
        case RemoteDisconnected() | ConnectionResetError() | BrokenPipeError():
            return "closed", "the connection was closed"
        case IncompleteRead():
            return "cut off", "it was cut off"
        case OSError():
            return "connection", (error.strerror or "no connection").lower()
    return "garbled", "what came is not HTTP"
