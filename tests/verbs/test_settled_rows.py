"""What a settlement writes and what it does not: rows beside its claim, versions, wakes, the largest data."""

import pytest
from tests.verbs.claiming import EVERY, Desk, broken, keys, states

from rowlock import Done, Engine, Fail, ItemsGone, Move, Retry, StaleClaim, lists, settlements
from rowlock.errors import InvalidData
from rowlock.model import MAX_DATA_BYTES
from rowlock.outcomes import Outcome

pytestmark = pytest.mark.parametrize("dialect", EVERY)


@pytest.fixture
def work(timed: Engine) -> Engine:
    timed["work"].add(["a", "b", "c", "d"])
    return timed


def awake(engine: Engine) -> list[str]:
    """The lists that a worker would look at now."""
    engine.run(lists.apply_wakes)
    return [each.name for each in engine.read(lists.awake)]


def test_the_item_before_a_claim_is_not_reached_by_it(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    before, taken = ann.got(1), bob.got(1)
    assert before.items[0].position == taken.low
    said = work.run(settlements.settle, bob.id, taken.token, [(taken.low, Done())], close=False)
    assert (said, ann.done(before), bob.done(taken), broken(work)) == (["gone"], ["done"], ["done"], [])


@pytest.mark.parametrize(
    "outcome",
    [Retry("no"), Retry("no", after=5), Move(), Move(1), Fail("bad")],
    ids=["retry", "delay", "move", "gate", "fail"],
)
def test_each_outcome_that_keeps_an_item_raises_its_version_by_one(work: Engine, outcome: Outcome) -> None:
    ann = Desk(work)
    ann.settle(ann.got(2), outcome, outcome)
    assert {item.key: item.version for item in work["work"]} == {"a": 2, "b": 2, "c": 1, "d": 1}


def test_attempts_begin_anew_at_another_gate_and_go_on_at_the_same(work: Engine) -> None:
    work["work"].increment(["a", "b"])
    ann = Desk(work)
    ann.settle(ann.got(2), Move(1), Move())
    assert {item.key: item.attempts for item in work["work"].page(limit=2)} == {"a": 0, "b": 1}


def test_a_delayed_retry_does_not_go_to_the_end(work: Engine) -> None:
    ann = Desk(work)
    positions = [item.position for item in work["work"]]
    ann.settle(ann.got(1), Retry("no", after=5))
    assert [item.position for item in work["work"]] == positions


def test_a_claim_that_is_settled_as_a_whole_wakes_nobody(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    taken = ann.got()
    assert (awake(work), bob.look(), awake(work)) == (["work"], None, [])
    ann.settle(taken, Done(), Done(), close=False)
    assert awake(work) == []
    said = [(item.position, Done()) for item in taken.items[2:]]
    assert work.run(settlements.settle, ann.id, taken.token, said) == ["done", "done"]
    assert (awake(work), broken(work)) == ([], [])


def test_a_repeated_part_that_leaves_one_item_wakes_the_list(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    taken = ann.got()
    ann.settle(taken, Done(), Done(), Done(), close=False)
    assert (awake(work), bob.look(), awake(work)) == (["work"], None, [])
    assert ann.settle(taken, Done(), Done(), Done()) == ["done"] * 3
    assert (awake(work), keys(bob.look())) == (["work"], ["d"])


def test_a_list_that_does_not_remember_keys_remembers_none_of_a_settlement(work: Engine) -> None:
    ann = Desk(work)
    ann.settle(ann.got(2), Done(1), Done())
    assert work["work"].remembered() == 0


def test_data_may_be_as_large_as_allowed_and_no_larger(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(1)
    with pytest.raises(InvalidData, match="larger than"):
        ann.settle(taken, Move(data="x" * (MAX_DATA_BYTES - 1)))
    assert ann.settle(taken, Move(data="x" * (MAX_DATA_BYTES - 2))) == ["moved"]


def test_all_done_beside_rows_of_the_caller_lands_once(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(2)
    named = {item.position: item.key for item in taken.items}
    assert work.run(settlements.settle_done_beside, ann.id, taken.token, keys=named) == ["done", "done"]
    with pytest.raises(StaleClaim):
        work.run(settlements.settle_done_beside, ann.id, taken.token, keys=named)
    assert (states(work), broken(work)) == ({"c": "ready", "d": "ready"}, [])


def test_all_done_beside_rows_of_the_caller_names_what_has_gone(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(2)
    work["work"].abandon("b")
    with pytest.raises(ItemsGone) as refused:
        work.run(settlements.settle_done_beside, ann.id, taken.token, keys={i.position: i.key for i in taken.items})
    assert (refused.value.fields["keys"], states(work)["a"], broken(work)) == (["b"], "claimed", [])


def test_a_part_settled_beside_rows_of_the_caller_is_not_answered_as_before(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(2)
    named = {item.position: item.key for item in taken.items}
    part = [(taken.items[0].position, Done())]
    once = work.run(settlements.settle_beside, ann.id, taken.token, part, keys=named, close=False)
    again = work.run(settlements.settle_beside, ann.id, taken.token, part, keys=named, close=False, partial=True)
    assert (once, again, states(work)["b"]) == (["done"], ["gone"], "claimed")
