"""Long polls: requests that wait for work, and claims for workers on other machines.

Requests that wait for a list stand in a line. When the list may have work the first in line tries to claim, and if
there was some, the next. One query for all lines, after a hint of the database and once a second, says which lists may
have work: so a thousand waiting requests cost no more than one.
"""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from itertools import islice
from typing import Any

import msgspec

from rowlock import claims, lists, remote_claims
from rowlock.api.server_limits import ServerLimits
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.db import Hint
from rowlock.engine.claimer import ClaimHints
from rowlock.errors import Overloaded, RowlockError
from rowlock.http.asgi import ClientDisconnected
from rowlock.http.executor import VerbExecutor
from rowlock.leases import KEEP_IDLE_MILLISECONDS
from rowlock.remote_claims import WorkSnapshot
from rowlock.worker.backend import RECONNECT_SECONDS, listen_for_hints

MAX_PAUSE_SECONDS = 1.0
MIN_PAUSE_SECONDS = 0.01
"""Between two queries, however many hints there are."""
RETRY_AFTER_SECONDS = 5
"""When a request that may not wait shall be repeated."""

Fits = Callable[[str], bool]
AcquireSlot = Callable[[], AbstractContextManager[None]]
ClientLeft = Callable[[], Awaitable[None]]
"""Returns when the client has closed its connection."""


class LongPollLimiter:
    """Counts the requests that wait, by address and in all, and refuses more than the limits allow."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._by_address: Counter[str] = Counter()
        self.count = 0

    def check(self, address: str) -> None:
        """Raise Overloaded if no more requests may wait now."""
        limits, waiting = self._limits, self._by_address[address]
        if waiting < limits.long_polls_per_address and self.count < limits.long_polls:
            return
        here = waiting >= limits.long_polls_per_address
        what = f"{waiting} requests from this address wait already" if here else f"{self.count} requests wait already"
        hint = f"ask again after {RETRY_AFTER_SECONDS} seconds, or without waiting"
        raise Overloaded(what, hint, retry_after=RETRY_AFTER_SECONDS)

    @contextmanager
    def slot(self, address: str) -> Iterator[None]:
        """Count one more waiting request for the length of the block; Overloaded as by `check`."""
        self.check(address)
        self.count += 1
        self._by_address[address] += 1
        try:
            yield
        finally:
            self.count -= 1
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]


class LongPoll:
    """Wakes requests that wait for a list when it may have work; queries only while a request waits."""

    def __init__(self, executor: VerbExecutor) -> None:
        self._executor = executor
        self._lines: dict[str, deque[asyncio.Event]] = {}
        """Requests that wait for one list, the first to come first."""
        self._pollers: dict[asyncio.Event, Fits] = {}
        """Requests that wait for any list that fits."""
        self._woken: dict[str, int] = {}
        """How many of those were woken for a list the last time."""
        self._watching: asyncio.Future[None] | None = None
        self._hint = asyncio.Event()
        self._stop_listening = threading.Event()
        self.stopped = False

    def enter(self, name: str) -> asyncio.Event:
        """Stand in the line of a list; the event is set when it is time to try."""
        turn = asyncio.Event()
        self._lines.setdefault(name, deque()).append(turn)
        self._start_to_watch()
        return turn

    def leave(self, name: str, turn: asyncio.Event, *, next_too: bool) -> None:
        """Leave the line; the next may try too if there was something, or this one did not look."""
        line = self._lines[name]
        line.remove(turn)
        if not line:
            del self._lines[name]
        elif next_too or turn.is_set():
            line[0].set()

    def enter_any(self, fits: Fits) -> asyncio.Event:
        """Wait for any list that fits; the event is set when one may have work, for some of those that wait for it."""
        turn = asyncio.Event()
        self._pollers[turn] = fits
        self._start_to_watch()
        return turn

    def leave_any(self, turn: asyncio.Event) -> None:
        """Wait no longer for any list."""
        del self._pollers[turn]

    def stop(self) -> None:
        """Wake all requests for good."""
        self.stopped = True
        for turn in [*self._pollers, *(turn for line in self._lines.values() for turn in line)]:
            turn.set()

    def _start_to_watch(self) -> None:
        if self._watching is None or self._watching.done():
            self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        self._start_to_listen()
        try:
            while (self._lines or self._pollers) and not self.stopped:
                await self._wait_for_hint(await self._wake_some())
                await asyncio.sleep(MIN_PAUSE_SECONDS)
        finally:
            self._stop_listening.set()

    async def _wake_some(self) -> float:
        """Wake the first of each line that may find something; return the seconds to wait until the next query."""
        self._hint.clear()
        try:
            found = await self._find_work()
            if found.has_pending_wakes:
                await self._executor.write(lists.apply_wakes)
                found = await self._find_work()
        except RowlockError:  # a request that claims raises it itself; one that only waits goes on waiting
            return RECONNECT_SECONDS
        for name in found.awake:
            if line := self._lines.get(name):
                line[0].set()
        if self._wake_pollers(found.any):
            return MIN_PAUSE_SECONDS
        return MAX_PAUSE_SECONDS if found.next is None else min(MAX_PAUSE_SECONDS, max(0.0, found.next))

    async def _find_work(self) -> WorkSnapshot:
        return await self._executor.read(remote_claims.find_work, list(self._lines), anything=bool(self._pollers))

    def _wake_pollers(self, names: Iterable[str]) -> bool:
        """Wake some requests that wait for any list, twice as many each time that a list still has work."""
        woken: dict[str, int] = {}
        any_woken = False
        for name in names:
            woken[name] = 2 * self._woken.get(name, 0) or 1
            fitting = (turn for turn, fits in self._pollers.items() if not turn.is_set() and fits(name))
            for turn in islice(fitting, woken[name]):
                turn.set()
                any_woken = True
        self._woken = woken
        return any_woken

    async def _wait_for_hint(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hint.wait()

    def _start_to_listen(self) -> None:
        loop, stopped = asyncio.get_running_loop(), threading.Event()
        self._stop_listening = stopped

        def wake(_: Hint) -> None:
            try:
                loop.call_soon_threadsafe(self._hint.set)
            except RuntimeError:  # the loop has ended, and with it all requests
                stopped.set()

        terms = {"stopped": stopped, "seconds": MAX_PAUSE_SECONDS}
        arguments, name = (self._executor.engine, wake), "rowlock http hints"
        threading.Thread(target=listen_for_hints, args=arguments, kwargs=terms, name=name, daemon=True).start()


class LongPollClaim(msgspec.Struct, frozen=True):
    """A claim that a worker on another machine asks for, and how long it waits for work."""

    list: str
    session: str
    limit: int
    wait: float
    """Seconds."""
    key: str | None = None
    """An idempotency key: the same request is answered by the same claim."""
    token: str | None = None
    """The claim's token; without a key, the same request is known by it. Left out, each attempt has a new one."""
    attempts: int | None = None
    """How often an item may fail; the list's own number if left out."""
    noted: bool = False
    """Whether another process will settle it: then the session's row keeps what was claimed."""


