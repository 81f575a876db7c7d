"""Mutants: small changes of the code that proves least by being read, each of which a test should notice."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from tests.mutation import python_changes, sql_changes
from tests.mutation.changes import Change

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src/rowlock"
EQUIVALENT = Path(__file__).with_name("equivalent.txt")
OTHER_DIALECT = ".cockroach.sql"
OF_SERVERS = ("sql/parts/items_in_settled_rows.sql",)
"""Parts that SQLite's statements do not name."""
MODULES = {
    "claims": (
        "claims.py",
        "sql/claims/*",
        "sql/parts/claim*",
        "sql/parts/hint_still_valid.sql",
        "sql/items/lock_due.sql",
        "sql/items/promote*",
        "sql/items/in_interval.sql",
    ),
    "settlements": (
        "settlements.py",
        "sql/items/settle_*",
        "sql/items/lock_by_positions.sql",
        "sql/parts/at_positions*",
        "sql/parts/items_in_settled_rows.sql",
    ),
    "sessions": ("sessions.py", "sql/sessions/*"),
    "gates": ("gates.py", "sql/gates/*", "sql/parts/gate_awaited.sql", "sql/parts/first_*_gate.sql"),
    "counters": ("counters.py", "sql/counters/*"),
    "leases": ("leases.py", "sql/leases/*"),
    "outcomes": ("outcomes.py",),
}
"""The files of each module, below src/rowlock."""


class Mutant(msgspec.Struct, frozen=True):
    """One change of one file."""

    module: str
    file: str
    """Below src/rowlock."""
    name: str
    """The file and the changed line; it stays the same when lines are added elsewhere."""
    change: Change

    @property
    def database(self) -> str:
        """The database whose statement it changes; SQLite if all have the same."""
        variant = SOURCE / self.file.replace(".sql", ".sqlite.sql")
        is_of_servers = self.file in OF_SERVERS or (self.file.endswith(".sql") and variant.exists())
        return "postgres" if is_of_servers else "sqlite"

    @property
    def is_shared(self) -> bool:
        """Whether PostgreSQL runs it too."""
        return self.database == "sqlite" and not self.file.endswith(".sqlite.sql")

    @property
    def text(self) -> str:
        """The file with the change in it."""
        return self.change.applied((SOURCE / self.file).read_text())

    @property
    def touched(self) -> set[str]:
        """What a test must touch to notice it: one of the lines, or the statement."""
        if self.file.endswith(".py"):
            return {f"{self.file}:{line}" for line in self.change.lines}
        return {re.sub(r"(\.\w+)?\.sql$", "", self.file)}


def mutants(*modules: str) -> list[Mutant]:
    """Return the mutants of these modules, or of all."""
    return [mutant for module in modules or MODULES for mutant in _mutants(module)]


def unchanged(*modules: str) -> list[Mutant]:
    """Return a mutant of each file that changes nothing: no test may notice it."""
    return [
        Mutant(module, file, f"{file}: unchanged", Change(0, 0, "", "", tuple(range(1, text.count("\n") + 1))))
        for module in modules or MODULES
        for file, text in _files(module)
    ]


def _mutants(module: str) -> Iterator[Mutant]:
    for file, text in _files(module):
        changes: Callable[[str], list[Change]]
        changes = python_changes.changes if file.endswith(".py") else sql_changes.changes
        yield from _named(module, file, changes(text))


def _files(module: str) -> Iterator[tuple[str, str]]:
    """Yield the files of a module below src/rowlock, each with its text."""
    for pattern in MODULES[module]:
        for path in sorted(SOURCE.glob(pattern)):
            if not path.name.endswith(OTHER_DIALECT):
                yield path.relative_to(SOURCE).as_posix(), path.read_text()


def _named(module: str, file: str, changes: list[Change]) -> Iterator[Mutant]:
    seen: Counter[str] = Counter()
    for change in changes:
        seen[change.shown] += 1
        number = f" ({seen[change.shown]})" if seen[change.shown] > 1 else ""
        yield Mutant(module, file, f"{file}: {change.shown}{number}", change)


def equivalents() -> dict[str, str]:
    """Return the mutants that change nothing that can be observed, each with the reason."""
    found: dict[str, str] = {}
    reason = ""
    for line in EQUIVALENT.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            found[line] = reason
    return found
