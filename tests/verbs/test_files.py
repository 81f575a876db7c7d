"""A SQLite file: made for its owner alone, read where it cannot be written, and a full disk is told as such."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from rowlock import Engine
from rowlock.db.sqlite_executor import translate_error
from rowlock.db.urls import parse
from rowlock.errors import DatabaseFull, Unavailable

LOOK = """
import os, sys
from rowlock import Engine, RowlockError

def look(path):
    engine = Engine(path, patience=0)
    work = engine["work"]
    print([item.key for item in work.items()], work.counts().ready, work.show("a").attempts)
    engine["work"].add("more")

look(sys.argv[1])
if os.geteuid() == 0:  # the bits of a mode do not bind root
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    look(sys.argv[2])
except RowlockError as error:
    print(error.code)
"""
SEEN = "['a', 'b'] 2 0\n"


@pytest.fixture
def stored(sqlite_url: str) -> str:
    """A file with a list of two items, closed."""
    with Engine(sqlite_url) as engine:
        engine["work"].add(["a", "b"])
    return sqlite_url


@pytest.fixture
def only_read(stored: str, tmp_path: Path) -> Iterator[str]:
    """The same, in a folder that nobody may write."""
    shutil.copy(stored, tmp_path / "warm.db")
    folder = Path(stored).parent
    yield stored
    folder.chmod(0o700)


def looked(path: str, tmp_path: Path) -> str:
    """What a program sees that may only read: the lines that it prints."""
    for file in Path(path).parent.iterdir():
        file.chmod(0o444)
    Path(path).parent.chmod(0o555)
    command = [sys.executable, "-c", LOOK, str(tmp_path / "warm.db"), path]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def mode(path: str) -> int:
    return Path(path).stat().st_mode & 0o777


def test_a_new_file_is_for_its_owner_alone(sqlite_url: str) -> None:
    before = os.umask(0)
    try:
        with Engine(sqlite_url) as engine:
            engine["work"].add("a")
            modes = [mode(f"{sqlite_url}{end}") for end in ("", "-wal", "-shm")]
    finally:
        os.umask(before)
    assert modes == [0o600] * 3


def test_a_new_file_behind_a_link_is_for_its_owner_alone(sqlite_url: str) -> None:
    link = Path(f"{sqlite_url}.link")
    link.symlink_to(sqlite_url)
    with Engine(link) as engine:
        engine["work"].add("a")
    assert mode(sqlite_url) == 0o600


def test_the_mode_of_a_file_that_is_there_stays(stored: str) -> None:
    Path(stored).chmod(0o660)
    with Engine(stored) as engine:
        engine["work"].add("c")
        assert [mode(f"{stored}{end}") for end in ("", "-wal", "-shm")] == [0o660] * 3


def test_a_file_that_cannot_be_written_can_be_read(only_read: str, tmp_path: Path) -> None:
    assert looked(only_read, tmp_path) == f"{SEEN}{SEEN}database-read-only\n"


def test_a_file_that_cannot_be_written_is_read_with_its_log(only_read: str, tmp_path: Path) -> None:
    with closing(sqlite3.connect(only_read)) as other:
        other.execute("select * from rowlock_lists").fetchall()
        with Engine(only_read) as engine:
            engine["work"].increment("a")
        assert looked(only_read, tmp_path) == f"{SEEN}['a', 'b'] 2 1\ndatabase-read-only\n"


def test_a_log_that_cannot_be_read_is_told(only_read: str, tmp_path: Path) -> None:
    Path(f"{only_read}-wal").write_bytes(b"x" * 4096)
    assert looked(only_read, tmp_path) == f"{SEEN}database-unreachable\n"


class Failing(sqlite3.OperationalError):
    """What the driver raises when the index of the log cannot be made."""

    sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMSIZE
    sqlite_errorname = "SQLITE_IOERR_SHMSIZE"


@pytest.mark.parametrize(
    ("blocks", "files", "expected"), [(0, 100, DatabaseFull), (100, 0, DatabaseFull), (100, 100, Unavailable)]
)
def test_an_error_of_a_full_disk_is_told_as_such(
    monkeypatch: pytest.MonkeyPatch, blocks: int, files: int, expected: type[Unavailable]
) -> None:
    disk = {"f_blocks": 100, "f_files": 100, "f_frsize": 4096, "f_bfree": blocks, "f_ffree": files}
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(**disk, f_bavail=blocks, f_favail=files))
    assert type(translate_error(Failing("disk I/O error"), parse("work.db"))) is expected


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(tmp_path)]
    if os.geteuid() != 0 or shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        yield tmp_path
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_disk_that_its_log_has_filled_is_written_again_when_some_space_is_free(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 600_000)
    with Engine(small_disk / "work.db", patience=0) as engine:
        work = engine["work"]
        with pytest.raises(DatabaseFull):
            [work.add(f"{number}-{each}" for each in range(20)) for number in range(1000)]
        filler.unlink()
        for _ in range(60):  # more than fit on the disk if the log only grew
            work.increment("0-0")
        assert work.show("0-0").attempts == 60
