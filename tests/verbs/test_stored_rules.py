"""Rules about stored rows: what `rowlock doctor --check` reports, and that it changes nothing."""

from pathlib import Path

from rowlock import Engine, settlements
from rowlock.diagnostics import broken_rules
from rowlock.topics import records

RECORD_AGAIN = """
insert into rowlock_tallies (list, gate, at, token, receipt, retried)
select list, gate, at, token, receipt, retried from rowlock_tallies where token is not null
"""


def test_a_settlement_that_was_recorded_twice_is_reported(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.session() as session:
        claim = session.take("work")
        assert claim is not None
        claim.retry(claim.items[0], "no", after="1h")
        claim.settle()
    assert engine.read(broken_rules) == []
    with engine.transaction() as tx:
        tx.execute(RECORD_AGAIN)
    assert engine.read(broken_rules) == [
        f"the settlement of the claim {claim.token} of the list 'work' was recorded 2 times"
    ]


def test_two_settlements_of_no_items_are_no_mistake(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.session() as session:
        claim = session.take("work")
        assert claim is not None
        for _ in range(2):
            engine.run(settlements.settle, session.id, claim.token, [], close=False)
    assert engine.read(broken_rules) == []


def test_a_notification_that_was_delivered_and_waits_is_reported(engine: Engine) -> None:
    topic = engine.topic("offers")
    topic.define(city="text")
    topic.subscribe("ann", city="Rome")
    number = topic.publish({"city": "Rome"})
    engine.run(records.match_page, number)
    assert engine.read(broken_rules) == []
    with engine.transaction() as tx:
        tx.execute("update rowlock_notifications set delivered_at = 1")
    wrong = f"the notification of 'ann' is marked as delivered and waits on the list 'topics/offers/{number}'"
    assert engine.read(broken_rules) == [wrong]


def test_a_check_of_all_rows_writes_nothing(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add(["a", "b"])
        engine.read(lambda tx: tx.execute("pragma wal_checkpoint(truncate)").fetchall())
        before = Path(sqlite_url).read_bytes()
        assert engine.read(broken_rules) == []
        assert (Path(sqlite_url).read_bytes(), Path(f"{sqlite_url}-wal").stat().st_size) == (before, 0)
