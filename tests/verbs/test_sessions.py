"""Sessions: live workers. Death is the row's deletion, never anybody's clock."""

from collections import Counter
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import ALL, Desk, broken, keys, numbered, states
from tests.waiting import WAIT_SECONDS

from rowlock import Counts, Engine, Invalid, StaleClaim, StaleSession, Worker, claims, sessions

pytestmark = pytest.mark.parametrize("dialect", ALL)


def test_a_session_has_a_name_of_its_own_and_the_time_of_the_database(timed: Engine, clock: Clock) -> None:
    with timed.session(holder="ann") as one, timed.session(holder="bob") as other:
        opened = {info.id: info.opened_at.timestamp() * 1000 for info in timed.sessions()}
        assert opened == {one.id: clock(), other.id: clock()}


def test_sessions_are_listed_with_the_number_of_their_items(timed: Engine) -> None:
    timed["work"].add(["a", "b", "c"])
    Desk(timed).got(2)
    assert [(info.holder, info.claims, info.items) for info in timed.sessions()] == [("ann", 1, 2)]


def test_a_session_was_seen_at_its_last_heartbeat(timed: Engine, clock: Clock) -> None:
    ann = Desk(timed)
    clock.advance(2)
    ann.beat()
    clock.advance(2)
    [info] = timed.sessions()
    assert (info.beat_at or info.opened_at).timestamp() * 1000 == clock() - 2_000


def test_a_heartbeat_may_give_a_session_another_expiry(timed: Engine, clock: Clock) -> None:
    ann = Desk(timed)
    clock.advance(5)
    timed.run(sessions.beat, ann.id, expiry=60_000)
    [info] = timed.sessions()
    assert (info.beat_at or info.opened_at).timestamp() * 1000 == clock()


def test_sessions_are_listed_by_their_age_and_silent_ones_by_their_deadline(timed: Engine, clock: Clock) -> None:
    late = Desk(timed, expiry=5_000)
    clock.advance(1)
    early = Desk(timed, "bob", expiry=1_000)
    clock.advance(6)
    listed = [[each.id for each in timed.read(sessions.page, limit=limit)] for limit in (1, 9)]
    silent = [[each.id for each in timed.read(sessions.silent, limit=limit)] for limit in (1, 9)]
    assert listed == [[late.id], [late.id, early.id]]
    assert silent == [[early.id], [early.id, late.id]]


def test_a_session_that_has_ended_is_not_expired_in_the_place_of_another(timed: Engine, clock: Clock) -> None:
    ann, bob = Desk(timed), Desk(timed, "bob")
    clock.advance(16)
    dead = [each for each in timed.read(sessions.silent) if each.id == ann.id]
    ann.close()
    assert (timed.run(sessions.expire, dead), [info.id for info in timed.sessions()]) == (0, [bob.id])


def test_a_session_keeps_the_details_it_was_opened_with(timed: Engine) -> None:
    with timed.session(details={"host": "é"}):
        assert timed.sessions()[0].details == {"host": "é"}


def test_a_closed_session_frees_its_items_at_once(timed: Engine) -> None:
    timed["work"].add(["a", "b", "c"])
    ann, bob = Desk(timed), Desk(timed, "bob")
    for _ in range(3):
        ann.got(1)
    ann.close()
    assert (keys(bob.look()), broken(timed)) == (["a", "b", "c"], [])


def test_a_session_that_was_closed_leaves_no_suspects(timed: Engine) -> None:
    timed["work"].add(["a", "b"])
    ann, bob = Desk(timed), Desk(timed, "bob")
    ann.got()
    ann.close()
    assert bob.got().alone is False


def test_a_session_lives_until_strictly_past_its_deadline(timed: Engine, clock: Clock) -> None:
    Desk(timed)
    clock.advance(15)
    assert (timed.upkeep().expired, len(timed.sessions())) == (0, 1)


def test_a_session_past_its_deadline_is_expired(timed: Engine, clock: Clock) -> None:
    Desk(timed)
    clock.advance(15.001)
    assert (timed.upkeep().expired, timed.sessions()) == (1, [])


