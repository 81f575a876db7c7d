"""JSON: encoding, decoding, a limit of the nesting depth, and plain descriptions of what is wrong with a document.

A decoder's own limit depends on the stack that it runs on: what one process writes, another may be unable to read. So
there is a fixed limit, far below, that is the same everywhere.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from itertools import accumulate
from math import isfinite
from typing import Any

import msgspec

from rowlock.errors import Invalid, InvalidData

MAX_LEVELS = 128
TRUNCATE_LEVELS = MAX_LEVELS + 32
"""Where a document is truncated that holds such data: what is left is still too deep to be mistaken for the whole."""
_TIMES = (datetime, date, time, timedelta)
TRUNCATED = b'"(nested too deeply)"'
_HINT = "flatten it, or store it elsewhere and its address as data"

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
TYPE_NAMES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
    "datetime": "a date and time",
}
_AT = re.compile(r"^(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<where>.*)`)?$", re.DOTALL)
_WRONG_KIND = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<given>[^`]*)`")
_OUT_OF_BOUNDS = re.compile(r"Expected `(?P<wanted>[^`]*)` (?P<bound>.*)")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_ENUM = re.compile(r"Invalid enum value (?P<given>.*)", re.DOTALL)
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_NOT_JSON = {
    "Input data was truncated": "it ends too early",
    "JSON is malformed: trailing characters": "more text follows its end",
    "JSON is malformed: invalid character": "unexpected character",
}


def encode_json(values: Any) -> str:
    """Encode values as statements take them; a subclass of str is encoded as text."""
    return msgspec.json.encode(values, enc_hook=_plain).decode()


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def is_finite(data: Any) -> bool:
    """Return whether all numbers in the data are finite: JSON would silently make null of others."""
    return _is_finite(msgspec.to_builtins(data, enc_hook=_plain))


def has_times(data: Any) -> bool:
    """Return whether a date, a time or a duration is in the data: JSON would silently make text of it."""
    return _has_times(msgspec.to_builtins(data, builtin_types=_TIMES, enc_hook=_plain))


def times_refused(whose: str) -> InvalidData:
    """Make the error for data with a date, a time or a duration in it."""
    what = f"{whose} contains a date, a time or a duration, which JSON cannot express"
    return InvalidData(what, "give text, such as at.isoformat(), or a number")


def _has_times(plain: Any) -> bool:
    if isinstance(plain, dict):
        return any(map(_has_times, plain.values())) or any(map(_has_times, plain))
    if isinstance(plain, list | tuple | set | frozenset):
        return any(map(_has_times, plain))
    return isinstance(plain, _TIMES)


def _is_finite(plain: Any) -> bool:
    if isinstance(plain, dict):
        return all(map(_is_finite, plain.values()))
    if isinstance(plain, list | tuple):
        return all(map(_is_finite, plain))
    return not isinstance(plain, float) or isfinite(plain)


def levels(text: str) -> int:
    """Return the nesting depth of a JSON document."""
    return max(accumulate(1 if bracket == b"["[0] else -1 for bracket in _brackets(text)), default=0)


def is_too_deep(text: str) -> bool:
    """Return whether JSON is nested deeper than is allowed; fast if it is short or has few lists and objects."""
    if len(text) <= 2 * MAX_LEVELS or text.count("{") + text.count("[") <= MAX_LEVELS:
        return False
    brackets = _brackets(text)
    for _ in range(MAX_LEVELS):
        brackets = brackets.replace(b"[]", b"")  # the innermost of each
    return b"[" in brackets


def _brackets(text: str) -> bytes:
    """Return the brackets of all lists and objects, both as square brackets."""
    plain = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    return "".join(plain.split('"')[::2]).encode().translate(_AS_LISTS, _NO_BRACKETS)


def check_levels(text: str, whose: str, *, error: type[Invalid] = InvalidData, **fields: Any) -> None:
    """Refuse JSON that is nested deeper than is allowed."""
    if is_too_deep(text):
        what = f"{whose} is nested {levels(text)} levels deep; at most {MAX_LEVELS} are allowed"
        raise error(what, _HINT, **fields)


def too_deep(whose: str, *, error: type[Invalid] = InvalidData, **fields: Any) -> Invalid:
    """Make the error for a value that cannot be written as JSON because of its nesting."""
    what = f"{whose} is nested too deeply, or contains itself; at most {MAX_LEVELS} levels are allowed"
    return error(what, _HINT, **fields)


def encode(value: Any, whose: str, *, error: type[Invalid] = InvalidData) -> str:
    """Encode a value as JSON; refuse one that is nested deeper than is allowed."""
    try:
        text = encode_json(value)
    except RecursionError:
        raise too_deep(whose, error=error) from None
    check_levels(text, whose, error=error)
    return text


def decode(text: str, whose: str) -> Any:
    """Decode stored JSON; InvalidData if it is nested deeper than is allowed."""
    check_levels(text, whose)
    return msgspec.json.decode(text)


def truncate(document: bytes) -> bytes:
    """Replace what is nested too deeply to be decoded in a JSON document."""
    pieces: list[bytes] = []
    depth = kept = 0
    for token in _TOKENS.finditer(document):
        if token[0] in b"[{":
            depth += 1
            if depth == TRUNCATE_LEVELS + 1:
                pieces.append(document[kept : token.start()] + TRUNCATED)
        elif token[0] in b"]}":
            if depth == TRUNCATE_LEVELS + 1:
                kept = token.end()
            depth -= 1
    return b"".join([*pieces, document[kept:]])


def describe_validation_error(error: Exception) -> str:
    """Describe a validation error: `items[0].key must be text, not a whole number`."""
    parts = _AT.fullmatch(str(error))
    what, where = (parts["what"], (parts["where"] or "").lstrip(".")) if parts else (str(error), "")
    place = where or "the document"
    if match := _WRONG_KIND.fullmatch(what):
        return f"{place} must be {_kinds(match['wanted'])}, not {_kinds(match['given'])}"
    if match := _OUT_OF_BOUNDS.fullmatch(what):
        return f"{place} must be {_kinds(match['wanted'])} {_bound(match['bound'])}"
    if match := _MISSING.fullmatch(what):
        return f"missing field {match['name']!r}" + (f" in {where}" if where else "")
    if match := _UNKNOWN.fullmatch(what):
        return f"unknown field {match['name'][:100]!r}" + (f" in {where}" if where else "")
    if match := _ENUM.fullmatch(what):
        return f"{place} cannot be {match['given'][:100]}"
    plain = what.replace("`", "'")
    return f"{where}: {plain}" if where else plain


def describe_invalid_field(error: Exception, given: Mapping[str, Any]) -> str:
    """Describe a validation error of flat fields with the value that was given: `count must be …, got '-1'`."""
    described = describe_validation_error(error)
    name = (json_pointer(error) or "").lstrip("/")
    return f"{described}, got {repr(given[name])[:100]}" if name in given else described


def json_pointer(error: Exception) -> str | None:
    """Return the place of a validation error as a JSON pointer; None if it is the whole document."""
    parts = _AT.fullmatch(str(error))
    # msgspec does not say which value of a mapping it is.
    where = (parts["where"] or "").replace("[...]", "") if parts else ""
    return where.replace("[", "/").replace("]", "").replace(".", "/") or None


def describe_syntax_error(error: Exception) -> str:
    """Describe why a text is not JSON."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    what, bracket, place = str(error).partition(" (byte ")
    reason = _NOT_JSON.get(what) or what.removeprefix("JSON is malformed: ").replace("`", "'")
    return f"{reason}, at byte {place.rstrip(')')}" if bracket else reason


def _kinds(written: str) -> str:
    return " or ".join(TYPE_NAMES.get(each, each) for each in written.split(" | "))


def _bound(written: str) -> str:
    for sign, words in _BOUNDS.items():
        written = written.replace(f"{sign} ", f"{words} ")
    return written if written.startswith("of ") else f"of {written}"
