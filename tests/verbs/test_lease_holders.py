"""Holders of leases: which of their lists are taken, kept, requested and released, and which are not."""

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import Desk, broken, keys

from rowlock import Engine, claims, leases, lists
from rowlock.leases import LeaseRow, LeaseShare

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


def held(engine: Engine, desk: Desk) -> list[str]:
    return engine.read(leases.names, desk.id)


def free(engine: Engine) -> list[str]:
    return [each.name for each in engine.read(leases.free)]


def requester(engine: Engine, name: str) -> str | None:
    """The session that has requested a list."""
    row = engine.read(lambda tx: tx.struct(LeaseRow, "leases/show", list=number(engine, name)))
    assert row is not None
    return row.asked_by


def change(engine: Engine, statement: str, **parameters: object) -> bool:
    """Run a statement on the lease of the list `a` by itself, as after somebody else has changed the lease."""
    place = number(engine, "a")
    return engine.run(lambda tx: tx.run(f"leases/{statement}", list=place, **parameters)) == 1


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
    feeds.run(lists.apply_wakes)
    assert (feeds.run(leases.release_idle), feeds.read(lists.has_pending_wakes)) == (1, True)
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
    ann, bob = Desk(feeds), Desk(feeds, "bob")
    take(feeds, ann, *NAMES)
    ann.got(1, "c")
    feeds.run(leases.release, number(feeds, "b"), bob.id)
    assert (held(feeds, ann), free(feeds)) == (["a", "b", "c"], [])
    feeds.run(leases.release, number(feeds, "b"), ann.id)
    assert (held(feeds, ann), free(feeds), broken(feeds)) == (["a", "c"], ["b"], [])


def test_a_list_that_is_paused_or_shared_is_not_taken(feeds: Engine) -> None:
    feeds["a"].pause()
    feeds["shared"].add("item")
    assert take(feeds, Desk(feeds), "a", "b", "shared") == 1


def test_free_lists_come_page_by_page(feeds: Engine) -> None:
    first = feeds.read(leases.free, limit=1)
    others = feeds.read(leases.free, after=first[0])
    assert ([each.name for each in first], [each.name for each in others]) == (["c"], ["b", "a"])


def test_a_list_is_shown_with_the_session_that_holds_it(feeds: Engine) -> None:
    ann, bob = Desk(feeds), Desk(feeds, "bob")
    take(feeds, bob, "a")
    take(feeds, ann, "b")
    assert [feeds[name].info().holder for name in ("a", "b", "c")] == ["bob", "ann", None]


def test_of_idle_leases_the_oldest_end_first(feeds: Engine, clock: Clock) -> None:
    ann = Desk(feeds, expiry=1_000_000)
    for name in ("b", "a", "c"):
        take(feeds, ann, name, keep=1_000)
        clock.advance(1)
    assert [feeds.run(leases.release_idle, limit=1) for _ in range(2)] == [1, 1]
    assert held(feeds, ann) == ["c"]


def test_an_idle_list_that_is_asked_for_leaves_other_idle_lists_where_they_are(feeds: Engine, clock: Clock) -> None:
    ann, bob = Desk(feeds, expiry=1_000_000), Desk(feeds, "bob", expiry=1_000_000)
    take(feeds, ann, "a")
    clock.advance(1)
    take(feeds, ann, "b")
    clock.advance(16)
    assert keys(bob.look(1, "b")) == ["item"]
    assert (held(feeds, ann), held(feeds, bob)) == (["a"], ["b"])


def test_items_that_others_add_do_not_keep_a_lease(feeds: Engine, clock: Clock) -> None:
    ann = Desk(feeds, expiry=1_000_000)
    take(feeds, ann, "a", keep=10_000)
    clock.advance(9)
    feeds["a"].add("more")
    clock.advance(1)
    assert feeds.run(leases.release_idle) == 1


def test_shares_are_those_of_living_sessions_without_what_was_requested_of_them(feeds: Engine, clock: Clock) -> None:
    ann, bob, eve = [Desk(feeds, each, expiry=10_000, seeks=["*"]) for each in ("ann", "bob", "eve")]
    Desk(feeds, "other", seeks=["other/*"])
    take(feeds, ann, "a", "b")
    for name in ("a", "b"):
        ann.got(1, name)
    feeds.run(leases.request_handover, bob.id, ann.id)
    shares = {ann.id: LeaseShare(1), bob.id: LeaseShare(1, asked=1)}
    assert feeds.read(leases.shares, bob.id) == {**shares, eve.id: LeaseShare(0)}
    clock.advance(9)
    for desk in (ann, bob):
        desk.beat()
    clock.advance(1)
    assert eve.id in feeds.read(leases.shares, bob.id)
    clock.advance(1)
    assert feeds.read(leases.shares, bob.id) == shares


def test_two_sessions_request_two_lists_of_one_that_holds_both(feeds: Engine) -> None:
    ann, bob, eve = [Desk(feeds, each) for each in ("ann", "bob", "eve")]
    take(feeds, ann, "a", "b")
    taken = [ann.got(1, name) for name in ("a", "b")]
    for desk in (bob, eve):
        feeds.run(leases.request_handover, desk.id, ann.id)
    assert {requester(feeds, "a"), requester(feeds, "b")} == {bob.id, eve.id}
    for each in taken:
        ann.done(each)
    assert (ann.look(1, "a"), held(feeds, ann)) == (None, ["b"])


