"""Small rooms: a file fits in a head, a function on a screen, a call needs no counting of commas."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.house.places import MODULES, ROOT, SOURCE, functions, shown

FILE_LINES = 400
FUNCTION_LINES = 40
POSITIONAL = 2
MADE_BY_USERS = ("Client", "Engine", "NewItem", "Worker")

# What has more, and why no keyword would make it clearer.
MANY_POSITIONAL = {
    "src/rowlock/retry_policy.py:resolve": "an outcome and the three facts that it depends on",
    "src/rowlock/django/tasks.py:RowlockBackend.enqueue": "as Django calls it",
    "src/rowlock/client/sessions.py:settle": "as the verb that it stands for",
    "src/rowlock/client/sessions.py:settle_done": "as the verb that it stands for",
    "src/rowlock/settlements.py:try_settle_done": "a claim is known by session and token; then what is settled",
    "src/rowlock/settlements.py:settle": "a claim is known by session and token; then what is settled",
    "src/rowlock/settlements.py:settle_beside": "a claim is known by session and token; then what is settled",
    "src/rowlock/settlements.py:settle_done": "a claim is known by session and token; then what is settled",
    "src/rowlock/worker/settler.py:settle_within": "a claim is known by session and token; then what is settled",
    "src/rowlock/worker/batch_handlers.py:run_batch": "who runs it, under which session, with what in hand",
}

# What is longer, and why cutting it would help nobody.
LONG = {
    "src/rowlock/aio/_generated.py": "written by tools/async_handles.py, and read class by class",
    "src/rowlock/errors.py": "one tree, drawn at its head: each error is four lines, and they are read by name",
}

OURS = [*MODULES, *sorted((ROOT / "tests").rglob("*.py")), *sorted((ROOT / "bench").rglob("*.py"))]


def measured(paths: list[Path]) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Every function with its file and name."""
    return ((f"{shown(path)}:{name}", function) for path in paths for name, function in functions(path))


def test_a_file_fits_in_a_head() -> None:
    long = [shown(path) for path in OURS if len(path.read_text().splitlines()) > FILE_LINES]
    assert [path for path in long if path not in LONG] == []


def test_a_function_fits_on_a_screen() -> None:
    assert [name for name, function in measured(OURS) if lines(function) > FUNCTION_LINES] == []


def test_a_public_call_has_at_most_two_positional_parameters() -> None:
    too_many = {name for name, function in measured(MODULES) if positional(function) > POSITIONAL}
    assert {name for name in too_many if is_public(name)} - set(MANY_POSITIONAL) == set()


def test_every_exception_is_still_one() -> None:
    known = dict(measured(MODULES))
    assert [name for name in MANY_POSITIONAL if name not in known or positional(known[name]) <= POSITIONAL] == []


def test_long_functions_and_long_calls_are_seen() -> None:
    long = ast.parse("def long(tx, a, b, c):\n" + "    pass\n" * 40).body[0]
    assert isinstance(long, ast.FunctionDef)
    assert lines(long) == 41
    assert positional(long) == 3


def test_there_is_something_to_measure() -> None:
    assert SOURCE / "items.py" in MODULES


def lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (function.end_lineno or function.lineno) - function.lineno + 1


def positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len([name for name in names if name not in ("self", "cls", "tx", "transport", "caller")])


def is_public(place: str) -> bool:
    """Whether others call it; of constructors only those that users call, the rest is our own."""
    *outer, name = place.rpartition(":")[2].split(".")
    if name == "__init__":
        return outer[0] in MADE_BY_USERS
    return not any(part.startswith("_") for part in (*outer, name))
