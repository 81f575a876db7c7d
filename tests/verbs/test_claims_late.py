"""Rows that commit late: an item with a lower position appears after a claim has passed it."""

from collections.abc import Iterator

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import Desk, broken, keys

from rowlock import Counts, Done, Engine, lists

pytestmark = pytest.mark.parametrize("dialect", ["postgres", "serializable"])


@pytest.fixture
def other(url: str, clock: Clock) -> Iterator[Engine]:
    """Another process, as it were."""
    with Engine(url, clock=clock) as engine:
        yield engine


def passed(engine: Engine, other: Engine) -> tuple[Desk, object]:
    """A claim of `before` and `after`, with `late` committed between them once it was taken."""
    engine["work"].add("before")
    ann = Desk(engine)
    with other.transaction() as tx:
        tx["work"].add("late")
        engine["work"].add("after")
        taken = ann.take()
    assert keys(taken) == ["before", "after"]
    return ann, taken


def test_a_row_committed_late_inside_a_claim_is_not_settled_by_it(timed: Engine, other: Engine) -> None:
    ann, taken = passed(timed, other)
    assert ann.done(taken) == ["done", "done"]
    assert ([item.key for item in timed["work"]], broken(timed)) == (["late"], [])


def test_a_row_committed_late_is_claimed_when_the_claim_has_ended(timed: Engine, other: Engine) -> None:
    ann, taken = passed(timed, other)
    ann.done(taken)
    assert (ann.take(floors={5: taken.high}), keys(ann.look())) == (None, ["late"])


def test_a_row_committed_late_is_not_claimed_while_a_claim_covers_it(timed: Engine, other: Engine) -> None:
    passed(timed, other)
    assert (Desk(timed, "bob").look(), broken(timed)) == (None, [])


def test_a_list_wakes_for_a_row_that_was_committed_late_under_a_claim(
    timed: Engine, other: Engine, clock: Clock
) -> None:
    ann, taken = passed(timed, other)
    timed.run(lists.apply_wakes)
    assert Desk(timed, "bob").look() is None
    ann.done(taken)
    clock.advance(1)
    assert ([each.name for each in timed.read(lists.awake)], broken(timed)) == (["work"], [])


def test_counts_and_pages_agree_about_a_row_that_was_committed_late(timed: Engine, other: Engine) -> None:
    passed(timed, other)
    assert timed["work"].counts() == Counts(claimed=3)


def test_a_row_committed_late_is_not_charged_for_the_death_of_a_worker(
    timed: Engine, other: Engine, clock: Clock
) -> None:
    timed["work"].add("before")
    ann = Desk(timed)
    with other.transaction() as tx:
        tx["work"].add("late")
        timed["work"].add("after")
        ann.done(ann.got(1))
        assert keys(ann.take(1)) == ["after"]
    clock.advance(16)
    timed.upkeep()
    assert {item.key: item.attempts for item in timed["work"]} == {"late": 0, "after": 1}


def test_an_add_that_is_not_committed_keeps_the_list_awake(timed: Engine, other: Engine) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.done(ann.got())
    timed.run(lists.apply_wakes)
    with other.transaction() as tx:
        tx["work"].add("late")
        assert ann.look() is None
    timed.run(lists.apply_wakes)
    assert ([each.name for each in timed.read(lists.awake)], keys(ann.look())) == (["work"], ["late"])


def test_a_gate_that_cannot_open_while_somebody_adds_is_examined_afterwards(timed: Engine, other: Engine) -> None:
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    taken = ann.got()
    timed.run(lists.apply_wakes)
    assert (ann.look(), timed.read(lists.awake)) == (None, [])
    with other.transaction() as tx:
        tx["work"].add("late", gate=1)
        ann.settle(taken, Done())
        assert (timed["work"].info().gate, timed.read(lists.has_pending_wakes)) == (0, True)
    assert (keys(ann.look()), timed["work"].info().gate) == (["b", "late"], 1)
