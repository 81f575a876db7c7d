"""Values as lines of text: what the command line prints in a pipe, for curl, cut and awk."""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

Form = Callable[[Any], str]
_FORMS: dict[type, Form] = {}


def form(kind: type) -> Callable[[Form], Form]:
    """Make a function the way to write values of that type."""

    def enter(function: Form) -> Form:
        _FORMS[kind] = function
        return function

    return enter


def text(value: Any) -> str:
    """A value as lines: a row for each thing in a page, else a name and its value to a line."""
    if (known := _FORMS.get(type(value))) is not None:
        return known(value)
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "".join(map(text, value))
    if isinstance(value, msgspec.Struct):
        value = msgspec.structs.asdict(value)
    if isinstance(value, dict):
        return "".join(f"{name}\t{field(each)}\n" for name, each in value.items() if each is not None)
    return f"{field(value)}\n"


def row(fields: Iterable[Any]) -> str:
    """One line of fields, separated by tabs."""
    return "\t".join(map(field, fields)) + "\n"


def field(value: Any) -> str:
    """One value within a line."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, msgspec.Raw | dict | list | msgspec.Struct):
        return msgspec.json.encode(value).decode()
    return str(value)
