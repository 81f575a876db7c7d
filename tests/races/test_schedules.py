"""Many tick at once, some are killed: a tick has one item all the same."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.conftest import Clock
from tests.races.killing import Gang, until

from rowlock import Engine
from rowlock.diagnostics import broken_rules

THREADS = 8
TICKS = 60
START = 1_700_000_000_000

# The time is in a file: it moves when the test says so, for all processes at once.
PROGRAM = """
import os
file = os.open(os.environ["CLOCK"], os.O_RDONLY)
engine = Engine(url, clock=lambda: int(os.pread(file, 13, 0)))
while True:
    made = [key for tick in engine.tick() for key in tick.keys]
    # Off the list at once: made again, an item would be a new one.
    engine["work"].done(made)
"""

# It dies where a tick has been written and not committed, or when it is.
DYING = """
import os, signal, sys
from rowlock import Engine, schedules
url, now, last = sys.argv[1], int(sys.argv[2]), sys.argv[3]
engine = Engine(url, clock=lambda: now)
[(now, row)] = engine.read(schedules.due)
with engine.database.transaction() as tx:
    tick = schedules.move_on(tx, row, ["a"], last_at=now, next_at=now + 1000)
    assert tick.added == 1
    if last == "before commit":
        os.kill(os.getpid(), signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_eight_threads_tick_at_once_and_each_tick_has_one_item(timed: Engine, clock: Clock) -> None:
    timed.schedule("poll").set("work", every="1s")
    together = threading.Barrier(THREADS)

    def tick(_: int) -> int:
        together.wait()
        made = timed.tick()
        timed["work"].done([key for each in made for key in each.keys])
        return sum(each.added for each in made)

    with ThreadPoolExecutor(THREADS) as threads:
        for _ in range(TICKS):
            clock.advance(1)
            assert sum(threads.map(tick, range(THREADS))) == 1
    assert timed["work"].progress().added == TICKS


class SharedClock:
    """Milliseconds in a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT)
        self.move(START)

    def move(self, now: int) -> None:
        """It is that late, everywhere."""
        os.pwrite(self._file, str(now).encode(), 0)

    def __call__(self) -> int:
        return int(os.pread(self._file, 13, 0))


@pytest.fixture
def shared(tmp_path: Path) -> SharedClock:
    return SharedClock(tmp_path / "clock")


@pytest.fixture
def engine(url: str, shared: SharedClock) -> Iterator[Engine]:
    with Engine(url, clock=shared) as engine:
        yield engine


def test_processes_tick_at_once_are_killed_and_each_tick_has_one_item(
    url: str, engine: Engine, shared: SharedClock
) -> None:
    engine.schedule("poll").set("work", every="1s", catch_up="all")
    gang = Gang(url, PROGRAM, 4, CLOCK=str(shared.path))
    try:
        for number in range(1, TICKS + 1):
            shared.move(START + number * 1000)
            until(lambda: engine.schedule("poll").info().last_at)
            if number % 10 == 0:
                gang.kill_one(lambda: {process.pid for process in gang.processes})
        until(lambda: ticked(engine) == START + TICKS * 1000)
    finally:
        gang.end()
    assert engine["work"].progress().added == TICKS
    assert engine.read(broken_rules) == []


def ticked(engine: Engine) -> float:
    last = engine.schedule("poll").info().last_at
    return last.timestamp() * 1000 if last else 0


@pytest.mark.parametrize(("when", "left"), [("before commit", 1), ("after commit", 0)])
def test_who_is_killed_while_it_ticks_leaves_the_tick_whole(
    url: str, engine: Engine, shared: SharedClock, when: str, left: int
) -> None:
    engine.schedule("poll").set("work", every="1s", key="a")
    shared.move(START + 1000)
    dying = subprocess.run([sys.executable, "-c", DYING, url, str(START + 1000), when], check=False)
    assert dying.returncode == -signal.SIGKILL
    assert sum(tick.added for tick in engine.tick()) == left
    assert (engine["work"].progress().added, engine["work"].counts().ready) == (1, 1)
