"""Limits: no more in hand at once than allowed, of a list or of a family, and no more handed out in a while."""

import threading

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk, broken, keys, numbered
from tests.waiting import WAIT_SECONDS

from rowlock import Done, Engine, Fail, Retry, lists, settlements
from rowlock.errors import InvalidSetting

pytestmark = pytest.mark.parametrize("dialect", EVERY)

BY = {"separator": "/", "limit": 1}


def awake(engine: Engine) -> bool:
    """Whether a worker would look at the list now."""
    engine.run(lists.apply_wakes)
    return "work" in [each.name for each in engine.read(lists.awake)]


def test_a_claim_is_cut_to_what_is_free(timed: Engine) -> None:
    timed["work"].settings(concurrency=3)
    timed["work"].add(numbered(10))
    ann, bob = Desk(timed), Desk(timed, "bob")
    assert (keys(ann.look(2)), keys(bob.look(5)), ann.look()) == (["0000", "0001"], ["0002"], None)
    assert broken(timed) == []


def test_the_quick_way_hands_out_nothing_of_a_list_with_limits(timed: Engine) -> None:
    timed["work"].settings(concurrency=3)
    timed["work"].add(numbered(10))
    assert Desk(timed).take() is None


def test_what_is_settled_makes_room(timed: Engine) -> None:
    timed["work"].settings(concurrency=2)
    timed["work"].add(numbered(10))
    ann = Desk(timed)
    taken = ann.got()
    ann.settle(taken, Done(), close=False)
    assert keys(ann.look()) == ["0002"]


def test_a_settlement_wakes_a_list_at_its_limit(timed: Engine) -> None:
    timed["work"].settings(concurrency=1)
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    taken = ann.got()
    assert ann.look() is None
    asleep = awake(timed)
    ann.settle(taken, Done())
    assert (asleep, awake(timed), broken(timed)) == (False, True, [])


def test_all_done_in_one_statement_wakes_a_list_at_its_limit(timed: Engine) -> None:
    timed["work"].settings(concurrency=1)
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    taken = ann.got()
    timed.run(lists.apply_wakes)
    assert (ann.look(), awake(timed)) == (None, False)
    settle = settlements.try_settle_done
    assert timed.run(settle, ann.id, taken.token, [taken.items[0].position], limited="work") == ["done"]
    assert (awake(timed), broken(timed)) == (True, [])


