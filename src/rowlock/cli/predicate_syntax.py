"""Predicates and records as people write them on a command line: `series=Saga 'issue>=3'`."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from rowlock import nesting
from rowlock.errors import Invalid, InvalidData, InvalidPredicate, InvalidRecord
from rowlock.names import closest

_WORD = re.compile(r"([\w.-]+?)(\^=|>=|<=|=|>|<)(.*)", re.DOTALL)
_FORMS = {">=": "from", "<=": "to", ">": "above", "<": "below", "^=": "prefix"}
_HINT = "write FIELD=VALUE, FIELD^=BEGINNING, or 'FIELD>=N' (also >, <=, <), quoted for the shell"
_BOOLEANS = {"true": True, "yes": True, "false": False, "no": False}


def _number(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text  # what is wrong with it is told with the field's name


_READERS: dict[str, Callable[[str], Any]] = {
    "boolean": lambda text: _BOOLEANS.get(text.lower(), text),
    "integer": _number,
    "number": _number,
}


def predicates(fields: Mapping[str, str], words: Iterable[str], *, given: str | None) -> dict[str, Any]:
    """What is asked for: by words, several values of one field meaning any of them, and by a JSON document."""
    found: dict[str, Any] = {}
    for word in words:
        name, sign, text = _split(word, InvalidPredicate)
        value = _value(fields, name, text)
        if sign == "=":
            found[name] = [*found[name], value] if isinstance(found.get(name), list) else [value]
        else:
            before = found.get(name, {})
            if not isinstance(before, dict):
                raise InvalidPredicate(f"{name!r} is asked for in two ways", "give values, or a range", field=name)
            found[name] = {**before, _FORMS[sign]: value}
    return {**_document(given), **found}


def record(fields: Mapping[str, str], words: Iterable[str], *, given: str | None) -> dict[str, Any]:
    """A record: by words, and by a JSON document."""
    found = {}
    for word in words:
        name, sign, text = _split(word, InvalidRecord)
        if sign != "=":
            raise InvalidRecord(f"{word!r} says no value", "write FIELD=VALUE")
        if name not in fields:
            near = closest(name, fields)
            hint = f"did you mean {near!r}?" if near else "give what nobody asks for by --record"
            raise InvalidRecord(f"the topic has no field {name!r}", hint, field=name)
        found[name] = _value(fields, name, text)
    return {**_document(given), **found}


def _split(word: str, error: type[Invalid]) -> tuple[str, str, str]:
    match = _WORD.fullmatch(word)
    if match is None:
        raise error(f"{word!r} cannot be read", _HINT)
    return match[1], match[2], match[3]


def _value(fields: Mapping[str, str], name: str, text: str) -> Any:
    reader = _READERS.get(fields.get(name, ""))
    return text if reader is None else reader(text)


def _document(given: str | None) -> dict[str, Any]:
    if given is None:
        return {}
    found = line(given, "what was given")
    if not isinstance(found, dict):
        raise InvalidData("what was given is no JSON object", """quote it for the shell: '{"issue": 3}'""")
    return found


def lines() -> Iterator[tuple[int, Any]]:
    """The documents on standard input, one to a line, each with the number of its line; blank lines are none."""
    with open(0, "rb", closefd=False) as stdin:
        for number, text in enumerate(stdin, 1):
            if text.strip():
                yield number, line(text, f"line {number}")


def line(text: str | bytes, what: str) -> Any:
    """One JSON document, or what is wrong with the line."""
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise nesting.too_deep(what) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidData(f"{what} is not JSON", "check its quotes and commas") from None
