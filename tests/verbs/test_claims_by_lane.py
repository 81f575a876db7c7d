"""A claimer that knows a list's only lane looks nowhere else; where it is mistaken it gets nothing, and looks again."""

from collections.abc import Callable

import msgspec
import pytest
from tests.conftest import Clock
from tests.verbs.claiming import STRICT, Desk, broken, keys, numbered

from rowlock import Engine, Move, Retry, claims
from rowlock.claims import ClaimedItems
from rowlock.engine import claimer

pytestmark = pytest.mark.parametrize("dialect", STRICT)


def by_lane(desk: Desk, before: ClaimedItems, limit: int = 100) -> ClaimedItems | None:
    """What is handed out after a claim by the lane that it told of."""
    assert before.lane is not None
    asking = desk.ask(limit, floors={before.priority: before.high})
    return desk.engine.run(claims.take, msgspec.structs.replace(asking, lane=before.lane))


def test_a_thorough_look_tells_of_the_only_lane(engine: Engine) -> None:
    engine["work"].add(numbered(4))
    desk = Desk(engine)
    first = desk.got(2)
    second = by_lane(desk, first, 1)
    assert second is not None
    assert (keys(second), second.lane, second.low, second.alone) == (["0002"], first.lane, first.high, False)
    assert keys(by_lane(desk, second)) == ["0003"]
    assert by_lane(desk, second) is None
    assert broken(engine) == []


def test_what_others_hold_is_passed_over(engine: Engine) -> None:
    engine["work"].add(numbered(4))
    ann, bob = Desk(engine), Desk(engine, "bob")
    first = ann.got(1)
    bob.got(1)
    bob.got(1)
    assert keys(by_lane(ann, first)) == ["0003"]


CHANGES: dict[str, Callable[[Engine], object]] = {
    "another lane": lambda engine: engine["work"].add(["urgent"], priority=0),
    "an item in another lane": lambda engine: engine["work"].save("0003", priority=0),
    "paused": lambda engine: engine["work"].pause(),
    "exclusive": lambda engine: engine["work"].settings(exclusive=True),
    "a limit": lambda engine: engine["work"].settings(concurrency=1),
    "renamed": lambda engine: engine["work"].rename("other"),
    "dropped": lambda engine: engine["work"].drop(),
    "another in its place": lambda engine: (engine["work"].drop(), engine["work"].add(numbered(9))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_nothing_is_claimed_by_lane_from_a_list_that_has_changed(engine: Engine, change: str) -> None:
    engine["work"].add(numbered(4))
    desk = Desk(engine)
    first = desk.got(2)
    assert desk.done(first)
    CHANGES[change](engine)
    assert by_lane(desk, first) is None
    assert broken(engine) == []


@pytest.mark.parametrize(
    "change", [("another lane", "urgent"), ("an item in another lane", "0003"), ("another in its place", "0000")]
)
def test_a_session_looks_again_and_finds_what_has_changed(engine: Engine, change: tuple[str, str]) -> None:
    engine["work"].add(numbered(4))
    with engine.session() as session:
        first = session.take("work", limit=2)
        assert first is not None
        for item in first:
            first.done(item)
        first.settle()
        CHANGES[change[0]](engine)
        found = session.take("work", limit=1)
        assert found is not None
        assert [item.key for item in found] == [change[1]]


def test_a_session_that_has_ended_claims_nothing_while_others_live(engine: Engine) -> None:
    engine["work"].add(numbered(4))
    desk, _ = Desk(engine), Desk(engine, "bob")
    first = desk.got(2)
    desk.close()
    assert by_lane(desk, first) is None


def test_after_a_death_nothing_is_claimed_by_lane_until_all_suspects_are_cleared(timed: Engine, clock: Clock) -> None:
    timed["work"].add(numbered(4))
    ann, bob = Desk(timed, expiry=60_000), Desk(timed, "bob")
    first = ann.got(1)
    bob.got(2)
    clock.advance(16)
    timed.upkeep()
    assert by_lane(ann, first) is None
    suspect = ann.got()
    assert (keys(suspect), suspect.lane) == (["0001"], None)


def test_the_next_gate_has_a_lane_of_its_own(engine: Engine) -> None:
    engine["work"].add(numbered(1))
    desk = Desk(engine)
    first = desk.got()
    desk.settle(first, Move(1))
    second = desk.got()
    assert second.lane is not None
    assert first.lane is not None
    assert (first.lane.gate, second.lane.gate) == (0, 1)
    desk.settle(second, Retry("again"))
    assert by_lane(desk, first) is None
    assert keys(by_lane(desk, second)) == ["0000"]


def test_of_many_lists_a_claimer_forgets_and_looks_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claimer, "MAX_LISTS", 2)
    names = ["a", "b", "c"]
    for name in names:
        engine[name].add(numbered(4))
    with engine.session() as session:
        taken = [session.take(name, limit=1) for _ in range(4) for name in names]
    assert [[item.key for item in claim or ()] for claim in taken] == [[key] for key in numbered(4) for _ in names]
