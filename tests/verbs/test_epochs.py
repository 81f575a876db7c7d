"""A failover or a restore begins a new epoch: sessions of the old one end, and `rowlock doctor` names it."""

import time
from collections.abc import Iterator

import pytest

from rowlock import Engine, StaleClaim, counters, diagnostics, epochs


@pytest.fixture
def engine(postgres_url: str) -> Iterator[Engine]:
    """An engine on a server whose epoch was noticed."""
    with Engine(postgres_url) as engine:
        engine.upkeep()
        yield engine


def arrive(engine: Engine, change: str = "timeline = timeline - 1") -> None:
    """Let the known epoch be another one, as a new primary finds it in the rows that it received."""
    with engine.transaction() as tx:
        tx.execute(f"update rowlock_epochs set {change}")


def finding(engine: Engine) -> diagnostics.Finding:
    return next(each for each in diagnostics.examine(engine.database, time.time) if each.name == "epoch")


def test_a_server_that_stays_keeps_its_sessions(engine: Engine) -> None:
    engine["work"].add("a")
    with engine.session() as session:
        claim = session.take("work")
        engine.upkeep()
        claim.done(claim.items[0])
        claim.settle()
    assert engine["work"].counts().total == 0
    assert finding(engine).state == diagnostics.FINE


@pytest.mark.parametrize("change", ["timeline = timeline - 1", "server = server - 1", "tables = tables - 1"])
def test_what_a_session_of_a_lost_epoch_holds_is_free(engine: Engine, change: str) -> None:
    engine["work"].add("a")
    with engine.session() as session:
        claim = session.take("work")
        arrive(engine, change)
        engine.upkeep()
        claim.done(claim.items[0])
        with pytest.raises(StaleClaim):
            claim.settle()
    assert engine["work"].counts().ready == 1


def test_all_of_many_sessions_end(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx.execute(
            "insert into rowlock_sessions (id, holder, opened_at, expires_at) "
            "select 's' || n, 'worker', 0, 4000000000000 from generate_series(1, 1200) as n"
        )
    arrive(engine)
    assert epochs.watch(engine.database)
    assert engine.sessions() == []


def test_an_epoch_is_entered_once(engine: Engine) -> None:
    arrive(engine)
    assert (epochs.watch(engine.database), epochs.watch(engine.database)) == (True, False)


def test_a_counter_of_redis_skips_numbers_whose_reservation_may_be_lost(engine: Engine) -> None:
    engine.run(counters.reserve, "fast", 1_000, epoch="e1")
    engine.counter("dense").take(7)
    arrive(engine)
    engine.upkeep()
    assert (engine.counter("fast").show(), engine.counter("dense").show()) == (1_001_000, 7)


def test_doctor_names_a_new_timeline_before_and_after_it_was_noticed(engine: Engine) -> None:
    arrive(engine)
    unnoticed = finding(engine)
    engine.upkeep()
    noticed = finding(engine)
    assert (unnoticed.state, noticed.state) == (diagnostics.RISK, diagnostics.RISK)
    assert "since the last pass of upkeep: the timeline changed from 0 to 1" in unnoticed.what
    assert "0.0 hours ago: the timeline changed from 0 to 1" in noticed.what


def test_doctor_names_a_restored_backup(engine: Engine) -> None:
    arrive(engine, "tables = tables - 1")
    assert finding(engine).what.startswith("a backup was restored since the last pass of upkeep")
