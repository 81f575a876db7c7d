"""Limits against plain numbers: never more than allowed, and never nothing where something is allowed."""

from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.machines.running import run_machine
from tests.machines.test_items_machine import Make, in_a_file, on_a_server
from tests.shelf import Shelf
from tests.torture import scaled

from rowlock import Done, Fail, Retry, claims, sessions, settlements
from rowlock.claims import ClaimRequest
from rowlock.diagnostics import broken_rules
from rowlock.limits import width

KEYS = st.sampled_from([f"{who}/{number}" for who in "abc" for number in range(5)])
OUTCOMES = st.sampled_from([Done(), Done(), Retry("no", after=0), Retry("later", after=20), Fail("bad")])
LIMITS = st.fixed_dictionaries(
    {
        "concurrency": st.sampled_from([None, None, 1, 3]),
        "rate": st.sampled_from([None, None, "4/10s", "2/1s"]),
        "concurrency_by": st.sampled_from([None, None, {"separator": "/", "limit": 1}, {"separator": "/", "limit": 2}]),
    }
)
EXPIRY = 15_000
QUICK = {"max_examples": 25, "stateful_step_count": 25}
BRIEF = {"max_examples": 8, "stateful_step_count": 25}
LONG = {"max_examples": scaled(800), "stateful_step_count": 80}


@dataclass
class Claimed:
    """A claim as it should be: what of it is in hand."""

    session: str
    left: dict[str, int]
    by_family: bool


@dataclass
class Numbers:
    """What is in hand, what is free, and what was handed out when."""

    now: int = 1_700_000_000_000
    free: set[str] = field(default_factory=set)
    delayed: dict[str, int] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)
    claims: dict[str, Claimed] = field(default_factory=dict)
    deadlines: dict[str, int] = field(default_factory=dict)
    handed: list[tuple[int, int]] = field(default_factory=list)
    rated: int = 0
    """How many of these were handed out before the rate was as it is."""

    @property
    def in_hand(self) -> list[str]:
        return [key for claimed in self.claims.values() for key in claimed.left]

    def families(self) -> Counter[str]:
        return Counter(key.partition("/")[0] for key in self.in_hand)

    def within(self, period: int) -> int:
        return sum(items for at, items in self.handed[self.rated :] if at > self.now - period)


