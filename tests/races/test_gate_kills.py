"""Workers die at any moment, and no gate opens early, twice or never."""

import pytest
from tests.races.killing import Gang, at_work, until
from tests.torture import scaled

from rowlock import Counts, Engine
from rowlock.diagnostics import broken_rules

pytestmark = pytest.mark.parametrize("dialect", ["sqlite", "postgres"])

GATES = 3
STAGES = """
from rowlock import Done, Move
worker = Worker(engine, concurrency=2, expiry="1s")

# Beside each pass stands how many had passed the gate before it: the history that the test reads.
@worker.on("work", batch=10, attempts=1000)
def handle(items, tx):
    for item in items:
        tx.execute(
            "insert into passes (key, gate, before) "
            f"select {sign}, {sign}, count(*) from passes where gate = {sign}",
            (item.key, item.gate, item.gate - 1),
        )
    return [Move(item.gate + 1) if item.gate < 2 else Done() for item in items]

worker.run(until="done")
engine.close()
"""


def survive(url: str, items: int, kills: int, *, processes: int = 8) -> None:
    with Engine(url) as engine:
        with engine.transaction() as tx:
            tx.execute("create table passes (key varchar(20), gate integer, before integer, primary key (key, gate))")
            tx["work"].add(f"{number:06}" for number in range(items))
            tx["work"].seal(then="after")
        gang = Gang(url, STAGES, processes)
        for kill in range(kills):
            until(lambda after=items * GATES * kill // (kills + 1): passes(engine) >= after)
            gang.kill_one(lambda: at_work(engine))
        assert gang.wait() == [0] * processes
        assert (passes(engine), early(engine)) == (items * GATES, [])
        # A worker that was killed after its last settlement leaves the end of the list to the next pass of upkeep.
        until(lambda: engine.upkeep() and engine["work"].info().state == "complete")
        info = engine["work"].info()
        assert (info.state, info.gate, info.progress.done) == ("complete", GATES - 1, items)
        assert (engine["after"].counts(), engine.read(broken_rules)) == (Counts(ready=1), [])


def passes(engine: Engine) -> int:
    return int(engine.read(lambda tx: tx.execute("select count(*) from passes").fetchone())[0])


def early(engine: Engine) -> list[object]:
    statement = (
        "select key, gate, before from passes where gate > 0 and before < (select count(distinct key) from passes)"
    )
    return list(engine.read(lambda tx: tx.execute(statement).fetchall()))


def test_workers_are_killed_at_random_and_each_gate_opens_once_when_all_have_passed(url: str) -> None:
    survive(url, 300, 5, processes=4)


@pytest.mark.torture
@pytest.mark.fault("worker killed", scaled(100))
def test_workers_are_killed_a_hundred_times_and_each_gate_opens_once(url: str) -> None:
    survive(url, scaled(6_000), scaled(100))
