"""The tool that makes mutants: each changes one thing, and what is kept about them is still true of the source."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutation import python_changes, sql_changes
from tests.mutation.installing import installed
from tests.mutation.mutants import MODULES, ROOT, equivalents, mutants, unchanged
from tests.mutation.running import in_child

from rowlock import Engine, counters


def shown_of(language: object, text: str) -> list[str]:
    """The changes of a text, in its order."""
    return [change.shown for change in language.changes(text)]  # type: ignore[attr-defined]


def test_python_is_changed_inside_functions() -> None:
    text = "MOST = 1\ndef f(x=2):\n    if x and not g(x):\n        h(1)\n    return x < 3\n"
    assert shown_of(python_changes, text) == [
        "if x [and => or] not g(x):",
        "if x and [not => ] g(x):",
        "[h(1) => pass]",
        "h([1 => 2])",
        "return x [< => <=] 3",
        "return x < [3 => 4]",
    ]


def test_sql_loses_its_conditions_its_order_and_its_assignments() -> None:
    text = "-- why = 1\nupdate t set a = :a, b = b + 1 where id = :id and (c < 2 or d) order by e limit :limit\n"
    assert shown_of(sql_changes, text) == [
        "update t set [a = :a => a = t.a], b = b + 1 where id = :id and (c < 2 or d) order by e limit :limit",
        "update t set a = :a, b = b + [1 => 0] where id = :id and (c < 2 or d) order by e limit :limit",
        "update t set a = :a, b = b + 1 where [id = :id => true] and (c < 2 or d) order by e limit :limit",
        "update t set a = :a, b = b + 1 where id = :id and [(c < 2 or d) => true] order by e limit :limit",
        "update t set a = :a, b = b + 1 where id = :id and ([c < 2 => false] or d) order by e limit :limit",
        "update t set a = :a, b = b + 1 where id = :id and (c [< => <=] 2 or d) order by e limit :limit",
        "update t set a = :a, b = b + 1 where id = :id and (c < [2 => 3] or d) order by e limit :limit",
        "update t set a = :a, b = b + 1 where id = :id and (c < 2 or [d => false]) order by e limit :limit",
        "update t set a = :a, b = b + 1 where id = :id and (c < 2 or d) [order by e => ] limit :limit",
        "update t set a = :a, b = b + 1 where id = :id and (c < 2 or d) order by e [limit :limit => ]",
    ]


@pytest.mark.parametrize("module", MODULES)
def test_each_mutant_has_a_name_of_its_own_and_can_be_compiled(module: str) -> None:
    found = mutants(module)
    assert len({each.name for each in found}) == len(found) > 20
    for each in found:
        assert each.file.endswith(".sql") or compile(each.text, each.file, "exec")


def test_mutants_that_are_called_equivalent_exist_and_have_a_reason() -> None:
    known = {each.name for each in mutants()}
    assert {name: reason for name, reason in equivalents().items() if name not in known or len(reason) < 20} == {}


@pytest.mark.parametrize(
    "name",
    [
        "counters.py: return range(ends[name] - count [+ => -] 1, ends[name] + 1)",
        "sql/counters/take.sqlite.sql: on conflict (name) do update set "
        "[value = rowlock_counters.value + excluded.value => value = rowlock_counters.value]",
    ],
)
def test_a_mutant_takes_the_place_of_the_code(name: str, sqlite_url: str) -> None:
    [mutant] = [each for each in mutants("counters") if each.name == name]

    def taken() -> str:
        with installed(mutant), Engine(Path(sqlite_url)) as engine:
            return "".join(str(engine.run(counters.take, "numbers", 2)) for _ in range(2))

    assert in_child(taken, max_cpu_seconds=60) not in ("", "range(1, 3)range(3, 5)")
    with Engine(Path(sqlite_url)) as engine:
        assert engine.run(counters.take, "others", 2) == range(1, 3)


@pytest.mark.parametrize("module", MODULES)
def test_a_file_that_is_called_unchanged_has_its_own_text(module: str) -> None:
    found = unchanged(module)
    assert {each.file for each in found} >= {each.file for each in mutants(module)}
    assert [each.name for each in found if each.text != (ROOT / "src/rowlock" / each.file).read_text()] == []


def tried(folder: Path, *arguments: str) -> tuple[int, str]:
    """Run the tool with the tests of one file; how it ended, and what it said in the end."""
    command = [sys.executable, "-m", "tests.mutation", "leases", "--folder", str(folder), *arguments]
    tests = ["--tests", "tests/verbs/test_lease_holders.py", "--seeds", "1"]
    ran = subprocess.run([*command, *tests], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_a_mutant_is_noticed_and_an_unchanged_file_is_not(tmp_path: Path, database: str) -> None:
    ended, said = tried(tmp_path, "--unchanged", "--database", database, "--only", "/take")
    assert (ended, "0 of 2 unchanged files noticed" in said) == (0, True), said
    ended, said = tried(tmp_path, "--database", database, "--only", "[l.id in ({ids}) => true]")
    assert (ended, "leases       100.0%  1 of 1 noticed" in said) == (0, True), said
