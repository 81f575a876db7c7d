"""Sessions, claims and settlements do what plain dictionaries would do, and what is stored never contradicts itself."""

from itertools import count
from typing import Any

import msgspec
import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.machines.claims_oracle import LIMIT, Claim, Item, Oracle
from tests.machines.running import run_machine
from tests.machines.test_items_machine import Make, in_a_file, on_a_server
from tests.shelf import Shelf
from tests.torture import scaled

from rowlock import Done, Fail, Move, Retry, StaleClaim, StaleSession, claims, sessions, settlements, tallies
from rowlock.claims import ClaimedItems, ClaimRequest, Lane
from rowlock.diagnostics import broken_rules
from rowlock.errors import GatePassed
from rowlock.model import to_datetime

KEYS = st.sampled_from([f"{number:02}" for number in range(16)])
MANY = st.lists(KEYS, min_size=1, max_size=8, unique=True)
OUTCOMES = st.sampled_from(
    [
        Done(),
        Done(),
        Retry("no"),
        Retry("no", after=60),
        Retry("early", after=5, counted=False),
        Move(1),
        Move(2),
        Move(),
        Move(after=60),
        Fail("bad"),
    ]
)
WHO = st.integers(0, 1)
EXPIRY = 15_000
QUICK = {"max_examples": 60, "stateful_step_count": 30}
BRIEF = {"max_examples": 15, "stateful_step_count": 30}
LONG = {"max_examples": scaled(600), "stateful_step_count": 80}
LONG_ON_A_SERVER = {"max_examples": scaled(250), "stateful_step_count": 80}


def onward(outcome: Any, gate: int) -> Any:
    """A move counted from the gate where the item stands."""
    return Move(gate + outcome.gate) if isinstance(outcome, Move) and outcome.gate else outcome


CHANGES = st.fixed_dictionaries(
    {}, optional={"priority": st.sampled_from([5, 5, 5, 5, 0, 2]), "due": st.sampled_from([None, 0, 60])}
)


