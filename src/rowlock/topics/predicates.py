"""Predicates: the conditions of a subscription on a record's fields. Typed, checked, and in canonical form.

A field is text, integer, number, boolean or date. A predicate is a value (equality) or one of

    {"in": [1, 2]}    {"prefix": "Spi"}    {"from": 1, "to": 5}    {"above": 1, "below": 5}

where `from` and `to` are included and `above` and `below` are not; one bound may be left out. A field without a
predicate may have any value, or none.
"""

import operator
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import date, datetime, timedelta
from math import isfinite
from typing import Any

import msgspec

from rowlock import json_codec
from rowlock.errors import InvalidField, InvalidPredicate, InvalidRecord
from rowlock.json_codec import is_finite
from rowlock.model import MAX_DATA_BYTES
from rowlock.names import closest, short_repr

Fields = Mapping[str, str]
"""The kind of each field, by name, in the order in which they were defined."""
Predicates = Mapping[str, Any]

KINDS = ("boolean", "date", "integer", "number", "text")
ORDERED = ("date", "integer", "number")
MAX_FIELDS = 64
MAX_VALUES_PER_CHOICE = 1_000
MAX_PREDICATES_BYTES = 64 * 1024
INT64 = range(-(2**63), 2**63)
MAX_EXACT_INTEGER = 2**53
"""Up to here a float can represent every integer."""

_NAME = re.compile(r"[^\W\d][\w.-]{0,63}")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
_COMPARISONS = {"from": operator.ge, "above": operator.gt, "to": operator.le, "below": operator.lt}
_LOWER, _UPPER = ("from", "above"), ("to", "below")
_FORMS = 'write a value, {"in": […]}, {"prefix": …} or {"from": …, "to": …} (or above, below)'


def fits(predicates: Predicates, record: Mapping[str, Any]) -> bool:
    """Return whether a checked record fulfils canonical predicates. The index must agree."""
    return all(name in record and _holds(predicate, record[name]) for name, predicate in predicates.items())


def _holds(predicate: Any, value: Any) -> bool:
    match predicate:
        case {"in": values}:
            return value in values
        case {"prefix": prefix}:
            return bool(value.startswith(prefix))
        case dict():
            return all(_COMPARISONS[bound](value, end) for bound, end in predicate.items())
    return bool(value == predicate)


def check_fields(fields: Fields) -> dict[str, str]:
    """Return the fields of a topic, or raise InvalidField."""
    if not isinstance(fields, Mapping):
        raise InvalidField(f"fields must be a mapping, got {type(fields).__name__}", 'write {"series": "text"}')
    if len(fields) > MAX_FIELDS:
        raise InvalidField(f"a topic must have at most {MAX_FIELDS} fields, got {len(fields)}", "define several topics")
    for name, kind in fields.items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            hint = "use a letter, then letters, digits, '_', '-' or '.', at most 64 in all"
            raise InvalidField(f"invalid field name {short_repr(name)}", hint, field=short_repr(name))
        if kind not in KINDS:
            near = closest(str(kind), KINDS)
            hint = f"did you mean {near!r}?" if near else f"the kinds are {', '.join(KINDS)}"
            raise InvalidField(f"unknown kind {short_repr(kind)} of field {name!r}", hint, field=name)
    return dict(fields)


def canonical(fields: Fields, predicates: Predicates) -> dict[str, Any]:
    """Return predicates in canonical form, in which equal meanings have equal text; raise InvalidPredicate."""
    if not isinstance(predicates, Mapping):
        raise InvalidPredicate(f"predicates must be a mapping by field, got {type(predicates).__name__}", _FORMS)
    found = {
        name: _canonical(name, _kind(fields, name), predicate)
        for name, predicate in sorted(predicates.items(), key=lambda each: str(each[0]))
        if predicate is not None
    }
    size = len(text(found).encode())
    if size > MAX_PREDICATES_BYTES:
        what = f"predicates must have at most {MAX_PREDICATES_BYTES} bytes, got {size}"
        raise InvalidPredicate(what, "use several subscriptions")
    return found


def text(predicates: Predicates) -> str:
    """Return canonical predicates as JSON."""
    return msgspec.json.encode(predicates, order="sorted").decode()


def _kind(fields: Fields, name: Any) -> str:
    if name not in fields:
        near = closest(str(name), fields)
        known = f"the fields are {', '.join(sorted(fields))}" if fields else "the topic has no fields yet"
        hint = f"did you mean {near!r}?" if near else known
        raise InvalidPredicate(f"unknown field {short_repr(name)}", hint, field=short_repr(name))
    return fields[name]


def _canonical(name: str, kind: str, predicate: Any) -> Any:
    if isinstance(predicate, list | tuple | set | frozenset):
        predicate = {"in": list(predicate)}
    if not isinstance(predicate, Mapping):
        return _value(name, kind, predicate, InvalidPredicate)
    if set(predicate) == {"in"}:
        return _any_of(name, kind, predicate["in"])
    if set(predicate) == {"prefix"}:
        return _prefix(name, kind, predicate["prefix"])
    bounds = {bound: value for bound, value in predicate.items() if value is not None}
    if bounds and bounds.keys() <= _COMPARISONS.keys():
        return _range(name, kind, bounds)
    raise InvalidPredicate(f"invalid predicate on {name!r}: {short_repr(dict(predicate))}", _FORMS, field=name)


