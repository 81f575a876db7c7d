"""Exclusive lists: one session at a time has them, from claim to claim, and gets their items in order."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, keys

from rowlock import Done, Engine, Retry, StaleClaim

pytestmark = pytest.mark.parametrize("dialect", EVERY)


def exclusive(engine: Engine) -> None:
    engine["work"].settings(exclusive=True)
    engine["work"].add(["c", "a", "b"])


def test_a_second_session_gets_nothing_while_the_first_holds_a_claim(timed: Engine) -> None:
    exclusive(timed)
    assert (keys(Desk(timed).got(1)), Desk(timed, "bob").look()) == (["c"], None)
    assert broken(timed) == []


def test_a_second_session_gets_nothing_between_two_claims_of_the_first(timed: Engine) -> None:
    exclusive(timed)
    ann, bob = Desk(timed), Desk(timed, "bob")
    ann.done(ann.got(1))
    assert (bob.take(), bob.look(), keys(ann.take())) == (None, None, ["a", "b"])
    assert broken(timed) == []


def test_the_holder_itself_gets_nothing_before_it_has_settled(timed: Engine) -> None:
    exclusive(timed)
    ann = Desk(timed)
    ann.got(1)
    assert (ann.take(), ann.look()) == (None, None)


def test_the_holder_keeps_what_it_has_although_it_asked_too_early(timed: Engine) -> None:
    exclusive(timed)
    ann, bob = Desk(timed), Desk(timed, "bob")
    taken = ann.got(1)
    ann.look()
    ann.done(taken)
    assert (bob.look(), keys(ann.look())) == (None, ["a", "b"])


def test_items_come_in_the_order_in_which_they_were_added(timed: Engine) -> None:
    exclusive(timed)
    ann = Desk(timed)
    handed = []
    for _ in range(3):
        taken = ann.got(1)
        handed += keys(taken)
        ann.done(taken)
    assert handed == ["c", "a", "b"]


def test_a_claim_is_as_large_as_its_limit(timed: Engine) -> None:
    exclusive(timed)
    assert keys(Desk(timed).got(3)) == ["c", "a", "b"]


def test_released_items_come_before_later_ones(timed: Engine) -> None:
    exclusive(timed)
    ann = Desk(timed)
    taken = ann.got(2)
    ann.settle(taken, Done())
    floors = {5: taken.high}
    assert keys(ann.take(floors=floors)) == ["a", "b"]


def test_what_is_retried_later_goes_to_the_end(timed: Engine, clock: Clock) -> None:
    exclusive(timed)
    ann = Desk(timed)
    ann.settle(ann.got(1), Retry("no", after=5))
    clock.advance(6)
    assert keys(ann.look()) == ["a", "b", "c"]


def test_what_is_retried_at_once_keeps_its_place(timed: Engine) -> None:
    exclusive(timed)
    ann = Desk(timed)
    ann.settle(ann.got(2), Retry("no", after=0))
    assert (keys(ann.take()), timed["work"].show("c").attempts, broken(timed)) == (["c", "a", "b"], 1, [])


def test_an_item_that_killed_its_worker_keeps_its_place(timed: Engine, clock: Clock) -> None:
    exclusive(timed)
    Desk(timed).got(1)
    clock.advance(16)
    timed.upkeep()
    taken = Desk(timed, "bob").got()
    assert (keys(taken), taken.alone, timed["work"].show("c").attempts) == (["c"], True, 1)


def test_another_session_takes_over_when_the_list_was_worked_off(timed: Engine) -> None:
    exclusive(timed)
    ann, bob = Desk(timed), Desk(timed, "bob")
    ann.done(ann.got())
    assert ann.look() is None
    timed["work"].add("d")
    assert (keys(bob.look()), broken(timed)) == (["d"], [])


def test_another_session_takes_over_at_once_after_a_gentle_end(timed: Engine) -> None:
    exclusive(timed)
    ann, bob = Desk(timed), Desk(timed, "bob")
    ann.done(ann.got(1))
    ann.close()
    assert (keys(bob.look()), broken(timed)) == (["a", "b"], [])


def test_another_session_takes_over_after_a_death(timed: Engine, clock: Clock) -> None:
    exclusive(timed)
    ann = Desk(timed)
    taken = ann.got(2)
    clock.advance(16)
    timed.upkeep()
    bob = Desk(timed, "bob")
    assert keys(bob.got(1)) == ["c"]
    with pytest.raises(StaleClaim):
        ann.done(taken)
    assert broken(timed) == []


def test_an_idle_lease_goes_to_any_session_that_asks(timed: Engine, clock: Clock) -> None:
    exclusive(timed)
    ann, bob = Desk(timed, expiry=60_000), Desk(timed, "bob", expiry=60_000)
    ann.done(ann.got(1))
    clock.advance(14)
    assert bob.look() is None
    clock.advance(2)
    assert (keys(bob.look(1)), ann.look(), broken(timed)) == (["a"], None, [])


def test_a_lease_is_kept_by_working(timed: Engine, clock: Clock) -> None:
    exclusive(timed)
    ann, bob = Desk(timed, expiry=60_000), Desk(timed, "bob", expiry=60_000)
    taken = ann.got(1)
    clock.advance(16)
    assert bob.look() is None
    ann.done(taken)
    clock.advance(14)
    assert bob.look() is None


def test_upkeep_frees_a_lease_that_lies_idle(timed: Engine, clock: Clock) -> None:
    exclusive(timed)
    ann, bob = Desk(timed, expiry=60_000), Desk(timed, "bob", expiry=60_000)
    ann.done(ann.got(1))
    clock.advance(16)
    timed.upkeep()
    assert (keys(bob.look(1)), broken(timed)) == (["a"], [])


def test_a_session_without_heartbeats_keeps_a_list_only_while_it_holds_a_claim(timed: Engine) -> None:
    exclusive(timed)
    scripted, bob = timed.session(beats=False).open(), Desk(timed, "bob")
    claim = scripted.take("work", limit=1)
    assert claim is not None
    assert bob.look() is None
    claim.done(claim.items[0])
    claim.settle()
    assert keys(bob.look(1)) == ["a"]


def test_a_list_that_is_not_exclusive_any_more_is_shared_again(timed: Engine) -> None:
    exclusive(timed)
    Desk(timed).got(1)
    timed["work"].settings(exclusive=False)
    assert (keys(Desk(timed, "bob").got(2)), broken(timed)) == (["a", "b"], [])


def test_a_list_that_becomes_exclusive_is_had_when_all_claims_have_ended(timed: Engine) -> None:
    timed["work"].add(["c", "a", "b"])
    ann, bob = Desk(timed), Desk(timed, "bob")
    taken = ann.got(1)
    timed["work"].settings(exclusive=True)
    assert bob.look() is None
    ann.done(taken)
    assert keys(bob.look()) == ["a", "b"]


def test_a_list_that_was_dropped_is_in_nobodys_hands(timed: Engine) -> None:
    exclusive(timed)
    Desk(timed).got(1)
    timed["work"].drop()
    exclusive(timed)
    assert (keys(Desk(timed, "bob").got(1)), broken(timed)) == (["c"], [])
