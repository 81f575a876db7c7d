"""A list is drained for the same price whether or not the server has ever looked at the table."""

from functools import partial

import psycopg
import pytest
from tests.plans.explaining import Explaining, Reading

from rowlock import Engine

ITEMS, BATCH = 600, 50
ROWS_PER_ITEM = 30


@pytest.fixture(params=["postgres16", "postgres"])
def server_url(request: pytest.FixtureRequest) -> str:
    """A fresh database on each server."""
    return str(request.getfixturevalue(f"{request.param}_url"))


def drained(url: str) -> int:
    """Work off the list in batches; how many rows that read."""
    readings: list[Reading] = []
    done = 0
    with Engine(url, wrap=partial(Explaining, readings=readings)) as engine, engine.session() as session:
        for claim in session.claim("work", limit=BATCH):
            for item in claim:
                claim.done(item)
            done += len(claim)
    assert done == ITEMS
    return sum(each.rows for each in readings)


def test_a_drain_of_a_list_that_was_never_analysed_reads_as_little_as_of_one_that_was(server_url: str) -> None:
    with Engine(server_url) as engine, psycopg.connect(server_url, autocommit=True) as by_hand:
        engine["other"].add(f"{number}" for number in range(20 * ITEMS))
        engine["work"].add(f"{number}" for number in range(ITEMS))
        never = drained(server_url)
        engine["work"].add(f"{number}" for number in range(ITEMS))
        by_hand.execute("analyze")
        analysed = drained(server_url)
    assert never <= 2 * analysed
    assert never <= ROWS_PER_ITEM * ITEMS
