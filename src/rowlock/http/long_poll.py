"""Claims for workers elsewhere, and their waiting: one look at the database for all who wait, and no herd.

Who waits for a list stands in a line. When a list may have work the first in its line tries, and if there was some, the
next. Whether a list may have work is asked once for all lines, when the database gives a hint and once a second.
"""

import asyncio
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import islice

import msgspec

from rowlock import leases, lists
from rowlock.db import Transaction
from rowlock.errors import Overloaded, RowlockError
from rowlock.http.executor import VerbExecutor
from rowlock.http.limits import ServerLimits
from rowlock.worker.backend import RECONNECT_SECONDS
from rowlock.worker.poller import listen_for_hints

MAX_PAUSE_SECONDS = 1.0
MIN_PAUSE_SECONDS = 0.01
"""Seconds between two looks, however many hints there are."""
RETRY_AFTER_SECONDS = 5
"""When to ask again, for those who may not wait."""
MANY = 1_000

Fits = Callable[[str], bool]
AcquireSlot = Callable[[], AbstractContextManager[None]]


class LongPollLimiter:
    """Requests that wait for work or events: how many there are, of each address and in all, and may be."""

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._by_address: Counter[str] = Counter()
        self.count = 0

    def check(self, address: str) -> None:
        """Refuse one more wait, for the moment, if as many wait as may."""
        limits, waiting = self._limits, self._by_address[address]
        if waiting < limits.long_polls_per_address and self.count < limits.long_polls:
            return
        here = waiting >= limits.long_polls_per_address
        what = f"{waiting} requests from this address wait already" if here else f"{self.count} requests wait already"
        hint = f"ask again after {RETRY_AFTER_SECONDS} seconds, or without waiting"
        raise Overloaded(what, hint, retry_after=RETRY_AFTER_SECONDS)

    @contextmanager
    def slot(self, address: str) -> Iterator[None]:
        """Wait for the length of the block; refused as by `check`."""
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


class WorkSnapshot(msgspec.Struct, frozen=True):
    """What a look has found."""

    has_pending_wakes: bool
    awake: list[str]
    next: float | None
    """Seconds until the next list wakes by itself."""
    any: list[str] = []
    """All lists that may have work, or many of them, where somebody waits for any."""


def look(tx: Transaction, names: list[str], *, anything: bool) -> WorkSnapshot:
    """Whether anybody has called, which of these lists may have work, or any, and how long there is to wait."""
    among = lists.awake_among(tx, names) if names else []
    awake = [*lists.awake(tx, limit=MANY), *leases.free(tx, limit=MANY)] if anything else []
    return WorkSnapshot(lists.has_pending_wakes(tx), among, lists.next_wake(tx), [each.name for each in awake])


class LongPoll:
    """Wakes whoever waits for a list when it may have work; looks only while somebody waits."""

    def __init__(self, executor: VerbExecutor) -> None:
        self._executor = executor
        self._lines: dict[str, deque[asyncio.Event]] = {}
        self._lookers: dict[asyncio.Event, Fits] = {}
        self._rung: dict[str, int] = {}
        self._looking: asyncio.Future[None] | None = None
        self._hint = asyncio.Event()
        self._stop_listening = threading.Event()
        self.stopped = False

    def enter(self, name: str) -> asyncio.Event:
        """Stand in the line of a list; the event is set when it is time to try."""
        turn = asyncio.Event()
        self._lines.setdefault(name, deque()).append(turn)
        self._begin_to_look()
        return turn

    def enter_any(self, fits: Fits) -> asyncio.Event:
        """Wait for any list that fits; the event is set when one may have work, for some of those who wait for it."""
        turn = asyncio.Event()
        self._lookers[turn] = fits
        self._begin_to_look()
        return turn

    def leave_any(self, turn: asyncio.Event) -> None:
        """Wait no longer."""
        del self._lookers[turn]

    def _begin_to_look(self) -> None:
        if self._looking is None or self._looking.done():
            self._looking = asyncio.ensure_future(self._look_while_waited_for())

    def leave(self, name: str, turn: asyncio.Event, *, next_too: bool) -> None:
        """Leave the line; the next may try too if there was something, or nobody has looked."""
        line = self._lines[name]
        line.remove(turn)
        if not line:
            del self._lines[name]
        elif next_too or turn.is_set():
            line[0].set()

    def stop(self) -> None:
        """Wake everybody for good."""
        self.stopped = True
        for line in self._lines.values():
            for turn in line:
                turn.set()
        for turn in self._lookers:
            turn.set()

    async def _look_while_waited_for(self) -> None:
        self._start_to_listen()
        try:
            while (self._lines or self._lookers) and not self.stopped:
                await self._wait_for_hint(await self._look())
                await asyncio.sleep(MIN_PAUSE_SECONDS)
        finally:
            self._stop_listening.set()

    async def _look(self) -> float:
        """Wake the first of each line that may find something; for how long to wait now."""
        self._hint.clear()
        try:
            seen = await self._seen()
            if seen.has_pending_wakes:
                await self._executor.write(lists.apply_wakes)
                seen = await self._seen()
        except RowlockError:  # who tries to claim is told; whoever only waits, waits on
            return RECONNECT_SECONDS
        for name in seen.awake:
            if line := self._lines.get(name):
                line[0].set()
        if self._ring(seen.any):
            return MIN_PAUSE_SECONDS
        return MAX_PAUSE_SECONDS if seen.next is None else min(MAX_PAUSE_SECONDS, max(0.0, seen.next))

    async def _seen(self) -> WorkSnapshot:
        return await self._executor.read(look, list(self._lines), anything=bool(self._lookers))

    def _ring(self, names: Iterable[str]) -> bool:
        """Wake some of those who wait for any list, twice as many each time that a list is still awake; if anybody."""
        rung: dict[str, int] = {}
        woken = False
        for name in names:
            rung[name] = 2 * self._rung.get(name, 0) or 1
            fitting = (turn for turn, fits in self._lookers.items() if not turn.is_set() and fits(name))
            for turn in islice(fitting, rung[name]):
                turn.set()
                woken = True
        self._rung = rung
        return woken

    async def _wait_for_hint(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hint.wait()

    def _start_to_listen(self) -> None:
        loop, self._stop_listening = asyncio.get_running_loop(), threading.Event()

        def wake(stopped: threading.Event = self._stop_listening) -> None:
            try:
                loop.call_soon_threadsafe(self._hint.set)
            except RuntimeError:  # the loop has ended, and with it all who waited
                stopped.set()

        terms = {"stopped": self._stop_listening, "seconds": MAX_PAUSE_SECONDS}
        arguments = (self._executor.engine, wake)
        name = "rowlock http hints"
        threading.Thread(target=listen_for_hints, args=arguments, kwargs=terms, name=name, daemon=True).start()