def test_a_list_is_taken_over_and_requested_only_of_the_session_that_holds_it(feeds: Engine) -> None:
    ann, bob, eve = [Desk(feeds, each) for each in ("ann", "bob", "eve")]
    take(feeds, ann, "a")
    assert not change(feeds, "take_over", session=eve.id, holder=bob.id, keep=1)
    assert not change(feeds, "request_handover", session=eve.id, holder=bob.id)
    assert not change(feeds, "hand_over", session=ann.id)
    assert change(feeds, "request_handover", session=bob.id, holder=ann.id)
    assert not change(feeds, "request_handover", session=eve.id, holder=ann.id)
    assert not change(feeds, "take_over", session=eve.id, holder=ann.id, keep=1)
    assert not change(feeds, "hand_over", session=bob.id)
    assert requester(feeds, "a") == bob.id
    assert change(feeds, "hand_over", session=ann.id)
    assert held(feeds, bob) == ["a"]


def test_the_list_that_may_change_hands_is_named(feeds: Engine) -> None:
    ann = Desk(feeds)
    take(feeds, ann, "b")
    row = feeds.read(lambda tx: tx.row("leases/transferable", holder=ann.id))
    assert tuple(row or ()) == (number(feeds, "b"), "b")


def test_a_requested_list_is_collected_without_claims_and_kept_as_long_as_any(feeds: Engine, clock: Clock) -> None:
    ann, bob = Desk(feeds, expiry=1_000_000), Desk(feeds, "bob", expiry=1_000_000)
    take(feeds, ann, "a", keep=1_000)
    taken = ann.got(1, "a")
    feeds.run(leases.request_handover, bob.id, ann.id)
    assert (feeds.run(leases.collect_handovers, bob.id), held(feeds, ann)) == (0, ["a"])
    clock.advance(20)
    feeds.run(claims.close, ann.id, taken.token)
    assert (feeds.run(leases.collect_handovers, bob.id), held(feeds, bob)) == (1, ["a"])
    clock.advance(14)
    assert feeds.run(leases.release_idle) == 0
    clock.advance(1)
    assert feeds.run(leases.release_idle) == 1


def test_a_requested_list_is_handed_over_by_who_wants_more_of_it(feeds: Engine, clock: Clock) -> None:
    ann, bob = Desk(feeds, expiry=1_000_000), Desk(feeds, "bob", expiry=1_000_000)
    take(feeds, ann, "a")
    taken = ann.got(1, "a")
    feeds.run(leases.request_handover, bob.id, ann.id)
    assert (ann.look(1, "a"), held(feeds, ann)) == (None, ["a"])
    clock.advance(20)
    feeds.run(claims.close, ann.id, taken.token)
    feeds.run(lists.apply_wakes)
    assert (ann.look(1, "a"), held(feeds, bob), feeds.read(lists.has_pending_wakes)) == (None, ["a"], True)
    clock.advance(14)
    assert feeds.run(leases.release_idle) == 0


def test_a_session_yields_lists_without_claims_and_requests_and_they_wait_behind_others(
    feeds: Engine, clock: Clock
) -> None:
    ann, bob = Desk(feeds, expiry=1_000_000), Desk(feeds, "bob", expiry=1_000_000)
    feeds["d"].settings(exclusive=True)
    feeds["d"].add("item")
    take(feeds, bob, "b")
    take(feeds, ann, "a", "c", "d")
    clock.advance(1)
    done = ann.got(1, "a")
    ann.got(1, "d")
    feeds.run(leases.request_handover, bob.id, ann.id)
    assert (held(feeds, ann), held(feeds, bob)) == (["a", "d"], ["b", "c"])
    eve = Desk(feeds, "eve", expiry=1_000_000)
    feeds.run(leases.request_handover, eve.id, ann.id)
    ann.done(done)
    feeds.run(leases.yield_oldest, ann.id, limit=9)
    assert (held(feeds, ann), free(feeds)) == (["a", "d"], [])
    assert (feeds.run(leases.collect_handovers, eve.id), held(feeds, eve)) == (1, ["a"])
    feeds.run(leases.yield_oldest, bob.id, limit=1)
    assert (held(feeds, bob), free(feeds), broken(feeds)) == (["c"], ["b"], [])


def test_a_yielded_list_waits_behind_those_that_waited_before(feeds: Engine, clock: Clock) -> None:
    ann = Desk(feeds, expiry=1_000_000)
    take(feeds, ann, "c")
    clock.advance(1)
    feeds.run(leases.yield_oldest, ann.id, limit=1)
    assert free(feeds) == ["b", "a", "c"]


def test_a_list_that_is_shared_or_dropped_leaves_other_leases_alone(feeds: Engine) -> None:
    ann = Desk(feeds)
    take(feeds, ann, *NAMES)
    feeds["a"].settings(exclusive=False)
    feeds["b"].drop()
    assert (held(feeds, ann), broken(feeds)) == (["c"], [])
