"""Saving: an item's data, due time and priority are changed by who has seen its version; nobody overwrites unseen."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier
from typing import Any

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import EVERY, Desk

from rowlock import Counts, Engine, Fail
from rowlock.diagnostics import broken_rules
from rowlock.errors import (
    Invalid,
    InvalidData,
    InvalidDuration,
    InvalidKey,
    ItemClaimed,
    ItemFailed,
    NoSuchItem,
    NoSuchList,
    StaleVersion,
)

ROUNDS = 25


@pytest.fixture(params=EVERY)
def dialect(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def work(timed: Engine) -> Engine:
    timed["work"].add(["a", "b"], data={"size": 1})
    return timed


def failed(engine: Engine, key: str = "a") -> None:
    """Make an item fail."""
    desk = Desk(engine)
    desk.settle(desk.got(1), Fail("no"))
    assert engine["work"].show(key).state == "failed"


def test_data_are_saved_and_the_version_grows(work: Engine) -> None:
    before = work["work"].show("a")
    saved = work["work"].save("a", data={"size": 2})
    assert (saved.data, saved.version, saved.position) == ({"size": 2}, before.version + 1, before.position)
    assert (work["work"].show("a"), work["work"].show("b").data) == (saved, {"size": 1})


def test_data_may_be_nothing(work: Engine) -> None:
    assert (work["work"].save("a", data=None).data, work["work"].save("a", priority=1).data) == (None, None)


def test_what_is_left_out_stays(work: Engine) -> None:
    work["work"].save("a", due="5m", priority=3)
    saved = work["work"].save("a", data=7)
    assert (saved.data, saved.priority, saved.state, saved.attempts) == (7, 3, "delayed", 0)


def test_a_save_of_what_was_seen_lands(work: Engine) -> None:
    seen = work["work"].show("a").version
    assert work["work"].save("a", data=2, version=seen).version == seen + 1


def test_a_save_of_what_somebody_has_changed_since_is_refused(work: Engine) -> None:
    seen = work["work"].show("a").version
    work["work"].save("a", data=2)
    with pytest.raises(StaleVersion, match=f"at version {seen + 1}, not {seen}") as stale:
        work["work"].save("a", data=3, version=seen)
    assert stale.value.fields == {"asked": seen, "version": seen + 1}
    assert work["work"].show("a").data == 2


@pytest.mark.parametrize("change", ["increment", "retry", "claim"])
def test_any_change_of_an_item_is_seen_by_its_version(work: Engine, change: str) -> None:
    seen = work["work"].save("b", due="1h").version
    match change:
        case "increment":
            work["work"].increment("b")
        case "retry":
            work["work"].retry("b")
        case "claim":
            work["work"].save("b", due="0s")
            desk = Desk(work)
            desk.settle(desk.got(), Fail("no"), Fail("no"))
    with pytest.raises(StaleVersion):
        work["work"].save("b", data=3, version=seen)


@pytest.mark.parametrize("version", [None, 1])
def test_what_is_gone_is_not_brought_back(work: Engine, version: int | None) -> None:
    work["work"].done("a")
    with pytest.raises(NoSuchItem, match="no item 'a'"):
        work["work"].save("a", data=2, version=version)
    assert ("a" in work["work"], work["work"].counts().total) == (False, 1)


def test_a_list_that_is_not_there_is_told(work: Engine) -> None:
    with pytest.raises(NoSuchList, match="did you mean 'work'"):
        work["wrok"].save("a", data=2)
    assert len(work.lists()) == 1


def test_what_a_worker_has_in_hand_stays_as_it_was_handed_out(work: Engine) -> None:
    desk = Desk(work)
    taken = desk.got(1)
    with pytest.raises(ItemClaimed, match="is claimed by a worker"):
        work["work"].save("a", data=2)
    assert work["work"].save("b", data=2).data == 2
    assert (desk.done(taken), "a" in work["work"]) == (["done"], False)


def test_what_a_worker_has_handed_back_can_be_saved(work: Engine) -> None:
    desk = Desk(work)
    desk.got()
    desk.close()
    work["work"].save("a", data=2)
    assert [item.data for item in Desk(work).got().items] == [2, {"size": 1}]


def test_a_failed_item_is_mended_and_retried(work: Engine) -> None:
    failed(work)
    saved = work["work"].save("a", data="mended", priority=0)
    assert (saved.state, saved.data) == ("failed", "mended")
    work["work"].retry("a")
    assert [(item.key, item.data) for item in Desk(work).got(1).items] == [("a", "mended")]


@pytest.mark.parametrize("due", ["5m", None, "0s"])
def test_a_failed_item_is_not_due(work: Engine, due: str | None) -> None:
    failed(work)
    with pytest.raises(ItemFailed, match="retry it"):
        work["work"].save("a", due=due)
    assert work.read(broken_rules) == []


def test_a_ready_item_is_put_off(work: Engine, clock: Clock) -> None:
    saved = work["work"].save("a", due="5m")
    assert (saved.state, saved.due) == ("delayed", datetime.fromtimestamp(clock.now / 1000, UTC) + timedelta(minutes=5))
    assert work["work"].counts() == Counts(ready=1, delayed=1)
    assert [item.key for item in Desk(work).got().items] == ["b"]
    clock.advance(300)
    assert [item.key for item in Desk(work).got().items] == ["a"]
    assert work.read(broken_rules) == []


@pytest.mark.parametrize("due", [None, "0s", 0, datetime(2020, 1, 1, tzinfo=UTC)])
def test_a_delayed_item_is_made_ready_at_once(work: Engine, due: Any) -> None:
    work["work"].save("a", due="1h")
    Desk(work).got()
    assert Desk(work).look() is None  # nothing is free: the list sleeps until the item is due
    assert work["work"].save("a", due=due).state == "ready"
    assert work["work"].counts() == Counts(ready=1, claimed=1)
    assert work.read(broken_rules) == []
    assert [item.key for item in Desk(work).got().items] == ["a"]


def test_a_delayed_item_is_due_at_another_time(work: Engine, clock: Clock) -> None:
    work["work"].save("a", due="1h")
    work["work"].save("a", due="10m")
    assert work["work"].counts() == Counts(ready=1, delayed=1)
    clock.advance(600)
    assert [item.key for item in Desk(work).got().items] == ["b", "a"]


def test_due_at_once_leaves_a_ready_item_where_it_stands(work: Engine) -> None:
    before = work["work"].show("a")
    after = work["work"].save("a", due=None)
    assert (after.state, after.position, after.due) == ("ready", before.position, None)


def test_a_more_urgent_item_is_handed_out_first(work: Engine) -> None:
    saved = work["work"].save("b", priority=0)
    assert (saved.state, saved.priority, work["work"].counts()) == ("ready", 0, Counts(ready=2))
    desk = Desk(work)
    desk.look(1)
    assert [item.key for item in desk.got(1).items] == ["a"]
    assert work.read(broken_rules) == []


def test_an_item_goes_to_the_back_of_its_new_lane(work: Engine) -> None:
    work["work"].add(["c", "d"], priority=1)
    work["work"].save("a", priority=1)
    assert [item.key for item in Desk(work).got().items] == ["c", "d", "a"]


def test_an_item_that_changes_its_lane_stands_in_no_claim_of_that_lane(work: Engine) -> None:
    work["work"].add(["c"], priority=1)
    before, taken = Desk(work), Desk(work).got()
    assert [item.key for item in taken.items] == ["c"]
    work["work"].save("a", priority=1)
    assert [item.key for item in before.got().items] == ["a"]
    assert work.read(broken_rules) == []


def test_the_same_priority_leaves_an_item_where_it_stands(work: Engine) -> None:
    before = work["work"].show("a").position
    assert work["work"].save("a", priority=5).position == before


def test_an_item_behind_a_gate_is_saved(work: Engine) -> None:
    work["work"].add("later", gate=2)
    saved = work["work"].save("later", data=1, priority=2, due="1h")
    assert (saved.state, saved.gate, saved.priority, work["work"].counts().gated) == ("gated", 2, 2, 1)


WRONG: list[tuple[dict[str, Any], type[Invalid], str]] = [
    ({"key": "a"}, Invalid, "no changes were given"),
    ({"key": "", "data": 1}, InvalidKey, "empty"),
    ({"key": "a", "data": object()}, InvalidData, "JSON"),
    ({"key": "a", "data": "x" * 300_000}, InvalidData, "at most 262144 bytes of JSON, got 300002"),
    ({"key": "a", "priority": 10}, Invalid, "priority must be 0 to 9, got 10"),
    ({"key": "a", "priority": None}, Invalid, "priority must be 0 to 9, got None"),
    ({"key": "a", "due": "soon"}, InvalidDuration, "soon"),
    ({"key": "a", "due": datetime(2030, 1, 1)}, InvalidDuration, "must have a time zone"),
]


@pytest.mark.parametrize(("wrong", "kind", "said"), WRONG)
def test_what_cannot_be_is_refused_before_anything_is_asked(
    wrong: dict[str, Any], kind: type[Invalid], said: str
) -> None:
    with Engine("postgresql://nowhere.invalid/none") as nowhere, pytest.raises(kind, match=said):
        nowhere["work"].save(**wrong)


def test_a_save_in_a_transaction_lands_with_it(work: Engine) -> None:
    with work.transaction() as tx:
        tx["work"].save("a", data=2)
        assert work["work"].show("a").data == {"size": 1} or work.database.address.dialect == "sqlite"
    assert work["work"].show("a").data == 2


def test_a_refused_save_leaves_the_transaction_as_it_was(work: Engine) -> None:
    with work.transaction() as tx:
        tx["work"].save("b", data=2)
        with pytest.raises(StaleVersion):
            tx["work"].save("a", data=2, priority=0, version=99)
    assert (work["work"].show("a").data, work["work"].show("b").data) == ({"size": 1}, 2)


def test_of_two_who_save_the_same_version_one_is_told(work: Engine) -> None:
    together = Barrier(2)

    def save(number: int) -> str | dict[str, int]:
        together.wait()
        try:
            return str(work["work"].save("a", data=number, version=seen).data)
        except StaleVersion as stale:
            return stale.fields

    with ThreadPoolExecutor(2) as writers:
        for _ in range(ROUNDS):
            seen = work["work"].show("a").version
            told = list(writers.map(save, range(2)))
            landed = [number for number in range(2) if told[number] == str(number)]
            assert len(landed) == 1
            assert told[1 - landed[0]] == {"asked": seen, "version": seen + 1}
            assert (work["work"].show("a").data, work["work"].show("a").version) == (landed[0], seen + 1)


def test_who_saves_while_another_claims_is_seen_by_it_or_is_told(work: Engine) -> None:
    together = Barrier(2)
    work["work"].done("b")

    def save(number: int) -> bool:
        together.wait()
        try:
            return work["work"].save("a", data=number).data == number
        except ItemClaimed:
            return False

    def claim(desk: Desk) -> Any:
        together.wait()
        return desk.got(1).items[0].data

    with ThreadPoolExecutor(2) as both:
        for number in range(ROUNDS):
            desk = Desk(work)
            saving, claiming = both.submit(save, number), both.submit(claim, desk)
            assert (claiming.result() == number) is saving.result()
            desk.close()
