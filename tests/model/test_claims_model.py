"""The model of claims: it keeps its promises, and breaks one as soon as any of its guards is left out.

After a change of the model, `python -m tests.model` writes the counter-examples anew.
"""

import shutil
from pathlib import Path

import pytest
from tests.model.checking import FOLDER, GUARDS, check, steps

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("java") is None, reason="TLC needs Java: install default-jre-headless"),
]


def test_the_model_with_all_its_guards_breaks_no_promise(tmp_path: Path) -> None:
    printed = check(GUARDS, set(GUARDS.values()), tmp_path)
    assert "Model checking completed. No error has been found." in printed, printed


@pytest.mark.parametrize(("guard", "invariant"), GUARDS.items())
def test_the_model_without_a_guard_breaks_a_promise(guard: str, invariant: str, tmp_path: Path) -> None:
    printed = check([name for name in GUARDS if name != guard], [invariant], tmp_path)
    assert f"Invariant {invariant} is violated." in printed, printed
    assert steps(printed) == (FOLDER / "counterexamples" / f"{guard}.txt").read_text()
