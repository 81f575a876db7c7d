"""Trouble on the way to a server: why nothing was heard, in words, and whether the request may have arrived."""

import socket
import ssl
from collections.abc import Iterator

import httpx2

from rowlock.errors import ServerUnreachable

_NEVER_SENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.ProxyError,
    httpx2.UnsupportedProtocol,
    httpx2.LocalProtocolError,
)
_RUNNING = "see that it runs there: rowlock serve"
_SPOKEN = {
    "refused": ("nobody listens there", _RUNNING),
    "dns": ("there is no host of that name", "check its name"),
    "timeout": ("no answer came in time", "see that it runs, and what lies between"),
    "tls": ("its certificate is not trusted, or it speaks no TLS", "check the address, or give verify= the authority"),
    "lost": ("the connection broke", _RUNNING),
    "network": ("it cannot be reached", "check the address, and the network"),
}


def was_sent(error: httpx2.TransportError) -> bool:
    """Whether the request may have been heard."""
    return not isinstance(error, _NEVER_SENT)


def unreachable(error: httpx2.TransportError, server: str) -> ServerUnreachable:
    """The error that tells why; nothing that a library said is repeated."""
    reason = _reason(error)
    why, hint = _SPOKEN[reason]
    return ServerUnreachable(f"nothing is heard of {server}: {why}", hint, reason=reason)


def _reason(error: httpx2.TransportError) -> str:
    if isinstance(error, httpx2.TimeoutException):
        return "timeout"
    for cause in _causes(error):
        if isinstance(cause, ConnectionRefusedError):
            return "refused"
        if isinstance(cause, socket.gaierror):
            return "dns"
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLEOFError):
            return "tls"
    return "lost" if was_sent(error) else "network"


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    while found is not None:
        yield found
        if isinstance(found, BaseExceptionGroup):
            for each in found.exceptions:
                yield from _causes(each)
        found = found.__cause__ or found.__context__
