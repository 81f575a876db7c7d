"""Claims: an interval of a lane, the most urgent first, never the same item in two hands."""

from itertools import chain

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import ALL, Desk, all_done, broken, keys, numbered, states

from rowlock import Counts, Done, Engine, Invalid, Retry, claims, lists

pytestmark = pytest.mark.parametrize("dialect", ALL)


@pytest.fixture
def work(timed: Engine) -> Engine:
    timed["work"].add(numbered(20))
    return timed


def test_nothing_can_be_had_from_a_list_that_is_not_there(timed: Engine) -> None:
    ann = Desk(timed)
    assert (ann.take(name="nowhere"), ann.look(name="nowhere")) == (None, None)


def test_nothing_can_be_had_from_an_empty_list(timed: Engine) -> None:
    timed["work"].add("a")
    timed["work"].done("a")
    ann = Desk(timed)
    assert (ann.take(), ann.look()) == (None, None)


def test_of_two_sessions_one_gets_the_only_item(timed: Engine) -> None:
    timed["work"].add("a")
    ann, bob = Desk(timed), Desk(timed, "bob")
    assert (keys(ann.take()), keys(bob.take()), keys(bob.look())) == (["a"], [], [])


def test_items_are_claimed_in_the_order_they_were_added(timed: Engine) -> None:
    timed["work"].add(["c", "a"])
    timed["work"].add("b")
    assert keys(Desk(timed).take()) == ["c", "a", "b"]


def test_a_claim_takes_no_more_than_its_limit(work: Engine) -> None:
    assert keys(Desk(work).take(3)) == ["0000", "0001", "0002"]


