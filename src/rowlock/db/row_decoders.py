"""Rows as structs: the names of a statement's columns, and decoders that are compiled from them.

A row is decoded by the names of its columns, never by their order, so that a statement and a struct cannot disagree
unnoticed. The names are read from the statement itself: they are known before its rows arrive, also in a pipeline, and
also where SQLite gives all rows as one JSON value. `tests/house/test_columns.py` compares them with what the databases
say.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from enum import Enum
from functools import cache, lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin

import msgspec

from rowlock import json_codec
from rowlock.model import NO_DATA, to_datetime

PACKED = "select json_group_array(json_array("
"""How a SQLite statement begins that gives all its rows as one value.

Stepping from row to row lets other threads in at each of them; even alone it takes longer than decoding JSON.
"""

S = TypeVar("S", bound=msgspec.Struct)

_TOKEN = re.compile(r"'[^']*'|[A-Za-z_][\w.]*|\S")
_ENDS = {"from", "where", "group", "having", "order", "limit", "union", "for", "returning", ")", ";"}


def result_columns(sql: str) -> tuple[str, ...]:
    """Return the names of the columns that a statement gives; the last one's, if it is several."""
    statement = sql.rpartition(";\n")[2]
    if statement.startswith(PACKED):
        return tuple(_names(_TOKEN.findall(statement[len(PACKED) :])))
    tokens = _TOKEN.findall(statement)
    starts = {token: place + 1 for place, token in _outermost(tokens) if token in ("returning", "select")}
    start = starts.get("returning") or starts.get("select")
    return tuple(_names(tokens[start:])) if start else ()


def _outermost(tokens: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Tokens outside of all parentheses with their places, from the end: of a union the first part names columns."""
    depth = 0
    for place in range(len(tokens) - 1, -1, -1):
        depth += {")": 1, "(": -1}.get(tokens[place], 0)
        if depth == 0:
            yield place, tokens[place]


def _names(tokens: Sequence[str]) -> Iterator[str]:
    """The name of each expression up to the end of a select list: its alias, or its column."""
    depth, last = 0, ""
    for word in [*tokens, ";"]:
        if depth == 0 and (word in _ENDS or word == ","):
            yield last.rpartition(".")[2]
            if word != ",":
                return
        depth += {"(": 1, ")": -1}.get(word, 0)
        last = word


@cache
def decoder(
    struct: type[S], columns: tuple[str, ...], *, given: tuple[str, ...] = (), partial: bool = False
) -> Callable[..., list[S]]:
    """Compile a function from rows with these columns to structs; it takes the `given` fields, equal in all rows, too.

    Raises TypeError if a required field is no column, or a column no field: unless `partial`, where the statement gives
    columns of another struct too.
    """
    fields = msgspec.structs.fields(struct)
    known = {field.encode_name for field in fields}
    required = {field.encode_name for field in fields if field.required}
    wrong = required - {*columns, *given} if partial else (set(columns) - known) | (required - {*columns, *given})
    if wrong:
        raise TypeError(f"the columns of a statement do not fit {struct.__name__}: {', '.join(sorted(wrong))}")
    scope: dict[str, Any] = {"struct": struct}
    arguments = []
    for field in fields:
        name = field.encode_name
        if name in columns:
            arguments.append(_converted(name, field.type, scope))
        elif name in given:
            arguments.append(name)
        else:
            scope[f"default_{name}"] = field.default
            arguments.append(f"default_{name}")
    source = f"lambda {', '.join(('rows', *given))}: [struct({', '.join(arguments)}) for {', '.join(columns)}, in rows]"
    compiled: Callable[..., list[S]] = eval(source, scope)  # noqa: S307
    return compiled


def _converted(name: str, kind: Any, scope: dict[str, Any]) -> str:
    """Write the expression that makes a field's value of its column's, and put what it calls into the scope."""
    of_union = get_origin(kind) in (Union, UnionType)
    kinds = [each for each in get_args(kind) if each is not NoneType] if of_union else [kind]
    convert = _converter(kinds[0], name) if len(kinds) == 1 else None
    if convert is None:
        return name
    scope[f"to_{name}"] = convert
    call = f"to_{name}({name})"
    if kind is msgspec.Raw:
        scope["NO_DATA"] = NO_DATA
        return f"NO_DATA if {name} is None else {call}"
    nullable = kind is Any or of_union
    return f"None if {name} is None else {call}" if nullable else call


def _converter(kind: Any, name: str) -> Callable[[Any], Any] | None:
    """Return what makes a value of this kind of a stored one; None if it is stored as it is."""
    if kind in (str, int, float):
        return None
    if kind is Any:
        return lambda text: json_codec.decode(text, f"the column {name}")
    if kind is bool or kind is msgspec.Raw:
        return kind
    if kind is datetime:
        return to_datetime
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {member.value: member for member in kind}.__getitem__
    # JSON of a frozen struct or a collection. Most rows of a table share a few values, as lists do their settings.
    decode = msgspec.json.Decoder(kind).decode
    return lru_cache(maxsize=1_000)(decode) if _is_frozen(kind) else decode


def _is_frozen(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct) and kind.__struct_config__.frozen