def test_a_heartbeat_after_the_deadline_revives_a_session_with_its_claims(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    taken = ann.got()
    clock.advance(3600)
    assert (ann.beat(), timed.upkeep().expired, ann.done(taken)) == (True, 0, ["done"])


def test_the_heartbeat_of_an_expired_session_says_that_it_is_lost(timed: Engine, clock: Clock) -> None:
    ann = Desk(timed)
    clock.advance(16)
    timed.upkeep()
    assert ann.beat() is False


def test_a_buried_session_can_claim_nothing(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann = Desk(timed)
    clock.advance(16)
    timed.upkeep()
    with pytest.raises(StaleSession):
        ann.look()
    assert (ann.take(), states(timed)) == (None, {"a": "ready"})


def test_a_buried_session_can_settle_nothing(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    taken = ann.got()
    clock.advance(16)
    timed.upkeep()
    with pytest.raises(StaleClaim):
        ann.done(taken)
    assert (timed["work"].counts(), broken(timed)) == (Counts(ready=2), [])


def test_the_death_of_a_session_frees_its_items(timed: Engine, clock: Clock) -> None:
    timed["work"].add(["a", "b"])
    ann = Desk(timed)
    ann.got()
    clock.advance(16)
    before = timed["work"].counts()
    timed.upkeep()
    assert (before, timed["work"].counts()) == (Counts(claimed=2), Counts(ready=2))


def test_a_live_session_keeps_its_items_however_long_it_takes(timed: Engine, clock: Clock) -> None:
    timed["work"].add("a")
    ann, bob = Desk(timed), Desk(timed, "bob")
    taken = ann.got()
    for _ in range(20):
        clock.advance(14)
        ann.beat()
        bob.beat()
        timed.upkeep()
        assert bob.look() is None
    assert ann.done(taken) == ["done"]


def test_a_clock_that_goes_back_expires_no_session(timed: Engine, clock: Clock) -> None:
    ann = Desk(timed)
    clock.advance(-3600)
    assert (timed.upkeep().expired, ann.beat()) == (0, True)


def test_the_dead_are_buried_a_few_at_a_time(timed: Engine, clock: Clock) -> None:
    for _ in range(12):
        Desk(timed)
    clock.advance(16)
    assert [timed.upkeep().expired for _ in range(3)] == [10, 2, 0]


def test_an_unknown_session_is_neither_beaten_nor_closed(timed: Engine) -> None:
    timed.make_ready()
    assert (timed.run(sessions.beat, "nobody"), timed.run(sessions.close, "nobody")) == (False, False)


def test_a_session_in_a_block_ends_with_it(timed: Engine) -> None:
    timed["work"].add(["a", "b"])
    with timed.session() as session:
        session.take("work")
    assert (timed.sessions(), timed["work"].counts()) == ([], Counts(ready=2))


@pytest.mark.parametrize("expiry", [0, "0s", "999ms", "25h"])
def test_an_expiry_out_of_bounds_is_refused(engine: Engine, expiry: Any) -> None:
    for made in (engine.session, partial(engine.rejoin, "a"), partial(Worker, engine)):
        with pytest.raises(Invalid, match=f"expiry must be 1s to 24h, got {expiry!r}"):
            made(expiry=expiry)


@pytest.mark.parametrize("expiry", ["1s", "24h"])
def test_the_shortest_and_the_longest_expiry_are_taken(engine: Engine, expiry: str) -> None:
    with engine.session(expiry=expiry) as session:
        assert [each.id for each in engine.sessions()] == [session.id]


def test_an_open_session_shows_that_it_is_lost(engine: Engine) -> None:
    with engine.session(expiry="1s") as session:
        engine.run(sessions.close, session.id)
        assert session.lost.wait(WAIT_SECONDS)


def test_a_loop_settles_and_claims_in_one_pipeline(url: str) -> None:
    events: list[dict[str, Any]] = []
    with Engine(url, history=events.append) as engine, engine.session() as session:
        engine["work"].add(["a", "b", "c"])
        for claim in session.claim("work", limit=1):
            claim.done(claim.items[0])
        assert engine["work"].progress().done == 3
    asked = Counter(event["operation"] for event in events if event["phase"] == "invoke")
    assert (asked["pipeline"], asked["settlements.settle"]) == (3, 0)


def test_a_session_whose_claim_has_ended_is_refused_and_writes_nothing(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"])
    with engine.session() as session:
        made = session.claim("work", limit=1)
        claim = next(made)
        engine.run(claims.close, session.id, claim.token)
        claim.done(claim.items[0])
        with pytest.raises(StaleClaim):
            next(made)
        assert engine["work"].counts() == Counts(ready=3)


def test_a_session_keeps_the_results_of_a_list_that_keeps_them(engine: Engine) -> None:
    engine["work"].settings(keep_results=True)
    engine["work"].add(["a", "b"])
    with engine.session() as session:
        for claim in session.claim("work", limit=1):
            claim.done(claim.items[0], {"of": claim.items[0].key})
    assert [engine["work"].results(key)[0].result for key in "ab"] == [{"of": "a"}, {"of": "b"}]


def test_claims_tell_who_holds_which_part_of_a_list(timed: Engine, clock: Clock) -> None:
    timed["work"].add(numbered(6))
    timed["play"].add("a")
    ann, bob = Desk(timed, seeks=["work"]), Desk(timed, "bob")
    first, second = ann.got(2), bob.got(3)
    clock.advance(4)
    bob.got(1, "play")
    told = timed.claims(of="work")
    assert [(each.holder, each.low, each.high, each.remaining) for each in told] == [
        ("ann", first.low, first.high, 2),
        ("bob", second.low, second.high, 3),
    ]
    assert {(each.first, each.last) for each in told} == {(first.low + 1, second.high + 1)}
    assert [each.list for each in timed.claims(session=bob.id)] == ["work", "play"]
    info = next(each for each in timed.sessions() if each.id == ann.id)
    assert (info.seeks, info.expires_at - (info.beat_at or info.expires_at)) == (["work"], timedelta(seconds=15))
