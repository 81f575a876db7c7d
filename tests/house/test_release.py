"""`tools/release.py` makes a release that can be published, or changes nothing."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.house.places import ROOT

CHANGES = "# Changelog\n\n## [Unreleased]\n\n### Added\n\n- A thing.\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the two files that a release changes."""
    (tmp_path / "src" / "rowlock").mkdir(parents=True)
    (tmp_path / "src" / "rowlock" / "__init__.py").write_text('__version__ = "0.2.0.dev0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Ann")
    git(tmp_path, "config", "user.email", "ann@example.org")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message", "begin")
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def release(folder: Path, version: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "tools" / "release.py"), version, "--no-build"]
    return subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)


def test_a_release_is_committed_and_tagged(repository: Path) -> None:
    assert release(repository, "0.2.0").returncode == 0
    assert (repository / "src" / "rowlock" / "__init__.py").read_text() == '__version__ = "0.2.0"\n'
    assert "## [Unreleased]\n\n## [0.2.0] - 20" in (repository / "CHANGELOG.md").read_text()
    assert (git(repository, "tag"), git(repository, "status", "--porcelain")) == ("v0.2.0", "")


@pytest.mark.parametrize(("version", "why"), [("0.1.9", "newer than 0.2.0.dev0"), ("two", "must be three numbers")])
def test_a_wrong_version_is_refused(repository: Path, version: str, why: str) -> None:
    ran = release(repository, version)
    assert (ran.returncode, why in ran.stderr, git(repository, "tag")) == (1, True, "")


def test_a_release_without_changes_is_refused(repository: Path) -> None:
    release(repository, "0.2.0")
    assert "nothing under Unreleased" in release(repository, "0.3.0").stderr


def test_changes_that_are_not_committed_are_refused(repository: Path) -> None:
    (repository / "CHANGELOG.md").write_text(CHANGES + "- Another.\n")
    assert "not committed" in release(repository, "0.2.0").stderr
