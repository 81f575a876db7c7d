"""Workers die at any moment, and each item is still done exactly once."""

import os
import signal
import threading
import time

import pytest
from tests.races.killing import BATCH, Gang, account, at_work, prepare, ranks, settled, until
from tests.torture import scaled
from tests.worker.running import running

from rowlock import Counts, Engine, StaleClaim, Worker

pytestmark = pytest.mark.parametrize("dialect", ["sqlite", "postgres"])

PAUSED = """
with engine.session(expiry="1s") as session:
    claim = session.take("work")
    print("claimed", flush=True)
    sys.stdin.readline()
    for item in claim:
        claim.done(item)
    try:
        with engine.transaction() as tx:
            tx.execute("insert into ranks (key) values ('late')")
            claim.settle(using=tx)
        print("settled", flush=True)
    except Exception as error:
        print(error.code, flush=True)
"""
HOLDING = """
with engine.session() as session:
    claim = session.take("work")
    print("claimed", flush=True)
    sys.stdin.readline()
"""
POISON = """
worker = Worker(engine, concurrency=4, expiry="1s")

@worker.on("work", {how}, attempts=3)
def handle(items):
    if any(item.key == "000050" for item in {each}):
        os._exit(1)

worker.run(until="done")
engine.close()
"""


def survive(url: str, items: int, kills: int, *, processes: int = 8) -> None:
    with Engine(url) as engine:
        prepare(engine, items)
        gang = Gang(url, BATCH, processes)
        for kill in range(kills):
            until(lambda after=items * kill // (kills + 1): ranks(engine)[0] >= after)
            gang.kill_one(lambda: at_work(engine))
        assert gang.wait() == [0] * processes
        assert account(engine) == settled(items)


def test_workers_are_killed_at_random_and_each_item_is_done_once(url: str) -> None:
    survive(url, 2_000, 8, processes=4)


@pytest.mark.torture
@pytest.mark.fault("worker killed", scaled(100))
def test_workers_are_killed_a_hundred_times_and_each_item_is_done_once(url: str) -> None:
    survive(url, scaled(20_000), scaled(100))


@pytest.mark.torture
@pytest.mark.parametrize("after", [0, 3, 7, 12])
@pytest.mark.fault("worker killed", 1)
def test_what_a_killed_worker_had_is_worked_within_17_seconds(url: str, after: int) -> None:
    with Engine(url) as engine:
        engine["work"].add("a")
        gang = Gang(url, HOLDING, 1)
        process = gang.processes[0]
        assert process.stdout is not None
        assert process.stdout.readline() == "claimed\n"
        worked = threading.Event()
        worker = Worker(engine)
        worker.on("work", lambda _: worked.set())
        with running(worker):
            assert not worked.wait(after)
            killed_at = time.monotonic()
            process.kill()
            assert worked.wait(60)
            took = time.monotonic() - killed_at
        gang.end()
        assert took <= 17


def test_a_worker_that_was_stopped_past_its_expiry_settles_nothing_when_it_goes_on(url: str) -> None:
    with Engine(url) as engine:
        prepare(engine, 3)
        gang = Gang(url, PAUSED, 1)
        process = gang.processes[0]
        assert process.stdout is not None
        assert process.stdin is not None
        assert process.stdout.readline() == "claimed\n"
        os.kill(process.pid, signal.SIGSTOP)
        until(lambda: engine.upkeep() and not engine.sessions())
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{StaleClaim.code}\n"
        gang.end()
        assert (engine["work"].counts(), ranks(engine)) == (Counts(ready=3), (0, 0))


@pytest.mark.parametrize(
    ("how", "each", "count"),
    [
        pytest.param("batch=1000", "items", 100, id="batch"),
        pytest.param("batch=1000", "items", 1_000, id="long batch", marks=pytest.mark.torture),
        pytest.param("batch=None", "[items]", 1_000, id="plain", marks=pytest.mark.torture),
    ],
)
def test_an_item_that_kills_its_worker_is_failed_and_no_neighbour_is_charged(
    url: str, how: str, each: str, count: int
) -> None:
    with Engine(url) as engine:
        prepare(engine, count)
        gang = Gang(url, POISON.format(how=how, each=each), 1)
        until(lambda: gang.replace_dead() * 0 + (engine["work"].counts() == Counts(failed=1)))
        gang.wait()
        failed = engine["work"].show("000050")
        assert (failed.attempts, engine["work"].progress().retried, engine["work"].progress().done) == (3, 2, count - 1)
        assert {failure.kind for failure in engine["work"].failures("000050")} == {"worker died"}
