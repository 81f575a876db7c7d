"""Plain English: docstrings stand alone, and no text of ours uses the phrases that readers stumbled over.

The product's own words are in docs/glossary.md; mechanisms have the words of the field. Both are welcome everywhere.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.house.places import MODULES, PAGES, STATEMENTS, shown, strings, tree

from rowlock import errors

RIDDLES = (
    r"cannot be had",
    r"can be had",
    r"is no more\b(?! than)",
    r"(?-i:(?<!there )\bis none\b)",
    r"nothing is called",
    r"nobody waits",
    r"is (?:told|asked) (?:of|by whom)",
    r"\bwhoever\b",
    r"who (?:asks|comes|leaves|waits|is not there)\b",
    r"\bin (?:our|its|their) words\b",
    r"put up with",
    r"\bas good as none\b",
)
"""Phrases with a meaning that must be guessed; each has a plain sentence in its place."""

METAPHORS = (
    "voyage",
    "voyager",
    "berth",
    "crew",
    "lookout",
    "wish",
    "wishes",
    "(?<!round )(?<!round-)trip",
    "horizon",
    "afar",
)
"""Names that mechanisms once had; the field's words are pipeline, slot, thread pool, poller, request, round trip."""

MAX_ERRORS_WITHOUT_VALUE = 2
"""A URL is not repeated, because it may hold a password."""

_RIDDLE = re.compile("|".join(RIDDLES), re.IGNORECASE)
_METAPHOR = re.compile(rf"(?<![a-z])(?:{'|'.join(METAPHORS)})(?![a-z])", re.IGNORECASE)
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_QUOTED = re.compile(r'"[^"\n]*"|`[^`\n]*`')
_LEANING = re.compile(r"The same\b|It\b|Who\b|Whom\b|What (?:is|was|has)\b|As above\b|Likewise\b")


def riddles(text: str) -> list[str]:
    """Return the banned phrases and metaphors in a text; a phrase in quotation marks is spoken about, not used."""
    plain = _CAPITAL.sub(" ", _QUOTED.sub("", text)).replace("_", " ")
    return [match[0].lower() for match in (*_RIDDLE.finditer(plain), *_METAPHOR.finditer(plain))]


def docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """Every docstring of a module with the name of what it describes."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield getattr(node, "name", path.stem), text


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Every comment of a module with its line."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text()).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def defined(path: Path) -> Iterator[str]:
    """The names that a module gives to things."""
    yield path.stem
    for node in ast.walk(tree(path)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.arg():
                yield node.arg
            case ast.Name(ctx=ast.Store()):
                yield node.id
            case ast.Attribute(ctx=ast.Store()):
                yield node.attr


def test_a_docstring_stands_alone() -> None:
    found = ((shown(path), name, text) for path in MODULES for name, text in docstrings(path))
    leaning = [(path, name) for path, name, text in found if _LEANING.match(text)]
    assert leaning == []


def test_texts_of_the_code_are_plain() -> None:
    texts = ((shown(path), line, text) for path in MODULES for line, text in (*strings(path), *comments(path)))
    odd = [(path, line, found) for path, line, text in texts if (found := riddles(text))]
    assert odd == []


def test_names_in_code_are_plain() -> None:
    odd = sorted({(shown(path), name) for path in MODULES for name in defined(path) if riddles(name)})
    assert odd == []


def test_statements_are_plain() -> None:
    named = ((shown(path), path.stem, path.read_text()) for path in STATEMENTS)
    odd = [path for path, stem, text in named if riddles(stem) or riddles(text)]
    assert odd == []


def test_pages_are_plain() -> None:
    lines = ((shown(path), line) for path in PAGES for line in path.read_text().splitlines())
    odd = [each for each in lines if riddles(each[1])]
    assert odd == []


@pytest.mark.parametrize("text", ["a page of 3 cannot be had", "Voyager", "a_trip", "the claim is no more"])
def test_a_riddle_is_seen(text: str) -> None:
    assert len(riddles(text)) == 1


@pytest.mark.parametrize("text", ["there is none", 'what we once called a "voyage"', "stripped", "one round trip"])
def test_a_phrase_that_only_looks_like_one_is_not(text: str) -> None:
    assert riddles(text) == []


def _bounds_in_errors(path: Path) -> Iterator[tuple[int, str]]:
    """The messages of errors made in a module that say what a value must be, with `{}` for what is filled in."""
    for node in ast.walk(tree(path)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=[message, *_]) if isinstance(getattr(errors, name, None), type):
                text = _message(message)
                if re.search(r"\bmust (?:be|have) (?:at (?:most|least)|one of|\{\}|\d)", text):
                    yield node.lineno, text


def _message(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(_message(value) if isinstance(value, ast.Constant) else "{}" for value in values)
    return ""


def test_an_error_about_a_bound_names_the_value() -> None:
    found = ((shown(path), line, text) for path in MODULES for line, text in _bounds_in_errors(path))
    silent = [each for each in found if not re.search(r"\bgot\b|not \{\}", each[2])]
    assert len(silent) <= MAX_ERRORS_WITHOUT_VALUE, silent
