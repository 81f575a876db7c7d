"""Holders of leases: which of their lists are taken, kept, requested and released, and which are not."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import Desk, broken, keys

from rowlock import Engine, leases, lists

NAMES = ("c", "b", "a")


@pytest.fixture
def feeds(timed: Engine) -> Engine:
    """Three exclusive lists with an item each."""
    for name in NAMES:
        timed[name].settings(exclusive=True)
        timed[name].add("item")
    timed.run(lists.apply_wakes)
    return timed


def number(engine: Engine, name: str) -> int:
    row = engine.read(lists.find, name)
    assert row is not None
    return row.id


def take(engine: Engine, desk: Desk, *names: str, keep: int = 15_000) -> int:
    return engine.run(leases.take, desk.id, [number(engine, name) for name in names], keep=keep)


def test_a_session_is_told_how_many_lists_it_has_taken_now(feeds: Engine) -> None:
    ann, bob = Desk(feeds), Desk(feeds, "bob")
    assert [take(feeds, ann, "c"), take(feeds, ann, "a"), take(feeds, bob, "a", "b")] == [1, 1, 1]
    held = {info.holder: info.leases for info in feeds.sessions()}
    assert (held, feeds.read(leases.names, ann.id)) == ({"ann": ["a", "c"], "bob": ["b"]}, ["a", "c"])


def test_a_session_that_is_not_there_gets_no_list(feeds: Engine) -> None:
    ann = Desk(feeds)
    take(feeds, ann, "a", "b")
    ann.got(1, "a")
    assert feeds.run(leases.take, "nobody", [number(feeds, "c")]) == 0
    for _ in range(2):
        feeds.run(leases.request_handover, "nobody", ann.id)
    assert (feeds.read(leases.names, ann.id), keys(ann.look(1, "b")), broken(feeds)) == (["a", "b"], ["item"], [])


def test_a_lease_is_idle_only_after_its_time(feeds: Engine, clock: Clock) -> None:
    ann, bob = Desk(feeds, expiry=1_000_000), Desk(feeds, "bob", expiry=1_000_000)
    take(feeds, ann, "a", keep=10_000)
    assert feeds.run(leases.release_idle) == 0
    clock.advance(9)
    bob.done(bob.got(1, "b"))
    assert feeds.run(leases.release_idle) == 0
    clock.advance(1)
    assert feeds.run(leases.release_idle) == 1
    assert [feeds.read(leases.names, desk.id) for desk in (ann, bob)] == [[], ["b"]]


def test_a_list_without_claims_is_handed_over_at_once_and_kept_as_long_as_any(feeds: Engine, clock: Clock) -> None:
    ann, bob = Desk(feeds, expiry=1_000_000), Desk(feeds, "bob", expiry=1_000_000)
    take(feeds, ann, "a", keep=1_000)
    clock.advance(1)
    take(feeds, ann, "b", keep=1_000)
    clock.advance(1)
    take(feeds, ann, "c", keep=1_000)
    ann.got(1, "c")
    feeds.run(leases.request_handover, bob.id, ann.id)
    assert [feeds.read(leases.names, desk.id) for desk in (ann, bob)] == [["a", "c"], ["b"]]
    clock.advance(14)
    feeds.run(leases.release_idle)
    assert [feeds.read(leases.names, desk.id) for desk in (ann, bob)] == [["c"], ["b"]]


def test_a_released_list_is_free_although_others_are_held(feeds: Engine) -> None:
    ann = Desk(feeds)
    take(feeds, ann, *NAMES)
    feeds.run(leases.release, number(feeds, "b"), ann.id)
    assert [each.name for each in feeds.read(leases.free)] == ["b"]
