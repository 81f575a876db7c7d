"""Errors of a client: error responses as the exceptions that an engine raises, and network failures.

What only an open connection needs is imported late: an import of httpx2 or ssl takes longer than most commands.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock.errors import Invalid, NotFound, Refused, RowlockError, ServerUnreachable, Stale, Unavailable

if TYPE_CHECKING:
    import httpx2

PROBLEM_FIELDS = ("type", "title", "status", "code", "detail", "hint", "request")
ERRORS_BY_STATUS = {404: NotFound, 409: Refused, 412: Stale, 403: Refused, 401: Refused, 500: RowlockError}
START_HINT = "see that it runs there: rowlock serve"
REASONS = {
    "refused": ("nobody listens there", START_HINT),
    "dns": ("there is no host of that name", "check its name"),
    "timeout": ("no answer came in time", "see that it runs, and what lies between"),
    "tls": ("its certificate is not trusted, or it speaks no TLS", "check the address, or give verify= the authority"),
    "lost": ("the connection broke", START_HINT),
    "network": ("it cannot be reached", "check the address, and the network"),
}


@cache
def errors_by_code() -> dict[str, type[RowlockError]]:
    """Return every class of errors by its code."""
    found: list[type[RowlockError]] = [RowlockError]
    for kind in found:
        found += kind.__subclasses__()
    return {kind.code: kind for kind in found}


def error_of_response(status: int, body: bytes, *, server: str) -> RowlockError:
    """Return the error that a response describes: of the same class, with the same words and fields."""
    try:
        document = msgspec.json.decode(body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        document = {}
    if isinstance(document.get("code"), str) and isinstance(document.get("detail"), str):
        return error_of_problem({"status": status, **document}, server=server)
    if status in (502, 503, 504):
        return Unavailable(f"{server} cannot serve this now (HTTP {status})", "try again in a moment")
    if 300 <= status < 400:
        what = f"{server} sends us elsewhere (HTTP {status})"
        return ServerUnreachable(what, "give the address that it leads to", reason="stranger")
    return not_rowlock(server, f"HTTP {status}")


def error_of_problem(document: Mapping[str, Any], *, server: str) -> RowlockError:
    """Return the error that a problem document describes."""
    status = document["status"]
    family = ERRORS_BY_STATUS.get(status) or (Unavailable if status >= 500 else Invalid)
    kind = errors_by_code().get(document["code"]) or family
    fields = {name: value for name, value in document.items() if name not in PROBLEM_FIELDS}
    error = kind(document["detail"], str(document.get("hint") or ""), **fields)
    if isinstance(document.get("request"), str):
        error.add_note(f"request {document['request']} of {server}")
    return error


def not_rowlock(server: str, answered: str) -> ServerUnreachable:
    """Return the error for an answer that no rowlock server gives."""
    what = f"{server} did not answer like a rowlock server ({answered})"
    return ServerUnreachable(
        what, "check the address, and that both sides have about the same release", reason="stranger"
    )


def was_sent(error: "httpx2.TransportError") -> bool:
    """Return whether the server may have received the request."""
    import httpx2

    never_sent = (
        httpx2.ConnectError,
        httpx2.ConnectTimeout,
        httpx2.PoolTimeout,
        httpx2.ProxyError,
        httpx2.UnsupportedProtocol,
        httpx2.LocalProtocolError,
    )
    return not isinstance(error, never_sent)


def unreachable(error: "httpx2.TransportError", server: str) -> ServerUnreachable:
    """Return the error that tells why no answer came, in our own words."""
    reason = _reason(error)
    why, hint = REASONS[reason]
    return ServerUnreachable(f"nothing is heard of {server}: {why}", hint, reason=reason)


def _reason(error: "httpx2.TransportError") -> str:
    import socket
    import ssl

    import httpx2

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