def test_a_list_at_its_limit_is_looked_at_again_after_a_second(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(concurrency=1)
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    ann.got()
    ann.look()
    before = awake(timed)
    clock.advance(1)
    assert (before, awake(timed)) == (False, True)


def test_a_dead_session_frees_its_share(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(concurrency=2)
    timed["work"].add(numbered(10))
    Desk(timed).got()
    bob = Desk(timed, "bob", expiry=60_000)
    assert bob.look() is None
    clock.advance(16)
    timed.upkeep()
    assert (keys(bob.look()), keys(bob.look()), bob.look()) == (["0000"], ["0001"], None)
    assert broken(timed) == []


def test_what_was_in_hand_before_counts(timed: Engine) -> None:
    timed["work"].add(numbered(10))
    ann = Desk(timed)
    ann.got(4)
    timed["work"].settings(concurrency=5)
    assert keys(ann.look()) == ["0004"]


def test_a_list_without_its_limit_is_handed_out_as_before(timed: Engine) -> None:
    timed["work"].settings(concurrency=1, rate="1/1h", concurrency_by=BY)
    timed["work"].add(numbered(4))
    ann = Desk(timed)
    ann.got(1)
    timed["work"].settings(concurrency=None, rate=None, concurrency_by=None)
    assert (keys(ann.take()), broken(timed)) == (["0001", "0002", "0003"], [])


def test_so_many_are_handed_out_in_a_while_and_no_more(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(rate="5/1m")
    timed["work"].add(numbered(20))
    ann = Desk(timed, expiry=3_600_000)
    clock.advance(0.3)
    first = keys(ann.look(3)) + keys(ann.look(3))
    assert (len(first), ann.look()) == (5, None)
    clock.advance(59.9)
    assert ann.look() is None
    clock.advance(0.7)
    assert (len(keys(ann.look())), ann.look(), broken(timed)) == (5, None, [])


def test_what_was_handed_out_earlier_makes_room_earlier(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(rate="5/1m")
    timed["work"].add(numbered(20))
    ann = Desk(timed, expiry=3_600_000)
    ann.got(2)
    clock.advance(30)
    ann.got(3)
    clock.advance(30.6)
    assert (len(keys(ann.look())), ann.look()) == (2, None)


def test_a_list_past_its_rate_sleeps_until_more_may_be_handed_out(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(rate="5/1m")
    timed["work"].add(numbered(20))
    ann = Desk(timed, expiry=3_600_000)
    ann.done(ann.got())
    assert ann.look() is None
    clock.advance(59)
    early = awake(timed)
    clock.advance(1.6)
    assert (early, awake(timed), len(keys(ann.look()))) == (False, True, 5)


def test_a_rate_counts_what_was_handed_back_too(timed: Engine) -> None:
    timed["work"].settings(rate="2/1m")
    timed["work"].add(numbered(4))
    ann, bob = Desk(timed), Desk(timed, "bob")
    ann.got(2)
    ann.close()
    assert bob.look() is None


def test_a_list_past_its_rate_is_complete_as_soon_as_its_last_item_is_done(timed: Engine) -> None:
    timed["work"].settings(rate="2/1h")
    timed["work"].add(["a", "b"])
    timed["work"].seal()
    ann = Desk(timed)
    ann.settle(ann.got(), Done(), Done())
    ann.look()
    assert timed["work"].info().state == "complete"


def test_a_limited_list_opens_its_gates(timed: Engine) -> None:
    timed["work"].settings(concurrency=1)
    timed["work"].add("a")
    timed["work"].add("b", gate=1)
    ann = Desk(timed)
    ann.settle(ann.got(), Done())
    assert keys(ann.look()) == ["b"]


def test_one_of_a_family_is_in_hand_at_a_time_and_families_take_turns(timed: Engine) -> None:
    timed["work"].settings(concurrency_by=BY)
    timed["work"].add(["ann/1", "ann/2", "ann/3", "bob/1", "carl", "bob/2"])
    desk = Desk(timed)
    handed = [desk.got() for _ in range(3)]
    assert ([keys(each) for each in handed], desk.look()) == ([["ann/1"], ["bob/1"], ["carl"]], None)
    desk.settle(handed[1], Done())
    assert (keys(desk.look()), desk.look(), broken(timed)) == (["bob/2"], None, [])


def test_a_family_whose_turn_it_was_waits_for_the_others(timed: Engine) -> None:
    timed["work"].settings(concurrency_by={"separator": ":", "limit": 2})
    timed["work"].add([f"{who}:{number}" for who in "abc" for number in range(3)])
    desk = Desk(timed)
    handed = [keys(desk.look()) for _ in range(7)]
    assert handed == [["a:0"], ["b:0"], ["c:0"], ["a:1"], ["b:1"], ["c:1"], []]


def test_a_busy_family_blocks_nobody_however_long_its_line(timed: Engine) -> None:
    timed["work"].settings(concurrency_by=BY)
    timed["work"].add([f"big/{number:04}" for number in range(3000)] + ["small/1"])
    desk = Desk(timed)
    assert (keys(desk.look()), keys(desk.look()), desk.look()) == (["big/0000"], ["small/1"], None)


def test_a_family_is_what_stands_before_the_first_separator(timed: Engine) -> None:
    timed["work"].settings(concurrency_by={"separator": "::", "limit": 1})
    timed["work"].add(["a::b::1", "a::c", "a:d", "::x", "::y"])
    desk = Desk(timed)
    assert [keys(desk.look()) for _ in range(4)] == [["::x"], ["a::b::1"], ["a:d"], []]


def test_families_are_known_of_items_that_were_there_before(timed: Engine) -> None:
    timed["work"].add(["ann/1", "ann/2", "bob/1"])
    timed["work"].settings(concurrency_by=BY)
    desk = Desk(timed)
    assert [keys(desk.look()) for _ in range(3)] == [["ann/1"], ["bob/1"], []]
    assert broken(timed) == []


def test_other_lists_keep_their_families_when_one_is_grouped_anew(timed: Engine) -> None:
    for name in ("work", "other"):
        timed[name].settings(concurrency_by=BY)
        timed[name].add(["ann/1", "bob/1"])
    desk = Desk(timed)
    desk.got(1, "other")
    timed["work"].settings(concurrency_by={"separator": ":", "limit": 1})
    assert keys(desk.look(1, "other")) == ["bob/1"]


def test_nothing_is_handed_out_beside_what_was_handed_out_without_a_look_at_families(timed: Engine) -> None:
    timed["work"].add(["ann/1", "ann/2", "bob/1"])
    desk = Desk(timed)
    taken = desk.got(1)
    timed["work"].settings(concurrency_by=BY)
    before = desk.look()
    desk.done(taken)
    assert (before, keys(desk.look())) == (None, ["ann/2"])


def test_urgent_families_come_first(timed: Engine) -> None:
    timed["work"].settings(concurrency_by=BY)
    timed["work"].add(["a/1", "a/2"])
    timed["work"].add(["z/1", "z/2"], priority=0)
    desk = Desk(timed)
    assert [keys(desk.look()) for _ in range(3)] == [["z/1"], ["a/1"], []]


def test_a_family_whose_item_came_back_is_served_again(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(concurrency_by=BY)
    timed["work"].add(["a/1", "a/2"])
    desk = Desk(timed)
    desk.settle(desk.got(), Retry("no", after=5))
    desk.settle(desk.got(), Fail("bad"))
    clock.advance(6)
    assert (keys(desk.look()), desk.look(), broken(timed)) == (["a/1"], None, [])


def test_an_item_that_killed_its_worker_is_handed_out_alone_in_its_family_too(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(concurrency_by=BY)
    timed["work"].add(["a/1", "b/1"])
    Desk(timed).got()
    clock.advance(16)
    timed.upkeep()
    handed = [Desk(timed, "bob").got() for _ in range(2)]
    assert {keys(each)[0]: each.alone for each in handed} == {"b/1": False, "a/1": True}


def test_limits_hold_together(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(concurrency=2, rate="3/1m", concurrency_by=BY)
    timed["work"].add([f"{who}/{number}" for who in "abc" for number in range(3)])
    desk = Desk(timed, expiry=3_600_000)
    first, second = desk.got(), desk.got()
    at_once = desk.look()
    desk.settle(first, Done())
    desk.settle(second, Done())
    third = desk.got()
    assert (at_once, keys(third), desk.look()) == (None, ["c/0"], None)
    clock.advance(61)
    assert keys(desk.look()) == ["a/1"]


def test_an_exclusive_list_may_have_a_rate(timed: Engine, clock: Clock) -> None:
    timed["work"].settings(exclusive=True, rate="2/1m")
    timed["work"].add(["c", "a", "b"])
    ann, bob = Desk(timed, expiry=3_600_000), Desk(timed, "bob", expiry=3_600_000)
    ann.settle(ann.got(), Done(), Done())
    assert (ann.look(), bob.look()) == (None, None)
    clock.advance(61)
    assert (keys(bob.look()), broken(timed)) == (["b"], [])


@pytest.mark.parametrize(
    "settings",
    [
        {"concurrency": 0},
        {"concurrency": -1},
        {"concurrency": 10_000_000},
        {"rate": "100"},
        {"rate": "0/1m"},
        {"rate": "x/1m"},
        {"rate": "5/10ms"},
        {"rate": "5/1000d"},
        {"rate": "-5/1m"},
        {"concurrency_by": {"separator": "", "limit": 1}},
        {"concurrency_by": {"separator": "/", "limit": 0}},
        {"concurrency_by": {"separator": "\n"}},
        {"concurrency_by": {"separator": "/", "lim": 1}},
        {"concurrency_by": "x"},
        {"concurrency_by": BY, "exclusive": True},
    ],
)
def test_a_limit_that_means_nothing_is_refused(timed: Engine, settings: dict[str, object]) -> None:
    with pytest.raises(InvalidSetting):
        timed["work"].settings(**settings)
    assert timed.lists() == []


def test_items_added_while_families_are_set_have_one(timed: Engine) -> None:
    start = threading.Barrier(2)

    def add() -> None:
        start.wait(WAIT_SECONDS)
        for number in range(40):
            timed["work"].add([f"{number}/{each}" for each in range(20)])

    adding = threading.Thread(target=add)
    adding.start()
    start.wait(WAIT_SECONDS)
    for number in range(6):
        timed["work"].settings(concurrency_by=BY if number % 2 == 0 else {"separator": "-"})
    adding.join(WAIT_SECONDS)
    assert (adding.is_alive(), broken(timed)) == (False, [])
