"""Nesting: how deeply JSON may be nested, wherever it comes in.

A decoder has a bound of its own, which counts from the stack that it stands on: what one process can write another may
not be able to read. So the bound is ours, far below, and the same everywhere.
"""

import re
from itertools import accumulate
from typing import Any

import msgspec

from rowlock.errors import Invalid, InvalidData

MAX_LEVELS = 128
TRUNCATE_LEVELS = MAX_LEVELS + 32
"""Where a document that holds such data is cut: what is left of the data is still too deep to be taken for whole."""
TRUNCATED = b'"(nested too deeply)"'
HINT = "keep it flatter, or keep it elsewhere and store where"

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def levels(text: str) -> int:
    """How many lists and objects lie in each other, at the deepest place of a JSON document."""
    return max(accumulate(1 if bracket == b"["[0] else -1 for bracket in _brackets(text)), default=0)


def is_too_deep(text: str) -> bool:
    """Whether JSON is nested deeper than is allowed; quick where it is short or has few lists and objects."""
    if len(text) <= 2 * MAX_LEVELS or text.count("{") + text.count("[") <= MAX_LEVELS:
        return False
    brackets = _brackets(text)
    for _ in range(MAX_LEVELS):
        brackets = brackets.replace(b"[]", b"")  # the innermost of each
    return b"[" in brackets


def _brackets(text: str) -> bytes:
    """Where lists and objects begin and end, both written as lists."""
    plain = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    return "".join(plain.split('"')[::2]).encode().translate(_AS_LISTS, _NO_BRACKETS)


def check_levels(text: str, whose: str, *, error: type[Invalid] = InvalidData, **fields: Any) -> None:
    """Refuse JSON that is nested deeper than is allowed."""
    if is_too_deep(text):
        what = f"{whose} is nested {levels(text)} levels deep; at most {MAX_LEVELS} are allowed"
        raise error(what, HINT, **fields)


def too_deep(whose: str, *, error: type[Invalid] = InvalidData, **fields: Any) -> Invalid:
    """The error for what cannot even be written as JSON, because it is nested too deeply."""
    what = f"{whose} is nested too deeply, or contains itself; at most {MAX_LEVELS} levels are allowed"
    return error(what, HINT, **fields)


def encode(value: Any, whose: str, *, error: type[Invalid] = InvalidData) -> str:
    """A value as JSON; refused if it is nested deeper than is allowed."""
    try:
        text = msgspec.json.encode(value).decode()
    except RecursionError:
        raise too_deep(whose, error=error) from None
    check_levels(text, whose, error=error)
    return text


def decode(text: str, whose: str) -> Any:
    """What was stored as JSON; InvalidData if it is nested deeper than is allowed."""
    check_levels(text, whose)
    return msgspec.json.decode(text)


def truncate(document: bytes) -> bytes:
    """A JSON document without what is nested so deeply that it may not be decodable."""
    pieces: list[bytes] = []
    depth = kept = 0
    for token in _TOKENS.finditer(document):
        if token[0] in b"[{":
            depth += 1
            if depth == TRUNCATE_LEVELS + 1:
                pieces.append(document[kept : token.start()] + TRUNCATED)
        elif token[0] in b"]}":
            if depth == TRUNCATE_LEVELS + 1:
                kept = token.end()
            depth -= 1
    return b"".join([*pieces, document[kept:]])