class Turns(RuleBasedStateMachine):
    """Asks an engine and the oracle the same, and compares all there is after each step."""

    make: Make

    def __init__(self) -> None:
        super().__init__()
        self.oracle = Oracle()
        self.numbers = count(1)
        self.making = type(self).make(lambda: self.oracle.now)
        self.engine = self.making.__enter__()
        self.work = self.engine["work"]
        self.floors: list[dict[int, int]] = [{}, {}]
        self.lanes: list[Lane | None] = [None, None]
        self.asked: list[tuple[Any, ...]] = []
        self.answers: dict[tuple[str, str], Any] = {}

    def teardown(self) -> None:
        self.making.__exit__(None, None, None)

    @initialize(keys=st.lists(KEYS, min_size=6, unique=True))
    def begin(self, keys: list[str]) -> None:
        # Hypothesis leaves out some rules in each run: without items to begin with most runs would be about nothing.
        self.who = [self.arrive(), self.arrive()]
        self.add(keys, 5, 0)

    def arrive(self) -> str:
        session = f"session-{next(self.numbers)}"
        self.engine.run(sessions.open_session, session, holder="ann", expiry=EXPIRY)
        self.oracle.sessions[session] = self.oracle.now + EXPIRY
        return session

    @rule(
        keys=MANY,
        priority=st.sampled_from([5] * 9 + [0]),
        due=st.sampled_from([0, 0, 0, 60]),
        later=st.sampled_from([0, 0, 0, 0, 1, 2]),
    )
    def add_some(self, keys: list[str], priority: int, due: int, later: int) -> None:
        self.add(keys, priority, due, later)

    def add(self, keys: list[str], priority: int, due: int, later: int = 0) -> None:
        new = [key for key in keys if key not in self.oracle.items]
        gate = self.oracle.gate + later
        assert self.work.add(keys, priority=priority, due=due, gate=gate).added == len(new)
        for key in new:
            at = self.oracle.now + due * 1000 if due else None
            self.oracle.items[key] = Item(priority, gate=gate, due=at, in_line=not due)
        self.oracle.lanes.add(priority)
        self.oracle.events["added"] += len(new)

    @rule(who=WHO, limit=st.sampled_from([1, 1, 2, 4, 7]))
    def claim_after_the_frontier(self, who: int, limit: int) -> None:
        self.claim(who, limit, quick=True)

    @rule(who=WHO, limit=st.sampled_from([1, 1, 2, 4, 7]))
    def claim_anywhere(self, who: int, limit: int) -> None:
        self.claim(who, limit, quick=False)

    @rule(data=st.data(), who=WHO, limit=st.sampled_from([1, 1, 2, 4, 7]), quick=st.booleans(), close=st.booleans())
    def take_a_turn(self, data: st.DataObject, who: int, limit: int, quick: bool, close: bool) -> None:
        before = len(self.asked)
        self.claim(who, limit, quick=quick)
        if len(self.asked) > before:
            self.settle_some(data, self.asked[-1], close=close)

    def claim(self, who: int, limit: int, *, quick: bool) -> None:
        session, floors = self.who[who], self.floors[who]
        lane = self.lanes[who] if quick else None
        token = f"token-{next(self.numbers)}"
        asking = ClaimRequest(session, "work", limit, token, LIMIT, floors if quick else {}, lane=lane)
        alive = session in self.oracle.sessions
        try:
            taken = self.engine.run(claims.take if quick else claims.take_thoroughly, asking)
        except StaleSession:
            assert not alive
            return
        self.read_positions()
        assert quick or not alive or not self.oracle.stuck
        expected = self.oracle.expected(limit, floors if quick else None) if alive else []
        if lane is not None and not self.oracle.just_one((lane.gate, lane.priority), floors.get(lane.priority, 0)):
            expected = []
        assert ([item.key for item in taken.items] if taken else []) == expected
        if taken is not None:
            self.remember(session, floors, taken)
            self.lanes[who] = taken.lane
            alone = self.oracle.just_one((taken.gate, taken.priority), taken.low)
            assert quick or (taken.lane is not None) == alone

    def remember(self, session: str, floors: dict[int, int], taken: ClaimedItems) -> None:
        handed = {item.key: item.position for item in taken.items}
        lane = taken.gate, taken.priority
        assert taken.alone == (self.oracle.suspected(lane, taken.items[0].position) > 1)
        claim = Claim(session, lane, taken.low, taken.high, handed, len(handed), taken.token)
        self.oracle.claims[taken.token] = claim
        self.asked.append((taken.token, session, taken.gate, handed))
        floors[taken.priority] = max(floors.get(taken.priority, 0), taken.high)

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), close=st.booleans(), foreign=st.sampled_from([False] * 5 + [True]))
    def settle(self, data: st.DataObject, close: bool, foreign: bool) -> None:
        token, session, *rest = data.draw(st.sampled_from(self.asked[-6:]))
        self.settle_some(data, (token, "somebody else" if foreign else session, *rest), close=close)

    def settle_some(self, data: st.DataObject, asked: tuple[Any, ...], *, close: bool) -> None:
        token, session, gate, handed = asked
        chosen = data.draw(st.lists(st.sampled_from(sorted(handed)), unique=True, min_size=1))
        said = [(key, onward(data.draw(OUTCOMES), gate)) for key in chosen]
        settling = [(handed[key], outcome) for key, outcome in said]
        self.settle_so(session, token, settling, said, close=close)

    def settle_so(self, session: str, token: str, settling: Any, said: Any, *, close: bool) -> None:
        before = self.engine["work"].info()
        claim = self.oracle.claims.get(token)
        try:
            verdicts = self.engine.run(settlements.settle, session, token, settling, close=close)
        except StaleClaim:
            assert claim is None or claim.session != session
            assert self.work.info() == before
            return
        except GatePassed:
            assert any(isinstance(each, Move) and each.gate is not None for _, each in said)
            assert min(each.gate or 0 for _, each in said if isinstance(each, Move)) < self.oracle.gate
            assert self.work.info() == before
            return
        if claim is None or claim.session != session:
            assert self.work.info() == before  # the very same was asked before, and is answered
            return
        question = token, repr(settling)
        if self.answers.get(question) == verdicts and self.work.info().progress == before.progress:
            # Asked before, answered as then; unless the answer has been folded away, and all of it was gone.
            claim.remaining = self.remaining(token)
            if close:
                del self.oracle.claims[token]
            return
        self.answers[question] = verdicts
        expected = self.oracle.settle(token, said, close=close)
        assert [str(verdict) for verdict in verdicts] == expected
        after = self.work.info()
        assert self.engine.run(settlements.settle, session, token, settling, close=close) == verdicts
        assert self.work.info() == after

    def remaining(self, token: str) -> int:
        row = self.engine.read(
            lambda tx: tx.execute(f"select remaining from rowlock_claims where token = '{token}'").fetchone()
        )
        return row[0] if row else 0

    @precondition(lambda self: self.oracle.claims)
    @rule(data=st.data())
    def finish_a_claim(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(sorted(self.oracle.claims)))
        claim = self.oracle.claims[token]
        if claim.remaining < len(claim.handed):
            return  # settled in part: the same part asked again would be answered as before
        positions = list(claim.handed.values())
        verdicts = self.engine.run(settlements.settle_done, claim.session, token, positions)
        expected = self.oracle.settle(token, [(key, Done()) for key in claim.handed], close=True)
        assert [str(verdict) for verdict in verdicts] == expected
        assert self.engine.run(settlements.settle_done, claim.session, token, positions) == verdicts

    @precondition(lambda self: self.oracle.claims)
    @rule(data=st.data())
    def close_a_claim(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(sorted(self.oracle.claims)))
        assert self.engine.run(claims.close, self.oracle.claims.pop(token).session, token)

    @rule(keys=MANY, verb=st.sampled_from(["abandon", "done"]))
    def remove(self, keys: list[str], verb: str) -> None:
        there = [key for key in keys if key in self.oracle.items]
        assert getattr(self.work, verb)(keys) == len(there)
        for key in there:
            del self.oracle.items[key]
        self.oracle.events["abandoned" if verb == "abandon" else "done"] += len(there)

    @rule(keys=MANY)
    def retry(self, keys: list[str]) -> None:
        there = [self.oracle.items[key] for key in keys if key in self.oracle.items]
        waiting = [item for item in there if item.failed or not item.in_line]
        assert self.work.retry(keys) == len(waiting)
        for item in waiting:
            item.failed, item.due, item.attempts, item.in_line, item.position = False, None, 0, True, -1

    @rule(keys=MANY)
    def increment(self, keys: list[str]) -> None:
        there = [self.oracle.items[key] for key in keys if key in self.oracle.items]
        assert self.work.increment(keys) == len(there)
        self.oracle.events["retried"] += len(there)
        for item in there:
            item.attempts += 1

    @rule(key=KEYS, changes=CHANGES)
    def save(self, key: str, changes: dict[str, Any]) -> None:
        refused = self.oracle.refusal(key, changes)
        if refused is not None:
            with pytest.raises(refused):
                self.work.save(key, data=1, **changes)
        else:
            self.work.save(key, data=1, **changes)
            self.oracle.save(key, changes)
            self.oracle.lanes.add(self.oracle.items[key].priority)

    @rule(seconds=st.sampled_from([1, 14, 15, 16, 60]), beating=st.sampled_from([(), (0,), (1,), (0, 1)]))
    def time_passes(self, seconds: int, beating: tuple[int, ...]) -> None:
        self.oracle.now += seconds * 1000
        for who in beating:
            session = self.who[who]
            alive = self.engine.run(sessions.beat, session, expiry=EXPIRY)
            assert alive == (session in self.oracle.sessions)
            if alive:
                self.oracle.sessions[session] = self.oracle.now + EXPIRY

    @rule()
    def keep_up(self) -> None:
        assert self.engine.upkeep().expired == self.oracle.expire()
        self.read_positions()
        self.oracle.clear_suspects()

    @rule(who=WHO)
    def leave_and_come_back(self, who: int) -> None:
        session = self.who[who]
        alive = session in self.oracle.sessions
        assert self.engine.run(sessions.close, session) == alive
        if alive:
            self.oracle.end(session)
        self.who[who] = self.arrive()

    @rule(paused=st.sampled_from([False, False, True]))
    def pause_or_resume(self, paused: bool) -> None:
        assert (self.work.pause if paused else self.work.resume)() == (self.oracle.paused != paused)
        self.oracle.paused = paused

    @rule()
    def fold(self) -> None:
        self.engine.run(tallies.fold, age=0, limit=5)

    def read_positions(self) -> None:
        gate = self.work.info().gate
        assert gate == self.oracle.gate or (gate > self.oracle.gate and self.oracle.passes(gate))
        self.oracle.gate = gate
        for item in self.work.page():
            expected = self.oracle.items[item.key]
            in_line = item.due is None
            assert in_line or (expected.due is not None and to_datetime(expected.due) == item.due)
            assert not in_line or expected.due is None or expected.due <= self.oracle.now
            assert expected.position in (-1, 0, item.position) or not expected.in_line
            expected.position, expected.in_line = item.position, in_line
        for key in self.oracle.condemned:
            item = self.oracle.items[key]
            self.oracle.suspects.append((item.lane, item.position - 1, item.position, 2))
        self.oracle.condemned.clear()

    @invariant()
    def all_is_as_it_should_be(self) -> None:
        self.read_positions()
        shown = {item.key: (str(item.state), item.attempts, item.gate) for item in self.work.page()}
        assert shown == {key: (self.oracle.state(key), i.attempts, i.gate) for key, i in self.oracle.items.items()}
        info = self.work.info()
        assert msgspec.structs.asdict(info.counts) == self.oracle.counts()
        assert msgspec.structs.asdict(info.progress) == self.oracle.events

    @invariant()
    def nothing_contradicts_itself(self) -> None:
        assert self.engine.read(broken_rules) == []


def run(make: Make, size: dict[str, int]) -> None:
    run_machine(type("Turns", (Turns,), {"make": staticmethod(make)}), size, phases=tuple(Phase))


def test_claims_in_a_file_do_what_dictionaries_would() -> None:
    run(in_a_file, QUICK)


def test_claims_on_postgres_do_what_dictionaries_would(shelf: Shelf) -> None:
    run(on_a_server(shelf, "postgresql"), BRIEF)


@pytest.mark.torture
def test_claims_in_a_file_do_what_dictionaries_would_for_long() -> None:
    run(in_a_file, LONG)


@pytest.mark.torture
@pytest.mark.parametrize("scheme", ["postgresql", "cockroachdb"])
def test_claims_on_a_server_do_what_dictionaries_would_for_long(shelf: Shelf, scheme: str) -> None:
    run(on_a_server(shelf, scheme), LONG_ON_A_SERVER)
