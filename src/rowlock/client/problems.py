"""Problems: what a server says is wrong, as the error that the engine would have raised there."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from rowlock.errors import Invalid, NotFound, Refused, RowlockError, ServerUnreachable, Stale, Unavailable

_OF_THE_DOCUMENT = ("type", "title", "status", "code", "detail", "hint", "request")
_FAMILIES = {404: NotFound, 409: Refused, 412: Stale, 403: Refused, 401: Refused, 500: RowlockError}


@cache
def kinds() -> dict[str, type[RowlockError]]:
    """Every error by its code."""
    found: list[type[RowlockError]] = [RowlockError]
    for kind in found:
        found += kind.__subclasses__()
    return {kind.code: kind for kind in found}


def error_of(status: int, body: bytes, *, server: str) -> RowlockError:
    """The error that an answer tells: of the same class, with the same words and fields."""
    document = _document(body)
    if not isinstance(document.get("code"), str) or not isinstance(document.get("detail"), str):
        return _foreign(status, server)
    return told({"status": status, **document}, server=server)


def told(document: Mapping[str, Any], *, server: str) -> RowlockError:
    """The error that a problem document tells."""
    kind = kinds().get(document["code"]) or _family(document["status"])
    fields = {name: value for name, value in document.items() if name not in _OF_THE_DOCUMENT}
    error = kind(document["detail"], str(document.get("hint") or ""), **fields)
    if isinstance(document.get("request"), str):
        error.add_note(f"request {document['request']} of {server}")
    return error


def _document(body: bytes) -> dict[str, Any]:
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _family(status: int) -> type[RowlockError]:
    if status in _FAMILIES:
        return _FAMILIES[status]
    return Unavailable if status >= 500 else Invalid


def _foreign(status: int, server: str) -> RowlockError:
    if status in (502, 503, 504):
        return Unavailable(f"{server} cannot serve this now (HTTP {status})", "try again in a moment")
    if 300 <= status < 400:
        what = f"{server} sends us elsewhere (HTTP {status})"
        return ServerUnreachable(what, "give the address that it leads to", reason="stranger")
    return stranger(server, f"HTTP {status}")


def stranger(server: str, answered: str) -> ServerUnreachable:
    """The error for an answer that no rowlock of our time would give."""
    what = f"what answers at {server} does not speak as rowlock does ({answered})"
    return ServerUnreachable(
        what, "check the address, and that both sides have about the same release", reason="stranger"
    )
