"""Ticks: each puts one item on a list, once; what becomes of those that nobody came for."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from tests.conftest import Clock
from tests.verbs.scheduling import START, advance, every, keys

from rowlock import Engine
from rowlock.diagnostics import broken_rules


def test_a_tick_adds_one_item_to_the_list(timed: Engine, clock: Clock) -> None:
    every(timed)
    advance(clock, "15m")
    [tick] = timed.tick()
    assert (tick.schedule, tick.list, tick.keys, tick.added) == ("poll", "work", ("poll@2023-11-14T22:28:20Z",), 1)
    assert keys(timed) == ["poll@2023-11-14T22:28:20Z"]


def test_a_tick_happens_once(timed: Engine, clock: Clock) -> None:
    every(timed)
    advance(clock, "15m")
    timed.tick()
    timed["work"].done(keys(timed))
    assert (timed.tick(), keys(timed)) == ([], [])


def test_a_schedule_does_not_tick_early(timed: Engine, clock: Clock) -> None:
    every(timed)
    clock.advance(15 * 60 - 0.001)
    assert (timed.tick(), keys(timed)) == ([], [])


def test_items_have_the_data_gate_and_priority_of_the_schedule(timed: Engine, clock: Clock) -> None:
    timed["work"].add("first")
    every(timed, key="daily/{date}", data={"size": 3}, gate=2, priority=1)
    advance(clock, "15m")
    timed.tick()
    item = timed["work"].show("daily/2023-11-14")
    assert (item.data, item.gate, item.priority, item.state) == ({"size": 3}, 2, 1, "gated")


def test_the_date_in_a_key_is_in_the_time_zone_of_the_schedule(timed: Engine, clock: Clock) -> None:
    timed.schedule("poll").set("work", cron="30 23 * * *", zone="UTC", key="{name} {date}")
    timed.schedule("night").set("work", cron="30 0 * * *", zone="Europe/Berlin", key="{name} {date}")
    advance(clock, "2h")
    timed.tick()
    assert keys(timed) == ["night 2023-11-15", "poll 2023-11-14"]


def test_with_a_key_without_a_tick_no_item_is_added_while_the_last_one_is_there(timed: Engine, clock: Clock) -> None:
    every(timed, key="poll")
    advance(clock, "15m")
    timed.tick()
    advance(clock, "15m")
    assert [tick.added for tick in timed.tick()] == [0]
    timed["work"].done("poll")
    advance(clock, "15m")
    assert [tick.added for tick in timed.tick()] == [1]


def test_cron_ticks_at_the_local_time_of_its_zone(timed: Engine, clock: Clock) -> None:
    timed.schedule("nightly").set("work", cron="0 3 * * *", zone="Europe/Berlin")
    advance(clock, "1d")
    timed.tick()
    assert keys(timed) == ["nightly@2023-11-15T02:00:00Z"]


def made_during(engine: Engine, clock: Clock, *, hours: int) -> list[str]:
    """The ticks of a while, by the clock on the wall of the schedule, somebody being there every ten minutes."""
    here = ZoneInfo(engine.schedule("poll").info().zone)
    made = []
    for _ in range(hours * 6):
        advance(clock, "10m")
        made += [key for tick in engine.tick() for key in tick.keys]
    return [datetime.fromisoformat(key).astimezone(here).strftime("%H:%M") for key in made]


@pytest.mark.parametrize("catch_up", ["last", "all"])
@pytest.mark.parametrize(
    ("zone", "midnight", "cron", "made"),
    [
        ("Europe/Berlin", "2026-03-29T00:00+01:00", "30 2 * * *", ["03:00"]),
        ("Europe/Berlin", "2026-10-25T00:00+02:00", "30 2 * * *", ["02:30"]),
        ("Europe/Berlin", "2026-10-25T00:00+02:00", "0 1-3 * * *", ["01:00", "02:00", "03:00"]),
        ("Europe/Berlin", "2026-10-25T00:00+02:00", "0 * * * *", ["01:00", "02:00", "02:00", "03:00", "04:00"]),
        ("America/New_York", "2026-03-08T00:00-05:00", "30 2 * * *", ["03:00"]),
        ("America/New_York", "2026-11-01T00:00-04:00", "30 1 * * *", ["01:30"]),
        ("America/New_York", "2026-11-01T00:00-04:00", "0 * * * *", ["01:00", "01:00", "02:00", "03:00", "04:00"]),
    ],
)
def test_no_tick_is_lost_or_repeated_when_the_clocks_change(
    timed: Engine, clock: Clock, zone: str, midnight: str, cron: str, made: list[str], catch_up: str
) -> None:
    clock.now = int(datetime.fromisoformat(midnight).timestamp() * 1000)
    timed.schedule("poll").set("work", cron=cron, zone=zone, key="{tick}", catch_up=catch_up)
    assert made_during(timed, clock, hours=5) == made


MISSED = ["poll@2023-11-14T23:13:20Z", "poll@2023-11-15T00:13:20Z", "poll@2023-11-15T01:13:20Z"]


@pytest.mark.parametrize(("policy", "made"), [("skip", []), ("last", MISSED[-1:]), ("all", MISSED)])
def test_missed_ticks_are_caught_up_by_policy(timed: Engine, clock: Clock, policy: str, made: list[str]) -> None:
    schedule = every(timed, "1h", catch_up=policy)
    advance(clock, "3h20m")
    timed.tick()
    assert keys(timed) == made
    assert schedule.info().next_at == START + timedelta(hours=4)
    assert schedule.info().last_at == (None if policy == "skip" else START + timedelta(hours=3))


@pytest.mark.parametrize("policy", ["skip", "last", "all"])
def test_a_tick_that_is_only_a_little_late_was_not_missed(timed: Engine, clock: Clock, policy: str) -> None:
    every(timed, "2s", catch_up=policy)
    clock.advance(9)
    timed.tick()
    assert len(keys(timed)) == 4


@pytest.mark.parametrize(("policy", "made"), [("skip", 1), ("last", 1), ("all", 4)])
def test_only_catching_up_with_all_adds_items_beside_a_fresh_tick(
    timed: Engine, clock: Clock, policy: str, made: int
) -> None:
    every(timed, "1h", catch_up=policy)
    clock.advance(4 * 3600 + 3)
    timed.tick()
    assert len(keys(timed)) == made
    assert keys(timed)[-1] == "poll@2023-11-15T02:13:20Z"


def test_catching_up_with_all_is_bounded(timed: Engine, clock: Clock) -> None:
    every(timed, "1m", catch_up="all")
    advance(clock, "30d")
    timed.tick()
    assert (len(keys(timed)), keys(timed)[-1]) == (1000, "poll@2023-12-14T22:13:20Z")
    assert timed.tick() == []


def test_a_month_of_missed_minutes_by_cron_is_caught_up(timed: Engine, clock: Clock) -> None:
    timed.schedule("poll").set("work", cron="* * * * *", zone="America/New_York", catch_up="all")
    advance(clock, "30d")
    timed.tick()
    assert (len(keys(timed)), keys(timed)[-1]) == (1000, "poll@2023-12-14T22:13:00Z")


def passed(engine: Engine, gate: int) -> None:
    engine["work"].add("a")
    with engine.transaction() as tx:
        tx.execute(f"update rowlock_lists set gate = {gate} where name = 'work'")


def test_a_list_that_refuses_items_does_not_delay_other_schedules(timed: Engine, clock: Clock) -> None:
    passed(timed, 3)
    every(timed, gate=1)
    timed.schedule("other").set("other", every="15m")
    advance(clock, "15m")
    [refused, made] = sorted(timed.tick(), key=lambda tick: tick.added)
    assert (refused.error and refused.error.code, made.added) == ("gate-passed", 1)
    assert "gate must be at least 3" in (timed.schedule("poll").info().error or "")
    assert (timed.tick(), keys(timed)) == ([], ["a"])


def test_an_error_is_cleared_by_the_next_good_tick(timed: Engine, clock: Clock) -> None:
    passed(timed, 3)
    every(timed, gate=1)
    advance(clock, "15m")
    timed.tick()
    timed.schedule("poll").set("work", every="15m", gate=3)
    advance(clock, "15m")
    timed.tick()
    assert (timed.schedule("poll").info().error, len(keys(timed))) == (None, 2)


def test_a_schedule_that_cannot_be_computed_here_stays_due_and_delays_no_other(
    timed: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed.schedule("a").set("work", cron="* * * * *")
    timed.schedule("b").set("work", every="1m")
    advance(clock, "5m")
    with monkeypatch.context() as without:
        without.setitem(__import__("sys").modules, "cronsim", None)
        report = timed.upkeep()
        assert (report.ticked, report.stuck, len(keys(timed))) == (1, 1, 1)
    assert (timed.upkeep().ticked, len(keys(timed))) == (1, 2)


def test_more_schedules_than_a_page_tick_in_one_pass(timed: Engine, clock: Clock) -> None:
    with timed.transaction() as tx:
        for number in range(250):
            tx.schedule(f"{number:03}").set("work", every="1m")
    advance(clock, "1m")
    assert (len(timed.tick()), timed["work"].counts().ready) == (250, 250)


def test_upkeep_ticks(timed: Engine, clock: Clock) -> None:
    every(timed)
    advance(clock, "15m")
    assert (timed.upkeep().ticked, timed.upkeep().ticked) == (1, 0)


@pytest.mark.parametrize("when", [{"every": "15m"}, {"cron": "*/15 * * * *"}], ids=["interval", "cron"])
def test_schedules_tick_again_after_a_clock_that_was_a_year_ahead(
    timed: Engine, clock: Clock, when: dict[str, str]
) -> None:
    timed.schedule("poll").set("work", **when)
    advance(clock, "365d")
    timed.upkeep()
    timed["work"].done(keys(timed))
    clock.advance(-timedelta(days=365).total_seconds())
    timed.upkeep()
    assert keys(timed) == []
    advance(clock, "15m")
    timed.upkeep()
    assert (len(keys(timed)), keys(timed)[0].startswith("poll@2023-11-14T22")) == (1, True)


def test_a_list_that_is_renamed_keeps_its_schedules(timed: Engine, clock: Clock) -> None:
    every(timed)
    timed["work"].rename("feed")
    advance(clock, "15m")
    timed.tick()
    assert ([info.name for info in timed.lists()], timed["feed"].counts().ready) == (["feed"], 1)


def test_stored_rows_agree_after_ticking(timed: Engine, clock: Clock) -> None:
    every(timed, "1m", catch_up="all", priority=2)
    advance(clock, "10m")
    timed.tick()
    assert timed.read(broken_rules) == []


def test_times_are_those_of_the_database(engine: Engine) -> None:
    every(engine, "1s", start=datetime(2020, 1, 1, tzinfo=UTC))
    now = engine.read(lambda tx: tx.value("diagnostics/now"))
    next_at = engine.schedule("poll").info().next_at
    assert next_at is not None
    assert -1000 < next_at.timestamp() * 1000 - now <= 1000


def test_the_history_tells_what_came_of_each_tick(timed: Engine, clock: Clock) -> None:
    every(timed)
    for _ in range(2):
        advance(clock, "15m")
        timed.tick()
    timed.schedule("poll").trigger()
    timed["work"].seal()
    advance(clock, "15m")
    timed.tick()
    told = [(each.items, each.added, each.triggered, each.error is None) for each in timed.schedule("poll").history()]
    assert told == [(1, 0, False, False), (1, 0, True, True), (1, 1, False, True), (1, 1, False, True)]
    assert [each.at for each in timed.schedule("poll").history(limit=1)] == [START + timedelta(minutes=45)]


def test_the_history_is_bounded_and_ends_with_the_schedule(timed: Engine, clock: Clock) -> None:
    every(timed)
    for _ in range(103):
        advance(clock, "15m")
        timed.tick()
    assert len(timed.schedule("poll").history(limit=1_000)) == 100
    timed.schedule("poll").remove()
    every(timed)
    assert timed.schedule("poll").history() == []
