"""Syntax of predicates and records on the command line: `series=Saga 'issue>=3'`, or JSON."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from rowlock.cli.input import decode_json
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


def predicates(fields: Mapping[str, str], terms: Iterable[str], *, document: str | None) -> dict[str, Any]:
    """Read predicates from terms and a JSON object; several values of one field mean any of them."""
    values: dict[str, Any] = {}
    for term in terms:
        name, operator, text = _split(term, InvalidPredicate)
        value = _value(fields, name, text)
        if operator == "=":
            values[name] = [*values[name], value] if isinstance(values.get(name), list) else [value]
        else:
            before = values.get(name, {})
            if not isinstance(before, dict):
                what = f"{name!r} must have values or a range, got both"
                raise InvalidPredicate(what, "give one of them", field=name)
            values[name] = {**before, _OPERATORS[operator]: value}
    return {**_json_object(document), **values}


def record(fields: Mapping[str, str], terms: Iterable[str], *, document: str | None) -> dict[str, Any]:
    """Read a record from terms and a JSON object."""
    values = {}
    for term in terms:
        name, operator, text = _split(term, InvalidRecord)
        if operator != "=":
            raise InvalidRecord(f"a value must be FIELD=VALUE, got {term!r}", "a record has no ranges")
        if name not in fields:
            near = closest(name, fields)
            hint = f"did you mean {near!r}?" if near else "give fields that no predicate uses by --record"
            raise InvalidRecord(f"the topic has no field {name!r}", hint, field=name)
        values[name] = _value(fields, name, text)
    return {**_json_object(document), **values}


def _split(term: str, error: type[Invalid]) -> tuple[str, str, str]:
    match = _TERM.fullmatch(term)
    if match is None:
        raise error(f"a term must be FIELD=VALUE or a comparison, got {term!r}", _HINT)
    return match[1], match[2], match[3]


def _value(fields: Mapping[str, str], name: str, text: str) -> Any:
    reader = _VALUE_READERS.get(fields.get(name, ""))
    return text if reader is None else reader(text)


def _json_object(text: str | None) -> dict[str, Any]:
    if text is None:
        return {}
    document = decode_json(text, "the document", hint="check its quotes and commas")
    if not isinstance(document, dict):
        what = f"the document must be a JSON object, got {type(document).__name__}"
        raise InvalidData(what, """quote it for the shell: '{"issue": 3}'""")
    return document
