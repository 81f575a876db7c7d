"""Throughput and overview: what happened, minute by minute, and what is wrong now."""

from datetime import timedelta

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, numbered

from rowlock import Counts, Engine, Fail, Invalid, tallies

pytestmark = pytest.mark.parametrize("dialect", EVERY)


def work_for_three_minutes(timed: Engine, clock: Clock) -> None:
    """Add six items; then two are done in each of two minutes, and one fails in the last."""
    timed["work"].add(numbered(6))
    timed["play"].add("a")
    desk = Desk(timed)
    for _ in range(2):
        clock.advance(60)
        desk.done(desk.got(2))
    clock.advance(60)
    desk.settle(desk.got(1), Fail("no"))


def done(timed: Engine, span: str = "5m") -> list[int]:
    return [step.done for step in timed["work"].throughput(span=span).steps]


def test_throughput_tells_what_happened_in_each_minute(timed: Engine, clock: Clock) -> None:
    work_for_three_minutes(timed, clock)
    series = timed["work"].throughput(span="5m")
    assert (series.step, done(timed)) == (60, [0, 0, 0, 2, 2, 0])
    assert [(step.added, step.failed) for step in series.steps] == [(0, 0), (0, 0), (6, 0), (0, 0), (0, 0), (0, 1)]
    assert {after.at - before.at for before, after in zip(series.steps, series.steps[1:], strict=False)} == {
        timedelta(minutes=1)
    }
    assert [step.added for step in timed.throughput(span="5m").steps] == [0, 0, 7, 0, 0, 0]


def test_folding_does_not_change_throughput(timed: Engine, clock: Clock) -> None:
    work_for_three_minutes(timed, clock)
    clock.advance(1_800)
    before = [timed["work"].throughput(span=span) for span in ("1h", "7d", "30d")]
    while timed.run(tallies.fold, limit=3):
        pass
    assert [timed["work"].throughput(span=span) for span in ("1h", "7d", "30d")] == before
    assert sum(step.done for step in timed.throughput(span="7d").steps) == 4
    assert (timed["work"].counts(), broken(timed)) == (Counts(ready=1, failed=1), [])


def test_folded_tallies_of_a_gate_are_one_sum(timed: Engine, clock: Clock) -> None:
    for minute in range(5):
        timed["work"].add(str(minute))
        clock.advance(3_600)
        timed.run(tallies.fold)
    with timed.transaction() as tx:
        assert tx.execute("select count(*), sum(items_change) from rowlock_sums").fetchone() == (1, 5)


def test_old_minutes_are_forgotten_and_their_day_is_kept(timed: Engine, clock: Clock) -> None:
    work_for_three_minutes(timed, clock)
    clock.advance(30 * 3_600)
    timed.upkeep()
    timed.upkeep()
    assert sum(done(timed, "24h")) == 0
    assert sum(done(timed, "7d")) == 4


def test_a_dropped_list_leaves_no_periods(timed: Engine, clock: Clock) -> None:
    work_for_three_minutes(timed, clock)
    clock.advance(3_600)
    timed.run(tallies.fold)
    timed["work"].drop()
    assert broken(timed) == []
    assert sum(step.done for step in timed.throughput(span="7d").steps) == 4


def test_a_span_out_of_bounds_is_refused(timed: Engine) -> None:
    for span in ("1s", "2000d"):
        with pytest.raises(Invalid, match="span must be 1m to 366d"):
            timed.throughput(span=span)


def test_the_overview_shows_what_is_wrong_first(timed: Engine) -> None:
    timed["calm"].add("a", due="1h")
    timed["failing"].add(["a", "b"])
    timed["idle"].add(numbered(3))
    timed["paused"].add("a")
    timed["paused"].pause()
    desk = Desk(timed, seeks=["fail*"])
    desk.settle(desk.got(1, "failing"), Fail("no"))
    shown = timed.overview()
    assert [(each.name, each.alerts) for each in shown.lists] == [
        ("idle", ["nobody-works"]),
        ("failing", ["failing"]),
        ("paused", ["paused"]),
        ("calm", []),
    ]
    assert [alert.kind for alert in shown.alerts] == ["nobody-works", "failing", "paused"]
    assert (shown.totals, shown.number, shown.sessions) == (Counts(ready=5, delayed=1, failed=1), 4, 1)


def test_the_overview_counts_as_the_lists_do(timed: Engine, clock: Clock) -> None:
    work_for_three_minutes(timed, clock)
    timed["work"].add(["later", "due"], gate=3)
    timed["work"].add("soon", due="10s")
    Desk(timed).got(1)
    clock.advance(11)
    counts = {each.name: each.counts for each in timed.overview().lists}
    assert counts == {info.name: info.counts for info in timed.lists()}


def test_the_overview_tells_rate_and_time_left(timed: Engine, clock: Clock) -> None:
    timed["work"].add(numbered(30))
    timed.upkeep()
    clock.advance(60)
    desk = Desk(timed)
    desk.done(desk.got(10))
    clock.advance(60)
    work = timed.overview().lists[0]
    assert (work.rate, work.eta_seconds, work.oldest_seconds) == (2.0, 600.0, 120.0)
    assert (work.minutes[-3:], len(work.minutes)) == ([0, 10, 0], 30)


def test_the_overview_names_late_sessions_and_when_their_items_return(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    desk = Desk(timed)
    desk.got(1)
    clock.advance(10)
    (alert,) = timed.overview().alerts
    assert (alert.kind, alert.session) == ("late-session", desk.id)
    assert "ann has sent no heartbeat for" in alert.what
    assert alert.at == next(session.expires_at for session in timed.sessions())


def test_the_overview_comes_in_pages_and_by_a_part_of_the_name(timed: Engine) -> None:
    for name in ("one", "two", "three"):
        timed[name].add("a")
    first = timed.overview(limit=2)
    rest = timed.overview(limit=2, offset=first.next or 0)
    assert [each.name for each in [*first.lists, *rest.lists]] == ["one", "three", "two"]
    assert rest.next is None
    assert [each.name for each in timed.overview(contains="t").lists] == ["three", "two"]