def test_claims_follow_each_other_without_overlap(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    handed = [keys(each.take(6)) for each in (ann, bob, ann, bob, ann)]
    assert ([len(each) for each in handed], [*chain(*handed)]) == ([6, 6, 6, 2, 0], numbered(20))
    assert broken(work) == []


def test_a_claimed_item_knows_its_claim(work: Engine) -> None:
    taken = Desk(work).got(1)
    assert (taken.items[0].token, str(taken.items[0].state)) == (taken.token, "claimed")


def test_data_and_attempts_come_with_the_item(timed: Engine) -> None:
    timed["work"].add("a", data={"size": [1, None, "é"]})
    timed["work"].increment("a")
    item = Desk(timed).got().items[0]
    assert (item.data, item.attempts) == ({"size": [1, None, "é"]}, 1)


def test_freed_items_are_claimed_again_from_the_first_on(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    first, second = ann.got(5), ann.got(5)
    ann.settle(first, Done(), Done())
    assert keys(bob.look(4)) == ["0002", "0003", "0004"]
    ann.done(second)
    assert (keys(bob.look(4)), broken(work)) == (numbered(20)[10:14], [])


def test_a_hole_is_filled_only_up_to_the_claim_behind_it(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    first = ann.got(5)
    bob.got(5)
    ann.settle(first, Done())
    assert (keys(ann.look(100)), broken(work)) == (numbered(20)[1:5], [])


def test_a_claimer_that_has_seen_far_does_not_reach_into_a_claim_that_began_before(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    first = ann.got(10)
    ann.settle(first, *[Done()] * 4)
    middle = keys(bob.take(10))
    assert (middle, keys(ann.take(10, floors={5: first.high}))) == (numbered(20)[4:14], numbered(20)[14:])
    assert broken(work) == []


def test_a_claimer_that_has_seen_far_starts_from_there(work: Engine) -> None:
    ann = Desk(work)
    first = ann.got(10)
    ann.settle(first, *[Done()] * 4)
    assert keys(ann.take(2, floors={5: first.high})) == ["0010", "0011"]


def test_the_most_urgent_lane_goes_first(timed: Engine) -> None:
    timed["work"].add("later", priority=9)
    timed["work"].add("usual")
    timed["work"].add("now", priority=0)
    ann = Desk(timed)
    assert [keys(ann.take()) for _ in range(4)] == [["now"], ["usual"], ["later"], []]


def test_a_claim_is_of_one_lane(timed: Engine) -> None:
    timed["work"].add([{"key": "a", "priority": 1}, {"key": "b", "priority": 2}, {"key": "c", "priority": 1}])
    assert keys(Desk(timed).take()) == ["a", "c"]


def test_a_delayed_item_is_not_claimed_before_its_time(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a", due="1m")
    ann = Desk(timed)
    clock.advance(59.999)
    early = keys(ann.look())
    clock.advance(0.001)
    assert (early, keys(ann.look())) == ([], ["a"])


def test_due_items_come_after_those_that_were_ready(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a", due="2s")
    timed["work"].add("b", due="1s")
    timed["work"].add("c")
    clock.advance(5)
    assert keys(Desk(timed).look()) == ["c", "b", "a"]


def test_due_items_of_a_high_priority_go_first(timed: Engine, clock: Clock) -> None:
    timed["work"].add("usual")
    timed["work"].add("now", due="1s", priority=0)
    clock.advance(2)
    assert keys(Desk(timed).look()) == ["now"]


def test_more_due_items_than_are_promoted_at_once_all_come_in_the_end(timed: Engine, clock: Clock) -> None:
    timed["work"].add(numbered(claims.MAX_PROMOTED_ITEMS + 5), due="1s")
    clock.advance(2)
    ann = Desk(timed)
    handed = keys(ann.look(10_000)) + keys(ann.look(10_000))
    assert (len(handed), sorted(handed), broken(timed)) == (1005, numbered(1005), [])


def test_items_at_a_later_gate_wait(timed: Engine) -> None:
    timed["work"].add("a", gate=1)
    timed["work"].add("b")
    ann = Desk(timed)
    assert (keys(ann.look()), keys(ann.look()), timed["work"].counts()) == (["b"], [], Counts(claimed=1, gated=1))


def test_failed_items_are_not_claimed(timed: Engine) -> None:
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    ann.settle(ann.got(1), Retry("no", after=60))
    assert keys(ann.look()) == ["b"]


def test_nothing_is_claimed_from_a_paused_list_until_it_is_resumed(work: Engine) -> None:
    ann = Desk(work)
    work["work"].pause()
    paused = (ann.take(), ann.look())
    work["work"].resume()
    assert (paused, len(keys(ann.look()))) == ((None, None), 20)


def test_what_is_claimed_may_be_settled_while_the_list_is_paused(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(2)
    work["work"].pause()
    assert ann.settle(taken, Done(), Retry("no")) == ["done", "retried"]


def test_a_renamed_list_keeps_its_claims(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got()
    work["work"].rename("other")
    assert (ann.done(taken)[0], keys(ann.look(name="other")), broken(work)) == ("done", [], [])


def test_a_dropped_list_takes_its_claims_with_it(work: Engine) -> None:
    Desk(work).got()
    work["work"].drop()
    assert (work.sessions()[0].claims, broken(work)) == (0, [])


@pytest.mark.parametrize("limit", [0, -1, 10_001])
def test_a_claim_of_no_or_too_many_items_is_refused(work: Engine, limit: int) -> None:
    with pytest.raises(Invalid, match="limit must be 1 to 10000, got"):
        Desk(work).take(limit)


def test_a_claim_may_ask_for_ten_thousand_items(work: Engine) -> None:
    assert Desk(work).got(10_000).items


def test_a_closed_claim_frees_its_items_at_once(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    taken = ann.got()
    work.run(claims.close, ann.id, taken.token)
    assert len(keys(bob.look())) == 20


def test_only_its_own_session_can_close_a_claim(work: Engine) -> None:
    ann, bob = Desk(work), Desk(work, "bob")
    taken = ann.got()
    assert (work.run(claims.close, bob.id, taken.token), keys(bob.look())) == (False, [])


def test_an_abandoned_item_is_not_counted_as_claimed(work: Engine) -> None:
    Desk(work).got(5)
    work["work"].abandon(["0000", "0001"])
    assert work["work"].counts() == Counts(ready=15, claimed=3)


def test_counts_and_pages_agree_about_what_is_claimed(work: Engine) -> None:
    ann = Desk(work)
    taken = ann.got(5)
    ann.settle(taken, Done(), Retry("no"), Retry("no", after=9), close=False)
    shown = list(states(work).values())
    counts = work["work"].counts()
    assert (counts.ready, counts.claimed, counts.delayed) == tuple(map(shown.count, ("ready", "claimed", "delayed")))


def test_every_item_is_claimed_once_in_any_size_of_claim(work: Engine) -> None:
    desks = [Desk(work), Desk(work, "bob"), Desk(work, "cid")]
    handed = []
    for limit in (1, 3, 2, 7, 5, 9):
        for desk in desks:
            taken = desk.look(limit)
            handed += keys(taken)
            assert broken(work) == []
            assert taken is None or set(desk.settle(taken, *all_done(taken))) == {"done"}
    assert (handed, work["work"].counts()) == (numbered(20), Counts())


def asleep(engine: Engine) -> bool:
    engine.run(lists.apply_wakes)
    return engine.read(lists.awake) == []


def slept(engine: Engine, clock: Clock) -> Desk:
    """Somebody who found nothing, so that the list sleeps."""
    bob = Desk(engine, "bob", expiry=1_000_000)
    engine.run(lists.apply_wakes)
    assert bob.look() is None
    assert asleep(engine)
    return bob


def test_an_add_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a", due="1h")
    slept(timed, clock)
    timed["work"].add("b")
    assert (asleep(timed), broken(timed)) == (False, [])


def test_a_retry_by_hand_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a", due="1h")
    slept(timed, clock)
    timed["work"].retry("a")
    assert (asleep(timed), broken(timed)) == (False, [])


def test_a_due_time_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a", due="1h")
    slept(timed, clock)
    clock.advance(3600)
    assert (asleep(timed), broken(timed)) == (False, [])


def test_the_next_wake_is_that_of_the_first_due_item(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"], due="1h")
    timed["work"].add("c", due="5m")
    slept(timed, clock)
    assert timed.read(lists.next_wake) == 300


def test_a_closed_session_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    ann.got()
    slept(timed, clock)
    ann.close()
    assert (asleep(timed), broken(timed)) == (False, [])


def test_a_closed_claim_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    taken = ann.got()
    slept(timed, clock)
    timed.run(claims.close, ann.id, taken.token)
    assert (asleep(timed), broken(timed)) == (False, [])


def test_a_claim_that_is_settled_in_part_and_ended_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    taken = ann.got()
    slept(timed, clock)
    ann.settle(taken, Done())
    assert (asleep(timed), broken(timed)) == (False, [])


def test_the_death_of_a_session_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    Desk(timed).got()
    slept(timed, clock)
    clock.advance(16)
    timed.upkeep()
    assert (asleep(timed), broken(timed)) == (False, [])


def test_a_resumed_list_is_awake(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    timed["work"].pause()
    slept(timed, clock)
    timed["work"].resume()
    assert (asleep(timed), broken(timed)) == (False, [])


def test_a_retried_item_wakes_the_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    taken = ann.got()
    bob = slept(timed, clock)
    ann.settle(taken, Retry("no"))
    assert (asleep(timed), keys(bob.look()), broken(timed)) == (False, ["a"], [])
