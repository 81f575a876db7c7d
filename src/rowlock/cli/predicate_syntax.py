"""Syntax of predicates and records on the command line: `series=Saga 'issue>=3'`, or JSON."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rowlock import json_codec
from rowlock.errors import Invalid, InvalidData, InvalidPredicate, InvalidRecord
from rowlock.names import closest

_TERM = re.compile(r"([\w.-]+?)(\^=|>=|<=|=|>|<)(.*)", re.DOTALL)
_OPERATORS = {">=": "from", "<=": "to", ">": "above", "<": "below", "^=": "prefix"}
_HINT = "write FIELD=VALUE, FIELD^=PREFIX, or 'FIELD>=N' (also >, <=, <), quoted for the shell"
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def _number(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text  # refused later, with the name of the field


_VALUE_READERS: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: _BOOLEANS.get(text.lower(), text),
    "integer": _number,
    "number": _number,
}


def predicates(fields: Mapping[str, str], terms: Iterable[str], *, given: str | None) -> dict[str, Any]:
    """Read predicates from terms and a JSON object; several values of one field mean any of them."""
    found: dict[str, Any] = {}
    for term in terms:
        name, operator, text = _split(term, InvalidPredicate)
        value = _value(fields, name, text)
        if operator == "=":
            found[name] = [*found[name], value] if isinstance(found.get(name), list) else [value]
        else:
            before = found.get(name, {})
            if not isinstance(before, dict):
                what = f"{name!r} must have values or a range, got both"
                raise InvalidPredicate(what, "give one of them", field=name)
            found[name] = {**before, _OPERATORS[operator]: value}
    return {**_document(given), **found}


def record(fields: Mapping[str, str], terms: Iterable[str], *, given: str | None) -> dict[str, Any]:
    """Read a record from terms and a JSON object."""
    found = {}
    for term in terms:
        name, operator, text = _split(term, InvalidRecord)
        if operator != "=":
            raise InvalidRecord(f"a value must be FIELD=VALUE, got {term!r}", "a record has no ranges")
        if name not in fields:
            near = closest(name, fields)
            hint = f"did you mean {near!r}?" if near else "give fields that no predicate uses by --record"
            raise InvalidRecord(f"the topic has no field {name!r}", hint, field=name)
        found[name] = _value(fields, name, text)
    return {**_document(given), **found}


def _split(term: str, error: type[Invalid]) -> tuple[str, str, str]:
    match = _TERM.fullmatch(term)
    if match is None:
        raise error(f"a term must be FIELD=VALUE or a comparison, got {term!r}", _HINT)
    return match[1], match[2], match[3]


def _value(fields: Mapping[str, str], name: str, text: str) -> Any:
    reader = _VALUE_READERS.get(fields.get(name, ""))
    return text if reader is None else reader(text)


def _document(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    found = _decoded(given, "the document")
    if not isinstance(found, dict):
        what = f"the document must be a JSON object, got {type(found).__name__}"
        raise InvalidData(what, """quote it for the shell: '{"issue": 3}'""")
    return found


def json_lines() -> Iterator[tuple[int, Any]]:
    """Yield the JSON documents on standard input, one on each line, with their line numbers; skips blank lines."""
    with open(0, "rb", closefd=False) as stdin:
        for number, text in enumerate(stdin, 1):
            if text.strip():
                yield number, _decoded(text, f"line {number}")


def _decoded(text: str | bytes, what: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise json_codec.too_deep(what) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidData(f"{what} must be JSON", "check its quotes and commas") from None
