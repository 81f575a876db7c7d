"""The tools that read our code for us: what they say counts as a failed test."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.places import ROOT

BIN = Path(sys.executable).parent

TOOLS = {
    "ruff check": ["ruff", "check", "--quiet", "."],
    "ruff format": ["ruff", "format", "--quiet", "--check", "."],
    "mypy": ["mypy"],
    "import-linter": ["lint-imports"],
}


@pytest.mark.parametrize("tool", TOOLS)
def test_the_tool_has_nothing_to_say(tool: str) -> None:
    program, *arguments = TOOLS[tool]
    ran = subprocess.run([BIN / program, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
