"""Session pollers: the server polls for work on behalf of workers on other machines."""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

from rowlock import claims, lists, sessions
from rowlock.http.asgi import ClientDisconnected
from rowlock.http.executor import VerbExecutor
from rowlock.http.long_poll import AcquireSlot, ClientLeft, LongPoll
from rowlock.lists import PollResult
from rowlock.names import matches_pattern
from rowlock.roles import covers
from rowlock.worker.backend import LocalPoller

MAX_POLLERS = 10_000
"""Sessions whose pollers are kept; a poller that was dropped begins at the first page again."""
MAX_PAGES_PER_POLL = 100
"""Pages of lists that are for other workers, in one poll."""
LEASE_CHECK_SECONDS = 5.0
"""How often a poll that waits looks for its session's share of exclusive lists."""


def _ignore(*_: str) -> None:
    """Do nothing: the worker itself calls the hooks of its leases."""


class SessionPoller:
    """Polls for one session: which lists it works, and how far its poller has come."""

    def __init__(
        self, executor: VerbExecutor, session: str, patterns: Sequence[str], *, prefixes: Sequence[str]
    ) -> None:
        self._executor = executor
        self._session = session
        self._patterns = patterns
        self._prefixes = prefixes
        self._poller = LocalPoller(executor.engine, session, fits=self.fits, hook=_ignore)
        self._lock = asyncio.Lock()
        self.closed = asyncio.Event()

    def fits(self, name: str) -> bool:
        """Return whether a list is for this session."""
        return covers(self._prefixes, name) and any(matches_pattern(pattern, name) for pattern in self._patterns)

    async def poll(self) -> PollResult:
        """Return lists that may have work for the session; StaleSession if it has ended."""
        async with self._lock:
            return await self._executor.run_in_thread(self._poll)

    def _poll(self) -> PollResult:
        engine = self._executor.engine
        if engine.read(sessions.patterns, self._session) is None:
            raise claims.lost(self._session)
        for _ in range(MAX_PAGES_PER_POLL):
            result = self._poller.poll()
            names = [name for name in result.names if self.fits(name)]
            if names or result.held:
                settings = engine.read(lists.settings_of, [*names, *result.held])
                return msgspec.structs.replace(result, names=names, settings=settings)
            if not result.more:
                break
        return PollResult(more=result.more, next=self._poller.next_wake())


class SessionPollers:
    """The pollers of all sessions on other machines that have polled lately."""

    def __init__(self, executor: VerbExecutor, long_poll: LongPoll) -> None:
        self._executor = executor
        self._long_poll = long_poll
        self._pollers: OrderedDict[tuple[str, tuple[str, ...]], SessionPoller] = OrderedDict()

    async def poll(
        self, session: str, prefixes: tuple[str, ...], *, wait: float, left: ClientLeft, slot: AcquireSlot
    ) -> PollResult:
        """Return lists that may have work for a session, at once or, in a slot, as soon as there are some in time."""
        poller = await self._poller(session, prefixes)
        result = await poller.poll()
        if result.names or result.held or wait <= 0:
            return result
        with slot():
            return await self._wait(poller, time.monotonic() + wait, left)

    async def _wait(self, poller: SessionPoller, until: float, left: ClientLeft) -> PollResult:
        gone = asyncio.ensure_future(left())
        turn = self._long_poll.enter_any(poller.fits)
        waiters = [gone, asyncio.ensure_future(turn.wait()), asyncio.ensure_future(poller.closed.wait())]
        try:
            while True:
                seconds = max(0.0, min(LEASE_CHECK_SECONDS, until - time.monotonic()))
                await asyncio.wait(waiters, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    raise ClientDisconnected
                if turn.is_set():
                    turn.clear()
                    waiters[1] = asyncio.ensure_future(turn.wait())
                result = await poller.poll()
                if result.names or result.held or self._long_poll.stopped or time.monotonic() >= until:
                    return result
        finally:
            for waiter in waiters:
                waiter.cancel()
            self._long_poll.leave_any(turn)

    async def _poller(self, session: str, prefixes: tuple[str, ...]) -> SessionPoller:
        found = self._pollers.get((session, prefixes))
        if found is None:
            patterns = await self._executor.read(sessions.patterns, session)
            if patterns is None:
                raise claims.lost(session)
            found = SessionPoller(self._executor, session, patterns, prefixes=prefixes)
            self._pollers[session, prefixes] = found
            if len(self._pollers) > MAX_POLLERS:
                self._pollers.popitem(last=False)
        self._pollers.move_to_end((session, prefixes))
        return found

    def close(self, session: str) -> None:
        """End the polls of a session that has ended."""
        for key in [key for key in self._pollers if key[0] == session]:
            self._pollers.pop(key).closed.set()
