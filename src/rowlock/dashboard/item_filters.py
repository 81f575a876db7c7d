"""The filter box of items: `state:failed key:abc error:"timed out" attempts:>2 gate:fetch`."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from rowlock.errors import InvalidQuery
from rowlock.model import State
from rowlock.names import closest
from rowlock.settings import Settings

QUALIFIERS = ("state", "key", "error", "attempts", "gate", "kind", "shape")
SYNTAX_HINT = 'write it like state:failed key:abc error:"timed out" attempts:>2 gate:1'

_WORD = re.compile(r'(?:(?P<name>[a-z]+):)?(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<plain>\S+))')
_ATTEMPTS = re.compile(r"(>=|>|)(\d{1,9})")


class FilterText(msgspec.Struct, frozen=True):
    """A filter as it was typed, and as the API takes it."""

    text: str
    query: Mapping[str, Any]

    def __bool__(self) -> bool:
        return bool(self.query)


def parse(text: str, settings: Settings) -> FilterText:
    """Read a filter; a word without a qualifier is the beginning of a key. Gates may be given by name."""
    query: dict[str, Any] = {}
    for word in _WORD.finditer(text):
        name, plain = word["name"] or "key", word["plain"]
        value = re.sub(r"\\(.)", r"\1", word["quoted"]) if plain is None else plain
        if plain and (plain[0] == '"' or (plain[-1] == ":" and plain[:-1] in QUALIFIERS)):
            raise InvalidQuery(f"{plain[:50]!r} lacks a value or a closing quotation mark", SYNTAX_HINT)
        if name not in QUALIFIERS:
            near = closest(name, QUALIFIERS)
            raise InvalidQuery(f"unknown qualifier {name!r}", f"did you mean {near}:?" if near else SYNTAX_HINT)
        target = "prefix" if name == "key" else name
        if target in query:
            raise InvalidQuery(f"the qualifier {name!r} is given twice", SYNTAX_HINT)
        query[target] = _value(name, value, settings)
    return FilterText(text.strip(), query)


def _value(name: str, value: str, settings: Settings) -> Any:
    if name == "state" and value not in tuple(State):
        raise InvalidQuery(f"state must be one of {', '.join(State)}, got {value[:50]!r}", SYNTAX_HINT)
    if name == "gate":
        return settings.gate_number(int(value) if value.isdecimal() and len(value) < 10 else value)
    if name != "attempts":
        return value
    match = _ATTEMPTS.fullmatch(value)
    if match is None:
        raise InvalidQuery(f"attempts must be a number, got {value[:50]!r}", "write it like attempts:2 or attempts:>2")
    return int(match[2]) + (match[1] == ">")


def quote(value: str) -> str:
    """Return a value as the filter box takes it."""
    if re.fullmatch(r'[^\s":\\]+', value):
        return value
    return '"' + re.sub(r'(["\\])', r"\\\1", value) + '"'
