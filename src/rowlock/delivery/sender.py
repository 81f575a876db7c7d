"""A sender: requests to others, signed, bounded in time and size, on connections that are kept for the next one."""

import os
import ssl
import time
from collections.abc import Iterable, Mapping
from http.client import HTTPException

import msgspec

from rowlock.delivery.addresses import AllowedHosts
from rowlock.delivery.connection_pool import ConnectionPool
from rowlock.delivery.connections import ExchangeLimits, OutgoingConnection, connect
from rowlock.delivery.resolver import ResolvedAddress, Resolver
from rowlock.delivery.responses import HttpResponse, RejectedResponse, no_answer
from rowlock.delivery.signatures import signed
from rowlock.http_url import HttpUrl, check_header
from rowlock.names import split_names

LARGEST_ANSWER = 1024 * 1024
CONNECTING = 5.0

_TROUBLE = (OSError, HTTPException, ValueError, OverflowError, RejectedResponse)


class OutgoingRequest(msgspec.Struct, frozen=True):
    """What is to be told: who it is known by if it is told again, its body, and the keys to sign it with."""

    id: str
    body: bytes
    headers: Mapping[str, str] = {}
    keys: tuple[bytes, ...] = ()


class Sender:
    """Sends requests from any thread. It follows no redirect, uses no proxy, and unpacks nothing."""

    def __init__(self, *, allow: Iterable[str] = (), largest: int = LARGEST_ANSWER) -> None:
        self._allowed = AllowedHosts(allow)
        self._largest = largest
        self._resolver = Resolver()
        self._pool = ConnectionPool()
        self._tls: ssl.SSLContext | None = None

    def post(self, target: HttpUrl, message: OutgoingRequest, *, seconds: float = 30.0) -> HttpResponse:
        """Send a message, with its signature if it has keys; what the other side says to it, whatever its status.

        NoAnswer, with a `reason`, if none came in time that can be read; HostNotAllowed if it must not be sent.
        """
        signature = signed(message.id, message.body, keys=message.keys, at=int(time.time()))
        headers = {"content-type": "application/json", **_lower(message.headers), **signature}
        return self._ask(target, _request("POST", target, headers, message.body), seconds)

    def get(self, target: HttpUrl, *, headers: Mapping[str, str] | None = None, seconds: float = 5.0) -> HttpResponse:
        """Ask for something, on a connection that is not kept; errors as `post`."""
        alone = {**(headers or {}), "connection": "close"}
        limits = ExchangeLimits(seconds=seconds, connecting=CONNECTING, largest=self._largest)
        try:
            connection = self._connected(target, limits)
            try:
                return connection.exchange(_request("GET", target, alone, None), limits)[0]
            finally:
                connection.close()
        except _TROUBLE as error:
            raise no_answer(target, error, seconds=seconds) from None

    def check(self, target: HttpUrl, *, seconds: float = CONNECTING) -> None:
        """Refuse now what `post` would refuse; a host that cannot be found now may be there later."""
        try:
            self._places(target, ExchangeLimits(seconds=seconds, connecting=seconds, largest=0))
        except OSError:
            return

    def close(self) -> None:
        """Close what is kept."""
        self._pool.close()

    def _ask(self, target: HttpUrl, request: bytes, seconds: float) -> HttpResponse:
        limits = ExchangeLimits(seconds=seconds, connecting=CONNECTING, largest=self._largest)
        try:
            return self._on_kept(target, request, limits) or self._on_new(target, request, limits)
        except _TROUBLE as error:
            raise no_answer(target, error, seconds=seconds) from None

    def _on_kept(self, target: HttpUrl, request: bytes, limits: ExchangeLimits) -> HttpResponse | None:
        kept = self._pool.take(target)
        if kept is None:
            return None
        try:
            return self._exchange(target, kept, request, limits)
        except (OSError, HTTPException) as error:
            if kept.heard or isinstance(error, TimeoutError):
                raise
            return None  # hung up on us while it was idle, most likely: the same message again is still the same

    def _on_new(self, target: HttpUrl, request: bytes, limits: ExchangeLimits) -> HttpResponse:
        era = self._pool.era
        connection = self._connected(target, limits)
        connection.era = era
        return self._exchange(target, connection, request, limits)

    def _exchange(
        self, target: HttpUrl, connection: OutgoingConnection, request: bytes, limits: ExchangeLimits
    ) -> HttpResponse:
        again = False
        try:
            answer, again = connection.exchange(request, limits)
        finally:
            if again:
                self._pool.keep(target, connection)
            else:
                connection.close()
        return answer

    def _connected(self, target: HttpUrl, limits: ExchangeLimits) -> OutgoingConnection:
        try:
            places = self._places(target, limits)
            return connect(target, places, limits=limits, tls=self._context() if target.secure else None)
        except TimeoutError:
            raise RejectedResponse("timeout", f"no connection within {limits.connecting:g}s") from None

    def _places(self, target: HttpUrl, limits: ExchangeLimits) -> list[ResolvedAddress]:
        # Looked up once: what was checked is what is connected to, whatever the name leads to a moment later.
        places = self._resolver.places(target.host, target.port, seconds=min(limits.connecting, limits.left))
        self._allowed.check(target, (place.address for place in places))
        return places

    def _context(self) -> ssl.SSLContext:
        if self._tls is None:
            self._tls = ssl.create_default_context()
            self._tls.set_alpn_protocols(["http/1.1"])
        return self._tls


def sender_from_environment(hosts: Iterable[str] | None = None) -> Sender:
    """A sender that may reach the private hosts that are named here, or by ROWLOCK_ALLOW_HOSTS."""
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