def _any_of(name: str, kind: str, values: Any) -> Any:
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InvalidPredicate(
            f"'in' on {name!r} must be a list of values, got {type(values).__name__}", _FORMS, field=name
        )
    found = sorted({_value(name, kind, value, InvalidPredicate) for value in values})
    if not 1 <= len(found) <= MAX_VALUES_PER_CHOICE:
        what = f"'in' on {name!r} must have 1 to {MAX_VALUES_PER_CHOICE} values, got {len(found)}"
        raise InvalidPredicate(what, "use several subscriptions", field=name)
    return found[0] if len(found) == 1 else {"in": found}


def _prefix(name: str, kind: str, prefix: Any) -> dict[str, str]:
    if kind != "text":
        what = f"prefix needs a text field, but {name!r} is {kind}"
        raise InvalidPredicate(what, "use a value or a range instead", field=name)
    found = _value(name, kind, prefix, InvalidPredicate)
    if not found:
        raise InvalidPredicate(f"prefix on {name!r} must not be empty", "leave it out to accept any value", field=name)
    return {"prefix": found}


def _range(name: str, kind: str, bounds: dict[str, Any]) -> Any:
    if kind not in ORDERED:
        what = f"a range needs an integer, number or date field, but {name!r} is {kind}"
        raise InvalidPredicate(what, _FORMS, field=name)
    if set(_LOWER) <= set(bounds) or set(_UPPER) <= set(bounds):
        raise InvalidPredicate(f"the range on {name!r} has two bounds on one side", _FORMS, field=name)
    ends = {bound: _value(name, kind, value, InvalidPredicate) for bound, value in bounds.items()}
    try:
        closed = dict(_closed(kind, bound, value) for bound, value in ends.items())
    except OverflowError:
        raise _empty(name) from None
    low = next((closed[bound] for bound in _LOWER if bound in closed), None)
    high = next((closed[bound] for bound in _UPPER if bound in closed), None)
    if low is not None and high is not None:
        if high < low or (high == low and set(closed) != {"from", "to"}):
            raise _empty(name)
        if high == low:
            return low
    return {bound: closed[bound] for bound in _COMPARISONS if bound in closed}


def _empty(name: str) -> InvalidPredicate:
    return InvalidPredicate(f"the range on {name!r} is empty", "give the lower bound first", field=name)


def _closed(kind: str, bound: str, value: Any) -> tuple[str, Any]:
    # Above one day is from the next one on. Between two numbers there are always others.
    if kind == "number" or bound in ("from", "to"):
        return bound, value
    name, step = ("from", 1) if bound == "above" else ("to", -1)
    if kind == "date":
        return name, (date.fromisoformat(value) + timedelta(step)).isoformat()
    if value + step not in INT64:
        raise OverflowError
    return name, value + step


def checked(fields: Fields, record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record as it is stored and matched, or raise InvalidRecord. Values of unknown fields are kept."""
    if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
        what = f"a record must be a mapping of field names to values, got {type(record).__name__}"
        raise InvalidRecord(what, 'write it like {"series": "Saga", "issue": 1}')
    found = {
        name: _value(name, fields[name], value, InvalidRecord) if name in fields else value
        for name, value in record.items()
        if value is not None
    }
    try:
        document = json_codec.encode(found, "the record", error=InvalidRecord)
        if "null" in document and not is_finite(found):
            raise ValueError("JSON has no such number")
    except (TypeError, ValueError, OverflowError):
        raise InvalidRecord("the record is not JSON", "use text, numbers, booleans, lists and mappings") from None
    size = len(document.encode())
    if size > MAX_DATA_BYTES:
        what = f"the record must have at most {MAX_DATA_BYTES} bytes, got {size}"
        raise InvalidRecord(what, "store it elsewhere and publish its address")
    return found


def _value(name: str, kind: str, value: Any, error: type[InvalidPredicate] | type[InvalidRecord]) -> Any:
    found = _READERS[kind](value)
    if found is None:
        raise error(f"{name!r} must be {kind}, got {short_repr(value)}", _EXAMPLES[kind], field=name)
    return found


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value in INT64 else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        near = float(value)
    except OverflowError:
        return None
    # One form for each number: whole numbers are integers.
    whole = near.is_integer() and abs(near) <= MAX_EXACT_INTEGER
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
    "boolean": lambda value: value if isinstance(value, bool) else None,
    "date": _date,
    "integer": _integer,
    "number": _number,
    "text": _text,
}
_EXAMPLES = {
    "boolean": "give true or false",
    "date": "give a day, such as 2031-05-01",
    "integer": "give a signed integer of 64 bits",
    "number": "give a finite number",
    "text": "give valid Unicode text",
}
