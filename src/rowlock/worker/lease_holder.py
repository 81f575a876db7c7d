"""Leases of a worker: which exclusive lists its session holds, and how they are shared with other sessions."""

import logging
from collections.abc import Callable
from math import inf

from rowlock import leases
from rowlock.engine import Engine
from rowlock.lists import ListWithWork

log = logging.getLogger("rowlock.worker")

PAGE_LISTS = 100
BALANCE_SECONDS = 1.0
"""How often one list is requested of another worker, and how long a free one is left to workers that hold fewer."""
REFRESH_SECONDS = 0.1
"""The shortest pause before the held leases are read again."""


LeaseHook = Callable[[str, str], None]
"""Called with "lease" or "lease_end" and the name of a list, when its lease begins or ends."""


class HeldLeases:
    """The exclusive lists that a session holds, as far as is known here; changes are reported to the hook."""

    def __init__(self, hook: LeaseHook, monotonic: Callable[[], float]) -> None:
        self._hook = hook
        self._monotonic = monotonic
        self.names: set[str] = set()
        self.doubted_at = inf
        """When a list was taken out only because it gave nothing: soon after, the leases are read again."""

    def add(self, name: str) -> None:
        """Add a list that a claim has shown to be held."""
        self.replace(self.names | {name})

    def doubt(self, name: str) -> None:
        """Take out a list that gave nothing: its lease has ended, or somebody is just adding to it."""
        if name in self.names:
            self.replace(self.names - {name})
            self.doubted_at = min(self.doubted_at, self._monotonic())

    def clear(self) -> None:
        """Take out all: the session ends, and its leases with it."""
        self.replace(set())

    def replace(self, names: set[str]) -> None:
        """Hold exactly these lists."""
        before, self.names = self.names, names
        for name in sorted(names - before):
            log.info("lease begun", extra={"list": name})
            self._hook("lease", name)
        for name in sorted(before - names):
            log.info("lease ended", extra={"list": name})
            self._hook("lease_end", name)


class LeaseHolder:
    """Takes and shares the leases of one session in the database."""

    def __init__(self, engine: Engine, session: str, *, fits: Callable[[str], bool], hook: LeaseHook) -> None:
        self._engine = engine
        self._session = session
        self._fits = fits
        self.held = HeldLeases(hook, engine.environment.monotonic)
        self._page_end: ListWithWork | None = None
        self._passed: dict[int, float] = {}
        """Free lists that were left to others, by id, and since when."""
        self._requested = False
        self._balance_at = 0.0
        self._read_at = 0.0
        self._read_next = inf

    def refresh(self) -> set[str]:
        """Take free lists, request a share of the others', and return the names; one read if no list is exclusive."""
        now = self._engine.environment.monotonic()
        page = self._engine.read(leases.free, after=self._page_end, limit=PAGE_LISTS)
        self._page_end = page[-1] if len(page) == PAGE_LISTS else None
        free = [each for each in page if self._fits(each.name)]
        if free or now >= self._balance_at:
            self._balance(free, now)
        read_next = min(self._read_next, self.held.doubted_at + REFRESH_SECONDS)
        if now >= read_next or (self._requested and now >= self._read_at + REFRESH_SECONDS):
            self._read_next, self.held.doubted_at, self._read_at = inf, inf, now
            self.held.replace(set(self._engine.read(leases.names, self._session)))
        return self.held.names

    def _balance(self, free: list[ListWithWork], now: float) -> None:
        shares = self._engine.read(leases.shares, self._session)
        mine = shares.get(self._session, leases.LeaseShare(0))
        step = leases.next_step(shares, self._session, free=len(free))
        chosen = free[: step.take] + self._left_over(free[step.take :], now)
        if chosen:
            self._engine.run(leases.take, self._session, [each.id for each in chosen])
            self._read_next = now
        if now >= self._balance_at:
            self._balance_at = now + BALANCE_SECONDS
            self._request(step, mine)
            if free and mine.lists >= leases.MAX_LISTS_PER_SESSION:
                self._engine.run(leases.yield_oldest, self._session, limit=PAGE_LISTS)
            if self.held.names or mine.lists:
                self._read_next = now

    def _request(self, step: leases.LeaseStep, mine: leases.LeaseShare) -> None:
        if mine.asked:
            self._engine.run(leases.collect_handovers, self._session)
        if step.ask is not None:
            self._engine.run(leases.request_handover, self._session, step.ask)
        self._requested = step.ask is not None or mine.asked > 0

    def _left_over(self, free: list[ListWithWork], now: float) -> list[ListWithWork]:
        # A list that no session has taken for a round goes to any worker with room, whatever the shares: no list waits.
        overdue = [each for each in free if now - self._passed.get(each.id, now) >= BALANCE_SECONDS]
        self._passed = {each.id: self._passed.get(each.id, now) for each in free}
        return overdue[: max(0, leases.MAX_LISTS_PER_SESSION - len(self.held.names))]
