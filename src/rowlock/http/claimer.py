"""The claimer: claims for workers elsewhere, who may wait for work until some is there or they have gone."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import msgspec

from rowlock import claims, elsewhere
from rowlock.claims import Asking, Taken
from rowlock.engine.horizon import Horizon
from rowlock.http.bodies import Gone
from rowlock.http.executor import VerbExecutor
from rowlock.http.waiting import Slot, Watch
from rowlock.leases import KEEP


class Wish(msgspec.Struct, frozen=True):
    """What a worker asks for."""

    list: str
    session: str
    limit: int
    wait: float
    """Seconds."""
    key: str | None = None
    """Under which the same wish is known again."""
    token: str | None = None
    """What the claim shall be called, if the worker says so: then the same wish is known by it."""
    attempts: int | None = None
    """How often an item may fail; the list's own number if left out."""
    noted: bool = False
    """Whether others will settle it, who must be told what was handed out."""


class Claimer:
    """Claims for many sessions, and remembers for all of them how far each list has been seen."""

    def __init__(self, executor: VerbExecutor) -> None:
        self._executor = executor
        self._world = executor.engine.world
        self._horizon = Horizon()
        self.watch = Watch(executor)

    async def claim(self, wish: Wish, *, left: Callable[[], Awaitable[None]], slot: Slot = nullcontext) -> Taken | None:
        """The next items of the list, or None if there are none in time; `left` returns when the client has gone.

        Whoever has to wait does so in a slot; refused if there is none.
        """
        taken = await self._take(wish)
        if taken is None and wish.wait > 0 and not self.watch.stopped:
            with slot():
                return await self._wait(wish, left)
        return taken

    async def _wait(self, wish: Wish, left: Callable[[], Awaitable[None]]) -> Taken | None:
        turn, gone = self.watch.enter(wish.list), asyncio.ensure_future(left())
        until = asyncio.get_running_loop().time() + wish.wait
        looked = True
        try:
            while await _comes(turn, gone, until) and not self.watch.stopped:
                turn.clear()
                looked = False  # if this one cannot, the next in line shall
                taken = await self._take(wish)
                looked = taken is None
                if taken is not None:
                    return await self._given(wish, taken, gone)
            return None
        finally:
            gone.cancel()
            self.watch.leave(wish.list, turn, next_too=not looked)

    async def _given(self, wish: Wish, taken: Taken, gone: "asyncio.Future[None]") -> Taken:
        if gone.done() and wish.key is None:
            # Nobody was told of these items: free at once, not when the session ends. Under a key they ask again.
            await self._executor.write(claims.close, wish.session, taken.token)
            raise Gone
        return taken

    async def _take(self, wish: Wish) -> Taken | None:
        seen, now = self._horizon[wish.list], self._world.monotonic()
        token, keep = wish.token or self._world.token(), 0 if wish.noted else KEEP
        asking = Asking(wish.session, wish.list, wish.limit, token, wish.attempts, seen.floors, keep, seen.lane)
        thorough = not seen.lately(now)
        if thorough:
            seen.looked_at = now
        if wish.token is not None:
            taken = await self._executor.write(elsewhere.take_named, asking, thorough=thorough, noted=wish.noted)
        elif wish.key is None:
            taken = await self._executor.write(elsewhere.take, asking, thorough=thorough)
        else:
            taken = await self._executor.write(elsewhere.take_once, asking, thorough=thorough, key=wish.key)
        if taken is not None and taken.items:
            self._horizon[taken.list].remember(taken)
        return taken


async def _comes(turn: asyncio.Event, gone: "asyncio.Future[None]", until: float) -> bool:
    """Whether the turn comes in time; Gone if the client has left before."""
    waiting: asyncio.Future[Any] = asyncio.ensure_future(turn.wait())
    seconds = max(0.0, until - asyncio.get_running_loop().time())
    try:
        await asyncio.wait([waiting, gone], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiting.cancel()
    if gone.done():
        raise Gone
    return turn.is_set()
