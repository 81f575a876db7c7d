"""Schedules: each tick puts one item on a list; set, changed, paused, resumed, removed, previewed."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from tests.conftest import Clock
from tests.verbs.scheduling import START, advance, every, keys

from rowlock import Added, Engine, Transaction
from rowlock.errors import (
    Invalid,
    InvalidData,
    InvalidDuration,
    InvalidKey,
    InvalidName,
    InvalidSchedule,
    NoSuchSchedule,
    StaleVersion,
)


def test_setting_the_same_again_changes_nothing(timed: Engine, clock: Clock) -> None:
    schedule = timed.schedule("nightly")
    same: dict[str, Any] = {"cron": "0 3 * * *", "zone": "Europe/Berlin", "data": {"b": [1, None]}, "catch_up": "all"}
    assert schedule.set("work", **same) == "added"
    before = schedule.info()
    advance(clock, "5m")
    assert (schedule.set("work", **same), schedule.info()) == ("unchanged", before)


@pytest.mark.parametrize(
    "change",
    [
        {"every": "20m"},
        {"every": None, "cron": "@daily"},
        {"key": "{tick}"},
        {"data": 1},
        {"gate": 1},
        {"priority": 1},
        {"catch_up": "all"},
        {"start": START},
        {"start": START + timedelta(days=1)},
    ],
)
def test_setting_a_different_plan_is_a_change(timed: Engine, clock: Clock, change: dict[str, Any]) -> None:
    schedule = every(timed, start=START + timedelta(seconds=5))
    assert schedule.set("work", **{"every": "15m", **change}) == "changed"
    assert schedule.info().version == 2


def test_the_list_exists_before_the_first_tick(engine: Engine) -> None:
    every(engine)
    assert engine["work"].counts().total == 0


def test_another_list_is_a_change(timed: Engine) -> None:
    schedule = every(timed)
    assert (schedule.set("other", every="15m"), schedule.info().list) == ("changed", "other")


def test_a_new_recurrence_begins_now(timed: Engine, clock: Clock) -> None:
    schedule = every(timed)
    advance(clock, "1h")
    schedule.set("work", every="10m")
    assert (timed.tick(), schedule.info().next_at) == ([], START + timedelta(minutes=70))


def test_a_new_key_does_not_change_the_next_tick(timed: Engine, clock: Clock) -> None:
    schedule = every(timed)
    advance(clock, "1h")
    schedule.set("work", every="15m", key="{tick}")
    timed.tick()
    assert keys(timed) == ["2023-11-14T23:13:20Z"]


def test_an_interval_is_aligned_to_its_start(timed: Engine, clock: Clock) -> None:
    schedule = every(timed, "1h", start=datetime(2023, 11, 1, 0, 20, tzinfo=UTC))
    assert schedule.info().next_at == datetime(2023, 11, 14, 22, 20, tzinfo=UTC)
    clock.advance(7 * 60)
    timed.tick()
    assert schedule.info().next_at == datetime(2023, 11, 14, 23, 20, tzinfo=UTC)


@pytest.mark.parametrize("rhythm", [{"every": "1h"}, {"cron": "0 * * * *"}])
def test_nothing_ticks_before_its_start(timed: Engine, clock: Clock, rhythm: dict[str, Any]) -> None:
    start = datetime(2023, 11, 20, 1, 0, tzinfo=timezone(timedelta(hours=1)))
    timed.schedule("later").set("work", start=start, **rhythm)
    assert timed.schedule("later").info().next_at == start
    advance(clock, "4d")
    assert timed.tick() == []


def test_a_paused_schedule_does_not_tick_and_misses_nothing(timed: Engine, clock: Clock) -> None:
    schedule = every(timed, "1h", catch_up="all")
    assert (schedule.pause(), schedule.pause(), schedule.info().paused) == (True, False, True)
    advance(clock, "3h20m")
    assert timed.tick() == []
    assert (schedule.resume(), schedule.resume(), schedule.info().next_at) == (True, False, START + timedelta(hours=4))
    assert (timed.tick(), keys(timed)) == ([], [])


def test_setting_a_paused_schedule_does_not_resume_it(timed: Engine, clock: Clock) -> None:
    schedule = every(timed)
    schedule.pause()
    schedule.set("work", every="5m")
    assert schedule.info().paused


def test_a_clock_that_was_set_back_a_little_repeats_no_tick(timed: Engine, clock: Clock) -> None:
    schedule = every(timed, "1m")
    advance(clock, "1m")
    timed.tick()
    clock.advance(-30)
    schedule.pause()
    schedule.resume()
    assert schedule.info().next_at == START + timedelta(minutes=2)


def test_a_removed_schedule_is_gone_and_its_items_stay(timed: Engine, clock: Clock) -> None:
    schedule = every(timed)
    advance(clock, "15m")
    timed.tick()
    schedule.remove()
    advance(clock, "15m")
    assert (timed.tick(), timed.schedules(), len(keys(timed))) == ([], [], 1)


@pytest.mark.parametrize("verb", ["info", "pause", "resume", "remove", "ticks", "trigger"])
def test_every_verb_refuses_an_unknown_schedule(engine: Engine, verb: str) -> None:
    every(engine)
    with pytest.raises(NoSuchSchedule, match="did you mean 'poll'"):
        getattr(engine.schedule("pol"), verb)()


def test_schedules_are_in_the_byte_order_of_their_names(engine: Engine) -> None:
    for name in ["é", "b", "B", "a/b", "a"]:
        engine.schedule(name).set("work", every="1h")
    assert [info.name for info in engine.schedules()] == ["B", "a", "a/b", "b", "é"]
    assert [info.name for info in engine.schedules(after="a", limit=2)] == ["a/b", "b"]


def test_upcoming_ticks_are_in_the_time_zone_of_the_schedule(timed: Engine) -> None:
    timed.schedule("nightly").set("work", cron="0 3 * * *", zone="America/New_York")
    told = [tick.isoformat() for tick in timed.schedule("nightly").ticks(2)]
    assert told == ["2023-11-15T03:00:00-05:00", "2023-11-16T03:00:00-05:00"]


def test_upcoming_ticks_of_a_paused_schedule_are_those_after_a_resume(timed: Engine, clock: Clock) -> None:
    schedule = every(timed, "1h")
    schedule.pause()
    advance(clock, "90m")
    assert schedule.ticks(1) == [START + timedelta(hours=2)]


def test_a_triggered_schedule_adds_an_item_now_and_ticks_as_before(timed: Engine, clock: Clock) -> None:
    schedule = every(timed, data="x")
    advance(clock, "5m")
    assert (schedule.trigger(), schedule.trigger()) == (Added(1, 0), Added(0, 1))
    assert (keys(timed), timed["work"].show(keys(timed)[0]).data) == (["poll@2023-11-14T22:18:20Z"], "x")
    assert schedule.info().next_at == START + timedelta(minutes=15)


def test_a_change_with_the_current_version_succeeds(engine: Engine) -> None:
    schedule = every(engine)
    schedule.set("work", every="5m", version=1)
    assert (schedule.pause(version=2), schedule.resume(version=3), schedule.info().version) == (True, True, 4)
    schedule.remove(version=4)
    assert engine.schedules() == []


@pytest.mark.parametrize("verb", ["pause", "resume", "remove", "set"])
def test_a_change_with_an_old_version_is_refused(engine: Engine, verb: str) -> None:
    schedule = every(engine)
    schedule.set("work", every="5m")
    more = {"to": "other", "every": "1h"} if verb == "set" else {}
    with pytest.raises(StaleVersion, match="at version 2, not 1") as stale:
        getattr(schedule, verb)(version=1, **more)
    assert stale.value.fields == {"asked": 1, "version": 2}
    assert (schedule.info().every, schedule.info().version) == (300, 2)


def test_a_late_change_does_not_create_a_removed_schedule_again(engine: Engine) -> None:
    schedule = every(engine)
    schedule.remove()
    with pytest.raises(NoSuchSchedule):
        schedule.set("work", every="5m", version=1)
    assert engine.schedules() == []


WRONG = [
    ({}, InvalidSchedule, "must have cron or every, got neither"),
    ({"cron": "@daily", "every": "1h"}, InvalidSchedule, "must have cron or every, got both"),
    ({"cron": "0 3 * *"}, InvalidSchedule, "4 fields"),
    ({"cron": "0 25 * * *"}, InvalidSchedule, "bad hour"),
    ({"cron": "0 0 30 2 *"}, InvalidSchedule, "bad day-of-month"),
    ({"cron": 5}, InvalidSchedule, "cron must be text, got int"),
    ({"cron": "@daily", "zone": "Europe/Berlni"}, InvalidSchedule, "did you mean 'Europe/Berlin'"),
    ({"cron": "@daily", "zone": ""}, InvalidSchedule, "no time zone ''"),
    ({"every": "1h", "zone": "Europe/Berlin"}, InvalidSchedule, "zone is only for cron"),
    ({"every": "often"}, InvalidDuration, "often"),
    ({"every": "10ms"}, InvalidSchedule, "whole seconds"),
    ({"every": "1h", "key": "{when}"}, InvalidSchedule, "an unknown placeholder"),
    ({"every": "1h", "key": "{}"}, InvalidSchedule, "an unknown placeholder"),
    ({"every": "1h", "key": None}, InvalidSchedule, "an unknown placeholder"),
    ({"every": "1h", "key": ""}, InvalidKey, "empty"),
    ({"every": "1h", "key": "a\nb"}, InvalidKey, "line break"),
    ({"every": "1h", "key": "x" * 500 + "{tick}"}, InvalidKey, "bytes long"),
    ({"every": "1h", "data": object()}, InvalidData, "JSON"),
    ({"every": "1h", "gate": -1}, Invalid, "gate must be 0 to 2147483647, got -1"),
    ({"every": "1h", "priority": 10}, Invalid, "priority must be 0 to 9, got 10"),
    ({"every": "1h", "catch_up": "some"}, InvalidSchedule, "skip, last, all"),
    ({"every": "1h", "start": datetime(2026, 1, 1)}, InvalidDuration, "must have a time zone"),
    ({"every": "1h", "start": "5m"}, InvalidSchedule, "aware datetime"),
]


@pytest.mark.parametrize(("wrong", "kind", "said"), WRONG)
def test_an_invalid_schedule_is_refused_without_a_database(
    wrong: dict[str, Any], kind: type[Invalid], said: str
) -> None:
    with Engine("postgresql://nowhere.invalid/none") as nowhere, pytest.raises(kind, match=said):
        nowhere.schedule("poll").set("work", **wrong)


@pytest.mark.parametrize("name", ["", " a", "a*", "a\nb", "x" * 201])
def test_a_wrong_name_is_refused(engine: Engine, name: str) -> None:
    with pytest.raises(InvalidName, match="schedule name"):
        engine.schedule(name)
    with pytest.raises(InvalidName, match="list name"):
        engine.schedule("poll").set(name, every="1h")


@pytest.mark.parametrize("limit", [-1, 100_001])
def test_an_invalid_limit_is_refused(engine: Engine, limit: int) -> None:
    every(engine)
    with pytest.raises(Invalid, match=str(limit)):
        engine.schedules(limit=limit)
    with pytest.raises(Invalid, match=str(limit)):
        engine.schedule("poll").ticks(limit)


def test_a_schedule_is_set_when_its_transaction_commits(engine: Engine) -> None:
    with pytest.raises(Invalid), engine.transaction() as tx:
        set_and_fail(tx)
    assert engine.schedules() == []


def set_and_fail(tx: Transaction) -> None:
    tx.schedule("poll").set("work", every="1m")
    assert tx.schedule("poll").info().every == 60
    tx.schedule("poll").set("work", every="wrong")


def test_changes_of_a_schedule_are_audited(engine: Engine) -> None:
    with engine.acting("ann"):
        every(engine).pause()
    told = [(record.who, record.verb, record.list, record.details) for record in engine.audit()]
    named = {"schedule": "poll"}
    assert told == [("ann", "schedules.pause", None, named), ("ann", "schedules.define", None, named)]
