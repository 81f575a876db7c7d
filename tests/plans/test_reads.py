"""No statement reads more than its batch needs, whatever plan the server makes: in rows and blocks, not in time."""

from collections.abc import Iterator
from functools import partial

import psycopg
import pytest
from tests.plans.explaining import Explaining, Reading
from tests.plans.work import BATCH, load, work

from rowlock import Engine, item_search

FEW = 12 * BATCH
MANY = pytest.mark.parametrize("many", [2_000, pytest.param(110_000, marks=pytest.mark.torture)])
"""Nine times as many items are in the table."""
ROWS = 40 * BATCH
BUFFERS = 60 * BATCH
# What the work asks for that must not go unmeasured.
HOT = {
    "claims": "close lock lock_list planner_hints decrement_remaining settle_all_done take take_gap take_hinted_lane",
    "subscription_index": "match",
    "gates": "advanceable is_awaited first_unfinished",
    "items": "count_matching count_matching_failed matching_keys search search_failed "
    "add_keys add_single delete done_single increment_single lock_due "
    "increment_attempts lock_existing page page_failed page_state promote retry "
    "update_if_unclaimed show show_many lock_by_positions settle_done settle_fail settle_move settle_retry",
    "lists": "sleep",
    "sessions": "beat close lock_silent maybe_dead",
}


@pytest.fixture(params=["postgres16", "postgres"])
def server_url(request: pytest.FixtureRequest) -> str:
    """A fresh database on each server."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def by_hand(server_url: str) -> Iterator["psycopg.Connection[tuple[object, ...]]"]:
    with psycopg.connect(server_url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def readings() -> list[Reading]:
    return []


@pytest.fixture
def engine(server_url: str, readings: list[Reading], monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine with one connection, so that a plan that was made once is kept; a search looks at few items."""
    for bound in ("ROWS_PER_SEARCH", "ROWS_PER_COUNT"):
        monkeypatch.setattr(item_search, bound, BATCH)
    with Engine(server_url, wrap=partial(Explaining, readings=readings), connections=1) as engine:
        yield engine


@pytest.fixture
def plain(server_url: str) -> Iterator[Engine]:
    """An engine that explains nothing."""
    with Engine(server_url) as engine:
        yield engine


Connection = psycopg.Connection[tuple[object, ...]]


def hot() -> set[str]:
    return {f"{noun}/{verb}" for noun, verbs in HOT.items() for verb in verbs.split()}


def greedy(readings: list[Reading]) -> dict[str, tuple[int, int, str]]:
    """The statements that read too much."""
    return {
        each.statement: (each.rows, each.buffers, each.plan)
        for each in readings
        if each.rows > ROWS or each.buffers > BUFFERS
    }


@MANY
def test_statements_read_little_of_a_table_that_was_never_analysed(
    engine: Engine, plain: Engine, by_hand: Connection, readings: list[Reading], many: int
) -> None:
    load(plain, many, by_hand)
    work(engine)
    assert greedy(readings) == {}
    assert hot() - {each.statement for each in readings} == set()


@MANY
def test_statements_read_little_of_a_table_that_was_analysed(
    engine: Engine, plain: Engine, by_hand: Connection, readings: list[Reading], many: int
) -> None:
    load(plain, many, by_hand)
    by_hand.execute("analyze")
    work(engine)
    assert greedy(readings) == {}


@MANY
def test_statements_read_little_by_plans_from_when_the_table_was_small(
    engine: Engine, plain: Engine, by_hand: Connection, readings: list[Reading], many: int
) -> None:
    load(plain, FEW, by_hand)
    work(engine)
    load(plain, many, by_hand)
    readings.clear()
    work(engine)
    assert greedy(readings) == {}


@MANY
def test_statements_read_little_by_plans_from_when_the_table_was_analysed_empty(
    engine: Engine, plain: Engine, by_hand: Connection, readings: list[Reading], many: int
) -> None:
    load(plain, FEW, by_hand)
    by_hand.execute("delete from rowlock_items")
    by_hand.execute("vacuum analyze")
    load(plain, FEW, by_hand)
    work(engine)
    load(plain, many, by_hand)
    readings.clear()
    work(engine)
    assert greedy(readings) == {}


def test_an_add_reads_little_by_a_plan_from_when_the_table_had_one_item(
    engine: Engine, plain: Engine, by_hand: Connection, readings: list[Reading]
) -> None:
    plain["plain"].add("first")
    by_hand.execute("vacuum analyze")
    engine["plain"].add("second")
    plain["plain"].add([f"key-{number}" for number in range(2 * ROWS)])
    readings.clear()
    engine["plain"].add("last")
    assert [each.statement for each in readings] == ["items/add_single"] * 2
    assert greedy(readings) == {}