class RemoteClaimer:
    """Claims for many sessions, with hints about each list that all of them share."""

    def __init__(self, executor: VerbExecutor) -> None:
        self._executor = executor
        self._environment = executor.engine.environment
        self._hints = ClaimHints()
        self.long_poll = LongPoll(executor)

    async def claim(
        self, request: LongPollClaim, *, left: ClientLeft, slot: AcquireSlot = nullcontext
    ) -> ClaimedItems | None:
        """Claim the next items of the list; None if there are none in time.

        A request that has to wait does so in a slot; Overloaded if all slots are taken.
        """
        claimed = await self._take(request)
        if claimed is None and request.wait > 0 and not self.long_poll.stopped:
            with slot():
                return await self._wait(request, left)
        return claimed

    async def _wait(self, request: LongPollClaim, left: ClientLeft) -> ClaimedItems | None:
        turn, gone = self.long_poll.enter(request.list), asyncio.ensure_future(left())
        until = asyncio.get_running_loop().time() + request.wait
        looked = True
        try:
            while await _wait_for_turn(turn, gone, until) and not self.long_poll.stopped:
                turn.clear()
                looked = False  # if this request cannot look, the next in line shall
                claimed = await self._take(request)
                looked = claimed is None
                if claimed is not None:
                    return await self._give_back_if_gone(request, claimed, gone)
            return None
        finally:
            gone.cancel()
            self.long_poll.leave(request.list, turn, next_too=not looked)

    async def _give_back_if_gone(
        self, request: LongPollClaim, claimed: ClaimedItems, gone: "asyncio.Future[None]"
    ) -> ClaimedItems:
        if gone.done() and request.key is None:
            # The client has left: its items are free at once, not when the session ends. Under a key it asks again.
            await self._executor.write(claims.close, request.session, claimed.token)
            raise ClientDisconnected
        return claimed

    async def _take(self, request: LongPollClaim) -> ClaimedItems | None:
        hints, now = self._hints[request.list], self._environment.monotonic()
        token, keep = request.token or self._environment.token(), 0 if request.noted else KEEP_IDLE_MILLISECONDS
        place = request.session, request.list, request.limit, token, request.attempts
        claim = ClaimRequest(*place, hints.floors, keep, hints.lane)
        thorough = not hints.is_fresh(now)
        if thorough:
            hints.searched_at = now  # others need not search meanwhile
        write = self._executor.write
        if request.key is not None:
            claimed = await write(remote_claims.take_once, claim, thorough=thorough, key=request.key)
        elif request.token is not None:
            claimed = await write(remote_claims.take_named, claim, thorough=thorough, noted=request.noted)
        else:
            claimed = await write(remote_claims.take, claim, thorough=thorough)
        if thorough:
            hints.note_search(now, self._environment.monotonic())
        if claimed is not None and claimed.items:
            self._hints[claimed.list].remember(claimed)
        return claimed


async def _wait_for_turn(turn: asyncio.Event, gone: "asyncio.Future[None]", until: float) -> bool:
    """Return whether the turn comes in time; ClientDisconnected if the client has left before."""
    waiting: asyncio.Future[Any] = asyncio.ensure_future(turn.wait())
    seconds = max(0.0, until - asyncio.get_running_loop().time())
    try:
        await asyncio.wait([waiting, gone], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if gone.done():
        raise ClientDisconnected
    return turn.is_set()
