"""What comics and wishes are, and what is refused: pure."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import msgspec

from rowlock import Invalid

LONGEST_EMAIL = 512
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
"""In the order in which they are written and patterns are spelled: that of the alphabet."""
BESIDE = ("email", "id", "querypattern", "unsubscribe")
"""What a wish has beside them."""
INTEGERS = range(-(2**31), 2**31)

_MEANT = {"text": "a text", "integer": "a whole number of 32 bits", "boolean": "true or false"}


def document(body: bytes) -> dict[str, Any]:
    """The object that a body holds."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Invalid("the body is not JSON", "check its quotes and commas") from None
    if not isinstance(found, dict):
        raise Invalid("the body is no JSON object", "send one like {…}")
    return found


def comic(given: Any) -> dict[str, Any]:
    """A comic with all its fields; what else was given is dropped."""
    if not isinstance(given, dict):
        raise Invalid("a comic is a JSON object", f"its fields are {', '.join(FIELDS)}")
    for name in FIELDS:
        if name not in given:
            raise Invalid(f"the comic has no {name}", f"its fields are {', '.join(FIELDS)}", field=name)
    return _fields(given)


def wish(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of comics that were given, checked; what comics do not have is refused, for it would never be found.

    What the shop itself says of a wish may come back and is dropped.
    """
    for name in given:
        if name not in FIELDS and name not in BESIDE:
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
        raise Invalid(f"{name} is {_MEANT[kind]}, and something else was given", "say what it is", field=name)
    return value


def email(given: Mapping[str, Any]) -> str:
    """Who is meant: a text, and not an empty one."""
    found = given.get("email")
    if not isinstance(found, str) or not found.strip():
        raise Invalid("no email was given", "say who it is for: a text", field="email")
    if not found.isprintable() or len(found.encode()) > LONGEST_EMAIL:
        raise Invalid("that is no email", f"it is one line of up to {LONGEST_EMAIL} bytes", field="email")
    return found


def pattern(wanted: Mapping[str, Any]) -> str:
    """The search pattern of a wish: the names of its fields, in order; empty if it wants everything."""
    return ",".join(sorted(wanted))


def query(of: Mapping[str, Any], names: str) -> dict[str, Any]:
    """What a comic is looked for by, among the wishes of one pattern."""
    return {**{name: of[name] for name in names.split(",") if name}, "querypattern": names}


def canonical(value: Any) -> str:
    """JSON in one way only: sorted names, no blanks, UTF-8."""
    return msgspec.json.encode(value, order="sorted").decode()


def digest(of: Mapping[str, Any]) -> str:
    """What a comic is known by: two that are written differently are the same comic."""
    return sha256(canonical(of).encode()).hexdigest()[:32]
