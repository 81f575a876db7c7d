"""What waits for a gate: later items and the end of a list. Who examines it, and what a change of it writes."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, keys

from rowlock import Done, Engine, NewItem, Then, gates, lists
from rowlock.errors import NotAllowed

pytestmark = pytest.mark.parametrize("dialect", EVERY)


def awake(engine: Engine) -> list[str]:
    """The lists that a worker would look at now."""
    engine.run(lists.apply_wakes)
    return [each.name for each in engine.read(lists.awake)]


def gate(engine: Engine) -> int:
    """The open gate of the list `work`."""
    return engine["work"].info().gate


def awaited(engine: Engine) -> bool:
    """Whether anything waits for the open gate of the list `work`."""
    return engine.read(gates.is_awaited_by_name, "work")


def test_a_gate_is_awaited_by_ready_items_at_a_later_one(timed: Engine) -> None:
    timed["other"].add("x", gate=5)
    found = [awaited(timed)]
    for item in (NewItem("a"), NewItem("delayed", gate=1, due="1m"), NewItem("b", gate=1)):
        timed["work"].add([item])
        found.append(awaited(timed))
    assert found == [False, False, False, True]


def test_a_gate_is_awaited_by_the_end_of_a_sealed_list_and_never_by_hand(timed: Engine) -> None:
    timed["work"].settings(manual=True)
    timed["work"].add(["a"])
    timed["work"].add(["b"], gate=1)
    by_hand = awaited(timed)
    timed["work"].seal()
    assert (by_hand, awaited(timed)) == (False, True)
    timed["work"].pause()
    assert awaited(timed) is False


def test_a_failed_item_at_a_later_gate_is_waited_for_by_nobody(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    with timed.transaction() as tx:
        tx.execute("update rowlock_items set failed_at = 1 where key = 'b'")
    ann = Desk(timed)
    ann.settle(ann.got(), Done())
    assert (awaited(timed), timed.upkeep().opened, gate(timed)) == (False, 0, 0)


def test_a_gate_before_delayed_items_opens_when_a_worker_looks(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed["work"].add("b", gate=1, due="1m")
    ann = Desk(timed)
    ann.settle(ann.got(), Done())
    assert (gate(timed), timed.upkeep().opened, gate(timed)) == (0, 0, 0)
    assert (ann.look(), gate(timed)) == (None, 1)
    clock.advance(60)
    ann.beat()
    assert (keys(ann.look()), broken(timed)) == (["b"], [])


def test_the_lowest_gate_with_items_opens_first_whenever_they_were_added(timed: Engine) -> None:
    for number in (9, 5, 7):
        timed["work"].add(f"ready {number}", gate=number)
        timed["work"].add(f"delayed {number - 1}", gate=number - 1, due="1m")
    ann = Desk(timed)
    assert (ann.look(), gate(timed)) == (None, 4)
    timed["work"].abandon("delayed 4")
    assert (keys(ann.look()), gate(timed)) == (["ready 5"], 5)


def test_upkeep_opens_gates_of_exclusive_lists_that_no_session_holds(timed: Engine) -> None:
    timed["work"].settings(exclusive=True)
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    ann.done(ann.got())
    assert (timed.upkeep().opened, gate(timed)) == (0, 0)
    ann.close()
    timed.run(lists.apply_wakes)
    assert (timed.upkeep().opened, gate(timed), broken(timed)) == (1, 1, [])


def test_each_change_of_a_gate_or_an_end_raises_the_version_of_the_list_by_one(timed: Engine) -> None:
    work = timed["work"]
    work.add("a", gate=1)
    changes = (lambda: work.open_gate(1), work.seal, work.complete, work.reopen, work.complete)
    versions = [work.info().version]
    for change in changes:
        assert change() is True
        versions.append(work.info().version)
    timed["before"].add([])
    timed["before"].seal(then="work")
    versions.append(work.info().version)
    assert versions == list(range(versions[0], versions[0] + 7))
    assert (work.info().state, broken(timed)) == ("open", [])


def test_a_list_that_is_sealed_is_examined_at_once(timed: Engine) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    taken = ann.got()
    assert (awake(timed), ann.look(), awake(timed)) == (["work"], None, [])
    timed["work"].seal()
    assert (awake(timed), ann.done(taken)) == (["work"], ["done"])


def test_a_complete_list_that_gets_an_item_is_examined_at_once(timed: Engine) -> None:
    timed["after"].add([])
    timed["after"].seal()
    timed["work"].add([])
    timed["work"].seal(then="after")
    assert (awake(timed), [item.gate for item in timed["after"]]) == (["after"], [0])


def test_what_follows_stands_at_the_open_gate_of_its_list_or_later(timed: Engine) -> None:
    timed["after"].add("x", gate=2)
    timed["after"].open_gate(2)
    for name, then in (("a", Then("after")), ("b", Then("after", gate=1)), ("c", Then("after", gate=3))):
        timed[name].add([])
        timed[name].seal(then=then)
    assert {item.key: item.gate for item in timed["after"]} == {"x": 2, "a": 2, "b": 2, "c": 3}


def test_who_may_not_see_a_list_cannot_let_it_follow(timed: Engine) -> None:
    timed["work"].add("a")
    with pytest.raises(NotAllowed):
        timed.run(gates.seal, "work", then=Then("secret"), prefixes=["work"])
    assert timed.run(gates.seal, "work", then=Then("work/next"), prefixes=["work"]) is True


def test_a_gate_is_opened_only_from_the_one_that_was_seen(timed: Engine) -> None:
    timed["work"].add("b", gate=1)
    row = timed.read(lists.get, "work")
    opened = [timed.run(lambda tx, seen=was: tx.run("gates/open", list=row.id, gate=1, was=seen)) for was in (1, 0)]
    assert (opened, gate(timed)) == ([0, 1], 1)


def test_of_two_complete_lists_one_is_reopened(timed: Engine) -> None:
    for name in ("other", "work"):
        timed[name].add([])
        timed[name].seal()
    timed["work"].reopen()
    assert [timed[name].info().state for name in ("other", "work")] == ["complete", "open"]
