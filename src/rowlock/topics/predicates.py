"""Predicates: what a subscription asks of a record's fields. Typed, checked, and always written the same way.

A field is text, integer, number, boolean or date. A predicate is a value (equality) or one of

    {"in": [1, 2]}    {"prefix": "Spi"}    {"from": 1, "to": 5}    {"above": 1, "below": 5}

where `from` and `to` are included and `above` and `below` are not; either end may be left out. A field that no
predicate names may have any value, or none.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime
from math import isfinite
from typing import Any

import msgspec

from rowlock import nesting
from rowlock.errors import InvalidField, InvalidPredicate, InvalidRecord
from rowlock.model import MAX_DATA_BYTES, is_finite
from rowlock.names import closest, short_repr

Fields = Mapping[str, str]
"""The kind of each field, by name, in the order in which they were defined."""
Predicates = Mapping[str, Any]

KINDS = ("boolean", "date", "integer", "number", "text")
ORDERED = ("date", "integer", "number")
MOST_FIELDS = 64
MOST_VALUES = 1_000
PREDICATES_BYTES = 64 * 1024
INTEGERS = range(-(2**63), 2**63)
WHOLE_NUMBERS = 2**53
"""Up to here every whole number is one that a float can be."""

_NAME = re.compile(r"[^\W\d][\w.-]{0,63}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_LOWER, _UPPER = ("from", "above"), ("to", "below")
_BOUNDS = (*_LOWER, *_UPPER)
_FORMS = 'write a value, {"in": […]}, {"prefix": …} or {"from": …, "to": …} (or above, below)'


def fits(predicates: Predicates, record: Mapping[str, Any]) -> bool:
    """Whether a record is what the predicates ask for; both as `canonical` and `checked` give them. The reference."""
    return all(name in record and _holds(asked, record[name]) for name, asked in predicates.items())


def _holds(asked: Any, value: Any) -> bool:
    match asked:
        case {"in": values}:
            return value in values
        case {"prefix": beginning}:
            return bool(value.startswith(beginning))
        case dict():
            enough = asked.get("from", value) <= value and ("above" not in asked or asked["above"] < value)
            return enough and value <= asked.get("to", value) and ("below" not in asked or value < asked["below"])
    return bool(value == asked)


def check_fields(fields: Fields) -> dict[str, str]:
    """The fields of a topic, if they can be."""
    if not isinstance(fields, Mapping):
        raise InvalidField(f"fields are given by name, not as {type(fields).__name__}", 'write {"series": "text"}')
    if len(fields) > MOST_FIELDS:
        raise InvalidField(f"a topic cannot have {len(fields)} fields", f"it has at most {MOST_FIELDS}")
    for name, kind in fields.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            hint = "a name is a letter, then letters, digits, '_', '-' or '.', 64 at most"
            raise InvalidField(f"a field cannot be called {short_repr(name)}", hint, field=short_repr(name))
        if kind not in KINDS:
            near = closest(str(kind), KINDS)
            hint = f"did you mean {near!r}?" if near else f"the kinds are {', '.join(KINDS)}"
            raise InvalidField(f"the field {name!r} cannot be {short_repr(kind)}", hint, field=name)
    return dict(fields)


def canonical(fields: Fields, predicates: Predicates) -> dict[str, Any]:
    """The predicates as they are stored: the same meaning is always the same text. What cannot be meant is refused."""
    if not isinstance(predicates, Mapping):
        raise InvalidPredicate(f"predicates are given by field, not as {type(predicates).__name__}", _FORMS)
    found = {
        name: _canonical(name, _kind(fields, name), asked)
        for name, asked in sorted(predicates.items(), key=lambda each: str(each[0]))
        if asked is not None
    }
    if len(text(found).encode()) > PREDICATES_BYTES:
        raise InvalidPredicate(f"the predicates are larger than {PREDICATES_BYTES} bytes", "subscribe to less")
    return found


def text(predicates: Predicates) -> str:
    """Canonical predicates as JSON."""
    return msgspec.json.encode(predicates, order="sorted").decode()


def _kind(fields: Fields, name: Any) -> str:
    if name not in fields:
        near = closest(str(name), fields)
        known = f"the fields are {', '.join(sorted(fields))}" if fields else "the topic has no fields yet"
        hint = f"did you mean {near!r}?" if near else known
        raise InvalidPredicate(f"the topic has no field {short_repr(name)}", hint, field=short_repr(name))
    return fields[name]


def _canonical(name: str, kind: str, asked: Any) -> Any:
    if isinstance(asked, list | tuple | set | frozenset):
        asked = {"in": list(asked)}
    if not isinstance(asked, Mapping):
        return _value(name, kind, asked, InvalidPredicate)
    if set(asked) == {"in"}:
        return _any_of(name, kind, asked["in"])
    if set(asked) == {"prefix"}:
        return _beginning(name, kind, asked["prefix"])
    bounds = {bound: value for bound, value in asked.items() if value is not None}
    if bounds and set(bounds) <= set(_BOUNDS):
        return _range(name, kind, bounds)
    what = f"the predicate on {name!r} is none that there is: {short_repr(dict(asked))}"
    raise InvalidPredicate(what, _FORMS, field=name)


def _any_of(name: str, kind: str, values: Any) -> Any:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidPredicate(f"'in' on {name!r} takes values, not {type(values).__name__}", _FORMS, field=name)
    found = sorted({_value(name, kind, value, InvalidPredicate) for value in values})
    if not 1 <= len(found) <= MOST_VALUES:
        what = f"'in' on {name!r} has {len(found)} values"
        raise InvalidPredicate(what, f"give 1 to {MOST_VALUES}", field=name)
    return found[0] if len(found) == 1 else {"in": found}


def _beginning(name: str, kind: str, beginning: Any) -> dict[str, str]:
    if kind != "text":
        raise InvalidPredicate(f"{name!r} is {kind}: it has no beginning", "only text fields take a prefix", field=name)
    found = _value(name, kind, beginning, InvalidPredicate)
    if not found:
        raise InvalidPredicate(f"the prefix on {name!r} is empty", "leave it out to take any value", field=name)
    return {"prefix": found}


def _range(name: str, kind: str, bounds: dict[str, Any]) -> Any:
    if kind not in ORDERED:
        hint = "only integer, number and date fields take a range"
        raise InvalidPredicate(f"{name!r} is {kind}: it has no range", hint, field=name)
    if set(_LOWER) <= set(bounds) or set(_UPPER) <= set(bounds):
        raise InvalidPredicate(f"the range on {name!r} has two ends on one side", _FORMS, field=name)
    ends = {bound: _value(name, kind, value, InvalidPredicate) for bound, value in bounds.items()}
    try:
        closed = ends if kind == "number" else dict(_CLOSERS[kind](bound, value) for bound, value in ends.items())
    except (ValueError, OverflowError):
        raise _empty(name) from None
    low = next((closed[bound] for bound in _LOWER if bound in closed), None)
    high = next((closed[bound] for bound in _UPPER if bound in closed), None)
    if low is not None and high is not None:
        if high < low or (high == low and set(closed) != {"from", "to"}):
            raise _empty(name)
        if high == low:
            return low
    return {bound: closed[bound] for bound in _BOUNDS if bound in closed}


def _empty(name: str) -> InvalidPredicate:
    return InvalidPredicate(f"nothing lies in the range on {name!r}", "put the smaller end first", field=name)


def _closed_integer(bound: str, value: int) -> tuple[str, int]:
    name, step = {"above": ("from", 1), "below": ("to", -1)}.get(bound, (bound, 0))
    if value + step not in INTEGERS:
        raise OverflowError
    return name, value + step


def _closed_date(bound: str, value: str) -> tuple[str, str]:
    name, day = _closed_integer(bound, date.fromisoformat(value).toordinal())
    return name, date.fromordinal(day).isoformat()


_CLOSERS: dict[str, Callable[[str, Any], tuple[str, Any]]] = {"integer": _closed_integer, "date": _closed_date}


def checked(fields: Fields, record: Mapping[str, Any]) -> dict[str, Any]:
    """The record as it is stored and matched; what is no field of the topic is kept and matters to nobody."""
    if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
        what = f"a record is values by the names of their fields, not {type(record).__name__}"
        raise InvalidRecord(what, 'write it like {"series": "Saga", "issue": 1}')
    found = {
        name: _value(name, fields[name], value, InvalidRecord) if name in fields else value
        for name, value in record.items()
        if value is not None
    }
    _check_size(found)
    return found


def _check_size(record: Mapping[str, Any]) -> None:
    try:
        text = nesting.encode(record, "the record", error=InvalidRecord)
        if "null" in text and not is_finite(msgspec.to_builtins(record)):
            raise ValueError("JSON has no such number")
    except (TypeError, ValueError, OverflowError):
        raise InvalidRecord("the record cannot be written as JSON", "give text, numbers, lists and mappings") from None
    if len(text.encode()) > MAX_DATA_BYTES:
        raise InvalidRecord(f"the record is larger than {MAX_DATA_BYTES} bytes", "keep it elsewhere and publish where")


def _value(name: str, kind: str, value: Any, error: type[InvalidPredicate] | type[InvalidRecord]) -> Any:
    found = _READERS[kind](value)
    if found is None:
        raise error(f"{name!r} is {kind}: it cannot be {short_repr(value)}", _EXAMPLES[kind], field=name)
    return found


def _boolean(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value in INTEGERS else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        near = float(value)
    except OverflowError:
        return None
    # One way to write each number, whole ones as people do.
    whole = near.is_integer() and abs(near) <= WHOLE_NUMBERS
    return int(near) if whole else near if isfinite(near) else None


def _text(value: Any) -> str | None:
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return str(value)


def _date(value: Any) -> str | None:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if not isinstance(value, str) or not _DATE.fullmatch(value):
        return None
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        return None


_READERS: dict[str, Callable[[Any], Any]] = {
    "boolean": _boolean,
    "date": _date,
    "integer": _integer,
    "number": _number,
    "text": _text,
}
_EXAMPLES = {
    "boolean": "give true or false",
    "date": "give a day, such as 2031-05-01",
    "integer": "give a whole number of 64 bits",
    "number": "give a number that is finite",
    "text": "give valid Unicode text",
}
