"""One word for one thing: the words that other systems use for ours are not used in code, SQL, messages or docs.

Only what we define and say ourselves is read: calling somebody else's `create_task` is no sin. A word between
straight quotes is spoken about, not used: the "queue" of other systems.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.house.places import MODULES, PAGES, STATEMENTS, shown, strings, tree

# Each with the word of ours that stands in its place.
INSTEAD = {
    "queue": "list",
    "enqueue": "add",
    "dequeue": "claim",
    "job": "item or list",
    "reservation": "claim",
    "consumer": "session",
    "producer": "whoever adds",
    "checkpoint": "gate",
    "dead letter": "failed",
    "deadletter": "failed",
    "nack": "retry",
    "janitor": "upkeep",
    "sweeper": "upkeep",
    "reaper": "upkeep",
}
# Where a package that we use has such a word for a thing of its own.
THEIRS = {
    "src/rowlock/cli/work.py": {"job": "how make, xargs and parallel spell the option"},
    "src/rowlock/db/sqlite.py": {"checkpoint": "what SQLite calls it when its log is moved into the file"},
}

_WORD = re.compile(rf"(?<![a-z])({'|'.join(INSTEAD)})s?(?![a-z])", re.IGNORECASE)
_QUOTED = re.compile(r'"[^"\n]*"')
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def wrong_words(text: str) -> list[str]:
    """The foreign words in a text, `under_scored` and `CamelCase` ones too."""
    plain = _CAPITAL.sub(" ", _QUOTED.sub("", text)).replace("_", " ").replace("dead-letter", "dead letter")
    return [match[1].lower() for match in _WORD.finditer(plain)]


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


def ours(path: Path, text: str) -> set[str]:
    """The foreign words in a text, but for those that are another package's own."""
    return set(wrong_words(text)) - set(THEIRS.get(shown(path), {}))


def test_names_in_code_are_our_words() -> None:
    assert [(shown(path), name) for path in MODULES for name in defined(path) if ours(path, name)] == []


def test_what_code_says_is_in_our_words() -> None:
    assert [(shown(path), line) for path in MODULES for line, text in strings(path) if ours(path, text)] == []


def test_statements_are_in_our_words() -> None:
    assert [shown(path) for path in STATEMENTS if wrong_words(path.read_text())] == []


def test_pages_are_in_our_words() -> None:
    lines = ((shown(path), line) for path in PAGES for line in path.read_text().splitlines())
    assert [each for each in lines if wrong_words(each[1])] == []


@pytest.mark.parametrize("text", ["a job", "JobRunner", "two queues", "the dead-letter table", "Consumer"])
def test_a_foreign_word_is_seen(text: str) -> None:
    assert len(wrong_words(text)) == 1


@pytest.mark.parametrize("text", ["release the file", "multitasking", 'what others call a "queue"', "a jobless day"])
def test_a_word_that_only_looks_like_one_is_not(text: str) -> None:
    assert wrong_words(text) == []
