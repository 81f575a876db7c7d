"""Exclusive lists: one session at a time works them, in order."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, keys

from rowlock import Engine

pytestmark = pytest.mark.parametrize("dialect", EVERY)


def exclusive(engine: Engine) -> None:
    engine["work"].settings(exclusive=True)
    engine["work"].add(["c", "a", "b"])


def test_a_second_session_gets_nothing_while_the_first_holds_a_claim(timed: Engine) -> None:
    exclusive(timed)
    assert (keys(Desk(timed).got(1)), Desk(timed, "bob").look()) == (["c"], None)
    assert broken(timed) == []


def test_the_holder_itself_gets_nothing_before_it_has_settled(timed: Engine) -> None:
    exclusive(timed)
    ann = Desk(timed)
    ann.got(1)
    assert ann.look() is None


def test_items_come_in_the_order_in_which_they_were_added(timed: Engine) -> None:
    exclusive(timed)
    ann = Desk(timed)
    handed = []
    for _ in range(3):
        taken = ann.got(1)
        handed += keys(taken)
        ann.done(taken)
    assert handed == ["c", "a", "b"]


def test_another_session_takes_over_after_a_settlement(timed: Engine) -> None:
    exclusive(timed)
    ann = Desk(timed)
    ann.done(ann.got(1))
    assert keys(Desk(timed, "bob").got(1)) == ["a"]


def test_another_session_takes_over_after_a_death(timed: Engine, clock: Clock) -> None:
    exclusive(timed)
    Desk(timed).got(2)
    clock.advance(16)
    timed.upkeep()
    assert keys(Desk(timed, "bob").got(1)) == ["c"]


def test_a_list_that_is_not_exclusive_any_more_is_shared_again(timed: Engine) -> None:
    exclusive(timed)
    Desk(timed).got(1)
    timed["work"].settings(exclusive=False)
    assert keys(Desk(timed, "bob").got(2)) == ["a", "b"]
