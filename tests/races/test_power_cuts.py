"""The power fails while a SQLite file is written: what was confirmed is there, whole, and nothing is done twice."""

import random
import shutil
import sqlite3
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.races.power_cuts import Event, image, record
from tests.servers import quick_place
from tests.torture import scaled

from rowlock import Engine
from rowlock.diagnostics import broken_rules
from rowlock.errors import RowlockError

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed; run: apt-get install strace"),
]

ROUNDS = 60
POWER_CUTS = scaled(300)
# A small log is moved into the file often, so that some power cuts come while that happens.
PROGRAM = f"""
import os, sys
from rowlock import Engine
engine = Engine(sys.argv[1] + "/work.db", connections=1)
engine.migrate()
with engine.transaction() as tx:
    tx.execute("create table ranks (key text primary key)")
engine.read(lambda tx: tx.execute("pragma wal_autocheckpoint = 40").fetchall())
engine["work"].add("first")
os.write(1, b"ready")
with engine.session(beats=False) as session:
    for number in range({ROUNDS}):
        key = f"{{number:03}}"
        engine["work"].add([key, key + "-more"], data={{"text": "x" * (number * 37 % 900)}})
        os.write(1, b"added " + key.encode())
        claim = session.take("work", limit=1)
        with engine.transaction() as tx:
            for item in claim:
                tx.execute("insert into ranks (key) values (?)", [item.key])
                claim.done(item)
            claim.settle(using=tx)
        os.write(1, b"done " + claim.items[0].key.encode())
"""


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    """What a program did to its file, and when it was told that an operation was done."""
    folder = tmp_path_factory.mktemp("recorded").resolve() / "files"
    folder.mkdir()
    return record(PROGRAM, folder)


def confirmed(events: list[Event], word: str) -> set[str]:
    """Keys that the program was told about."""
    said = [event.data.decode().split() for event in events if event.call == "print"]
    return {key for first, *keys in said if first == word for key in keys}


def complaints(events: list[Event], folder: Path) -> list[str]:
    """What is wrong with the files that a power cut after these events has left."""
    try:
        with Engine(folder / "work.db") as engine:
            [(verdict,)] = engine.read(lambda tx: tx.execute("pragma integrity_check").fetchall())
            ranks = {key for (key,) in engine.read(lambda tx: tx.execute("select key from ranks").fetchall())}
            items = {item.key for item in engine["work"].items()}
            broken = engine.read(broken_rules)
    except (RowlockError, sqlite3.Error) as error:
        return [f"unreadable: {error}"]
    added, done = confirmed(events, "added"), confirmed(events, "done")
    checks = {
        "damaged": verdict != "ok",
        "an added item is lost": not added <= items | ranks,
        "a settlement is lost": not done <= ranks,
        "a settlement is half there": items & ranks,
        "a rule is broken": broken,
    }
    return [what for what, wrong in checks.items() if wrong]


def cut(events: list[Event], number: int, *, flushes: bool = True) -> list[str]:
    """Let the power fail at a random moment; return what is wrong afterwards."""
    chance = random.Random(number)
    start = next(at for at, event in enumerate(events) if event.data == b"ready")
    before = events[: chance.randrange(start + 1, len(events))]
    with TemporaryDirectory(prefix="rowlock-", dir=quick_place()) as folder:
        for name, content in image(before, chance, flushes=flushes).items():
            if not name.endswith("-shm"):  # memory that processes share: gone with the power
                Path(folder, name).write_bytes(content)
        return complaints(before, Path(folder))


@pytest.mark.fault("power cut on SQLite", POWER_CUTS)
def test_confirmed_work_survives_power_cuts(events: list[Event]) -> None:
    wrong = {number: found for number in range(POWER_CUTS) if (found := cut(events, number))}
    assert wrong == {}


def test_a_disk_that_does_not_flush_is_caught(events: list[Event]) -> None:
    assert any(cut(events, number, flushes=False) for number in range(20))
