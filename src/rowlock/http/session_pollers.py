"""Seats: a server looks for work on behalf of workers elsewhere, as those beside the database do for themselves."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import msgspec

from rowlock import claims, lists, sessions
from rowlock.http.bodies import Gone
from rowlock.http.executor import VerbExecutor
from rowlock.http.long_poll import AcquireSlot, LongPoll
from rowlock.lists import PollResult
from rowlock.names import matches_pattern
from rowlock.roles import covers
from rowlock.worker.lease_holder import LeaseHooks
from rowlock.worker.poller import LocalPoller

KNOWN = 10_000
"""Sessions of which is remembered how far they have looked; what is forgotten is looked for again."""
PAGES = 100
"""Of lists that are for others, in one look."""
ROUND = 5.0
"""How often one that waits for work looks for its share of exclusive lists."""


def _nobody(_: str) -> None:
    """The worker itself tells who wants to hear of it."""


class SessionPoller:
    """The place of one worker elsewhere: what it seeks, and whoever looks for it."""

    def __init__(self, executor: VerbExecutor, session: str, seeks: Sequence[str], *, prefixes: Sequence[str]) -> None:
        self._executor = executor
        self._session = session
        self._seeks = seeks
        self._prefixes = prefixes
        self._poller = LocalPoller(executor.engine, session, fits=self.fits, hooks=LeaseHooks(_nobody, _nobody))
        self._turn = asyncio.Lock()
        self.closed = asyncio.Event()

    def fits(self, name: str) -> bool:
        """Whether a list is for this worker."""
        return covers(self._prefixes, name) and any(matches_pattern(pattern, name) for pattern in self._seeks)

    async def look(self) -> PollResult:
        """Lists that may have work for it; StaleSession if it is no more."""
        async with self._turn:
            return await self._executor.run_in_thread(self._looked)

    def _looked(self) -> PollResult:
        engine = self._executor.engine
        if engine.read(sessions.patterns, self._session) is None:
            raise claims.lost(self._session)
        seen = self._poller.poll()
        names = [name for name in seen.names if self.fits(name)]
        for _ in range(PAGES):
            if names or seen.held or not seen.more:
                break
            seen = self._poller.poll()
            names = [name for name in seen.names if self.fits(name)]
        if not names and not seen.held:
            return PollResult(more=seen.more, next=self._poller.next_wake())
        settings = engine.read(lists.settings_of, [*names, *seen.held])
        return msgspec.structs.replace(seen, names=names, settings=settings)


class SessionPollers:
    """The seats of all workers elsewhere that have looked lately."""

    def __init__(self, executor: VerbExecutor, long_poll: LongPoll) -> None:
        self._executor = executor
        self._long_poll = long_poll
        self._pollers: OrderedDict[tuple[str, tuple[str, ...]], SessionPoller] = OrderedDict()

    async def look(
        self,
        session: str,
        prefixes: tuple[str, ...],
        *,
        wait: float,
        left: Callable[[], Awaitable[None]],
        slot: AcquireSlot,
    ) -> PollResult:
        """Lists that may have work for a session's worker, at once or, in a slot, as soon as there are some in time."""
        poller = await self._poller_of(session, prefixes)
        seen = await poller.look()
        if seen.names or seen.held or wait <= 0:
            return seen
        with slot():
            return await self._wait(poller, time.monotonic() + wait, left)

    async def _wait(self, poller: SessionPoller, until: float, left: Callable[[], Awaitable[None]]) -> PollResult:
        gone = asyncio.ensure_future(left())
        rung = self._long_poll.enter_any(poller.fits)
        waiters = [gone, asyncio.ensure_future(rung.wait()), asyncio.ensure_future(poller.closed.wait())]
        try:
            while True:
                seconds = max(0.0, min(ROUND, until - time.monotonic()))
                await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    raise Gone
                if rung.is_set():
                    rung.clear()
                    waiters[1] = asyncio.ensure_future(rung.wait())
                seen = await poller.look()
                if seen.names or seen.held or self._long_poll.stopped or time.monotonic() >= until:
                    return seen
        finally:
            for waiter in waiters:
                waiter.cancel()
            self._long_poll.leave_any(rung)

    async def _poller_of(self, session: str, prefixes: tuple[str, ...]) -> SessionPoller:
        known = self._pollers.get((session, prefixes))
        if known is None:
            seeks = await self._executor.read(sessions.patterns, session)
            if seeks is None:
                raise claims.lost(session)
            known = self._pollers[session, prefixes] = SessionPoller(self._executor, session, seeks, prefixes=prefixes)
            if len(self._pollers) > KNOWN:
                self._pollers.popitem(last=False)
        self._pollers.move_to_end((session, prefixes))
        return known

    def close(self, session: str) -> None:
        """A session has ended: whoever waits for its work need not wait any longer."""
        for key in [key for key in self._pollers if key[0] == session]:
            self._pollers.pop(key).closed.set()
