"""Figures of the house: size, names, how many files one change touches. `python -m tests.house.figures` prints them.

`python -m tests.house.figures SOURCE` measures another tree, so that two commits can be compared by the same script.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from tests.house.places import SOURCE

SMALL_MODULE_LINES = 60


def modules(source: Path = SOURCE) -> list[Path]:
    """Every Python module of the package."""
    return sorted(source.rglob("*.py"))


def lines(source: Path = SOURCE) -> int:
    """Count the lines of all Python modules."""
    return sum(len(path.read_text().splitlines()) for path in modules(source))


def repeated_class_names(source: Path = SOURCE) -> list[str]:
    """Return the class names that are defined more than once."""
    names: Counter[str] = Counter()
    for path in modules(source):
        names.update(node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ClassDef))
    return sorted(name for name, count in names.items() if count > 1)


def files_naming(word: str, source: Path = SOURCE) -> list[str]:
    """Return the modules and statements in which a word stands; a field of an item is named wherever it must be edited.

    Numbered migrations are left out: they are never edited, each field has a new one of its own.
    """
    known = re.compile(rf"\b{word}\b")
    files = (path for path in sorted(source.rglob("*")) if path.suffix in (".py", ".sql"))
    edited = (path for path in files if "migrations" not in path.parts)
    return [str(path.relative_to(source)) for path in edited if known.search(path.read_text())]


def files_naming_verbs(source: Path = SOURCE) -> dict[str, list[str]]:
    """Return the modules that name each verb of the table of operations, generated ones left out.

    A new verb needs as many, its statement, and its command if it has one.
    """
    from rowlock.api.operations import OPERATIONS

    written = [path for path in modules(source) if not path.name.startswith("_generated")]
    named = {str(path.relative_to(source)): _named_functions(path, source) for path in written}
    verbs = {f"{each.verb.__module__}.{each.verb.__qualname__}" for each in OPERATIONS if each.verb is not None}
    return {verb: [path for path, functions in named.items() if verb in functions] for verb in sorted(verbs)}


def _named_functions(path: Path, source: Path) -> set[str]:
    """Return the dotted names of the functions that a module defines, or uses by `module.function`."""
    tree = ast.parse(path.read_text())
    names: dict[str, str] = {}
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(module=str(module)):
                names |= {alias.asname or alias.name: f"{module}.{alias.name}" for alias in node.names}
            case ast.FunctionDef():
                found.add(f"rowlock.{_dotted(path, source)}.{node.name}")
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in names:
                found.add(f"{names[name]}.{node.attr}")
    return found


def importers(source: Path = SOURCE) -> dict[str, set[str]]:
    """Return the modules that import each module, by dotted name below the package."""
    known = {_dotted(path, source): path for path in modules(source)}
    found: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for imported in _imported(path):
            below = imported.removeprefix("rowlock.")
            for candidate in (below, below.rpartition(".")[0]):
                if candidate in found and candidate != name:
                    found[candidate].add(name)
                    break
    return found


def small_modules_with_one_importer(source: Path = SOURCE) -> list[str]:
    """Return the modules of few lines that one other module imports: they could stand in it."""
    known = {_dotted(path, source): path for path in modules(source) if path.name != "__init__.py"}
    small = {name for name, path in known.items() if len(path.read_text().splitlines()) < SMALL_MODULE_LINES}
    return sorted(name for name, by in importers(source).items() if name in small and len(by) == 1)


def _dotted(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom(module=str(module)):
                yield from (f"{module}.{alias.name}" for alias in node.names)


def main() -> None:
    """Print all figures."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else SOURCE
    repeated = repeated_class_names(source)
    small = small_modules_with_one_importer(source)
    places = sorted(map(len, files_naming_verbs(source).values())) if source == SOURCE else [0]
    report = (
        f"lines of Python in src\t{lines(source)}",
        f"files of Python in src\t{len(modules(source))}",
        f"class names defined more than once\t{len(repeated)}\t{' '.join(repeated)}",
        f"files that name the item field `trace`\t{len(files_naming('trace', source))}",
        f"files that name a verb: median, most\t{median(places):.0f}\t{places[-1]}",
        f"modules under {SMALL_MODULE_LINES} lines with one importer\t{len(small)}\t{' '.join(small)}",
    )
    sys.stdout.writelines(f"{line}\n" for line in report)


if __name__ == "__main__":
    main()
