"""Recurrence: when a schedule ticks, also on the two days of the year on which the clocks are changed."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from rowlock.errors import ExtraMissing, InvalidDuration, InvalidSchedule
from rowlock.schedules.plans import Cron, Every, last_ticks, latest_tick, seconds, ticks, zone

BERLIN, NEW_YORK = "Europe/Berlin", "America/New_York"
FORWARD = {BERLIN: (2026, 3, 29), NEW_YORK: (2026, 3, 8)}
BACK = {BERLIN: (2026, 10, 25), NEW_YORK: (2026, 11, 1)}
# The hour that is left out in spring, and the one that comes twice in autumn.
LEFT_OUT, TWICE = {BERLIN: 2, NEW_YORK: 2}, {BERLIN: 2, NEW_YORK: 1}


def at(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def of_day(expression: str, place: str, day: tuple[int, int, int]) -> list[str]:
    """The ticks of a local day, as the clocks on the wall show them."""
    here = ZoneInfo(place)
    start, end = datetime(*day, 0, 0, tzinfo=here), datetime(*day, 23, 59, 59, tzinfo=here)
    found = ticks(Cron(expression, place), int(start.timestamp() * 1000), end=int(end.timestamp() * 1000))
    return [datetime.fromtimestamp(tick / 1000, here).strftime("%H:%M%z") for tick in found]


@pytest.mark.parametrize(
    ("expression", "after", "tick"),
    [
        ("0 3 * * *", "2026-11-16T03:00:00Z", "2026-11-17T03:00:00Z"),
        ("0 3 * * *", "2026-11-16T02:59:59.999Z", "2026-11-16T03:00:00Z"),
        ("*/15 * * * *", "2026-11-16T03:01:00Z", "2026-11-16T03:15:00Z"),
        ("0 9 * * MON-FRI", "2026-11-13T10:00:00Z", "2026-11-16T09:00:00Z"),
        ("0 0 L * *", "2026-02-01T00:00:00Z", "2026-02-28T00:00:00Z"),
        ("0 0 29 2 *", "2026-11-16T00:00:00Z", "2028-02-29T00:00:00Z"),
        ("@hourly", "2026-11-16T03:30:00Z", "2026-11-16T04:00:00Z"),
        ("@Daily", "2026-11-16T03:30:00Z", "2026-11-17T00:00:00Z"),
        ("@weekly", "2026-11-16T03:30:00Z", "2026-11-22T00:00:00Z"),
        ("@monthly", "2026-11-16T03:30:00Z", "2026-12-01T00:00:00Z"),
        ("@yearly", "2026-11-16T03:30:00Z", "2027-01-01T00:00:00Z"),
    ],
)
def test_cron_ticks_strictly_after_a_moment(expression: str, after: str, tick: str) -> None:
    assert Cron(expression).after(at(after)) == at(tick)


def test_cron_goes_by_the_clocks_of_its_zone() -> None:
    summer, winter = Cron("0 3 * * *", BERLIN).after(at("2026-07-01T00:00Z")), at("2026-07-01T01:00Z")
    assert summer == winter
    assert Cron("0 3 * * *", BERLIN).after(at("2026-12-01T00:00Z")) == at("2026-12-01T02:00Z")


@pytest.mark.parametrize("place", [BERLIN, NEW_YORK])
def test_a_fixed_time_that_comes_twice_ticks_once(place: str) -> None:
    hour = TWICE[place]
    found = of_day(f"30 {hour} * * *", place, BACK[place])
    assert found == [f"0{hour}:30{'+0200' if place == BERLIN else '-0400'}"]


@pytest.mark.parametrize("place", [BERLIN, NEW_YORK])
def test_a_fixed_time_that_is_left_out_ticks_at_the_end_of_the_gap(place: str) -> None:
    found = of_day(f"30 {LEFT_OUT[place]} * * *", place, FORWARD[place])
    assert found == [f"0{LEFT_OUT[place] + 1}:00{'+0200' if place == BERLIN else '-0400'}"]


@pytest.mark.parametrize("place", [BERLIN, NEW_YORK])
def test_several_fixed_times_that_are_left_out_tick_together(place: str) -> None:
    assert len(of_day(f"0,20,40 {LEFT_OUT[place]} * * *", place, FORWARD[place])) == 1


@pytest.mark.parametrize("place", [BERLIN, NEW_YORK])
@pytest.mark.parametrize(("expression", "usual"), [("0 * * * *", 24), ("*/15 * * * *", 96)])
def test_a_wildcard_goes_by_time_that_passes(place: str, expression: str, usual: int) -> None:
    a_day, an_hour = usual, usual // 24
    assert len(of_day(expression, place, FORWARD[place])) == a_day - an_hour
    assert len(of_day(expression, place, BACK[place])) == a_day + an_hour


@pytest.mark.parametrize("place", [BERLIN, NEW_YORK])
@pytest.mark.parametrize("day", [FORWARD, BACK])
@pytest.mark.parametrize("expression", ["30 1 * * *", "30 2 * * *", "0 1,2,3 * * *", "*/20 * * * *", "*/20 1,2 * * *"])
def test_the_next_tick_is_the_same_from_wherever_it_is_asked(
    place: str, day: dict[str, tuple[int, int, int]], expression: str
) -> None:
    recurrence = Cron(expression, place)
    start = int(datetime(*day[place], 0, 0, tzinfo=ZoneInfo(place)).timestamp() * 1000)
    whole = [*ticks(recurrence, start, end=start + 2 * 86_400_000)]
    assert sorted(set(whole)) == whole
    for moment in range(start, start + 6 * 3_600_000, 7 * 60_000):
        assert recurrence.after(moment) == next(tick for tick in whole if tick > moment)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("", "0 fields"),
        ("daily", "1 field,"),
        ("@reboot", "1 field,"),
        ("* * * *", "4 fields"),
        ("0 0 * * * *", "6 fields"),
        ("61 * * * *", "bad minute"),
        ("* 24 * * *", "bad hour"),
        ("* * 0 * *", "bad day-of-month"),
        ("* * * 13 *", "bad month"),
        ("* * * * 8", "bad day-of-week"),
        ("*/0 * * * *", "bad minute"),
        ("9-5 * * * *", "bad minute"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("0 0 L/W * *", "bad day-of-month"),
        (f"{'9' * 5000} * * * *", "do not fit"),
        ("٣ * * * *", "bad minute"),
    ],
)
def test_a_wrong_expression_is_refused(expression: str, why: str) -> None:
    with pytest.raises(InvalidSchedule, match=why):
        Cron(expression).after(0)


def test_a_wrong_expression_is_shown_on_one_line() -> None:
    with pytest.raises(InvalidSchedule) as wrong:
        Cron("9\n" * 5000).after(0)
    assert "\n" not in wrong.value.what
    assert len(wrong.value.what) < 200


@pytest.mark.parametrize(
    "name", ["", "Nowhere/Land", "Europe", "../etc/passwd", "/etc/passwd", "Europe/Berlin\0", "x" * 300]
)
def test_a_wrong_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidSchedule, match="there is no time zone"):
        zone(name)


@pytest.mark.parametrize("name", ["europe/berlin", "Europe/Berlni", "Berlin"])
def test_the_zone_that_was_meant_is_named(name: str) -> None:
    with pytest.raises(InvalidSchedule, match="did you mean 'Europe/Berlin'"):
        zone(name)


def test_an_interval_is_aligned_to_its_start() -> None:
    recurrence = Every(900_000, at("2026-11-16T09:05:00Z"))
    asked = ["2026-11-16T09:00Z", "2026-11-16T09:05Z", "2026-11-16T09:19:59.999Z", "2027-01-01T00:00Z"]
    assert [recurrence.after(at(moment)) for moment in asked] == [
        at("2026-11-16T09:05Z"),
        at("2026-11-16T09:20Z"),
        at("2026-11-16T09:20Z"),
        at("2027-01-01T00:05Z"),
    ]


@pytest.mark.parametrize("every", ["0s", "500ms", "1.5s", 0])
def test_an_interval_is_of_whole_seconds(every: str) -> None:
    with pytest.raises(InvalidSchedule, match="whole seconds"):
        seconds(every)


@pytest.mark.parametrize("every", ["often", "-1s", -5])
def test_an_interval_is_a_duration(every: str) -> None:
    with pytest.raises(InvalidDuration):
        seconds(every)


@pytest.mark.parametrize(
    "recurrence",
    [
        Every(7_000, 1_000),
        Cron("*/7 * * * *"),
        Cron("30 2 * * *", BERLIN),
        Cron("*/20 2 * * *", NEW_YORK),
        Cron("* * 1 1 *", BERLIN),
        Cron("0 0 29 2 *"),
    ],
)
@pytest.mark.parametrize(
    "now", ["2026-03-29T00:59:59.5Z", "2026-10-25T01:30Z", "2026-11-01T06:10Z", "2028-03-01T00:00Z"]
)
def test_the_latest_tick_is_the_last_of_all(recurrence: Cron | Every, now: str) -> None:
    first = recurrence.after(at("2024-02-01T00:00Z"))
    assert first is not None
    found = latest_tick(recurrence, first, now=at(now))
    assert found <= at(now)
    assert (recurrence.after(found) or 0) > at(now)
    assert recurrence.after(found - 1) == found


@pytest.mark.parametrize(
    "recurrence", [Every(60_000, 0), Cron("* * * * *"), Cron("*/30 * * * *", BERLIN), Cron("0 3 * * *")]
)
@pytest.mark.parametrize("most", [1, 10, 1000])
def test_the_last_ticks_are_the_end_of_all(recurrence: Cron | Every, most: int) -> None:
    first, now = at("2026-10-20T03:00Z"), at("2026-10-27T12:34:56Z")
    assert last_ticks(recurrence, first, now=now, limit=most) == [*ticks(recurrence, first, end=now)][-most:]


def test_a_recurrence_is_explained_in_english() -> None:
    assert Cron("0 3 * * *", BERLIN).explain() == "At 03:00 every day (Europe/Berlin)"
    assert Every(5_400_000).explain() == "Every 1h 30m"


def test_without_the_extra_cron_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cronsim", None)
    with pytest.raises(ExtraMissing, match=r"pip install 'rowlock\[schedules\]'"):
        Cron("@daily").after(0)


def test_without_the_extra_intervals_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cronsim", None)
    assert Every(1_000).after(0) == 1_000


def test_utc_needs_no_database_of_zones() -> None:
    assert zone("UTC") is UTC
