"""Applications are our first customers: they have what everybody has, and keep their SQL as we keep ours."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.places import SOURCE, shown, strings, tree

APPS = [path for path in (SOURCE / "apps").iterdir() if path.is_dir() and not path.name.startswith("_")]
MODULES = [path for app in APPS for path in sorted(app.rglob("*.py"))]
PUBLIC = re.compile(r"rowlock|rowlock\.errors|rowlock\.apps(\..*)?")
STATEMENTS = sorted(path for app in APPS for path in app.glob("sql/*/*.sql"))
NO_STATEMENTS = {"chat/schema", "chat/search", "chat/messages", "chat/counts"}
NO_STATEMENTS |= {f"comics/{name}" for name in ("schema", "stock", "sales", "refunds", "patterns", "settings")}
NO_STATEMENTS |= {"text/html", "text/javascript", "text/css", "application/json"}
"""Names of lists and counters, and media types: they look like names of statements."""
SHORT = 3

_QUOTED = re.compile(r"'[^']*'")


def imported(path: Path) -> Iterator[str]:
    """The modules of ours that a module takes things from."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "rowlock":
            yield str(node.module)
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name.partition(".")[0] == "rowlock")


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name.partition('.')[0]}"


def code(path: Path) -> str:
    return _QUOTED.sub("''", "".join(line for line in path.read_text().splitlines(keepends=True) if line[:2] != "--"))


def test_an_application_imports_only_what_is_public() -> None:
    assert len(MODULES) > len(APPS) > 1
    private = {shown(path): [each for each in imported(path) if not PUBLIC.fullmatch(each)] for path in MODULES}
    assert {path: found for path, found in private.items() if found} == {}


def test_statements_of_an_application_are_like_ours() -> None:
    texts = {shown(path): (path.read_text(), code(path)) for path in STATEMENTS}
    assert [path for path, (text, _) in texts.items() if text[:3] != "-- " and text.count("\n") > SHORT] == []
    assert [path for path, (_, sql) in texts.items() if re.search(r"[A-Z;]|select \*", sql)] == []


def test_every_statement_of_an_application_is_used_and_there() -> None:
    said = {text for path in MODULES for _, text in strings(path) if re.fullmatch(r"[a-z]+/[a-z_]+", text)}
    # Counts are written for two nouns by one line of code.
    counted = {"applications/count", "chats/count"}
    assert {name_of(path) for path in STATEMENTS} == said - NO_STATEMENTS | counted
