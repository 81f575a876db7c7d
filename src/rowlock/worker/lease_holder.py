"""Leasing: which exclusive lists are ours to work. Free ones are taken, the rest is shared by asking."""

import logging
from collections.abc import Callable
from math import inf

import msgspec

from rowlock import leases
from rowlock.engine import Engine
from rowlock.lists import ListWithWork

log = logging.getLogger("rowlock.worker")

PAGE = 100
ROUND = 1.0
"""How often one list is asked of another worker, and how long a free one is left to those who have fewer."""
SOONEST = 0.1


class LeaseHooks(msgspec.Struct, frozen=True):
    """Who wants to hear that a list is ours, or no more."""

    begun: Callable[[str], None]
    ended: Callable[[str], None]


class LeaseHolder:
    """The exclusive lists of one session; `held` are their names."""

    def __init__(self, engine: Engine, session: str, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> None:
        self._engine = engine
        self._session = session
        self._fits = fits
        self._hooks = hooks
        self.held: set[str] = set()
        self._page_end: ListWithWork | None = None
        self._passed: dict[int, float] = {}
        self._asked = False
        self._round_at = 0.0
        self._seen_at = 0.0
        self._see_at = inf

    def look(self) -> set[str]:
        """Take, ask, and see what is ours now. Where there are no exclusive lists this is one read."""
        now = self._engine.environment.monotonic()
        free = self._free()
        if free or now >= self._round_at:
            self._balance(free, now)
        if now >= self._see_at or (self._asked and now >= self._seen_at + SOONEST):
            self._see_at, self._seen_at = inf, now
            self._see(set(self._engine.read(leases.names, self._session)))
        return self.held

    def doubt(self, name: str) -> None:
        """A list gave nothing: it is ours no more, or somebody is just adding to it."""
        if name in self.held:
            self._see(self.held - {name})
            self._see_at = min(self._see_at, self._engine.environment.monotonic() + SOONEST)

    def note(self, name: str) -> None:
        """A list is ours, as a claim has shown."""
        self._see(self.held | {name})

    def end(self) -> None:
        """The session ends, and all its leases with it."""
        self._see(set())

    def _free(self) -> list[ListWithWork]:
        page = self._engine.read(leases.free, after=self._page_end, limit=PAGE)
        self._page_end = page[-1] if len(page) == PAGE else None
        return [each for each in page if self._fits(each.name)]

    def _balance(self, free: list[ListWithWork], now: float) -> None:
        shares = self._engine.read(leases.shares, self._session)
        mine = shares.get(self._session, leases.LeaseShare(0))
        step = leases.next_step(shares, self._session, free=len(free))
        chosen = free[: step.take] + self._left_over(free[step.take :], now)
        if chosen:
            self._engine.run(leases.take, self._session, [each.id for each in chosen])
            self._see_at = now
        if now >= self._round_at:
            self._round_at = now + ROUND
            self._ask(step, mine)
            if free and mine.lists >= leases.MAX_LISTS_PER_SESSION:
                self._engine.run(leases.yield_oldest, self._session, limit=PAGE)
            if self.held or mine.lists:
                self._see_at = now

    def _ask(self, step: leases.LeaseStep, mine: leases.LeaseShare) -> None:
        if mine.asked:
            self._engine.run(leases.collect_handovers, self._session)
        if step.ask is not None:
            self._engine.run(leases.request_handover, self._session, step.ask)
        self._asked = step.ask is not None or mine.asked > 0

    def _left_over(self, free: list[ListWithWork], now: float) -> list[ListWithWork]:
        # What nobody has taken for a round is worked by whoever has room, whatever the shares: no list shall wait.
        overdue = [each for each in free if now - self._passed.get(each.id, now) >= ROUND]
        self._passed = {each.id: self._passed.get(each.id, now) for each in free}
        return overdue[: max(0, leases.MAX_LISTS_PER_SESSION - len(self.held))]

    def _see(self, held: set[str]) -> None:
        before, self.held = self.held, held
        for name in sorted(held - before):
            log.info("lease begun", extra={"list": name})
            self._hooks.begun(name)
        for name in sorted(before - held):
            log.info("lease ended", extra={"list": name})
            self._hooks.ended(name)
