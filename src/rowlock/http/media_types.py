"""Kinds: how a body is written, and which of them an answer is written in."""

from enum import StrEnum
from functools import lru_cache

from rowlock.errors import NotOffered, UnknownKind


class MediaType(StrEnum):
    """Plain lines, one JSON document, or one JSON document to a line."""

    TEXT = "text"
    JSON = "json"
    NDJSON = "ndjson"

    @property
    def type(self) -> str:
        """What its Content-Type says."""
        return TYPES[self]


TYPES = {
    MediaType.TEXT: "text/plain; charset=utf-8",
    MediaType.JSON: "application/json",
    MediaType.NDJSON: "application/x-ndjson",
}
_SPOKEN = {
    "text/plain": MediaType.TEXT,
    "application/json": MediaType.JSON,
    "application/problem+json": MediaType.JSON,
    "application/x-ndjson": MediaType.NDJSON,
    "application/ndjson": MediaType.NDJSON,
    "application/jsonl": MediaType.NDJSON,
}
_RANGES = {"text/*": MediaType.TEXT, "application/*": MediaType.JSON}
# What curl and others say of a file when nobody told them what it is: lines.
_FORM = "application/x-www-form-urlencoded"
_UNLABELLED = (_FORM, "application/octet-stream")
FIRST_BYTES = 1_000
_HINT = "send or ask for text/plain, application/json or application/x-ndjson"


@lru_cache(256)
def of_content_type(content_type: str) -> MediaType:
    """How a body is written; what says nothing, or only that it is bytes, is lines."""
    name, *parameters = (part.strip().lower() for part in content_type.split(";"))
    for parameter in parameters:
        option, _, value = parameter.partition("=")
        if option == "charset" and value.strip('"') not in ("utf-8", "utf8", "us-ascii"):
            raise UnknownKind(f"a body in {value.strip()!r} cannot be read", "send UTF-8")
    if not name or name in _UNLABELLED:
        return MediaType.TEXT
    if name not in _SPOKEN:
        raise UnknownKind(f"a body of type {name!r} cannot be read", _HINT)
    return _SPOKEN[name]


def is_json(content_type: str) -> bool:
    """Whether a type is that of JSON, whatever else it says."""
    return content_type.partition(";")[0].strip().lower() == "application/json"


def is_labelled(content_type: str) -> bool:
    """Whether somebody said on purpose what the body is."""
    name = content_type.partition(";")[0].strip().lower()
    return bool(name) and name not in _UNLABELLED


@lru_cache(256)
def accepted(accept: str) -> MediaType | None:
    """The kind that an Accept header asks for; None if it leaves the choice to us."""
    named: list[tuple[float, MediaType]] = []
    anything = not accept.strip()
    for part in accept.split(","):
        name, *parameters = (each.strip().lower() for each in part.split(";"))
        quality = _quality(parameters)
        kind = _SPOKEN.get(name) or _RANGES.get(name)
        if kind is not None and quality > 0:
            named.append((quality, kind))
        anything = anything or (name == "*/*" and quality > 0)
    if named:
        return max(named, key=lambda each: each[0])[1]
    if anything:
        return None
    raise NotOffered(f"nothing is offered as {accept[:200]!r}", _HINT)


def _quality(parameters: list[str]) -> float:
    for parameter in parameters:
        option, _, value = parameter.partition("=")
        if option.strip() == "q":
            try:
                return float(value)
            except ValueError:
                return 0.0
    return 1.0


def refuse_unlabelled(content_type: str, body: bytes) -> None:
    """Refuse JSON that came as if it were a form, as curl sends it when it is not told: its lines are no keys."""
    if _is_form(content_type) and body[:FIRST_BYTES].lstrip()[:1] in (b"{", b"["):
        hint = "say what it is: curl -H 'Content-Type: application/json', or text/plain if these are keys"
        raise UnknownKind("the body looks like JSON, but its type is that of a form", hint)


@lru_cache(256)
def _is_form(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == _FORM
