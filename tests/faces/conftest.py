"""Shells for the command line: in an empty folder, or on a fresh database of every kind."""

from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Shell


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in an empty folder: the database is ./rowlock.db, not made yet."""
    return Shell(tmp_path)


@pytest.fixture
def quick(tmp_path: Path) -> QuickShell:
    """The same, without a process of its own."""
    return QuickShell(tmp_path)


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    """The kinds of database that a face is tried on; the verbs below it are tried on all."""
    return str(request.param)


@pytest.fixture
def any_shell(tmp_path: Path, url: str) -> Shell:
    """A shell on a fresh database of each kind."""
    return Shell(tmp_path, ROWLOCK_DATABASE_URL=url)


@pytest.fixture
def any_quick(tmp_path: Path, url: str) -> QuickShell:
    """The same, without a process of its own."""
    return QuickShell(tmp_path, ROWLOCK_DATABASE_URL=url)
