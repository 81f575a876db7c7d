"""Endpoints of workers on other machines: sessions, claims and settlements, and polls for work."""

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import Any

import msgspec

from rowlock import claims, remote_claims, sessions
from rowlock.api.claims import (
    Claimed,
    ClaimOptions,
    Settled,
    SettleRequest,
    SyncClaim,
    SyncRequest,
    SyncResponse,
    SyncResult,
    SyncSettlement,
)
from rowlock.api.sessions import Closed, PollRequest, PollResponse, SessionBeat, SessionLife, SessionOptions
from rowlock.durations import milliseconds
from rowlock.errors import Invalid, RowlockError
from rowlock.http.asgi import ClientDisconnected
from rowlock.http.auth import check_outcomes, check_session, check_session_id, may_use_session, redact
from rowlock.http.endpoints import REPLAYED, idempotency_key
from rowlock.http.long_poll import LongPollClaim
from rowlock.http.problems import problem, without_address
from rowlock.http.requests import Request
from rowlock.http.responses import Response
from rowlock.model import to_datetime
from rowlock.names import is_token
from rowlock.outcomes import Done, Outcome
from rowlock.remote_claims import Settlement

MAX_HOLDER_BYTES = 200
MAX_DETAILS_BYTES = 4096
MAX_SETTLEMENTS = 1_000
"""In one request."""


async def open_session(request: Request) -> Response:
    """Open a session to claim under; it lives for its expiry, and for as long again after each beat."""
    options: SessionOptions = await request.document()
    holder = options.holder or f"http {request.client_host}"
    if not holder.isprintable() or len(holder.encode()) > MAX_HOLDER_BYTES:
        raise Invalid(f"holder must be up to {MAX_HOLDER_BYTES} bytes of printable text", "it is shown in a line")
    size = len(msgspec.json.encode(options.details))
    if size > MAX_DETAILS_BYTES:
        raise Invalid(f"details must be at most {MAX_DETAILS_BYTES} bytes, got {size}", "keep them elsewhere")
    session = options.session or request.service.engine.environment.token()
    if not is_token(session):
        raise Invalid("session must be 32 hexadecimal digits", "leave it out to be given one")
    until = await request.executor.write(
        remote_claims.open_session,
        session,
        holder=holder,
        expiry=_check_expiry(request, options.expiry),
        details=options.details,
        scope=request.principal.lists,
        seeks=options.seeks,
    )
    location = (b"location", f"{request.root_path}/v1/sessions/{session}".encode())
    return Response(SessionLife(session, to_datetime(until)), 201, [location])


async def beat(request: Request) -> SessionLife:
    """Keep a session alive: one that sends no beat in time is lost, and its claims with it."""
    options: SessionBeat = await request.document()
    session = request.path_params["session"]
    expiry = None if options.expiry is None else _check_expiry(request, options.expiry)
    await check_session(request, session)
    until = await request.executor.write(remote_claims.beat, session, expiry=expiry)
    return SessionLife(session, to_datetime(until))


def _check_expiry(request: Request, expiry: str | float) -> int:
    return sessions.check_expiry(expiry, longest=round(request.service.limits.session_seconds * 1_000))


async def close(request: Request) -> Closed:
    """Close a session, and answer the polls that wait for it here."""
    session = request.path_params["session"]
    closed = await may_use_session(request, session) and await request.executor.write(sessions.close, session)
    if closed:
        request.service.session_pollers.close(session)
    return Closed(closed)


async def claim(request: Request) -> Claimed | Response:
    """Claim items of a list under a session; with `wait`, respond as soon as there are some.

    A response without items is not an error: no item was ready. If the client disconnects before the response, the
    items are free again, unless it gave an Idempotency-Key: then the repeated request gets them.
    """
    options: ClaimOptions = await request.document()
    name, session = request.path_params["list"], options.session
    _check_limit(request, options.limit)
    wait = _read_wait(request, options.wait)
    await check_session(request, session)
    key, token = None, None
    if request.header(b"idempotency-key"):
        key, token = idempotency_key(request), request.service.engine.environment.token()
    poll = LongPollClaim(name, session, options.limit, wait, key=key, token=token)
    slot, left = request.long_poll_slot, request.wait_for_half_close
    try:
        claimed = await request.service.claimer.claim(poll, left=left, slot=slot)
    except ClientDisconnected:
        if not request.is_half_closed:
            raise
        claimed = None  # nothing came in time: if the client still reads, it gets an empty claim
    if claimed is None:
        return Claimed(None, [], session, name)
    give_back = partial(request.executor.write, claims.close, session, claimed.token)
    try:
        await request.service.reauthorize(request)
    except RowlockError:
        await give_back()  # the token expired while the request waited
        raise
    if key is None:
        return Response(Claimed.of(claimed, session), undelivered=give_back)
    return Response(Claimed.of(claimed, session), headers=[] if claimed.token == token else [REPLAYED])


def _check_limit(request: Request, limit: int) -> None:
    max_items = request.service.limits.claim_items
    if not 1 <= limit <= max_items:
        raise Invalid(f"limit must be 1 to {max_items}, got {limit}")


