"""Intervals: what stands between the items of a claim and is not its own is neither claimed nor settled with them."""

from typing import Any

import msgspec
import pytest
from tests.conftest import Clock
from tests.verbs.claiming import Desk, broken, keys, states

from rowlock import Done, Engine, Fail, Move, Retry, claims, sessions, settlements
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.outcomes import Outcome

LANE = ("before", "a", "b", "after")


def mix(engine: Engine, *, other_lane: bool = True) -> None:
    """Add the items of a lane, each between items of another list, gate or priority, a delayed and a failed one."""
    holder, failing = Desk(engine, "holder"), Desk(engine, "failing")
    for number, key in enumerate((*LANE, "")):
        engine["other"].add(f"list{number}")
        engine["work"].add(f"gate{number}", gate=1)
        engine["work"].add(f"delayed{number}", due="1h")
        engine["work"].add(f"failed{number}")
        failing.settle(failing.got(1), Fail("bad"))
        if other_lane:
            engine["work"].add(f"priority{number}", priority=9)
        if key:
            engine["work"].add(key)
            holder.got(1)
    holder.close()
    failing.close()


@pytest.fixture
def mixed(timed: Engine) -> Engine:
    mix(timed)
    return timed


def claimed(engine: Engine) -> tuple[Desk, ClaimedItems]:
    """A session that has claimed the two items in the middle; another one has claimed the first."""
    Desk(engine, "first", expiry=1_000_000).got(1)
    bob = Desk(engine, "bob")
    return bob, bob.got(2)


def test_a_search_claims_the_items_of_the_lane(mixed: Engine) -> None:
    bob = Desk(mixed)
    assert [keys(bob.look(limit)) for limit in (1, 2, 9)] == [["before"], ["a", "b"], ["after"]]
    assert (keys(bob.look()), broken(mixed)) == ([f"priority{number}" for number in range(5)], [])


def test_a_claim_after_the_frontier_takes_the_items_of_the_lane(mixed: Engine) -> None:
    bob = Desk(mixed)
    assert [keys(bob.take(limit)) for limit in (1, 2, 9)] == [["before"], ["a", "b"], ["after"]]
    assert (keys(bob.take()), broken(mixed)) == ([f"priority{number}" for number in range(5)], [])


def test_a_claim_of_a_known_lane_takes_its_items(timed: Engine) -> None:
    mix(timed, other_lane=False)
    bob = Desk(timed)
    bob.got(9, "other")
    first = bob.got(1)
    asking = msgspec.structs.replace(bob.ask(2, floors={5: first.high}), lane=first.lane)
    taken = timed.run(claims.take, asking)
    assert (first.lane is not None, keys(taken), broken(timed)) == (True, ["a", "b"], [])


def test_a_claim_is_read_again_with_its_own_items(mixed: Engine) -> None:
    Desk(mixed, "first").got(1)
    bob = Desk(mixed, "bob")
    taken = bob.take(2)
    assert taken is not None
    assert keys(mixed.read(sessions.held, bob.id, taken.token)) == ["a", "b"]


def test_all_done_is_all_of_the_claim_and_nothing_else(mixed: Engine) -> None:
    bob, taken = claimed(mixed)
    before = states(mixed)
    assert bob.done(taken) == ["done", "done"]
    assert states(mixed) == {key: state for key, state in before.items() if key not in ("a", "b")}
    assert (mixed["work"].progress().done, mixed["other"].counts().ready, broken(mixed)) == (2, 5, [])


@pytest.mark.parametrize(
    "outcome", [Done(), Retry("no", after=0), Move(), Fail("bad")], ids=lambda each: type(each).__name__
)
def test_what_a_claim_does_not_hold_is_gone_for_it(mixed: Engine, outcome: Outcome) -> None:
    bob, taken = claimed(mixed)
    foreign = {
        item.key: item.position for name in ("work", "other") for item in mixed[name] if item.key not in ("a", "b")
    }
    before = states(mixed), states(mixed, "other")
    outcomes = [(position, outcome) for position in foreign.values()]
    verdicts = mixed.run(settlements.settle, bob.id, taken.token, outcomes, close=False)
    assert {key: verdict for key, verdict in zip(foreign, verdicts, strict=True) if verdict != "gone"} == {}
    assert ((states(mixed), states(mixed, "other")), broken(mixed)) == (before, [])


def test_a_claim_tells_where_its_lane_begins_and_ends(mixed: Engine) -> None:
    claimed(mixed)
    places = {item.key: item.position for item in mixed["work"]}
    told = [(each.first, each.last) for each in mixed.claims(of="work")]
    assert told == [(places["before"], places["after"])] * 2


