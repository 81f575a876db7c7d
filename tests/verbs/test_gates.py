"""Gates: stages that open when nothing unfinished is left before them, and lists that end."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import STRICT, Desk, broken, keys

from rowlock import Done, Engine, Fail, Move, NewItem, Retry, Settings, Then, Worker, lists
from rowlock.errors import (
    GatePassed,
    GateShut,
    Invalid,
    InvalidSetting,
    ListComplete,
    ListSealed,
    NoSuchList,
)

pytestmark = pytest.mark.parametrize("dialect", STRICT)


def three_gates(engine: Engine) -> None:
    engine["work"].add([NewItem("a"), NewItem("b", gate=1), NewItem("c", gate=3)])


def test_the_next_gate_opens_when_nothing_is_left_at_this_one(timed: Engine) -> None:
    three_gates(timed)
    ann = Desk(timed)
    ann.done(ann.got())
    assert (keys(ann.got()), timed["work"].info().gate) == (["b"], 1)
    assert broken(timed) == []


def test_gates_without_items_are_passed_over(timed: Engine) -> None:
    timed["work"].add("c", gate=7)
    assert (keys(Desk(timed).got()), timed["work"].info().gate) == (["c"], 7)


def test_a_claimed_item_keeps_the_gate_shut(timed: Engine) -> None:
    three_gates(timed)
    Desk(timed).got()
    assert (Desk(timed, "bob").look(), timed["work"].info().gate) == (None, 0)


def test_a_delayed_item_keeps_the_gate_shut_until_it_is_done(timed: Engine, clock: Clock) -> None:
    three_gates(timed)
    ann = Desk(timed)
    ann.settle(ann.got(), Retry("later", after="1m"))
    assert ann.look() is None
    clock.advance(61)
    ann.beat()
    ann.done(Desk.got(ann))
    assert keys(ann.got()) == ["b"]


def test_a_failed_item_keeps_the_gate_shut_and_its_abandonment_opens_it(timed: Engine) -> None:
    three_gates(timed)
    ann = Desk(timed)
    ann.settle(ann.got(), Fail("no"))
    assert ann.look() is None
    timed["work"].abandon("a")
    assert (timed["work"].info().gate, keys(ann.got())) == (1, ["b"])


def test_a_failed_item_that_is_retried_and_done_opens_the_gate(timed: Engine) -> None:
    three_gates(timed)
    ann = Desk(timed)
    ann.settle(ann.got(), Fail("no"))
    timed["work"].retry("a")
    ann.done(ann.got())
    assert keys(ann.got()) == ["b"]


def test_items_that_move_on_wait_for_those_that_have_not(timed: Engine) -> None:
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    first, second = ann.got(1), ann.got(1)
    ann.settle(first, Move(1, {"seen": True}))
    assert ann.look() is None
    ann.settle(second, Move(1))
    together = ann.got()
    assert [(item.key, item.gate, item.data) for item in together.items] == [("a", 1, {"seen": True}), ("b", 1, None)]


def test_a_manual_list_stays_until_somebody_moves_it(timed: Engine) -> None:
    timed["work"].settings(manual=True)
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    assert ann.look() is None
    assert timed["work"].open_gate(1) is True
    assert keys(ann.got()) == ["b"]


def test_a_list_that_is_manual_no_more_goes_on(timed: Engine) -> None:
    timed["work"].settings(manual=True)
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    ann.look()
    timed["work"].settings(manual=False)
    assert keys(ann.got()) == ["b"]


def test_a_paused_list_opens_no_gate(timed: Engine) -> None:
    timed["work"].add("b", gate=1)
    timed["work"].pause()
    assert (Desk(timed).look(), timed["work"].info().gate) == (None, 0)


def test_by_hand_no_item_is_passed(timed: Engine) -> None:
    three_gates(timed)
    with pytest.raises(GateShut) as refused:
        timed["work"].open_gate(3)
    assert (refused.value.fields, timed["work"].info().gate) == ({"gate": 0, "left": 2}, 0)


def test_by_hand_a_list_with_items_does_not_go_back(timed: Engine) -> None:
    timed["work"].add("b", gate=2)
    timed["work"].open_gate(2)
    with pytest.raises(GatePassed):
        timed["work"].open_gate(1)
    timed["work"].abandon("b")
    assert (timed["work"].open_gate(0), timed["work"].info().gate) == (True, 0)


def test_a_list_is_moved_to_where_it_is_without_a_change(timed: Engine) -> None:
    timed["work"].add("a")
    before = timed["work"].info().version
    assert (timed["work"].open_gate(0), timed["work"].info().version) == (False, before)


def test_a_gate_may_be_given_by_its_name(timed: Engine) -> None:
    work = timed["work"]
    work.settings(gates=["match", "notify"])
    work.add([{"key": "x", "gate": "notify"}, "q"])
    work.add("y", gate="notify")
    ann = Desk(timed)
    ann.settle(ann.got(), Move("notify"))
    assert keys(ann.got()) == ["x", "y", "q"]
    assert [(each.number, each.name, each.state) for each in work.gates()] == [
        (0, "match", "passed"),
        (1, "notify", "open"),
    ]


def test_an_unknown_name_of_a_gate_is_refused_and_nothing_is_added(timed: Engine) -> None:
    timed["work"].settings(gates=["match"])
    with pytest.raises(Invalid, match="the name of a gate, got 'notify'"):
        timed["work"].add(["a", {"key": "b", "gate": "notify"}])
    assert timed["work"].counts().total == 0


@pytest.mark.parametrize("names", [["a", "a"], [""], ["7"], [" a"], ["a\n"]])
def test_gates_have_names_that_can_be_told_apart(timed: Engine, names: list[str]) -> None:
    with pytest.raises(InvalidSetting):
        timed["work"].settings(gates=names)


def test_progress_is_told_gate_by_gate(timed: Engine) -> None:
    timed["work"].add(["a", "b", "c"])
    timed["work"].add("d", gate=1)
    ann = Desk(timed)
    ann.settle(ann.got(2), Done(), Move(1))
    told = [(each.number, each.counts.total, each.progress.done, each.progress.moved) for each in timed["work"].gates()]
    assert told == [(0, 1, 1, 1), (1, 2, 0, 0)]


def test_a_sealed_list_takes_no_items_and_is_complete_when_none_is_left(timed: Engine) -> None:
    work = timed["work"]
    work.add("a")
    assert (work.seal(), work.seal()) == (True, False)
    with pytest.raises(ListSealed):
        work.add("b")
    ann = Desk(timed)
    ann.done(ann.got())
    assert ann.look() is None
    assert (work.info().state, broken(timed)) == ("complete", [])


def test_an_unsealed_list_is_never_complete_by_itself(timed: Engine) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.done(ann.got())
    ann.look()
    assert timed["work"].info().state == "open"


def test_a_sealed_list_with_a_failed_item_is_not_complete(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].seal()
    ann = Desk(timed)
    ann.settle(ann.got(), Fail("no"))
    ann.look()
    assert timed["work"].info().state == "open"
    timed["work"].abandon("a")
    assert timed["work"].info().state == "complete"


def test_the_last_settlement_of_a_sealed_list_completes_it_without_a_worker(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].seal()
    ann = Desk(timed)
    ann.settle(ann.got(), Done())
    assert timed["work"].info().state == "complete"


def test_sealing_an_empty_list_completes_it(timed: Engine) -> None:
    timed["work"].add([])
    timed["work"].seal(then="after")
    assert (timed["work"].info().state, [item.key for item in timed["after"].page()]) == ("complete", ["work"])


def test_a_completion_adds_what_shall_follow(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].seal(then=Then("after", "sum up", {"of": "work"}, gate=2, priority=1))
    ann = Desk(timed)
    ann.settle(ann.got(), Done())
    (item,) = timed["after"].page()
    assert (item.key, item.data, item.gate, item.priority) == ("sum up", {"of": "work"}, 2, 1)
    assert broken(timed) == []


def test_what_is_owed_reaches_a_complete_list_and_completes_it_anew(timed: Engine) -> None:
    timed["after"].add([])
    timed["after"].seal()
    timed["work"].add([])
    timed["work"].seal(then="after")
    ann = Desk(timed)
    assert timed["after"].info().state == "open"
    ann.settle(ann.got(name="after"), Done())
    assert timed["after"].info().state == "complete"


def test_ten_lists_meet_in_one(timed: Engine) -> None:
    for number in range(10):
        timed[f"part {number}"].add("a")
        timed[f"part {number}"].seal(then="whole")
    ann = Desk(timed)
    for number in range(10):
        ann.settle(ann.got(name=f"part {number}"), Done())
    assert keys(ann.got(name="whole")) == [f"part {number}" for number in range(10)]


def test_seal_and_items_commit_together(timed: Engine) -> None:
    with timed.transaction() as tx:
        tx["work"].add(["a", "b"])
        tx["work"].seal()
    assert (timed["work"].info().sealed, timed["work"].counts().ready) == (True, 2)


def test_a_complete_list_hands_out_nothing_until_it_is_reopened(timed: Engine) -> None:
    work = timed["work"]
    work.add("a")
    assert (work.complete(), work.complete()) == (True, False)
    ann = Desk(timed)
    assert ann.look() is None
    with pytest.raises(ListComplete):
        work.resume()
    with pytest.raises(ListSealed):
        work.add("b")
    assert (work.reopen(), work.reopen()) == (True, False)
    assert (keys(ann.got()), work.add("b").added) == (["a"], 1)


def test_a_list_that_is_not_there_cannot_be_ended(timed: Engine) -> None:
    for verb in (timed["nope"].seal, timed["nope"].complete, timed["nope"].reopen, timed["nope"].gates):
        with pytest.raises(NoSuchList):
            verb()


def test_a_list_cannot_follow_itself(timed: Engine) -> None:
    timed["work"].add("a")
    with pytest.raises(InvalidSetting, match="then must name another list, got"):
        timed["work"].seal(then="work")
    with pytest.raises(InvalidSetting):
        timed["work"].settings(then=[{"list": "work"}])


def test_a_list_whose_last_item_goes_while_somebody_looks_does_not_sleep_for_good(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    ann.done(ann.got())
    list_id = timed.run(lambda tx: tx.row("lists/find", name="work"))[0]
    timed.run(lambda tx: tx.run("lists/sleep", list=list_id))
    assert broken(timed) == []


def test_upkeep_goes_on_where_no_worker_comes_by(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    ann.done(ann.got())
    assert (timed.upkeep().opened, timed["work"].info().gate) == (1, 1)


def test_upkeep_goes_on_behind_a_thousand_lists_that_nobody_works(timed: Engine, clock: Clock) -> None:
    with timed.transaction() as tx:
        for number in range(1_001):
            tx[f"idle {number}"].add("a")
    clock.advance(1)
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    ann.done(ann.got())
    # Whether a pass comes to it is left to chance: in a hundred passes one does.
    assert any(timed.upkeep().opened for _ in range(100))
    assert timed["work"].info().gate == 1


def test_a_settlement_that_is_asked_again_after_a_gate_opened_is_answered(timed: Engine) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    taken = ann.got()
    assert ann.settle(taken, Move(1)) == ann.settle(taken, Move(1)) == ["moved"]
    assert keys(ann.got()) == ["a"]


def test_a_worker_goes_through_all_gates(timed: Engine) -> None:
    seen: list[tuple[str, int]] = []
    worker = Worker(timed, concurrency=4)

    @worker.on("work")
    def _(item: object) -> Move | None:
        seen.append((item.key, item.gate))  # type: ignore[attr-defined]
        return Move(item.gate + 1) if item.gate < 2 else None  # type: ignore[attr-defined]

    timed["work"].add([f"{number:03}" for number in range(50)])
    timed["work"].seal(then="after")
    worker.run(until="done", signals=False)
    gates = [gate for _, gate in seen]
    assert (gates, timed["work"].info().state) == (sorted(gates), "complete")
    assert (len(set(seen)), [item.key for item in timed["after"].page()]) == (150, ["work"])


def test_settings_with_what_follows_survive_being_read(timed: Engine) -> None:
    timed["work"].settings(then=[Then("after", data={"n": 1})])
    assert timed["work"].settings() == Settings(then=(Then("after", data={"n": 1}),))


def test_a_gate_that_is_opened_by_hand_wakes_the_list(timed: Engine) -> None:
    timed["work"].settings(manual=True)
    timed["work"].add("later", gate=1)
    timed.run(lists.apply_wakes)
    ann = Desk(timed)
    assert (ann.look(), timed.read(lists.awake)) == (None, [])
    timed["work"].open_gate(1)
    assert [each.name for each in timed.read(lists.awake)] == ["work"]


def test_a_paused_list_that_is_reopened_is_still_paused(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].seal()
    timed["work"].pause()
    assert timed["work"].reopen() is True
    assert (timed["work"].info().state, timed["work"].info().sealed) == ("paused", False)


def test_what_is_owed_to_a_paused_list_is_counted_once_and_leaves_it_paused(timed: Engine) -> None:
    timed["after"].add([])
    timed["after"].pause()
    timed["work"].add([])
    timed["work"].seal(then="after")
    info = timed["after"].info()
    assert (info.state, info.counts.total, info.progress.added) == ("paused", 1, 1)


def test_a_list_that_is_reopened_is_examined_at_once(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    taken = ann.got()
    assert (ann.look(), timed.read(lists.awake)) == (None, [])
    timed["work"].complete()
    timed["work"].reopen()
    assert [each.name for each in timed.read(lists.awake)] == ["work"]
    ann.done(taken)


def test_upkeep_completes_a_list_where_no_worker_comes_by(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed["work"].seal()
    ann = Desk(timed)
    ann.done(ann.got())
    assert (timed.upkeep().opened, timed["work"].info().state) == (1, "complete")
