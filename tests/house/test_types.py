"""A user's programs are checked by their types, in the one run of mypy that tests/house/test_lint.py starts."""

from typing import Any

from tests.house.places import ROOT, project


def test_a_strict_checker_reads_typed_programs_and_must_find_their_mistakes() -> None:
    tools: Any = project()["tool"]
    programs = {str(path.relative_to(ROOT)) for path in (ROOT / "tests" / "house").glob("typed_*.py")}
    assert len(programs) == 2
    assert programs <= set(tools["mypy"]["files"])
    assert tools["mypy"]["strict"], "a `type: ignore` without a mistake is an error only in strict mode"
