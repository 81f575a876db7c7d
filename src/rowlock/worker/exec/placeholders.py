"""Placeholders of a command: what `{}`, `{name}`, `{/.}`, `{#}`, `{data.size}` or `{column}` stand for."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import msgspec

from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.names import closest, short_repr

_NAME = r"[^\W.][\w-]*(?:\.[\w-]+)*|data\.[^{}]+|//|/\.|[./#%]|"
_PLACE = re.compile(rf"\{{\{{(?P<escaped>{_NAME})\}}\}}|(?P<dollar>\$?)\{{(?P<name>{_NAME})\}}")


class MissingField(Exception):
    """An item's data has no such field."""

    def __init__(self, item: Item, field: str) -> None:
        super().__init__(f"the data of {short_repr(item.key)} has no field {field!r}")
        self.item = item


class Filling(msgspec.Struct, frozen=True):
    """One item, and the command that runs for it."""

    item: Item
    number: int
    """The number of the command in this run, from 1."""
    slot: int
    """Which of the commands that run at once it is, from 1."""


def _name(key: str) -> str:
    return PurePosixPath(key).name or key


def _without_suffix(path: str) -> str:
    return re.sub(r"\.[^/.]*$", "", path)


def _folder(key: str) -> str:
    folder = key.rstrip("/").rpartition("/")[0].rstrip("/")
    return folder or ("/" if key.startswith("/") else ".")


def _last_part(key: str) -> str:
    return key.rpartition("/")[2]


VALUES: dict[str, Callable[[Filling], str]] = {
    "": lambda of: of.item.key,
    "name": lambda of: _name(of.item.key),
    "stem": lambda of: PurePosixPath(_name(of.item.key)).stem,
    "attempt": lambda of: str(of.item.attempts + 1),
    "list": lambda of: of.item.list,
    ".": lambda of: _without_suffix(of.item.key),
    "/": lambda of: _last_part(of.item.key),
    "//": lambda of: _folder(of.item.key),
    "/.": lambda of: _without_suffix(_last_part(of.item.key)),
    "#": lambda of: str(of.number),
    "%": lambda of: str(of.slot),
}
"""The placeholders that every item has; any other is a field of its data."""
OF_THE_COMMAND = ("list", "#", "%")
"""Placeholders with one value for all items of a batch."""
OF_ONE_ITEM = ("attempt",)
"""Placeholders that a batch has no single value for."""

Piece = str | tuple[str]
"""Text, or the name of a placeholder in a tuple."""


@lru_cache(1024)
def pieces(text: str) -> tuple[Piece, ...]:
    """Split text at its placeholders; `{{}}` stands for `{}`, and `${name}` is a variable of a shell."""
    return tuple(piece for piece in _pieces(text) if piece)


def _pieces(text: str) -> Iterator[Piece]:
    at = 0
    for found in _PLACE.finditer(text):
        yield text[at : found.start()]
        at = found.end()
        if found["name"] is None:
            yield f"{{{found['escaped']}}}"
        elif found["dollar"] and found["name"]:
            yield found[0]
        else:
            yield found["dollar"]
            yield (found["name"],)
    yield text[at:]


def names(text: str) -> list[str]:
    """Return the names of the placeholders in a text."""
    return [piece[0] for piece in pieces(text) if isinstance(piece, tuple)]


def refuse_unknown(wanted: Iterable[str], examples: Sequence[Item]) -> None:
    """Refuse a field that none of these items has: it is misspelt, or meant for the command itself."""
    for name in sorted(wanted):
        if any(_has(item, name) for item in examples):
            continue
        known = {field for item in examples if isinstance(item.data, dict) for field in item.data}
        meant = "" if name == "key" else closest(name.removeprefix("data."), [*VALUES, *sorted(known)])
        if examples or meant is not None:
            first = "" if meant is None else f"did you mean {{{meant}}}? "
            hint = f"{first}a field of an item's data is {{FIELD}} or {{data.FIELD}}, the text itself {{{{{name}}}}}"
            raise Invalid(f"unknown placeholder {{{name}}}: no item has such a field", hint)


def _has(item: Item, name: str) -> bool:
    try:
        _field(item, name)
    except MissingField:
        return False
    return True


def value(name: str, of: Filling) -> str:
    """Return what a placeholder stands for; MissingField if it is a field that the item does not have."""
    known = VALUES.get(name)
    return _field(of.item, name) if known is None else known(of)


def _field(item: Item, name: str) -> str:
    path = name.removeprefix("data.")
    found = item.data
    if isinstance(found, dict) and path in found:
        return _text(found[path])
    for part in path.split("."):
        if isinstance(found, dict) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            raise MissingField(item, path)
    return _text(found)


def _text(found: Any) -> str:
    return found if isinstance(found, str) else msgspec.json.encode(found).decode()