def _read_wait(request: Request, wait: str | float) -> float:
    """Return the seconds that a request may wait."""
    seconds, longest = milliseconds(wait) / 1_000, request.service.limits.wait_seconds
    if seconds > longest:
        raise Invalid(f"wait must be at most {longest:g}s, got {wait!r}", "repeat the request instead")
    return seconds


async def settle(request: Request) -> Settled:
    """Settle claimed items: each once, however often the request is repeated.

    Nothing is written if the claim has ended: 409 `stale-claim`. A repeated request gets the same response.
    """
    body: SettleRequest = await request.document()
    check_session_id(body.session)
    outcomes = body.outcomes()
    check_outcomes(outcomes.values(), request.principal)
    prefixes = request.principal.lists
    settlement = Settlement(body.session, request.path_params["claim"], outcomes, body.close, prefixes)
    random = request.service.engine.environment.random
    return Settled(await request.executor.write(remote_claims.settle, settlement, random=random))


async def show_claim(request: Request) -> Claimed:
    """Return what is left of a claim; 409 `stale-claim` if it has ended.

    If it was `noted`, these are the items that were claimed; else all that stand in its interval now.
    """
    session = request.query.session
    await check_session(request, session)
    claimed = await request.executor.read(sessions.held, session, request.path_params["claim"])
    request.principal.check(claimed.list)
    return Claimed.of(claimed, session)


async def close_claim(request: Request) -> Closed:
    """Close a claim; its items that were not settled are free at once."""
    session = request.query.session
    await check_session(request, session)
    return Closed(await request.executor.write(claims.close, session, request.path_params["claim"]))


async def sync(request: Request) -> SyncResponse:
    """Settle what is finished and claim what is next, of any lists, in one request: for workers.

    Each settlement has its own result. A repeated request is answered as before.
    """
    body: SyncRequest = await request.document()
    if len(body.settle) > MAX_SETTLEMENTS:
        raise Invalid(f"settle must have at most {MAX_SETTLEMENTS} claims, got {len(body.settle)}")
    await check_session(request, body.session)
    settled = [
        await each for each in [asyncio.ensure_future(_sync_settle(request, body, each)) for each in body.settle]
    ]
    if body.claim is None:
        return SyncResponse(settled)
    try:
        return SyncResponse(settled, await _sync_claim(request, body.session, body.claim))
    except RowlockError as error:
        return SyncResponse(settled, problem=_problem(error, request))


async def _sync_settle(request: Request, body: SyncRequest, settlement: SyncSettlement) -> SyncResult:
    claim = Settlement(body.session, settlement.claim, {}, settlement.close, request.principal.lists)
    try:
        outcomes = _read_outcomes(settlement)
        check_outcomes((outcome for _, outcome in outcomes), request.principal)
        plain = bool(settlement.done)
        return SyncResult(await request.executor.write(remote_claims.settle_at, claim, outcomes, plain=plain))
    except RowlockError as error:
        return SyncResult(problem=_problem(error, request))


def _read_outcomes(settlement: SyncSettlement) -> list[tuple[int, Outcome]]:
    if settlement.done and settlement.outcomes:
        raise Invalid("a settlement has both `done` and `outcomes`", "give one of them")
    done: list[tuple[int, Outcome]] = [(position, Done()) for position in settlement.done]
    return done or [(ending.position, ending.read()) for ending in settlement.outcomes]


async def _sync_claim(request: Request, session: str, options: SyncClaim) -> Claimed:
    request.principal.check(options.list)
    _check_limit(request, options.limit)
    if not is_token(options.token):
        what = f"token must be 32 hexadecimal digits, got {options.token!r}"
        raise Invalid(what, "choose them at random for each claim")
    name, attempts, noted = options.list, options.attempts, options.noted
    poll = LongPollClaim(name, session, options.limit, 0.0, token=options.token, attempts=attempts, noted=noted)
    claimed = await request.service.claimer.claim(poll, left=_never)
    return Claimed(None, [], session, name) if claimed is None else Claimed.of(claimed, session)


def _never() -> Awaitable[None]:
    return asyncio.get_running_loop().create_future()


def _problem(error: RowlockError, request: Request) -> dict[str, Any]:
    return problem(without_address(redact(error, request), request.service.engine), request.id.decode())


async def poll(request: Request) -> PollResponse:
    """Return the lists that may have work, of those that a session works; with `wait`, as soon as there are some.

    It also takes the session's share of exclusive lists. A list that may have work may still have none.
    """
    options: PollRequest = await request.document()
    session = request.path_params["session"]
    await check_session(request, session)
    wait, left = _read_wait(request, options.wait), request.wait_for_disconnect
    lists, slot = request.principal.lists, request.long_poll_slot
    result = await request.service.session_pollers.poll(session, lists, wait=wait, left=left, slot=slot)
    await request.service.reauthorize(request)
    return PollResponse(dict(result.settings), list(result.held), result.more, result.next)
