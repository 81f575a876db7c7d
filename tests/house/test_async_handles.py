"""The async handles are generated from the plain ones."""

import subprocess
import sys

from tests.house.places import ROOT


def test_the_async_handles_are_up_to_date() -> None:
    ran = subprocess.run(
        [sys.executable, "tools/async_handles.py", "--check"], cwd=ROOT, capture_output=True, text=True
    )
    assert ran.returncode == 0, ran.stderr
