"""Exclusive lists while workers are killed: each is worked in order, by one at a time, and nothing is lost."""

import signal

import pytest
from tests.races.killing import Gang, at_work, until

from rowlock import Engine
from rowlock.diagnostics import broken_rules

pytestmark = pytest.mark.parametrize("dialect", [pytest.param("sqlite", marks=pytest.mark.torture), "postgres"])

LISTS = [f"feeds/{number}" for number in range(6)]
KEYS = [f"{number:04}" for number in range(120)]

WORKER = """
worker = Worker(engine, concurrency=4, expiry="{expiry}")

@worker.on("feeds/*", batch={batch}, attempts=1000)
def handle(items, tx):
    rows = [(item.list, item.key) for item in items]
    tx.executemany(f"insert into steps (list, key) values ({{sign}}, {{sign}})", rows)
    {then}

worker.run(until="done")
engine.close()
"""
NUMBERED = {"sqlite": "integer primary key autoincrement", "postgres": "bigserial primary key"}


def prepare(engine: Engine) -> None:
    """Exclusive lists, and a table that tells in which order their items were settled."""
    for name in LISTS:
        engine[name].settings(exclusive=True)
        engine[name].add(KEYS)
    number = NUMBERED[engine.database.driver.dialect.names[-1]]
    with engine.transaction() as tx:
        tx.execute(f"create table steps (number {number}, list varchar(20), key varchar(20))")


def steps(engine: Engine) -> dict[str, list[str]]:
    """The items of each list in the order in which they were settled."""
    rows = engine.read(lambda tx: tx.execute("select list, key from steps order by number").fetchall())
    return {name: [key for where, key in rows if where == name] for name in LISTS}


def test_items_are_settled_in_order_while_workers_are_killed_at_random(url: str) -> None:
    with Engine(url) as engine:
        prepare(engine)
        gang = Gang(url, WORKER.format(expiry="1s", batch=3, then="import time; time.sleep(0.01)"), 3)
        for part in (60, 200, 400, 550):
            until(lambda after=part: sum(map(len, steps(engine).values())) >= after)
            gang.kill_one(lambda: at_work(engine))
        until(lambda: gang.replace_dead() * 0 + (sum(map(len, steps(engine).values())) == 720))
        gang.wait()
        assert steps(engine) == dict.fromkeys(LISTS, KEYS)
        assert engine.read(broken_rules) == []


def test_a_worker_that_was_killed_is_replaced_by_another_that_waits(url: str) -> None:
    with Engine(url) as engine:
        prepare(engine)
        first = Gang(url, WORKER.format(expiry="2s", batch=2, then="import time; time.sleep(0.05)"), 1)
        until(lambda: at_work(engine))
        second = Gang(url, WORKER.format(expiry="2s", batch=100, then=""), 1)
        until(lambda: len(engine.sessions()) == 2)
        first.processes[0].send_signal(signal.SIGKILL)
        until(lambda: steps(engine) == dict.fromkeys(LISTS, KEYS))
        first.end()
        assert second.wait() == [0]
        assert engine.read(broken_rules) == []