def test_claims_are_told_by_their_age(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b", "c"])
    ann = Desk(timed)
    for token in ("z", "m", "a"):
        timed.run(claims.take_thoroughly, ClaimRequest(ann.id, "work", 1, token))
        clock.advance(1)
    assert [each.low for each in timed.claims()] == sorted(each.low for each in timed.claims())
    assert len(timed.claims(limit=2)) == 2


def test_after_a_death_the_items_of_the_claim_alone_are_suspects(mixed: Engine, clock: Clock) -> None:
    claimed(mixed)
    clock.advance(16)
    mixed.upkeep()
    eve = Desk(mixed, "eve")
    assert [keys(eve.look()) for _ in range(3)] == [["a"], ["b"], ["after"]]
    assert keys(eve.look()) == [f"priority{number}" for number in range(5)]
    assert keys(eve.look(9, "other")) == [f"list{number}" for number in range(5)]


def test_suspects_of_one_gate_are_not_suspects_at_the_next(timed: Engine, clock: Clock) -> None:
    for key, gate in (("a", 0), ("later1", 1), ("later2", 1), ("b", 0)):
        timed["work"].add(key, gate=gate)
    Desk(timed, "dead").got(2)
    clock.advance(16)
    timed.upkeep()
    eve = Desk(timed, "eve")
    for key in ("a", "b"):
        taken = eve.got()
        assert (keys(taken), eve.done(taken)) == ([key], ["done"])
    assert keys(eve.look()) == ["later1", "later2"]


def test_an_interval_without_ready_items_is_not_suspect_any_more(mixed: Engine, clock: Clock) -> None:
    claimed(mixed)
    clock.advance(16)
    mixed.upkeep()
    assert suspects(mixed) == 1
    mixed["work"].done("a")
    mixed.upkeep()
    assert suspects(mixed) == 1
    mixed["work"].done("b")
    mixed.upkeep()
    assert suspects(mixed) == 0


def suspects(engine: Engine) -> int:
    """How many intervals are suspect."""
    with engine.transaction() as tx:
        return len(tx.execute("select 1 from rowlock_suspects").fetchall())


def test_deaths_in_another_lane_or_before_it_are_not_counted(timed: Engine, clock: Clock) -> None:
    for key, priority in (("a", 5), ("u", 9), ("b", 5), ("v", 9), ("c", 5), ("d", 5)):
        timed["work"].add(key, priority=priority)
    Desk(timed, "dead").got(2)
    clock.advance(16)
    timed.upkeep()
    ann = Desk(timed, "ann", expiry=1_000_000)
    assert [keys(ann.got()), keys(ann.got())] == [["a"], ["b"]]
    late = Desk(timed, "late")
    assert [keys(late.got()), keys(late.got())] == [["c", "d"], ["u", "v"]]
    clock.advance(16)
    timed.upkeep()
    handed = [ann.got() for _ in range(4)]
    assert [(keys(each), each.alone) for each in handed] == [
        (["c"], False),
        (["d"], False),
        (["u"], False),
        (["v"], False),
    ]


def test_an_item_that_killed_its_worker_is_suspect_in_its_own_list(timed: Engine, clock: Clock) -> None:
    for name in ("other", "work"):
        timed[name].add(["a", "b"])
    Desk(timed, "dead").got(1)
    clock.advance(16)
    timed.upkeep()
    ann = Desk(timed)
    other = ann.got(9, "other")
    assert (keys(other), other.alone) == (["a", "b"], False)
    assert [(keys(each), each.alone) for each in (ann.got(1), ann.got(1))] == [(["b"], False), (["a"], True)]


def test_items_of_another_list_between_suspects_are_claimed_together(timed: Engine, clock: Clock) -> None:
    for name, key in (("work", "a"), ("other", "x"), ("other", "y"), ("work", "b")):
        timed[name].add(key)
    Desk(timed, "dead").got(2)
    clock.advance(16)
    timed.upkeep()
    assert keys(Desk(timed).look(9, "other")) == ["x", "y"]


FOREIGN: dict[str, dict[str, Any]] = {
    "another priority": {"priority": 9},
    "another gate": {"gate": 1},
    "a delay": {"due": "1h"},
}


@pytest.mark.parametrize("foreign", FOREIGN)
def test_items_with_the_same_sum_of_positions_are_not_taken_for_those_of_the_claim(timed: Engine, foreign: str) -> None:
    for key, options in (("a", {}), ("x", FOREIGN[foreign]), ("y", FOREIGN[foreign]), ("b", {})):
        timed["work"].add(key, **options)
    ann = Desk(timed)
    taken = ann.got(2)
    timed["work"].abandon(["a", "b"])
    assert (keys(taken), ann.done(taken)) == (["a", "b"], ["gone", "gone"])
    assert (sorted(states(timed)), timed["work"].progress().done, broken(timed)) == (["x", "y"], 0, [])


def test_claims_with_equal_sums_of_positions_are_settled_one_at_a_time(timed: Engine) -> None:
    for key, priority in (("a", 5), ("u", 9), ("v", 9), ("b", 5)):
        timed["work"].add(key, priority=priority)
    ann = Desk(timed)
    first, second = ann.got(2), ann.got(2)
    assert (keys(first), keys(second)) == (["a", "b"], ["u", "v"])
    assert ann.done(second) == ["done", "done"]
    assert (sorted(states(timed)), timed["work"].progress().done, broken(timed)) == (["a", "b"], 2, [])
    assert ann.done(first) == ["done", "done"]
