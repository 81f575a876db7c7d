"""Claims of several lists in one transaction: short lists share its cost."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import CORE, Desk, broken, keys

from rowlock import Engine, claims, lists

pytestmark = pytest.mark.parametrize("dialect", CORE)


@pytest.fixture
def names(timed: Engine) -> Engine:
    for name in ("a", "b", "c"):
        timed[name].add([f"{name}1", f"{name}2"])
    return timed


def several(desk: Desk, *wanted: str, limit: int) -> dict[str, list[str]]:
    taken = desk.engine.run(claims.take_of_several, [desk.ask(limit, name) for name in wanted])
    return {name: keys(claimed) for name, claimed in taken.items()}


def test_lists_are_searched_until_the_limit_is_used_up(names: Engine) -> None:
    assert several(Desk(names), "a", "b", "c", limit=3) == {"a": ["a1", "a2"], "b": ["b1"]}
    assert broken(names) == []


def test_a_list_without_free_items_sleeps(names: Engine) -> None:
    names.run(lists.apply_wakes)
    names["a"].done(["a1", "a2"])
    names["b"].done(["b1", "b2"])
    assert several(Desk(names), "a", "b", "c", limit=10) == {"a": [], "b": [], "c": ["c1", "c2"]}
    assert [each.name for each in names.read(lists.awake)] == ["c"]


def test_items_that_have_become_due_are_found_in_every_list(names: Engine, clock: Clock) -> None:
    names["b"].done(["b1", "b2"])
    names["b"].add("later", due="1h")
    names["b"].add("late", due="5s")
    assert several(Desk(names), "a", "b", limit=10) == {"a": ["a1", "a2"], "b": []}
    clock.advance(5)
    assert several(Desk(names), "a", "b", limit=10) == {"a": [], "b": ["late"]}


def test_an_item_that_must_run_alone_is_the_last_one(names: Engine, clock: Clock) -> None:
    names["a"].done("a2")
    Desk(names).got(1, "a")
    clock.advance(16)
    names.upkeep()
    clock.advance(3600)
    assert several(Desk(names), "a", "b", limit=10) == {"a": ["a1"]}


def test_empty_lists_are_put_to_sleep_together(names: Engine) -> None:
    names.run(lists.apply_wakes)
    names["a"].done(["a1", "a2"])
    names["b"].done(["b1", "b2"])
    assert sorted(names.run(claims.sleep_empty, ["a", "b", "c", "none"])) == ["a", "b"]
    assert [each.name for each in names.read(lists.awake)] == ["c"]


def test_a_list_without_items_that_somebody_has_claimed_of_is_not_put_to_sleep(names: Engine) -> None:
    Desk(names).got(2, "a")
    names["a"].done(["a1", "a2"])
    assert names.run(claims.sleep_empty, ["a"]) == []


def test_lists_are_looked_at_again_once_they_are_locked(names: Engine) -> None:
    ids = [names.read(lists.get, name).id for name in "abc"]
    names["a"].done(["a1", "a2"])
    assert names.run(lambda tx: tx.rows("lists/sleep_empty", ids=str(ids))) == [("a",)]
