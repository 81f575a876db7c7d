"""Waiters: items that stand aside until another list is complete."""

from datetime import timedelta

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import STRICT, Desk, broken, keys

from rowlock import Done, Engine, Move, Then
from rowlock.errors import InvalidOutcome

pytestmark = pytest.mark.parametrize("dialect", STRICT)


def test_an_item_waits_for_a_list_to_be_complete(timed: Engine) -> None:
    timed["work"].add(["parent", "other"])
    timed["parts"].add(["x"])
    timed["parts"].seal()
    ann = Desk(timed)
    ann.settle(ann.got(), Move(data={"parts": 1}, until="parts"), Done())
    assert (ann.look(), timed["work"].counts().delayed) == (None, 1)
    ann.settle(ann.got(name="parts"), Done())
    back = ann.got()
    assert [(item.key, item.data) for item in back.items] == [("parent", {"parts": 1})]
    assert broken(timed) == []


def test_an_item_does_not_wait_for_a_list_that_is_complete_already(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["parts"].add([])
    timed["parts"].seal()
    ann = Desk(timed)
    ann.settle(ann.got(), Move(1, until="parts"))
    assert keys(ann.got()) == ["parent"]


def test_an_item_that_was_abandoned_while_it_waited_does_not_come_back(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["parts"].add("x")
    timed["parts"].seal()
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="parts"))
    timed["work"].abandon("parent")
    ann.settle(ann.got(name="parts"), Done())
    assert timed["work"].counts().total == 0


def test_an_item_whose_list_was_renamed_while_it_waited_comes_back(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["parts"].add("x")
    timed["parts"].seal()
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="parts"))
    timed["work"].rename("new")
    ann.settle(ann.got(name="parts"), Done())
    assert keys(ann.got(name="new")) == ["parent"]


def test_an_item_that_waits_for_a_list_that_is_dropped_comes_back(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["parts"].add("x")
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="parts"))
    timed["parts"].drop()
    assert keys(ann.got()) == ["parent"]


def test_what_waits_for_a_list_is_not_forgotten_when_its_settings_are_written_anew(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["parts"].add("x")
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="parts"))
    timed["parts"].settings(then=[Then("after")])
    timed["parts"].seal()
    ann.settle(ann.got(name="parts"), Done())
    assert (keys(ann.got()), keys(ann.got(name="after"))) == (["parent"], ["parts"])
    assert timed["parts"].settings().then == (Then("after"),)


def test_an_item_cannot_wait_for_its_own_list(timed: Engine) -> None:
    timed["work"].add("parent")
    ann = Desk(timed)
    taken = ann.got()
    with pytest.raises(InvalidOutcome):
        ann.settle(taken, Move(until="work"))
    assert ann.settle(taken, Done()) == ["done"]


def test_an_item_does_not_wait_for_a_list_that_was_dropped_before(timed: Engine) -> None:
    timed["work"].add("parent")
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="dropped"))
    assert keys(ann.got()) == ["parent"]


def test_what_waits_for_a_list_is_far_off_for_everybody(timed: Engine, clock: Clock) -> None:
    timed["work"].add("parent")
    timed["parts"].add("x")
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="parts"))
    clock.advance(timedelta(days=365).total_seconds())
    timed.upkeep()
    assert timed["work"].show("parent").state == "delayed"


def test_an_item_waits_for_one_list_at_a_time(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["first"].add("x")
    timed["second"].add("y")
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="first"))
    timed["work"].retry("parent")
    ann.settle(ann.got(), Move(until="second"))
    timed["first"].complete()
    assert timed["work"].show("parent").state == "delayed"
    timed["second"].complete()
    assert (keys(ann.got()), broken(timed)) == (["parent"], [])


def test_items_at_different_gates_and_of_different_lists_come_back_together(timed: Engine) -> None:
    timed["parts"].add("x")
    for name in ("one", "two"):
        timed[name].add([f"{number}" for number in range(5)])
        ann = Desk(timed)
        outcomes = [Move(number % 2, until="parts") for number in range(5)]
        ann.settle(ann.got(name=name), *outcomes)
    timed["parts"].complete()
    waiting = [timed[name].counts() for name in ("one", "two")]
    assert ([counts.delayed for counts in waiting], [counts.total for counts in waiting]) == ([0, 0], [5, 5])
    assert (keys(ann.got(name="one")), broken(timed)) == (["0", "2", "4"], [])


def test_an_item_whose_list_is_gone_is_waited_for_by_nobody(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["parts"].add("x")
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="parts"))
    timed["work"].drop()
    timed["parts"].complete()
    assert ([info.name for info in timed.lists()], broken(timed)) == (["parts"], [])


def test_an_item_that_waits_for_nothing_is_found_by_the_check(timed: Engine) -> None:
    timed["work"].add("parent")
    timed["parts"].add("x")
    ann = Desk(timed)
    ann.settle(ann.got(), Move(until="parts"))
    with timed.transaction() as tx:
        tx.execute("delete from rowlock_waiters")
    assert broken(timed) == ["the item 'parent' of the list 'work' waits for a list that is complete or does not exist"]
