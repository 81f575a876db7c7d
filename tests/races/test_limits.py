"""Limits while eight processes work and are killed; what was handed out is written down by the database itself."""

from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest
from tests.races.killing import Gang, at_work, until

from rowlock import Engine
from rowlock.diagnostics import broken_rules

pytestmark = pytest.mark.parametrize("dialect", [pytest.param("sqlite", marks=pytest.mark.torture), "postgres"])

FAMILIES = "abcdefgh"
ITEMS = [f"{family}/{number:03}" for number in range(15) for family in FAMILIES]

WORKER = """
worker = Worker(engine, concurrency=4, expiry="1s")

@worker.on("work", attempts=1000)
def handle(item):
    import time
    time.sleep(0.005)

worker.run(until="done")
engine.close()
"""
LOG = {
    "sqlite": [
        "create table log (number integer primary key autoincrement, change integer, family text, at integer)",
        "create trigger taken after insert on rowlock_claims begin "
        "insert into log (change, family, at) values (new.remaining, new.family, new.taken_at); end",
        "create trigger reduced after update on rowlock_claims begin "
        "insert into log (change, family, at) values (new.remaining - old.remaining, new.family, 0); end",
        "create trigger ended after delete on rowlock_claims begin "
        "insert into log (change, family, at) values (-old.remaining, old.family, 0); end",
    ],
    "postgres": [
        "create table log (number bigserial primary key, change integer, family text, at bigint)",
        """create function log() returns trigger as $$ begin
            if tg_op = 'INSERT' then
                insert into log (change, family, at) values (new.remaining, new.family, new.taken_at);
            elsif tg_op = 'UPDATE' then
                insert into log (change, family, at) values (new.remaining - old.remaining, new.family, 0);
            else
                insert into log (change, family, at) values (-old.remaining, old.family, 0);
            end if;
            return null;
        end $$ language plpgsql""",
        "create trigger log after insert or update or delete on rowlock_claims for each row execute function log()",
    ],
}


def most_at_once(log: list[Any]) -> int:
    """The most that were ever in hand."""
    return max(accumulate(change for change, _, _ in log))


def most_of_a_family(log: list[Any]) -> int:
    """The most of one family that were ever in hand."""
    return max(most_at_once([row for row in log if row[1] == family]) for family in FAMILIES)


def most_in_a_second(log: list[Any]) -> int:
    """The most that were handed out within any second."""
    handed = [(at, items) for items, _, at in log if at]
    return max(sum(items for when, items in handed if at - 1000 < when <= at) for at, _ in handed)


@pytest.mark.parametrize(
    ("limit", "most", "count"),
    [
        ({"concurrency": 5}, 5, most_at_once),
        ({"concurrency_by": {"separator": "/", "limit": 1}}, 1, most_of_a_family),
        pytest.param({"rate": "12/1s"}, 12, most_in_a_second, marks=pytest.mark.torture),
    ],
    ids=["concurrency", "families", "rate"],
)
def test_a_limit_holds_while_processes_are_killed(
    url: str, limit: dict[str, Any], most: int, count: Callable[[list[Any]], int]
) -> None:
    with Engine(url) as engine:
        engine["work"].settings(**limit)
        engine["work"].add(ITEMS)
        with engine.transaction() as tx:
            for statement in LOG[engine.database.driver.dialect.names[-1]]:
                tx.execute(statement)
        gang = Gang(url, WORKER, 4)
        for part in (20, 60):
            until(lambda after=part: engine["work"].progress().done >= after)
            gang.kill_one(lambda: at_work(engine))
        until(lambda: gang.replace_dead() * 0 + (engine["work"].progress().done == len(ITEMS)))
        gang.end()
        log = engine.read(lambda tx: tx.execute("select change, family, at from log order by number").fetchall())
        assert count(log) == most
        assert (engine["work"].counts().total, engine.read(broken_rules)) == (0, [])
