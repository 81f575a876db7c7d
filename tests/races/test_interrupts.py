"""Interrupts: an exception at any moment leaves no lock, no lost connection and no commit that is not flushed."""

import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.races.interrupting import GROUP_COMMIT, THREADING, Tracer
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, Session, counters
from rowlock.db import Tx
from rowlock.environment import Environment
from rowlock.group_commit import GroupKey, groupable, writer

FULL = 2
PROGRAM = Path(__file__).with_name("interrupted.py")
KEYS = [f"key-{number}" for number in range(4)]


def add(engine: Engine, session: Session) -> None:
    engine["work"].add("more")


def refused(engine: Engine, session: Session) -> None:
    with pytest.raises(ZeroDivisionError):
        engine.run(lambda tx: 1 / 0)


def read(engine: Engine, session: Session) -> None:
    engine["work"].counts()


def take(engine: Engine, session: Session) -> None:
    session.take("work", limit=1)


def settle_and_take(engine: Engine, session: Session) -> None:
    claims = session.claim("work", limit=1)
    for item in (claim := next(claims)):
        claim.done(item)
    next(claims)
    claims.close()


def block(engine: Engine, session: Session) -> None:
    with engine.transaction() as tx:
        tx["work"].add("more")


def first_use(engine: Engine, session: Session) -> None:
    with Engine(engine.database.address.target) as another:
        another["work"].add("more")


def count_twice(engine: Engine) -> None:
    engine.counter("numbers").next()  # it starts the writer
    engine.counter("numbers").next()


@groupable(lambda: GroupKey(isolated=True))
def look_around(tx: Tx) -> None:
    """A call that no group waits for."""


def ask_alone(engine: Engine) -> None:
    engine.grouped.ask(look_around)  # without `result()`: interrupted, the standard library's future may stay locked


def count_and_close(engine: Engine) -> None:
    engine.counter("numbers").next()
    engine.grouped.close()


def flushing(tx: Tx) -> int:
    """How the commit of this transaction is flushed."""
    [(level,)] = tx.execute("pragma synchronous").fetchall()
    return int(level)


class Trials:
    """Calls that are interrupted, and a look at the file after each of them."""

    def __init__(self, url: str, *, everywhere: bool) -> None:
        # One connection: a place in the pool that is lost is missed at once.
        # A clock that moves with each look at it: which statements a claim sends does not depend on the machine's load.
        ticks = count()
        clock = Environment(monotonic=lambda: next(ticks) / 10_000)
        self.engine = Engine(url, connections=1, patience=1, environment=clock)
        self.other = sqlite3.connect(url, isolation_level=None, timeout=0)
        self.tracer = Tracer(everywhere=everywhere)
        self.session: Session | None = None
        self.acknowledged: list[str] = []

    def close(self) -> None:
        if self.session is not None:
            self.session.close()
        self.other.close()
        self.engine.close()

    def run(self, operation: Callable[[Engine, Session], None], *, keep: bool) -> int:
        """Interrupt the operation at each of its moments; how many there were."""
        self.ready(operation)()  # what happens only once has happened
        moments = self.tracer.moments(self.ready(operation))
        kept: list[BaseException | None] = []
        for moment in moments:
            error = self.tracer.interrupted(self.ready(operation), moment)
            assert isinstance(error, KeyboardInterrupt)
            # An interactive Python keeps the last error with all its frames, and with what they hold.
            kept = [error] if keep else []
            del error
            self.look()
        del kept
        assert {item.key for item in self.engine["checks"].items()} == set(self.acknowledged)
        return len(moments)

    def ready(self, operation: Callable[[Engine, Session], None]) -> Callable[[], None]:
        """The operation, with everything as it was the last time."""
        if self.session is not None:
            self.session.close()
        self.session = self.engine.session(expiry="1h").open()
        self.engine["work"].abandon("more")
        self.engine["work"].add(KEYS)
        self.look()
        return partial(operation, self.engine, self.session)

    def look(self) -> None:
        """Others can write at once, and so can we, and what we write is flushed."""
        self.other.execute("begin immediate")
        self.other.execute("rollback")
        key = f"{len(self.acknowledged)}"
        assert self.engine["checks"].add(key).added == 1
        self.acknowledged.append(key)
        assert self.engine.run(flushing) == FULL
        self.other.execute("begin immediate")
        self.other.execute("rollback")


@pytest.fixture
def trials(sqlite_url: str, request: pytest.FixtureRequest) -> Iterator[Trials]:
    with Engine(sqlite_url) as engine:
        engine.migrate()
    made = Trials(sqlite_url, everywhere=request.param)
    yield made
    made.close()


WHERE = [
    pytest.param(False, id="where Python delivers signals"),
    pytest.param(True, id="everywhere", marks=pytest.mark.torture),
]
CALLS: list[Any] = [add, refused, read, take, settle_and_take, first_use]


@pytest.mark.parametrize("trials", WHERE, indirect=True)
@pytest.mark.parametrize("operation", CALLS)
def test_a_call_that_is_interrupted_leaves_nothing_behind(
    trials: Trials, operation: Callable[[Engine, Session], None]
) -> None:
    assert trials.run(operation, keep=True) > 20


@pytest.mark.parametrize("trials", WHERE[:1], indirect=True)
def test_a_block_that_is_interrupted_leaves_nothing_behind(trials: Trials) -> None:
    assert trials.run(block, keep=False) > 20


@pytest.fixture
def patient_writer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer that misses a call sees it never, in place of after its idle time."""
    monkeypatch.setattr(writer, "IDLE_SECONDS", 4 * WAIT_SECONDS)


@pytest.mark.usefixtures("patient_writer")
@pytest.mark.parametrize("operation", [count_twice, ask_alone])
def test_a_grouped_call_that_is_interrupted_keeps_no_later_one_waiting(
    sqlite_url: str, operation: Callable[[Engine], None]
) -> None:
    tracer = Tracer(everywhere=False, folders=(GROUP_COMMIT, THREADING))
    with Engine(sqlite_url) as first:
        moments = tracer.moments(partial(operation, first))
    assert len(moments) > 20
    for moment in moments:
        with Engine(sqlite_url) as engine:
            tracer.interrupted(partial(operation, engine), moment)
            assert engine.grouped.ask(counters.take, "numbers").result(WAIT_SECONDS)


@pytest.mark.usefixtures("patient_writer")
def test_a_writer_whose_closing_is_interrupted_can_be_closed(sqlite_url: str) -> None:
    tracer = Tracer(everywhere=False, folders=(GROUP_COMMIT, THREADING))
    moments = tracer.moments(partial(count_and_close, Engine(sqlite_url)))
    for moment in moments:
        engine = Engine(sqlite_url)
        tracer.interrupted(partial(count_and_close, engine), moment)
        engine.close()


@pytest.mark.parametrize(
    "times",
    [100, pytest.param(2_000, marks=[pytest.mark.torture, pytest.mark.fault("interrupt at a random moment", 2_000)])],
)
def test_a_program_that_is_interrupted_at_random_goes_on(sqlite_url: str, times: int) -> None:
    seed = random.randrange(1_000_000)
    command = [sys.executable, str(PROGRAM), sqlite_url, str(times), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30 + times)
    interrupted, _, wrong = done.stdout.partition(" ")
    assert (done.returncode, wrong) == (0, "[]\n"), f"seed {seed}: {done.stdout}{done.stderr}"
    # Python itself forgets an exception that comes while it collects garbage.
    assert int(interrupted) > 0.9 * times
