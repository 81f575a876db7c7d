"""Media types: how a body is written, and which type the client accepts for the response."""

from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from rowlock.errors import NotOffered, UnknownKind


class MediaType(StrEnum):
    """Plain lines, one JSON document, or one JSON document to a line."""

    TEXT = "text"
    JSON = "json"
    NDJSON = "ndjson"


CONTENT_TYPES = {
    MediaType.TEXT: b"text/plain; charset=utf-8",
    MediaType.JSON: b"application/json",
    MediaType.NDJSON: b"application/x-ndjson",
}
_BY_NAME = {
    "text/plain": MediaType.TEXT,
    "application/json": MediaType.JSON,
    "application/problem+json": MediaType.JSON,
    "application/x-ndjson": MediaType.NDJSON,
    "application/ndjson": MediaType.NDJSON,
    "application/jsonl": MediaType.NDJSON,
}
_BY_RANGE = {"text/*": MediaType.TEXT, "application/*": MediaType.JSON}
_FORM = "application/x-www-form-urlencoded"
_UNLABELLED = ("", _FORM, "application/octet-stream")
"""What curl and others send without being told a type: lines."""
FIRST_BYTES = 1_000
_HINT = "send or ask for text/plain, application/json or application/x-ndjson"


@lru_cache(256)
def of_content_type(content_type: str) -> MediaType:
    """Return how a body is written; lines if it has no type, or one that says nothing."""
    name, *parameters = (part.strip().lower() for part in content_type.split(";"))
    for parameter in parameters:
        option, _, value = parameter.partition("=")
        if option == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise UnknownKind(f"unsupported charset {value.strip()!r}", "send UTF-8")
    if name in _UNLABELLED:
        return MediaType.TEXT
    if name not in _BY_NAME:
        raise UnknownKind(f"unsupported Content-Type {name!r}", _HINT)
    return _BY_NAME[name]


def is_json(content_type: str) -> bool:
    """Return whether a Content-Type is that of JSON, whatever its parameters."""
    return _name(content_type) == "application/json"


def is_labelled(content_type: str) -> bool:
    """Return whether a Content-Type was chosen on purpose."""
    return _name(content_type) not in _UNLABELLED


def _name(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()


@lru_cache(256)
def accepted(accept: str) -> MediaType | None:
    """Return the type that an Accept header prefers; None if it leaves the choice to the server."""
    named: list[tuple[float, MediaType]] = []
    anything = not accept.strip()
    for name, quality in qualities(accept):
        media_type = _BY_NAME.get(name) or _BY_RANGE.get(name)
        if media_type is not None and quality > 0:
            named.append((quality, media_type))
        anything = anything or (name == "*/*" and quality > 0)
    if named:
        return max(named, key=lambda each: each[0])[1]
    if anything:
        return None
    raise NotOffered(f"nothing is offered as {accept[:200]!r}", _HINT)


def qualities(header: str) -> Iterator[tuple[str, float]]:
    """Yield what an Accept or Accept-Encoding header names, in lower case, and how much each is liked: 0 to 1."""
    for part in header.lower().split(","):
        name, *parameters = (each.strip() for each in part.split(";"))
        liked = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        try:
            yield name, float(liked)
        except ValueError:
            yield name, 0.0


def refuse_unlabelled_json(content_type: str, body: bytes) -> None:
    """Refuse JSON that was sent as a form, as curl does without being told a type: its lines are not keys."""
    if _name(content_type) == _FORM and body[:FIRST_BYTES].lstrip()[:1] in (b"{", b"["):
        hint = "say what it is: curl -H 'Content-Type: application/json', or text/plain if these are keys"
        raise UnknownKind("the body looks like JSON, but its type is that of a form", hint)
