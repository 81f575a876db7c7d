"""SQL lives in files: one statement each, in lower case, columns by name, every one of them used.

A variant may need two statements where its sibling needs one; its first line says why. `select *` may pass on the
columns that a statement has named itself, never those of a table.
"""

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from tests.house.places import MODULES, ROOT, SOURCE, SQL, STATEMENTS, shown, strings, tree

from rowlock.db.statements import names, source

DIALECTS = ("sqlite", "postgres", "cockroach")
SHORT = 3  # a statement of so many lines needs no comment to be understood
VARIANTS = [path for path in STATEMENTS if path.name.count(".") == 2]
OUTSIDE_DB = [path for path in MODULES if SOURCE / "db" not in path.parents]

_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_STAR = re.compile(r"select\s+\*(\s*,[^();]*)?\s+from\s+rowlock_")
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_][a-z0-9_]*)")
_PART = re.compile(r"\{(parts/[a-z_]+)\}")
_FRAGMENT = re.compile(r"\{([a-z_]+)\}")
_SQL_TEXT = re.compile(
    r"^\s*(select\s.+\sfrom|insert\s+into|update\s.+\sset|delete\s+from|create\s+(table|index)|alter\s+table|pragma)\s",
    re.IGNORECASE | re.DOTALL,
)


def code(path: Path) -> str:
    """The statement without comments and quoted text."""
    lines = [line for line in path.read_text().splitlines() if not line.lstrip().startswith("--")]
    return _QUOTED.sub("''", "\n".join(lines))


def said(path: Path) -> Iterator[str]:
    """The statement names that a module gives to a transaction; a part filled in later is a `*`."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            decoded = node.func.attr in ("struct", "structs") and len(node.args) > 1
            name = written(node.args[1 if decoded else 0])
            if (decoded or node.func.attr in ("row", "rows", "run", "send", "send_to_server", "value")) and "/" in name:
                yield name


def written(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(written(part) if isinstance(part, ast.Constant) else "*" for part in node.values)
    if isinstance(node, ast.IfExp):
        return f"{written(node.body)}|{written(node.orelse)}"
    return ""


@cache
def used() -> set[str]:
    """The statements that the code names; found out when asked, not by every process that collects the tests."""
    return {name for path in MODULES for choice in said(path) for name in choice.split("|")}


def those(paths: Iterable[Path], are: Callable[[Path], object]) -> list[str]:
    """The files of which something is true, as people say them."""
    return [shown(path) for path in paths if are(path)]


def test_a_statement_says_why_or_is_short() -> None:
    silent = those(STATEMENTS, lambda path: not path.read_text().startswith("-- "))
    assert [path for path in silent if len((ROOT / path).read_text().splitlines()) > SHORT] == []


def test_a_variant_says_why_it_differs() -> None:
    assert those(VARIANTS, lambda path: path.name.split(".")[1] not in DIALECTS) == []
    assert those(VARIANTS, lambda path: not path.read_text().startswith("-- ")) == []


def test_a_variant_takes_the_same_parameters() -> None:
    """Of whole statements: what a part of one takes may be taken elsewhere in the other."""
    statements = [path for path in VARIANTS if path.parent.name != "parts"]
    assert those(statements, lambda path: takes(path) != takes(sibling(path))) == []


def sibling(path: Path) -> Path:
    return path.with_name(f"{path.name.partition('.')[0]}.sql")


def takes(path: Path) -> set[str]:
    variant = path.name.split(".")[1]
    text = whole(path, variant)
    hidden = {fragment.removeprefix("among_") for fragment in _FRAGMENT.findall(text)}
    return set(_PARAMETER.findall(text)) | hidden & {"keys", "ids", "positions"}


def whole(path: Path, variant: str) -> str:
    """A statement with its parts, and theirs."""
    return _PART.sub(lambda match: whole(source(match[1], (variant,)), variant), code(path))


def test_keywords_and_names_are_in_lower_case() -> None:
    assert those(STATEMENTS, lambda path: re.search(r"[A-Z]", code(path))) == []


def test_a_file_holds_one_statement() -> None:
    assert those(sorted(set(STATEMENTS) - set(VARIANTS)), lambda path: ";" in code(path)) == []


def test_columns_are_named() -> None:
    assert those(STATEMENTS, lambda path: _STAR.search(code(path))) == []


def test_python_outside_db_holds_no_sql() -> None:
    texts = [(shown(path), text) for path in OUTSIDE_DB for _, text in strings(path)]
    assert [each for each in texts if _SQL_TEXT.match(each[1])] == []


def test_every_statement_is_used() -> None:
    assert [name for name in names() if not any(fnmatch(name, pattern) for pattern in used())] == []


def test_every_part_is_one_of_several_statements() -> None:
    uses = Counter(name for path in STATEMENTS for name in _PART.findall(code(path)))
    parts = {f"parts/{path.name.partition('.')[0]}" for path in STATEMENTS if path.parent.name == "parts"}
    assert ([name for name in sorted(parts) if uses[name] < 2], set(uses) - parts) == ([], set())


def test_every_statement_that_is_named_exists() -> None:
    known = names()
    assert [name for name in sorted(used()) if not any(fnmatch(each, name) for each in known)] == []


def test_sql_in_python_is_seen() -> None:
    assert _SQL_TEXT.match("select key from rowlock_items where list = :list")
    assert not _SQL_TEXT.match("Select the items that you want.")
    assert _STAR.search("select * from rowlock_items")


def test_every_folder_of_statements_is_a_table_or_a_module() -> None:
    tables = "".join(path.read_text() for path in (SOURCE / "migrations").glob("*.sql"))
    modules = {path.stem for path in MODULES}
    nouns = {path.name for path in SQL.iterdir() if path.is_dir()} - {"migrations", "parts"}
    assert [noun for noun in sorted(nouns - modules) if f"rowlock_{noun}" not in tables] == []
