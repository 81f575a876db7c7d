"""Handlers for workers on other machines: they settle and claim in one request, and poll for work."""

import asyncio
from collections.abc import Awaitable
from typing import Any

from rowlock import claims, remote_claims, sessions
from rowlock.api.claims import Claimed
from rowlock.api.sessions import Closed
from rowlock.api.worker_sync import (
    PollRequest,
    PollResponse,
    SyncClaim,
    SyncRequest,
    SyncResponse,
    SyncResult,
    SyncSettlement,
)
from rowlock.errors import Invalid, RowlockError
from rowlock.http import auth
from rowlock.http.auth import check_outcomes, check_session
from rowlock.http.call import Call
from rowlock.http.claims import read_wait
from rowlock.http.long_poll import LongPollClaim
from rowlock.http.problems import problem, without_address
from rowlock.names import is_token
from rowlock.outcomes import Done, Outcome
from rowlock.remote_claims import Settlement

MAX_SETTLEMENTS = 1_000
"""In one request."""


async def sync(call: Call) -> SyncResponse:
    """Settle what is finished and claim what is next, of any lists, in one request: for workers.

    Each settlement has its own result. A repeated request is answered as before.
    """
    request: SyncRequest = await call.document()
    if len(request.settle) > MAX_SETTLEMENTS:
        raise Invalid(f"settle must have at most {MAX_SETTLEMENTS} claims, got {len(request.settle)}")
    await check_session(call, request.session)
    settled = [await each for each in [asyncio.ensure_future(_settle(call, request, each)) for each in request.settle]]
    if request.claim is None:
        return SyncResponse(settled)
    try:
        return SyncResponse(settled, await _taken(call, request.session, request.claim))
    except RowlockError as error:
        return SyncResponse(settled, problem=_problem(error, call))


async def _settle(call: Call, request: SyncRequest, settlement: SyncSettlement) -> SyncResult:
    under = Settlement(request.session, settlement.claim, {}, settlement.close, call.principal.lists)
    try:
        settling = _settling(settlement)
        check_outcomes((outcome for _, outcome in settling), call.principal)
        plain = bool(settlement.done)
        return SyncResult(await call.service.executor.write(remote_claims.settle_at, under, settling, plain=plain))
    except RowlockError as error:
        return SyncResult(problem=_problem(error, call))


def _settling(settlement: SyncSettlement) -> list[tuple[int, Outcome]]:
    if settlement.done and settlement.outcomes:
        raise Invalid("a settlement has both `done` and `outcomes`", "give one of them")
    done: list[tuple[int, Outcome]] = [(position, Done()) for position in settlement.done]
    return done or [(ending.position, ending.read()) for ending in settlement.outcomes]


async def _taken(call: Call, session: str, wanted: SyncClaim) -> Claimed:
    call.principal.check(wanted.list)
    limits = call.service.limits
    if not 1 <= wanted.limit <= limits.claim_items:
        raise Invalid(f"limit must be 1 to {limits.claim_items}, got {wanted.limit}")
    if not is_token(wanted.token):
        raise Invalid(
            f"token must be 32 hexadecimal digits, got {wanted.token!r}", "choose them at random for each claim"
        )
    wish = LongPollClaim(
        wanted.list, session, wanted.limit, 0.0, None, wanted.token, attempts=wanted.attempts, noted=wanted.noted
    )
    taken = await call.service.claimer.claim(wish, left=_nobody_leaves)
    return Claimed(None, [], session, wanted.list) if taken is None else Claimed.of(taken, session)


def _nobody_leaves() -> Awaitable[None]:
    return asyncio.get_running_loop().create_future()


def _problem(error: RowlockError, call: Call) -> dict[str, Any]:
    return problem(without_address(auth.redact(error, call), call.service.engine), call.id.decode())


async def look(call: Call) -> PollResponse:
    """Return the lists that may have work, of those that a session works; with `wait`, as soon as there are some.

    It also takes the session's share of exclusive lists. A list that may have work may still have none.
    """
    asked: PollRequest = await call.document()
    session = call.path["session"]
    await check_session(call, session)
    wait = read_wait(call, asked.wait)
    seen = await call.service.session_pollers.poll(
        session, call.principal.lists, wait=wait, left=call.body.left, slot=call.long_poll
    )
    await call.service.recheck(call)
    return PollResponse(dict(seen.settings), list(seen.held), seen.more, seen.next)


async def show_claim(call: Call) -> Claimed:
    """Return what is left of a claim; 409 `stale-claim` if it has ended.

    If it was `noted`, these are the items that were claimed; else all that stand in its interval now.
    """
    session = call.query.session
    await check_session(call, session)
    taken = await call.service.executor.read(sessions.held, session, call.path["claim"])
    call.principal.check(taken.list)
    return Claimed.of(taken, session)


async def close_claim(call: Call) -> Closed:
    """End a claim; what of it was not settled is free at once."""
    await check_session(call, call.query.session)
    return Closed(await call.service.executor.write(claims.close, call.query.session, call.path["claim"]))
