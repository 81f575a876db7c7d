"""Numbers across killed processes: none twice, and none left out where they are taken in transactions."""

import pytest
from tests.races.counting import Counting

from rowlock import Engine

TAKING = """
def take(number):
    counter = engine.counter("hot")
    while True:
        say(counter.next())
        say(*counter.take(3))
crowd(take)
"""
INSERTING = """
def insert(number):
    while True:
        try:
            with engine.transaction() as tx:
                taken = tx.counter("hot").next()
                tx.execute(f"insert into taken (number) values ({sign})", [taken])
            say(taken)
        except Unavailable:
            pass

from rowlock import Unavailable
crowd(insert, threads=2)
"""
PROCESSES = 4
KILLS = 3
LINES = 25


def run(program: str, url: str, *, kills: int) -> list[int]:
    counting = Counting(program, url, processes=PROCESSES)
    for _ in range(kills):
        counting.hear(LINES)
        counting.replace_one()
    counting.hear(LINES)
    return counting.end()


@pytest.mark.parametrize("dialect", [pytest.param("sqlite", marks=pytest.mark.torture), "postgres"])
@pytest.mark.fault("process that takes numbers killed", KILLS)
def test_no_number_is_handed_out_twice_whoever_is_killed(url: str) -> None:
    with Engine(url) as engine:
        engine.make_ready()
        said = run(TAKING, url, kills=KILLS)
        assert len(said) >= KILLS * PROCESSES * LINES
        assert len(set(said)) == len(said)
        assert max(said) <= engine.counter("hot").show()


@pytest.mark.parametrize("dialect", [pytest.param("sqlite", marks=pytest.mark.torture), "postgres"])
@pytest.mark.fault("process that takes numbers killed", KILLS)
def test_numbers_taken_in_transactions_have_no_gap_whoever_is_killed(url: str) -> None:
    with Engine(url) as engine:
        with engine.transaction() as tx:
            tx.execute("create table taken (number bigint primary key)")
        said = run(INSERTING, url, kills=KILLS)
        rows = engine.read(lambda tx: tx.execute("select number from taken order by number").fetchall())
        stored = [number for (number,) in rows]
        assert stored == list(range(1, len(stored) + 1))
        assert set(said) <= set(stored)
        assert engine.counter("hot").next() == len(stored) + 1
