"""Workers tick: whoever waits for work makes the items of schedules when their time has come."""

import logging
import sys
from typing import Any

import pytest
from tests.conftest import Clock
from tests.worker.logs import collected
from tests.worker.running import eventually, running, sound

from rowlock import Engine, Item, Worker
from rowlock.operation_history import History
from rowlock.testing import drain
from rowlock.worker.schedule_ticker import MAX_WAIT_SECONDS, ScheduleTicker


def noting(engine: Engine, pattern: str = "work") -> tuple[Worker, list[Item]]:
    """A worker that notes what it is given."""
    worker, seen = Worker(engine, concurrency=2), list[Item]()
    worker.on(pattern, seen.append)
    return worker, seen


def test_a_waiting_worker_ticks_and_works(engine: Engine) -> None:
    engine.schedule("poll").set("work", every="1s")
    worker, seen = noting(engine)
    with running(worker):
        assert eventually(lambda: len(seen) >= 2)
    assert sound(engine)


def test_a_worker_notices_a_schedule_that_is_set_while_it_waits(engine: Engine) -> None:
    worker, seen = noting(engine)
    with running(worker):
        assert eventually(engine.sessions)
        engine.schedule("poll").set("work", every="1s")
        assert eventually(lambda: seen)


def test_a_worker_ticks_again_after_a_restore_in_which_there_were_no_tables(engine: Engine) -> None:
    worker, seen = noting(engine)
    with collected(logging.INFO) as records, running(worker):
        assert eventually(engine.sessions)
        with engine.transaction() as tx:
            tx.execute("alter table rowlock_schedules rename to away")
        assert eventually(lambda: any(record.getMessage() == "ticking put off" for record in records))
        with engine.transaction() as tx:
            tx.execute("alter table away rename to rowlock_schedules")
        engine.schedule("poll").set("work", every="1s")
        assert eventually(lambda: seen)


def test_a_worker_ticks_also_for_lists_of_others(engine: Engine) -> None:
    engine.schedule("poll").set("elsewhere", every="1s")
    worker, _ = noting(engine)
    with running(worker):
        assert eventually(lambda: engine["elsewhere"].counts().ready)


def test_a_worker_whose_hands_are_full_ticks_all_the_same(engine: Engine) -> None:
    engine.schedule("poll").set("work", every="1s")
    engine["busy"].add("a")
    worker = Worker(engine, concurrency=1)
    worker.on("busy", lambda _: None if eventually(lambda: engine.schedule("poll").info().last_at) else 1 / 0)
    with running(worker):
        assert eventually(lambda: engine["busy"].progress().done == 1)


def test_what_is_due_when_a_worker_begins_is_worked_off_too(timed: Engine, clock: Clock) -> None:
    timed.schedule("poll").set("work", every="1h", data=7)
    worker, seen = noting(timed)
    assert drain(worker) == {}
    clock.advance(3600)
    assert drain(worker) == {"done": 1}
    assert [(item.key, item.data) for item in seen] == [("poll@2023-11-14T23:13:20Z", 7)]


@pytest.mark.parametrize(("left", "longest"), [(0.25, 0.25), (1, 1), (3600, 1)])
def test_the_wait_ends_with_the_next_tick_or_a_second(timed: Engine, clock: Clock, left: float, longest: float) -> None:
    timed.schedule("poll").set("work", every="1h")
    clock.advance(3600 - left)
    ticking = ScheduleTicker(timed)
    assert ticking.tick_due() == []
    assert longest <= ticking.wait <= min(MAX_WAIT_SECONDS, longest + 0.05)


def test_without_schedules_a_look_is_one_question(timed: Engine) -> None:
    asked: list[dict[str, Any]] = []
    ticking = ScheduleTicker(timed)
    timed._history = History(asked.append, timed.environment.monotonic)
    assert (ticking.tick_due(), ticking.wait) == ([], MAX_WAIT_SECONDS)
    assert [event["operation"] for event in asked] == ["schedules.seconds_to_next"] * 2  # asked and answered


def test_a_schedule_that_cannot_be_read_here_is_told_once(
    timed: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    timed.schedule("poll").set("work", cron="@hourly")
    clock.advance(3600)
    monkeypatch.setitem(sys.modules, "cronsim", None)
    ticking = ScheduleTicker(timed)
    with caplog.at_level(logging.WARNING):
        assert [tick.stuck is not None for _ in range(3) for tick in ticking.tick_due()] == [True] * 3
    assert [record.getMessage() for record in caplog.records] == [
        "schedule poll added no item: cron needs the package cronsim"
    ]
    assert ticking.wait == MAX_WAIT_SECONDS