class Limited(RuleBasedStateMachine):
    """Claims, settles, dies and changes its mind, and looks at the numbers after each step."""

    make: Make

    def __init__(self) -> None:
        super().__init__()
        self.numbers = Numbers()
        self.names = count(1)
        self.making = type(self).make(lambda: self.numbers.now)
        self.engine = self.making.__enter__()
        self.work = self.engine["work"]
        self.limits: dict[str, Any] = {}

    def teardown(self) -> None:
        self.making.__exit__(None, None, None)

    @initialize(keys=st.lists(KEYS, min_size=8, unique=True), limits=LIMITS)
    def begin(self, keys: list[str], limits: dict[str, Any]) -> None:
        self.who = [self.arrive(), self.arrive()]
        self.add(keys)
        self.limit(limits)

    def arrive(self) -> str:
        session = f"session-{next(self.names)}"
        self.engine.run(sessions.open_session, session, holder="ann", expiry=EXPIRY)
        self.numbers.deadlines[session] = self.numbers.now + EXPIRY
        return session

    @rule(keys=st.lists(KEYS, min_size=1, max_size=5, unique=True))
    def add(self, keys: list[str]) -> None:
        known = {*self.numbers.free, *self.numbers.delayed, *self.numbers.failed, *self.numbers.in_hand}
        self.work.add(keys)
        self.numbers.free |= set(keys) - known

    @rule(limits=LIMITS)
    def limit(self, limits: dict[str, Any]) -> None:
        if limits["concurrency_by"] is None or self.limits.get("concurrency_by") is None:
            for claimed in self.numbers.claims.values():
                claimed.by_family = False
        if limits["rate"] != self.limits.get("rate"):
            self.numbers.rated = len(self.numbers.handed)
        self.work.settings(**limits)
        self.limits = limits

    @rule(who=st.integers(0, 1), limit=st.sampled_from([1, 2, 5]))
    def claim(self, who: int, limit: int) -> None:
        session, token = self.who[who], f"token-{next(self.names)}"
        self.promote()
        taken = self.engine.run(claims.take_thoroughly, ClaimRequest(session, "work", limit, token, 1000))
        most = self.allowed()
        if taken is None:
            assert most <= 0 or not self.eligible() or self.slack()
            return
        handed = {item.key: item.position for item in taken.items}
        assert set(handed) <= self.numbers.free
        assert len(handed) <= min(limit, most)
        assert set(handed) <= self.eligible()
        self.numbers.free -= set(handed)
        self.numbers.claims[token] = Claimed(session, handed, self.limits["concurrency_by"] is not None)
        if self.limits["rate"] is not None:
            self.numbers.handed.append((self.numbers.now, len(handed)))

    def promote(self) -> None:
        due = {key for key, at in self.numbers.delayed.items() if at <= self.numbers.now}
        self.numbers.free |= due
        self.numbers.delayed = {key: at for key, at in self.numbers.delayed.items() if key not in due}

    def allowed(self) -> int:
        """How many may be handed out now, by the numbers."""
        most = 1000
        if self.limits["concurrency"] is not None:
            most = min(most, self.limits["concurrency"] - len(self.numbers.in_hand))
        if self.limits["rate"] is not None:
            items, period = self.rate()
            most = min(most, items - self.numbers.within(period))
        if self.limits["concurrency_by"] is not None:
            strangers = [claimed for claimed in self.numbers.claims.values() if not claimed.by_family]
            most = 0 if strangers else min(most, 1)
        return most

    def rate(self) -> tuple[int, int]:
        items, _, period = self.limits["rate"].partition("/")
        return int(items), int(period.rstrip("s")) * 1000

    def slack(self) -> bool:
        """Whether more counts than must: a rate is counted by slots, and what was handed out under another one may
        count too."""
        if self.limits["rate"] is None:
            return False
        items, period = self.rate()
        return sum(n for at, n in self.numbers.handed if at > self.numbers.now - period - 2 * width(period)) >= items

    def eligible(self) -> set[str]:
        """The free items that could be handed out, as far as their families go."""
        by = self.limits["concurrency_by"]
        if by is None:
            return self.numbers.free
        busy = self.numbers.families()
        return {key for key in self.numbers.free if busy[key.partition("/")[0]] < by["limit"]}

    @precondition(lambda self: self.numbers.claims)
    @rule(data=st.data(), close=st.booleans())
    def settle(self, data: st.DataObject, close: bool) -> None:
        token = data.draw(st.sampled_from(sorted(self.numbers.claims)))
        claimed = self.numbers.claims[token]
        chosen = (
            data.draw(st.lists(st.sampled_from(sorted(claimed.left)), unique=True, min_size=1)) if claimed.left else []
        )
        said = [(key, data.draw(OUTCOMES)) for key in chosen]
        settling = [(claimed.left[key], outcome) for key, outcome in said]
        self.engine.run(settlements.settle, claimed.session, token, settling, close=close)
        for key, outcome in said:
            self.write(key, outcome)
            del claimed.left[key]
        if close:
            self.free(token)

    def write(self, key: str, outcome: Any) -> None:
        match outcome:
            case Retry(after=0):
                self.numbers.free.add(key)
            case Retry():
                self.numbers.delayed[key] = self.numbers.now + 20_000
            case Fail():
                self.numbers.failed.add(key)

    def free(self, token: str) -> None:
        self.numbers.free |= set(self.numbers.claims.pop(token).left)

    @rule(seconds=st.sampled_from([0.077, 0.3, 1, 5, 11]))
    def time_passes(self, seconds: float) -> None:
        self.numbers.now += round(seconds * 1000)
        for session in self.who:
            if self.engine.run(sessions.beat, session, expiry=EXPIRY):
                self.numbers.deadlines[session] = self.numbers.now + EXPIRY

    @rule(who=st.integers(0, 1))
    def die(self, who: int) -> None:
        session = self.who[who]
        self.engine.run(sessions.close, session)
        for token in [token for token, claimed in self.numbers.claims.items() if claimed.session == session]:
            self.free(token)
        self.who[who] = self.arrive()

    @invariant()
    def nothing_contradicts_itself(self) -> None:
        assert self.engine.read(broken_rules) == []

    @invariant()
    def what_is_in_hand_is_what_we_have(self) -> None:
        shown = {item.key for item in self.work.page(state="claimed")}
        assert shown == set(self.numbers.in_hand)


def run(make: Make, size: dict[str, int]) -> None:
    run_machine(type("Limited", (Limited,), {"make": staticmethod(make)}), size)


def test_limits_in_a_file_hold_and_hinder_nothing_else() -> None:
    run(in_a_file, QUICK)


def test_limits_on_postgres_hold_and_hinder_nothing_else(shelf: Shelf) -> None:
    run(on_a_server(shelf, "postgresql"), BRIEF)


@pytest.mark.torture
def test_limits_in_a_file_hold_and_hinder_nothing_else_for_long() -> None:
    run(in_a_file, LONG)
