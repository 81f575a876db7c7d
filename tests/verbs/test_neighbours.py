"""Neighbours: what is done to one list, session, claim or counter leaves another that is just like it as it was."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.conftest import Clock
from tests.verbs.claiming import Desk, broken, keys

from rowlock import (
    Done,
    Engine,
    Fail,
    Move,
    Retry,
    StaleSession,
    claims,
    counters,
    leases,
    lists,
    remote_claims,
    sessions,
)
from rowlock.errors import InvalidName
from rowlock.outcomes import Outcome
from rowlock.settings import Then

BY_LIST = ("claims", "errors", "items", "leases", "suspects", "tallies", "wakes")
KEYS = tuple("abcdefgh")
Verbs = dict[str, Callable[[], object]]


class Twins:
    """Two lists with equal items, and two sessions that have claimed equal parts of them."""

    def __init__(self, engine: Engine, clock: Clock, **settings: Any) -> None:
        self.engine, self.clock = engine, clock
        for name in ("twin", "work"):  # the twin is found first by a statement that does not look at its list
            engine[name].settings(keep_results=True, **settings)
            engine[name].add(KEYS)
            engine[name].add(["urgent"], priority=1)
            engine[name].add(["later"], gate=1)
            engine[name].add(["delayed"], due=5)
        self.ann, self.bob = Desk(engine), Desk(engine, "bob")
        engine.upkeep()

    def claim(self, limit: int = 2) -> claims.ClaimedItems:
        """Claim alike from both; return the claim of the list that is changed."""
        self.bob.got(limit, "twin")
        return self.ann.got(limit)

    def changed(self, verbs: Verbs) -> dict[str, Any]:
        """Run the verbs one after the other, and return those that have changed the twin, with the rows."""
        found: dict[str, Any] = {}
        for name, verb in verbs.items():
            before = self._rows()
            verb()
            after = self._rows()
            if before != after:
                found[name] = before, after
        return found

    def _rows(self) -> dict[str, list[Any]]:
        with self.engine.transaction() as tx:
            [[twin]] = tx.execute("select id from rowlock_lists where name = 'twin'").fetchall()
            queries = {table: f"select * from rowlock_{table} where list = {twin}" for table in BY_LIST}
            queries["lists"] = f"select * from rowlock_lists where id = {twin}"
            queries["sessions"] = f"select * from rowlock_sessions where id = '{self.bob.id}'"
            queries["counters"] = "select * from rowlock_counters where name = 'twin'"
            return {name: sorted(map(repr, tx.execute(sql).fetchall())) for name, sql in queries.items()}


@pytest.fixture
def twins(timed: Engine, clock: Clock) -> Twins:
    return Twins(timed, clock)


def test_a_claim_leaves_other_lists_and_sessions_alone(twins: Twins) -> None:
    engine, ann, first = twins.engine, twins.ann, twins.claim(1)
    verbs: Verbs = {
        "after the frontier": lambda: ann.take(1),
        "where a gap is": lambda: ann.got(1),
        "closed": lambda: engine.run(claims.close, ann.id, first.token),
        "all of it": lambda: ann.got(),
        "a due item": lambda: (twins.clock.advance(6), ann.look(1)),
        "of nothing": lambda: ann.look(),
    }
    assert (twins.changed(verbs), broken(engine)) == ({}, [])


def test_a_settlement_leaves_other_lists_and_claims_alone(twins: Twins) -> None:
    def settled(outcome: Outcome, *, close: bool = True) -> Callable[[], object]:
        return lambda: twins.ann.settle(twins.ann.got(2), outcome, close=close)

    twins.claim(1)
    verbs: Verbs = {
        "retried": settled(Retry("no", after=0)),
        "delayed": settled(Retry("later", after=9)),
        "moved": settled(Move(1, {"x": 1})),
        "moved to the end": settled(Move()),
        "failed": settled(Fail("bad")),
        "done in part": settled(Done("result"), close=False),
        "all done": lambda: twins.ann.done(twins.ann.got(1)),
    }
    assert (twins.changed(verbs), broken(twins.engine)) == ({}, [])


def test_a_session_leaves_other_sessions_alone(twins: Twins) -> None:
    engine, ann, first = twins.engine, twins.ann, twins.claim()
    eve = Desk(engine, "eve")
    eve.got(2)
    verbs: Verbs = {
        "beaten": lambda: engine.run(sessions.beat, ann.id, expiry=30_000),
        "noted": lambda: engine.run(sessions.note_handed, ann.id, first),
        "limited": lambda: engine.run(sessions.set_scope, ann.id, ["work"]),
        "closed": ann.close,
        "expired": lambda: engine.run(sessions.expire, [each for each in silent(twins) if each.id == eve.id]),
    }
    assert (twins.changed(verbs), broken(engine)) == ({}, [])
    assert [each.id for each in engine.sessions()] == [twins.bob.id]


def silent(twins: Twins) -> list[sessions.SilentSession]:
    """Sessions that have sent no heartbeat for long."""
    twins.clock.advance(16)
    return twins.engine.read(sessions.silent)


def test_gates_leave_other_lists_alone(twins: Twins) -> None:
    engine, work = twins.engine, twins.engine["work"]
    empty(twins)
    verbs: Verbs = {
        "opened": lambda: work.open_gate(1),
        "sealed": lambda: work.seal(then=Then("next")),
        "completed": lambda: work.complete(),
        "reopened": lambda: work.reopen(),
        "advanced": lambda: (work.done("later"), work.seal(), engine.upkeep()),
    }
    assert (twins.changed(verbs), broken(engine)) == ({}, [])
    assert (work.info().state, engine["twin"].info().state) == ("complete", "open")


def empty(twins: Twins) -> None:
    """Take off what stands at the first gate."""
    for name in ("work", "twin"):
        twins.engine[name].done([*KEYS, "urgent", "delayed"])


def test_a_lease_leaves_other_leases_alone(timed: Engine, clock: Clock) -> None:
    twins = Twins(timed, clock, exclusive=True)
    ann, eve = twins.ann, Desk(timed, "eve")
    taken = twins.claim()
    row = timed.read(lists.find, "work")
    assert row is not None
    verbs: Verbs = {
        "requested": lambda: timed.run(leases.request_handover, eve.id, ann.id),
        "settled": lambda: ann.done(taken),
        "collected": lambda: timed.run(leases.collect_handovers, eve.id),
        "yielded": lambda: timed.run(leases.yield_oldest, eve.id, limit=1),
        "taken": lambda: eve.got(1),
        "released": lambda: timed.run(leases.release, row.id, eve.id),
    }
    assert (twins.changed(verbs), broken(timed)) == ({}, [])


def test_a_counter_leaves_other_counters_alone(twins: Twins) -> None:
    twins.engine.run(counters.take, "twin", 5)
    verbs: Verbs = {
        "taken": lambda: twins.engine.run(counters.take, "work", 3),
        "raised": lambda: twins.engine.run(counters.raise_to, "work", 9),
        "reserved": lambda: twins.engine.run(counters.reserve, "work", 10, epoch="e"),
    }
    assert twins.changed(verbs) == {}
    assert twins.engine.read(counters.show, "work") == 19


def test_a_claim_is_known_by_its_session_and_its_token(twins: Twins) -> None:
    engine, ann, bob = twins.engine, twins.ann, twins.bob
    first, second = ann.got(1), ann.got(2)
    for claim in (first, second):
        held = engine.read(sessions.held, ann.id, claim.token)
        assert keys(held) == keys(claim)
    assert not engine.read(claims.is_held, bob.id, first.token)
    assert not engine.run(claims.close, bob.id, first.token)
    assert engine.read(claims.is_held, ann.id, first.token)


def test_a_session_is_told_with_its_own_claims_patterns_and_details(timed: Engine) -> None:
    timed["work"].add(KEYS)
    for name, seeks in (("ann", ["a*"]), ("bob", ["b*"])):
        timed.run(sessions.open_session, name, holder=name, details={"name": name}, seeks=seeks)
    timed.run(sessions.open_session, "eve", holder="eve")
    for name, token, limit in (("ann", "1", 1), ("bob", "2", 2), ("bob", "3", 3)):
        taken = timed.run(claims.take_thoroughly, claims.ClaimRequest(name, "work", limit, token))
        assert taken is not None
        timed.run(sessions.note_handed, name, taken)
    told = {info.id: (info.claims, info.items, (info.details or {}).get("name")) for info in timed.sessions()}
    assert told == {"ann": (1, 1, "ann"), "bob": (2, 5, "bob"), "eve": (0, 0, None)}
    patterns = [timed.read(sessions.patterns, name) for name in ("bob", "eve", "nobody")]
    assert patterns == [["b*"], [], None]


def test_an_expiry_and_a_scope_are_those_of_the_session(timed: Engine, clock: Clock) -> None:
    expiries = {"a": 60_000, "b": 20_000, "c": 60_000}
    for each, expiry in expiries.items():
        opening = {"holder": each, "details": {}, "scope": [f"{each}/"]}
        timed.run(remote_claims.open_session, each, expiry=expiry, **opening)
    assert {each: timed.run(remote_claims.beat, each) - clock() for each in "abc"} == expiries
    seen = {each: [other for other in "abc" if timed.read(sessions.is_within, other, [f"{each}/"])] for each in "abc"}
    assert seen == {"a": ["a"], "b": ["b"], "c": ["c"]}


def test_a_session_that_has_ended_is_told_so_while_others_live(timed: Engine) -> None:
    timed["work"].add([])
    ann, bob = Desk(timed), Desk(timed, "bob")
    ann.close()
    assert bob.look() is None
    with pytest.raises(StaleSession):
        ann.look()


def test_counters_of_other_prefixes_are_not_listed(timed: Engine) -> None:
    for name in ("a", "b/1", "b/2", "c"):
        timed.run(counters.take, name)
    assert [each.name for each in timed.read(counters.page, prefixes=["b/"])] == ["b/1", "b/2"]
    with pytest.raises(InvalidName):
        timed.run(counters.raise_to, "", 1)
