"""Imports point down, every module stands on a floor, and the contract can be broken."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.places import ROOT, SOURCE

LINT = Path(sys.executable).parent / "lint-imports"


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(SOURCE, tmp_path / "rowlock", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def linted(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [LINT, "--no-cache"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )


def test_imports_point_down(copy: Path) -> None:
    ran = linted(copy)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_module_on_no_floor_is_seen(copy: Path) -> None:
    (copy / "rowlock" / "attic.py").write_text('"""Nobody placed this."""\n')
    assert "attic" in linted(copy).stdout


def test_an_import_upwards_is_seen(copy: Path) -> None:
    with (copy / "rowlock" / "names.py").open("a") as module:
        module.write("\nimport rowlock.engine\n")
    assert "rowlock.names -> rowlock.engine" in linted(copy).stdout


def test_a_verb_that_knows_a_driver_is_seen(copy: Path) -> None:
    with (copy / "rowlock" / "items.py").open("a") as module:
        module.write("\nimport sqlite3\n")
    assert "rowlock.items -> sqlite3" in linted(copy).stdout
