"""Documents as lines of text: what curl gets without an Accept header, for cut and awk."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import msgspec

from rowlock.model import NO_DATA


class Page(msgspec.Struct, frozen=True):
    """A document whose first field is a list: each of its rows is a line of text, or of NDJSON."""

    @property
    def rows(self) -> list[Any]:
        """The things on the page."""
        found: list[Any] = getattr(self, self.__struct_fields__[0])
        return found


def text(document: Any) -> str:
    """A document as lines: by its own `text()` if it has one, else a name and its value to a line."""
    if hasattr(document, "text"):
        written: str = document.text()
        return written
    if isinstance(document, str):
        return document
    if isinstance(document, list | tuple):
        return "".join(map(text, document))
    if isinstance(document, Page):
        return "".join(map(text, document.rows))
    if isinstance(document, msgspec.Struct):
        document = dict(zip(document.__struct_encode_fields__, msgspec.structs.astuple(document), strict=True))
    if isinstance(document, dict):
        known = {name: value for name, value in document.items() if value is not None and value != NO_DATA}
        return "".join(f"{name}\t{cell(value)}\n" for name, value in known.items())
    return f"{cell(document)}\n"


def row(cells: Iterable[Any]) -> str:
    """One line of cells, separated by tabs."""
    return "\t".join(map(cell, cells)) + "\n"


def cell(value: Any) -> str:
    """One value within a line; empty for None."""
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
