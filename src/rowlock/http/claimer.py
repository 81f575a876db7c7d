"""The claimer: claims for workers elsewhere, who may wait for work until some is there or they have gone."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import Any

import msgspec

from rowlock import claims, remote_claims
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.engine.claim_hints import ClaimHints
from rowlock.http.bodies import Gone
from rowlock.http.executor import VerbExecutor
from rowlock.http.long_poll import AcquireSlot, LongPoll
from rowlock.leases import KEEP_IDLE_MILLISECONDS


class LongPollClaim(msgspec.Struct, frozen=True):
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
        self._environment = executor.engine.environment
        self._hints = ClaimHints()
        self.long_poll = LongPoll(executor)

    async def claim(
        self, request: LongPollClaim, *, left: Callable[[], Awaitable[None]], slot: AcquireSlot = nullcontext
    ) -> ClaimedItems | None:
        """The next items of the list, or None if there are none in time; `left` returns when the client has gone.

        Whoever has to wait does so in a slot; refused if there is none.
        """
        taken = await self._take(request)
        if taken is None and request.wait > 0 and not self.long_poll.stopped:
            with slot():
                return await self._wait(request, left)
        return taken

    async def _wait(self, request: LongPollClaim, left: Callable[[], Awaitable[None]]) -> ClaimedItems | None:
        turn, gone = self.long_poll.enter(request.list), asyncio.ensure_future(left())
        until = asyncio.get_running_loop().time() + request.wait
        looked = True
        try:
            while await _comes(turn, gone, until) and not self.long_poll.stopped:
                turn.clear()
                looked = False  # if this one cannot, the next in line shall
                taken = await self._take(request)
                looked = taken is None
                if taken is not None:
                    return await self._given(request, taken, gone)
            return None
        finally:
            gone.cancel()
            self.long_poll.leave(request.list, turn, next_too=not looked)

    async def _given(self, request: LongPollClaim, taken: ClaimedItems, gone: "asyncio.Future[None]") -> ClaimedItems:
        if gone.done() and request.key is None:
            # Nobody was told of these items: free at once, not when the session ends. Under a key they ask again.
            await self._executor.write(claims.close, request.session, taken.token)
            raise Gone
        return taken

    async def _take(self, request: LongPollClaim) -> ClaimedItems | None:
        seen, now = self._hints[request.list], self._environment.monotonic()
        token, keep = request.token or self._environment.token(), 0 if request.noted else KEEP_IDLE_MILLISECONDS
        claim = ClaimRequest(
            request.session, request.list, request.limit, token, request.attempts, seen.floors, keep, seen.lane
        )
        thorough = not seen.is_fresh(now)
        if thorough:
            seen.searched_at = now
        if request.token is not None:
            taken = await self._executor.write(remote_claims.take_named, claim, thorough=thorough, noted=request.noted)
        elif request.key is None:
            taken = await self._executor.write(remote_claims.take, claim, thorough=thorough)
        else:
            taken = await self._executor.write(remote_claims.take_once, claim, thorough=thorough, key=request.key)
        if taken is not None and taken.items:
            self._hints[taken.list].remember(taken)
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
