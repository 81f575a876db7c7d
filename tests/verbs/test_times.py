"""When items may be handed out: due times and gates."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from tests.conftest import Clock

from rowlock import Counts, Engine
from rowlock.errors import GatePassed, Invalid, InvalidDuration
from rowlock.model import to_datetime


def states(engine: Engine) -> dict[str, str]:
    return {item.key: str(item.state) for item in engine["work"]}


def at_gate(engine: Engine, gate: int) -> None:
    with engine.transaction() as tx:
        tx.execute(f"update rowlock_lists set gate = {gate}")


@pytest.mark.parametrize("due", ["90s", 90, 90.0, timedelta(seconds=90), "1m30s"])
def test_a_delayed_item_becomes_ready_when_its_time_has_come(timed: Engine, clock: Clock, due: object) -> None:
    timed["work"].add("a", due=due)
    clock.advance(89.999)
    before = timed["work"].show("a").state
    clock.advance(0.001)
    assert (before, timed["work"].show("a").state) == ("delayed", "ready")


def test_a_due_time_is_counted_from_the_database_clock(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a", due="1h")
    assert timed["work"].show("a").due == to_datetime(clock() + 3_600_000)


def test_an_item_due_now_is_ready(timed: Engine) -> None:
    timed["work"].add("a", due=0)
    assert (timed["work"].show("a").state, timed["work"].show("a").due) == ("ready", None)


def test_an_item_due_at_a_moment_waits_for_it(timed: Engine, clock: Clock) -> None:
    moment = datetime.fromtimestamp(clock() / 1000 + 60, timezone(timedelta(hours=5)))
    timed["work"].add("a", due=moment)
    assert (timed["work"].show("a").state, timed["work"].show("a").due) == ("delayed", moment)


def test_an_item_due_in_the_past_is_ready(timed: Engine) -> None:
    timed["work"].add("a", due=datetime(2001, 1, 1, tzinfo=UTC))
    assert (states(timed), timed["work"].counts()) == ({"a": "ready"}, Counts(ready=1))


def test_an_item_due_before_the_epoch_is_ready(timed: Engine) -> None:
    timed["work"].add("a", due=datetime(1, 1, 1, tzinfo=UTC))
    assert states(timed) == {"a": "ready"}


def test_an_item_may_be_due_in_the_last_year_there_is(timed: Engine) -> None:
    last = datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)
    timed["work"].add("a", due=last)
    assert timed["work"].show("a").due == last


def test_a_time_before_the_year_1_in_utc_is_refused(timed: Engine) -> None:
    with pytest.raises(InvalidDuration, match="must not be before the year 1 in UTC"):
        timed["work"].add("a", due="0001-01-01T00:00:00+23:59")
    assert timed.lists() == []


@pytest.mark.parametrize("due", [-1, "soon", float("nan"), float("inf"), 1e30, datetime(2030, 1, 1), True, []])
def test_a_due_time_that_cannot_be_is_refused(timed: Engine, due: object) -> None:
    with pytest.raises(InvalidDuration):
        timed["work"].add("a", due=due)
    assert timed.lists() == []


def test_each_item_may_have_a_due_time_of_its_own(timed: Engine, clock: Clock) -> None:
    timed["work"].add([{"key": "a", "due": "1m"}, {"key": "b", "due": "1h"}, {"key": "c", "due": None}], due="2h")
    clock.advance(60)
    assert states(timed) == {"a": "ready", "b": "delayed", "c": "ready"}


def test_counts_follow_time_without_anybody_touching_the_items(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"], due="1m")
    timed["work"].add("c", due="2m")
    before = timed["work"].counts()
    clock.advance(60)
    assert (before, timed["work"].counts()) == (Counts(delayed=3), Counts(ready=2, delayed=1))


def test_pages_by_state_follow_time(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"], due="1m")
    timed["work"].add("c")
    clock.advance(60)
    assert [item.key for item in timed["work"].page(state="ready")] == ["a", "b", "c"]


def test_an_item_behind_a_gate_is_gated(engine: Engine) -> None:
    engine["work"].add(["a", {"key": "b", "gate": 2}])
    assert (states(engine), engine["work"].counts()) == ({"a": "ready", "b": "gated"}, Counts(ready=1, gated=1))


def test_a_delayed_item_behind_a_gate_is_gated(engine: Engine) -> None:
    engine["work"].add("a", gate=1, due="1h")
    assert (states(engine), engine["work"].counts()) == ({"a": "gated"}, Counts(gated=1))


def test_an_item_without_a_gate_stands_at_that_of_its_list(engine: Engine) -> None:
    engine["work"].add("a")
    at_gate(engine, 3)
    engine["work"].add(["b", {"key": "c", "priority": 1}])
    assert [item.gate for item in engine["work"]] == [0, 3, 3]


def test_an_item_at_a_gate_that_was_passed_is_refused(engine: Engine) -> None:
    engine["work"].add("a")
    at_gate(engine, 3)
    with pytest.raises(GatePassed, match=r"gate must be at least 3, .* got 2") as refusal:
        engine["work"].add(["b", {"key": "c", "gate": 2}])
    assert (refusal.value.fields["gate"], states(engine)) == (3, {"a": "ready"})


def test_the_largest_gate_can_be_had(engine: Engine) -> None:
    engine["work"].add("a", gate=2**31 - 1)
    assert engine["work"].show("a").gate == 2**31 - 1


@pytest.mark.parametrize("gate", [-1, 2**31, 1.0, "1", True])
def test_a_gate_that_cannot_be_had_is_refused(engine: Engine, gate: object) -> None:
    with pytest.raises(Invalid, match="gate"):
        engine["work"].add("a", gate=gate)
