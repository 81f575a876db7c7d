"""Limit of the nesting depth of JSON.

A decoder's own limit depends on the stack that it runs on: what one process writes, another may be unable to read. So
there is a fixed limit, far below, that is the same everywhere.
"""

import re
from itertools import accumulate
from typing import Any

import msgspec

from rowlock.errors import Invalid, InvalidData

MAX_LEVELS = 128
TRUNCATE_LEVELS = MAX_LEVELS + 32
"""Where a document is truncated that holds such data: what is left is still too deep to be mistaken for the whole."""
TRUNCATED = b'"(nested too deeply)"'
HINT = "flatten it, or store it elsewhere and its address as data"

_TOKENS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[][{}]', re.DOTALL)
_AS_LISTS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


def levels(text: str) -> int:
    """Return the nesting depth of a JSON document."""
    return max(accumulate(1 if bracket == b"["[0] else -1 for bracket in _brackets(text)), default=0)


def is_too_deep(text: str) -> bool:
    """Return whether JSON is nested deeper than is allowed; fast if it is short or has few lists and objects."""
    if len(text) <= 2 * MAX_LEVELS or text.count("{") + text.count("[") <= MAX_LEVELS:
        return False
    brackets = _brackets(text)
    for _ in range(MAX_LEVELS):
        brackets = brackets.replace(b"[]", b"")  # the innermost of each
    return b"[" in brackets


def _brackets(text: str) -> bytes:
    """Return the brackets of all lists and objects, both as square brackets."""
    plain = text.replace("\\\\", "").replace('\\"', "") if "\\" in text else text
    return "".join(plain.split('"')[::2]).encode().translate(_AS_LISTS, _NO_BRACKETS)


def check_levels(text: str, whose: str, *, error: type[Invalid] = InvalidData, **fields: Any) -> None:
    """Refuse JSON that is nested deeper than is allowed."""
    if is_too_deep(text):
        what = f"{whose} is nested {levels(text)} levels deep; at most {MAX_LEVELS} are allowed"
        raise error(what, HINT, **fields)


def too_deep(whose: str, *, error: type[Invalid] = InvalidData, **fields: Any) -> Invalid:
    """Make the error for a value that cannot be written as JSON because of its nesting."""
    what = f"{whose} is nested too deeply, or contains itself; at most {MAX_LEVELS} levels are allowed"
    return error(what, HINT, **fields)


def encode(value: Any, whose: str, *, error: type[Invalid] = InvalidData) -> str:
    """Encode a value as JSON; refuse one that is nested deeper than is allowed."""
    try:
        text = msgspec.json.encode(value).decode()
    except RecursionError:
        raise too_deep(whose, error=error) from None
    check_levels(text, whose, error=error)
    return text


def decode(text: str, whose: str) -> Any:
    """Decode stored JSON; InvalidData if it is nested deeper than is allowed."""
    check_levels(text, whose)
    return msgspec.json.decode(text)


def truncate(document: bytes) -> bytes:
    """Replace what is nested too deeply to be decoded in a JSON document."""
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
