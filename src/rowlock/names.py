"""Rules for keys and names, name patterns, and the closest match of a misspelt name."""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import lru_cache

from rowlock.errors import Invalid, InvalidKey, InvalidName

MAX_KEY_BYTES = 512
MAX_NAME_BYTES = 200
MAX_PAGE_ROWS = 100_000

# NUL cannot be stored everywhere; a line break cannot travel in a line, and lines are how keys travel.
MIN_PART_CHARACTERS = 3
"""A shorter part of a name suggests nothing."""
_NOT_IN_A_KEY = {"\0": "a NUL character", "\n": "a line break", "\r": "a carriage return"}
# Characters that move the cursor, change colours or turn the direction of reading, and lone surrogates, which no
# stream can write.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def check_keys(keys: Sequence[str]) -> None:
    """Refuse a batch if one key is invalid, naming it and its line; fast if all are simple."""
    if not all_simple_keys(keys):
        for line, key in enumerate(keys, 1):
            check_key(key, line)


def all_simple_keys(keys: Sequence[str]) -> bool:
    """Return whether a fast check of all keys at once finds them valid; if not, each must be checked."""
    try:
        # Printable text has no line break, NUL or surrogate; four bytes hold any character.
        return min(map(len, keys)) > 0 and max(map(len, keys)) <= MAX_KEY_BYTES // 4 and "".join(keys).isprintable()
    except (TypeError, ValueError):
        return False


def check_key(key: object, line: int | None = None) -> None:
    """Refuse a key that cannot be stored, or does not fit on one line."""
    wrong = _wrong_with_key(key)
    if wrong:
        where = f" in line {line}" if line is not None else ""
        hint = f"a key is 1 to {MAX_KEY_BYTES} bytes of UTF-8 text without line breaks"
        if isinstance(key, int | float):
            hint = f"write it as text: {str(key)!r}"
        raise InvalidKey(f"the key {short_repr(key)}{where} {wrong}", hint, key=short_repr(key), line=line)


def check_limit(limit: int, what: str) -> None:
    """Refuse a page size that is out of bounds."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 0 <= limit <= MAX_PAGE_ROWS:
        raise Invalid(f"limit must be 0 to {MAX_PAGE_ROWS} {what}, got {limit!r}", "give a whole number")


def check_start(after: str) -> None:
    """Refuse a start of a page that no database can compare with; no such key need exist."""
    if not isinstance(after, str) or "\0" in after or any("\ud800" <= character <= "\udfff" for character in after):
        raise InvalidKey(
            f"after must be text without NUL and lone surrogates, got {short_repr(after)}", "give a key or a name"
        )


def _wrong_with_key(key: object) -> str:
    if not isinstance(key, str):
        return f"is {type(key).__name__}, not text"
    if not key:
        return "is empty"
    for character, name in _NOT_IN_A_KEY.items():
        if character in key:
            return f"contains {name}"
    try:
        size = len(key.encode())
    except UnicodeEncodeError:
        return "is not valid Unicode (a lone surrogate)"
    return f"is {size} bytes long" if size > MAX_KEY_BYTES else ""


def short_repr(key: object) -> str:
    """Return the repr of any value on one line, shortened if it is long."""
    text = ascii(key) if isinstance(key, str) and not key.isprintable() else repr(key)
    return text if len(text) <= 80 else f"{text[:77]}…"


def visible(text: str) -> str:
    """Return text with its control characters escaped, so that a terminal shows them."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def plural(count: int, noun: str = "item") -> str:
    """Return a number with its noun: `1 item`, `2,000 items`, `3 deliveries`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") and noun != "key" else f"{count:,} {noun}s"


def check_name(name: str, noun: str = "list") -> None:
    """Refuse an invalid name of a list or of another noun."""
    wrong = _wrong_with_name(name)
    if wrong:
        hint = f"a name is 1 to {MAX_NAME_BYTES} bytes of printable text without '*' or blanks at its ends"
        raise InvalidName(f"the {noun} name {short_repr(name)} {wrong}", hint, name=short_repr(name))


def _wrong_with_name(name: object) -> str:
    if not isinstance(name, str):
        return f"is {type(name).__name__}, not text"
    if not name.strip():
        return "is empty"
    if not name.isprintable():
        return "has characters that cannot be shown"
    if name != name.strip():
        return "begins or ends with a blank"
    if "*" in name:
        return "contains '*', which patterns need"
    size = len(name.encode())
    return f"is {size} bytes long" if size > MAX_NAME_BYTES else ""


def matches_pattern(pattern: str, name: str) -> bool:
    """Return whether a name matches a pattern, in which `*` stands for any text."""
    return _expression(pattern).fullmatch(name) is not None


@lru_cache(1024)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))))


def is_token(text: str) -> bool:
    """Return whether the text has the form of a session's id or a claim's token."""
    return len(text) == 32 and all(letter in "0123456789abcdef" for letter in text)


def closest(name: str, names: Iterable[str]) -> str | None:
    """Return the most similar of the names; None if none is similar, and none contains this one."""
    known = list(names)
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    if not near and len(name) >= MIN_PART_CHARACTERS:
        near = get_close_matches(name, [each for each in known if name in each], n=1, cutoff=0.6)
    return near[0] if near else None


def split_names(text: str) -> list[str]:
    """Split names that are written with commas or blanks between, as in a variable or a file."""
    return text.replace(",", " ").split()
