"""Descriptions of msgspec's validation errors in plain words, with the place in the document."""

import re

TYPE_NAMES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "null": "null",
    "array": "an array",
    "object": "an object",
    "datetime": "a date and time",
}
_AT = re.compile(r"^(?P<what>.*?)(?: - at (?:`key` in )?`\$(?P<where>.*)`)?$", re.DOTALL)
_WRONG_KIND = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<given>[^`]*)`")
_OUT_OF_BOUNDS = re.compile(r"Expected `(?P<wanted>[^`]*)` (?P<bound>.*)")
_MISSING = re.compile(r"Object missing required field `(?P<name>.*)`", re.DOTALL)
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<name>.*)`", re.DOTALL)
_ENUM = re.compile(r"Invalid enum value (?P<given>.*)", re.DOTALL)
_BOUNDS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than"}
_NOT_JSON = {
    "Input data was truncated": "it ends too early",
    "JSON is malformed: trailing characters": "more text follows its end",
    "JSON is malformed: invalid character": "unexpected character",
}


def describe(error: Exception) -> str:
    """Describe a validation error: `items[0].key must be text, not a whole number`."""
    told = _AT.fullmatch(str(error))
    what, where = (told["what"], (told["where"] or "").lstrip(".")) if told else (str(error), "")
    place = where or "the document"
    if found := _WRONG_KIND.fullmatch(what):
        return f"{place} must be {_kinds(found['wanted'])}, not {_kinds(found['given'])}"
    if found := _OUT_OF_BOUNDS.fullmatch(what):
        return f"{place} must be {_kinds(found['wanted'])} {_bound(found['bound'])}"
    if found := _MISSING.fullmatch(what):
        return f"missing field {found['name']!r}" + (f" in {where}" if where else "")
    if found := _UNKNOWN.fullmatch(what):
        return f"unknown field {found['name'][:100]!r}" + (f" in {where}" if where else "")
    if found := _ENUM.fullmatch(what):
        return f"{place} cannot be {found['given'][:100]}"
    plain = what.replace("`", "'")
    return f"{where}: {plain}" if where else plain


def json_pointer(error: Exception) -> str | None:
    """Return the place of a validation error as a JSON pointer; None if it is the whole document."""
    told = _AT.fullmatch(str(error))
    # msgspec does not say which value of a mapping it is.
    where = (told["where"] or "").replace("[...]", "") if told else ""
    return where.replace("[", "/").replace("]", "").replace(".", "/") or None


def describe_syntax_error(error: Exception) -> str:
    """Describe why a text is not JSON."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    what, bracket, place = str(error).partition(" (byte ")
    told = _NOT_JSON.get(what) or what.removeprefix("JSON is malformed: ").replace("`", "'")
    return f"{told}, at byte {place.rstrip(')')}" if bracket else told


def _kinds(written: str) -> str:
    return " or ".join(TYPE_NAMES.get(each, each) for each in written.split(" | "))


def _bound(written: str) -> str:
    for sign, words in _BOUNDS.items():
        written = written.replace(f"{sign} ", f"{words} ")
    return written if written.startswith("of ") else f"of {written}"
