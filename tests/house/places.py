"""Where the house keeps its things, and how to walk through them."""

import ast
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "rowlock"
SQL = SOURCE / "sql"
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
MODULES = sorted(SOURCE.rglob("*.py"))
STATEMENTS = sorted(SQL.rglob("*.sql"))


def shown(path: Path) -> str:
    """The path as people say it."""
    return str(path.relative_to(ROOT))


@cache
def tree(path: Path) -> ast.Module:
    """The module, parsed."""
    return ast.parse(path.read_text(), shown(path))


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function and method with its dotted name."""
    yield from _functions(tree(path), "")


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{prefix}{child.name}", child
        inner = f"{prefix}{child.name}." if isinstance(child, ast.ClassDef) else prefix
        yield from _functions(child, inner)


@cache
def strings(path: Path) -> list[tuple[int, str]]:
    """Every piece of text that a module holds, with its line; docstrings too, quoted types not."""
    nodes = list(ast.walk(tree(path)))
    types = {id(each) for annotation in _annotations(nodes) for each in ast.walk(annotation)}
    texts = (node for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return [(node.lineno, str(node.value)) for node in texts if id(node) not in types]


def _annotations(nodes: Iterable[ast.AST]) -> Iterator[ast.expr]:
    for node in nodes:
        for name in ("annotation", "returns"):
            found = getattr(node, name, None)
            if found is not None:
                yield found


def documented(page: str) -> str:
    """The text of a page in docs/."""
    return (DOCS / page).read_text()


def project() -> dict[str, object]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text())
