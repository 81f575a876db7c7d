"""A user's handlers are checked by their types."""

import os
import subprocess

from tests.house.places import ROOT
from tests.house.test_lint import BIN


def test_a_strict_checker_accepts_good_handlers_and_finds_mistakes() -> None:
    ran = subprocess.run(
        [BIN / "mypy", "--strict", "tests/house/typed_worker.py"],
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": "src"},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
