"""Sender of HTTP requests: signed, bounded in time and size, on pooled connections."""

import os
import ssl
import time
from collections.abc import Iterable, Mapping
from http.client import HTTPException

import msgspec

from rowlock.delivery.addresses import AllowedHosts, ResolvedAddress, Resolver
from rowlock.delivery.connections import ConnectionPool, ExchangeLimits, OutgoingConnection, connect
from rowlock.delivery.responses import HttpResponse, RejectedResponse, no_answer
from rowlock.delivery.signatures import signed
from rowlock.http_url import HttpUrl, check_header
from rowlock.names import split_names

MAX_RESPONSE_BYTES = 1024 * 1024
CONNECT_SECONDS = 5.0

_FAILURES = (OSError, HTTPException, ValueError, OverflowError, RejectedResponse)


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
        self._tls: ssl.SSLContext | None = None

    def post(self, target: HttpUrl, request: OutgoingRequest, *, seconds: float = 30.0) -> HttpResponse:
        """Send a request, signed if it has keys, and return the response, whatever its status.

        Raises NoAnswer, with a `reason`, if there is no valid response in time, and HostNotAllowed for a private host.
        """
        signature = signed(request.id, request.body, keys=request.keys, at=int(time.time()))
        headers = {"content-type": "application/json", **_lower(request.headers), **signature}
        return self._ask(target, _request("POST", target, headers, request.body), seconds)

    def get(self, target: HttpUrl, *, headers: Mapping[str, str] | None = None, seconds: float = 5.0) -> HttpResponse:
        """Send a GET request on a connection of its own; raises as `post` does."""
        alone = {**(headers or {}), "connection": "close"}
        limits = ExchangeLimits(seconds=seconds, connect_seconds=CONNECT_SECONDS, max_bytes=self._max_bytes)
        try:
            connection = self._connected(target, limits)
            try:
                return connection.exchange(_request("GET", target, alone, None), limits)[0]
            finally:
                connection.close()
        except _FAILURES as error:
            raise no_answer(target, error, seconds=seconds) from None

    def check(self, target: HttpUrl, *, seconds: float = CONNECT_SECONDS) -> None:
        """Raise HostNotAllowed if `post` would; a host that cannot be resolved now is accepted."""
        try:
            self._resolve(target, ExchangeLimits(seconds=seconds, connect_seconds=seconds, max_bytes=0))
        except OSError:
            return

    def close(self) -> None:
        """Close idle connections."""
        self._pool.close()

    def _ask(self, target: HttpUrl, request: bytes, seconds: float) -> HttpResponse:
        limits = ExchangeLimits(seconds=seconds, connect_seconds=CONNECT_SECONDS, max_bytes=self._max_bytes)
        try:
            return self._on_idle(target, request, limits) or self._on_new(target, request, limits)
        except _FAILURES as error:
            raise no_answer(target, error, seconds=seconds) from None

    def _on_idle(self, target: HttpUrl, request: bytes, limits: ExchangeLimits) -> HttpResponse | None:
        idle = self._pool.take(target)
        if idle is None:
            return None
        try:
            return self._exchange(target, idle, request, limits)
        except (OSError, HTTPException) as error:
            if idle.bytes_read or isinstance(error, TimeoutError):
                raise
            return None  # most likely closed by the server while idle; sending again is safe, the id is the same

    def _on_new(self, target: HttpUrl, request: bytes, limits: ExchangeLimits) -> HttpResponse:
        generation = self._pool.generation
        connection = self._connected(target, limits)
        connection.generation = generation
        return self._exchange(target, connection, request, limits)

    def _exchange(
        self, target: HttpUrl, connection: OutgoingConnection, request: bytes, limits: ExchangeLimits
    ) -> HttpResponse:
        reusable = False
        try:
            response, reusable = connection.exchange(request, limits)
        finally:
            if reusable:
                self._pool.keep(target, connection)
            else:
                connection.close()
        return response

    def _connected(self, target: HttpUrl, limits: ExchangeLimits) -> OutgoingConnection:
        try:
            addresses = self._resolve(target, limits)
            return connect(target, addresses, limits=limits, tls=self._context() if target.secure else None)
        except TimeoutError:
            raise RejectedResponse("timeout", f"no connection within {limits.connect_seconds:g}s") from None

    def _resolve(self, target: HttpUrl, limits: ExchangeLimits) -> list[ResolvedAddress]:
        # Resolved once: the addresses that were checked are connected to, whatever the name resolves to a moment later.
        addresses = self._resolver.resolve(target.host, target.port, seconds=min(limits.connect_seconds, limits.left))
        self._allowed.check(target, (each.address for each in addresses))
        return addresses

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


def sender_from_environment(hosts: Iterable[str] | None = None) -> Sender:
    """Return a sender that may reach these private hosts, or those of ROWLOCK_ALLOW_HOSTS if None."""
    return Sender(allow=split_names(os.environ.get("ROWLOCK_ALLOW_HOSTS", "")) if hosts is None else hosts)


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _request(method: str, target: HttpUrl, headers: Mapping[str, str], body: bytes | None) -> bytes:
    every = {
        "user-agent": "rowlock",
        "accept": "application/json",
        **_lower(headers),
        "host": target.authority,
        "accept-encoding": "identity",
        **({} if body is None else {"content-length": str(len(body))}),
    }
    for name, value in every.items():
        check_header(name, value)
    lines = [f"{method} {target.path} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (body or b"")
