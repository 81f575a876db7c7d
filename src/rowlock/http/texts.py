"""Documents as lines of text, also by functions that are registered for their types."""

from collections.abc import Callable
from typing import Any

from rowlock.api import text as api
from rowlock.api.text import cell as field
from rowlock.api.text import row

__all__ = ["field", "form", "row", "text"]

Form = Callable[[Any], str]
_FORMS: dict[type, Form] = {}


def form(kind: type) -> Callable[[Form], Form]:
    """Make a function the way to write values of that type."""

    def enter(function: Form) -> Form:
        _FORMS[kind] = function
        return function

    return enter


def text(value: Any) -> str:
    """A value as lines."""
    known = _FORMS.get(type(value))
    return api.text(value) if known is None else known(value)
