"""Paging walks the index of keys, also before PostgreSQL has gathered statistics of what was just loaded."""

from collections.abc import Iterator

import pytest

from rowlock import Engine
from rowlock.db.postgres import DIALECT
from rowlock.db.statements import Statements

ENOUGH = 20_000
FLOORS = str([0] * 10)


@pytest.fixture
def loaded(postgres_url: str) -> Iterator[Engine]:
    with Engine(postgres_url) as engine:
        engine["names"].add(f"{number:06}" for number in range(ENOUGH))
        yield engine


def plan(engine: Engine, name: str, **parameters: object) -> str:
    text = Statements(DIALECT).get(name).text
    with engine.transaction() as tx:
        return "\n".join(line for (line,) in tx.execute(f"explain {text}", parameters).fetchall())


@pytest.mark.parametrize("statistics", ["none", "fresh"])
@pytest.mark.parametrize("statement", ["items/page", "items/page_state"])
@pytest.mark.parametrize("after", ["", "019000"])
def test_a_page_walks_the_index_of_keys(loaded: Engine, statement: str, after: str, statistics: str) -> None:
    if statistics == "fresh":
        with loaded.transaction() as tx:
            tx.execute("analyze rowlock_items")
    walked = plan(loaded, statement, list="names", after=after, limit=100, state="ready")
    assert "Index Scan using rowlock_items_pkey" in walked
    assert "Bitmap" not in walked
    assert "Seq Scan on rowlock_items" not in walked


@pytest.mark.parametrize("statistics", ["none", "fresh"])
def test_items_by_their_keys_are_looked_up_in_the_index(loaded: Engine, statistics: str) -> None:
    if statistics == "fresh":
        with loaded.transaction() as tx:
            tx.execute("analyze rowlock_items")
    walked = plan(loaded, "items/show_many", list="names", keys='["000007", "000008"]')
    assert "Index Scan using rowlock_items_pkey" in walked
    assert "Seq Scan on rowlock_items" not in walked


@pytest.fixture
def subscribed(postgres_url: str) -> Iterator[Engine]:
    with Engine(postgres_url) as engine:
        topic = engine.topic("comics")
        topic.define(series="text", issue="integer")
        for start in range(0, 4_000, 100):
            batch = range(start, start + 100)
            topic.subscribe_many([(f"{each:06}", {"series": f"{each % 50}", "issue": each}) for each in batch])
        yield engine


PLANS = {
    "subscriptions/find": ({"rows": '[{"subscriber": "7", "digest": "7"}]', "topic": 1}, "rowlock_subscriptions_live"),
    "subscription_index/rows_per_key": ({"keys": "[1, 2]", "enough": 65}, "rowlock_filings_pkey"),
    "subscription_index/match": ({"keys": "[1, 2]", "lows": "[2]", "highs": "[3]", "topic": 1}, "rowlock_filings_pkey"),
    "subscription_index/page_of_key": (
        {"key": 1, "low": 0, "high": 0, "sort": 0, "subscription": 0, "part": 0},
        "rowlock_filings_pkey",
    ),
    "subscriptions/index_rows": ({"topic": 1, "after": 100}, "rowlock_filings_pkey"),
    "subscriptions/changed_since": ({"topic": 1, "after": 100}, "rowlock_subscriptions_changed"),
}


@pytest.mark.parametrize("statistics", ["none", "fresh"])
@pytest.mark.parametrize("statement", PLANS)
def test_a_matcher_looks_into_indexes(subscribed: Engine, statement: str, statistics: str) -> None:
    if statistics == "fresh":
        with subscribed.transaction() as tx:
            tx.execute("analyze")
    asked, index = PLANS[statement]
    walked = plan(subscribed, statement, **{"limit": 100, "seq": 7, "values": "[]", **asked})
    assert index in walked
    assert "Seq Scan on rowlock_subscriptions" not in walked
    assert "Seq Scan on rowlock_filings" not in walked


def test_a_claim_looks_at_no_lease_and_no_limit_where_the_list_has_none(loaded: Engine) -> None:
    with loaded.session() as session, loaded.transaction() as tx:
        asking = {"token": "t", "session": session.id, "limit": 10, "attempts": 5, "name": "names", "floors": FLOORS}
        text = Statements(DIALECT).get("claims/take").text
        lines = [line for (line,) in tx.execute(f"explain (analyze, timing off) {text}", asking).fetchall()]
        handed = tx.execute("select taken from rowlock_claims where token = 't'").fetchall()
    leases = [line for line in lines if "rowlock_leases" in line]
    assert handed == [(10,)]
    assert leases
    assert [line for line in leases if "(never executed)" not in line] == []
    assert not any("rowlock_handouts" in line or "rowlock_items_family" in line for line in lines)


@pytest.mark.parametrize("statistics", ["none", "fresh"])
def test_a_settlement_finds_its_claim_by_the_token_alone(loaded: Engine, statistics: str) -> None:
    if statistics == "fresh":
        with loaded.transaction() as tx:
            tx.execute("analyze rowlock_claims")
    asking = {"token": "t", "session": "s", "positions": "[1]", "count": 1, "receipt": "r"}
    with loaded.transaction() as tx:
        tx.execute(Statements(DIALECT).get("claims/planner_hints").text)
        text = Statements(DIALECT).get("claims/settle_all_done").text
        walked = "\n".join(line for (line,) in tx.execute(f"explain {text}", asking).fetchall())
    assert "using rowlock_claims_pkey" in walked
    assert "Seq Scan" not in walked
    assert "rowlock_claims_session" not in walked


@pytest.mark.parametrize("statistics", ["none", "fresh"])
def test_a_claim_by_lane_looks_into_indexes(loaded: Engine, statistics: str) -> None:
    if statistics == "fresh":
        with loaded.transaction() as tx:
            tx.execute("analyze")
    where = {"name": "names", "list": 1, "gate": 0, "priority": 5, "floor": 0}
    with loaded.session() as session, loaded.transaction() as tx:
        tx.execute(Statements(DIALECT).get("claims/lock_list").text, {"name": "names"})
        asking = {"token": "t", "session": session.id, "limit": 10, "attempts": 5, **where}
        text = Statements(DIALECT).get("claims/take_hinted_lane").text
        lines = [line for (line,) in tx.execute(f"explain {text}", asking).fetchall()]
    assert [line for line in lines if "Seq Scan" in line or "Bitmap" in line] == []
    assert any("rowlock_items_ready" in line for line in lines)


@pytest.mark.parametrize("statistics", ["none", "fresh"])
def test_families_are_walked_by_their_index_alone(loaded: Engine, statistics: str) -> None:
    loaded["names"].settings(concurrency_by={"separator": "0", "limit": 1})
    if statistics == "fresh":
        with loaded.transaction() as tx:
            tx.execute("analyze rowlock_items")
    with loaded.transaction() as tx:
        tx.execute(Statements(DIALECT).get("claims/lock_list").text, {"name": "names"})
        where = {"list": 1, "gate": 0, "priority": 5, "start": "", "most": 1}
        text = Statements(DIALECT).get("limits/next_family").text
        walked = "\n".join(line for (line,) in tx.execute(f"explain {text}", where).fetchall())
    assert "rowlock_items_family" in walked
    assert "hashed" not in walked
    assert "rowlock_items_ready" not in walked
    assert "Seq Scan on rowlock_items" not in walked
