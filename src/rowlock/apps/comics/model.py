"""Comics and subscriptions of customers, and the checks of what users send. Pure functions."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from rowlock import Invalid

MAX_EMAIL_BYTES = 512
FIELDS = {
    "artist": "text",
    "author": "text",
    "issue": "integer",
    "mint": "boolean",
    "publisher": "text",
    "series": "text",
    "superhero": "text",
    "year": "integer",
}
"""In alphabetical order, in which comics and patterns are written."""
QUERY_ONLY = ("email", "id", "querypattern", "unsubscribe")
"""Fields of a subscription that comics do not have."""
INTEGERS = range(-(2**31), 2**31)

_MEANT = {"text": "a text", "integer": "a 32-bit integer", "boolean": "true or false"}


def comic(given: Any) -> dict[str, Any]:
    """Return a comic with all its fields, or raise Invalid; other values are dropped."""
    if not isinstance(given, dict):
        raise Invalid("a comic must be a JSON object", f"its fields are {', '.join(FIELDS)}")
    for name in FIELDS:
        if name not in given:
            raise Invalid(f"the comic has no {name}", f"its fields are {', '.join(FIELDS)}", field=name)
    return _fields(given)


def predicates(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the predicates of a subscription, or raise Invalid for a field that comics do not have.

    Fields that the shop itself adds to a subscription are dropped.
    """
    for name in given:
        if name not in FIELDS and name not in QUERY_ONLY:
            raise Invalid(f"comics have no {name[:50]!r}", f"their fields are {', '.join(FIELDS)}", field=name[:50])
    return _fields(given)


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _checked(name, kind, given[name]) for name, kind in FIELDS.items() if name in given}


def _checked(name: str, kind: str, value: Any) -> Any:
    fits = {
        "text": isinstance(value, str),
        "boolean": isinstance(value, bool),
        "integer": isinstance(value, int) and not isinstance(value, bool) and value in INTEGERS,
    }
    if not fits[kind]:
        raise Invalid(f"{name} must be {_MEANT[kind]}, got {type(value).__name__}", "correct it", field=name)
    return value


def email(given: Mapping[str, Any]) -> str:
    """Return the email of a customer, or raise Invalid."""
    found = given.get("email")
    if not isinstance(found, str) or not found.strip():
        raise Invalid("email must be a text that is not blank", "give an address", field="email")
    if not found.isprintable() or len(found.encode()) > MAX_EMAIL_BYTES:
        what = f"email must be printable, with at most {MAX_EMAIL_BYTES} bytes"
        raise Invalid(what, "give an address", field="email")
    return found


def pattern(wanted: Mapping[str, Any]) -> str:
    """Return the pattern of predicates: the names of their fields in order, empty for no predicates."""
    return ",".join(sorted(wanted))


def query(of: Mapping[str, Any], names: str) -> dict[str, Any]:
    """Return the query that finds the subscriptions of one pattern for a comic."""
    return {**{name: of[name] for name in names.split(",") if name}, "querypattern": names}


def canonical(value: Any) -> str:
    """Return canonical JSON: sorted names, no blanks, UTF-8."""
    return msgspec.json.encode(value, order="sorted").decode()


def digest(of: Mapping[str, Any]) -> str:
    """Return the identity of a comic, which does not depend on the order of its fields."""
    return sha256(canonical(of).encode()).hexdigest()[:32]
