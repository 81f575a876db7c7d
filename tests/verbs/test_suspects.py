"""Suspects: an item that kills its worker is found and charged; its neighbours are not."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import STRICT, Desk, attempts, broken, keys, numbered, states

from rowlock import Counts, Engine, Fail

pytestmark = pytest.mark.parametrize("dialect", STRICT)

ENOUGH = 16


def dies(engine: Engine, clock: Clock) -> None:
    """Time passes, and nobody beats."""
    clock.advance(ENOUGH)
    engine.upkeep()


def work_until_death(engine: Engine, poison: str, limit: int = 1000) -> bool:
    """A worker that settles what it can and stops at the item that kills it; whether it met that."""
    desk = Desk(engine)
    while (taken := desk.look(limit)) is not None:
        if poison in keys(taken):
            return True
        desk.done(taken)
    return False


def test_after_a_death_the_items_are_claimed_one_by_one(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b", "c"])
    Desk(timed).got()
    dies(timed, clock)
    bob = Desk(timed, "bob")
    handed = [bob.got() for _ in range(3)]
    assert [(keys(each), each.alone) for each in handed] == [(["a"], False), (["b"], False), (["c"], False)]
    assert broken(timed) == []


def test_what_was_held_at_a_second_death_is_claimed_alone(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b", "c"])
    Desk(timed).got()
    dies(timed, clock)
    bob = Desk(timed, "bob")
    bob.got()
    bob.got()
    dies(timed, clock)
    eve = Desk(timed, "eve")
    handed = [eve.got() for _ in range(3)]
    assert [(keys(each), each.alone) for each in handed] == [(["a"], True), (["b"], True), (["c"], False)]
    assert (attempts(timed), broken(timed)) == ({"a": 0, "b": 0, "c": 0}, [])


def test_a_claim_after_the_frontier_takes_suspects_one_by_one_too(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    Desk(timed).got()
    dies(timed, clock)
    bob = Desk(timed, "bob")
    assert [keys(bob.take()) for _ in range(3)] == [["a"], ["b"], []]


def test_items_beside_a_suspect_interval_are_claimed_together(timed: Engine, clock: Clock) -> None:
    timed["work"].add(numbered(9))
    ann = Desk(timed)
    first = ann.got(3)
    Desk(timed, "dead").got(3)
    ann.done(first)
    dies(timed, clock)
    timed["work"].add("late")
    bob = Desk(timed, "bob")
    assert [len(keys(bob.look())) for _ in range(5)] == [1, 1, 1, 4, 0]


def test_no_item_counts_a_failure_when_several_were_claimed(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b", "c"])
    Desk(timed).got()
    dies(timed, clock)
    assert attempts(timed) == {"a": 0, "b": 0, "c": 0}


def test_no_item_counts_a_failure_when_several_claims_of_one_item_were_held(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b", "c"])
    ann = Desk(timed)
    for _ in range(3):
        ann.got(1)
    dies(timed, clock)
    assert (attempts(timed), keys(Desk(timed).got())) == ({"a": 0, "b": 0, "c": 0}, ["a"])


def test_the_only_claimed_item_counts_a_failure_with_its_reason(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    Desk(timed).got(1)
    dies(timed, clock)
    failure = timed["work"].failures("a")[0]
    assert (attempts(timed), failure.kind, failure.holder) == ({"a": 1, "b": 0}, "worker died", "ann")


def test_a_settled_item_is_not_charged_for_a_later_death(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.done(ann.got(1))
    dies(timed, clock)
    assert (timed["work"].counts(), timed["work"].progress().retried) == (Counts(), 0)


def test_a_charged_item_stays_under_suspicion_at_its_new_place(timed: Engine, clock: Clock) -> None:
    timed["work"].add("poison")
    Desk(timed).got(1)
    dies(timed, clock)
    timed["work"].add(["x", "y"])
    bob = Desk(timed, "bob")
    assert [keys(bob.look()) for _ in range(2)] == [["poison"], ["x", "y"]]


def test_an_item_whose_worker_dies_as_often_as_it_may_fail_is_failed(timed: Engine, clock: Clock) -> None:
    timed["work"].add("poison")
    for _ in range(3):
        Desk(timed).got(1)
        dies(timed, clock)
    assert (states(timed), Desk(timed).look(), broken(timed)) == ({"poison": "failed"}, None, [])
    assert [failure.attempt for failure in timed["work"].failures("poison")] == [3, 2, 1]


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.torture)])
def test_one_among_many_is_found_and_failed_and_no_neighbour_is_charged(
    timed: Engine, clock: Clock, count: int
) -> None:
    timed["work"].add(numbered(count))
    poison = f"{count // 2:04}"
    deaths = 0
    while work_until_death(timed, poison):
        deaths += 1
        dies(timed, clock)
        assert broken(timed) == []
        assert sum(attempts(timed).values()) == attempts(timed)[poison]
    assert (deaths, timed["work"].counts()) == (4, Counts(failed=1))
    assert (attempts(timed), timed["work"].progress().done) == ({poison: 3}, count - 1)


def test_suspicion_ends_when_the_interval_is_empty(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    Desk(timed).got()
    dies(timed, clock)
    bob = Desk(timed, "bob")
    bob.done(bob.got())
    bob.done(bob.got())
    timed.upkeep()
    with timed.transaction() as tx:
        assert tuple(tx.execute("select count(*) from rowlock_suspects").fetchone()) == (0,)


def test_a_suspect_that_its_handler_fails_counts_that_failure_alone(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    Desk(timed).got()
    dies(timed, clock)
    bob = Desk(timed, "bob")
    bob.settle(bob.got(), Fail("bad"))
    assert (attempts(timed), states(timed)) == ({"a": 1, "b": 0}, {"a": "failed", "b": "ready"})
