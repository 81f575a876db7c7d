"""Routes of worker sync: a worker on another machine settles and claims in one request, and polls for work."""

import asyncio
from collections.abc import Awaitable
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import claims, remote_claims, sessions
from rowlock.api.sessions import Closed
from rowlock.errors import Invalid, RowlockError
from rowlock.http import auth
from rowlock.http.auth import check_outcomes, check_session
from rowlock.http.call import Call
from rowlock.http.claims import Claimed, claimed, read_wait
from rowlock.http.long_poll import LongPollClaim
from rowlock.http.problems import problem, without_address
from rowlock.http.texts import form, row, text
from rowlock.model import Settings
from rowlock.names import is_token
from rowlock.outcomes import Done, Outcome, PositionedOutcome, Verdict
from rowlock.remote_claims import Settlement

MAX_SETTLEMENTS = 1_000
"""In one request."""


class SyncSettlement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcomes of items of one claim, by their positions."""

    claim: str
    done: list[int] = []
    """All that is left of the claim, if it is done and nothing is kept of it: the claim ends."""
    outcomes: list[PositionedOutcome] = []
    """Or the outcome of each item."""
    close: bool = False
    """Whether the claim ends: what is not named is free at once."""


class SyncClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to claim next."""

    list: str
    token: str
    """The claim's token: 32 random hexadecimal digits. Repeated, it is the same claim."""
    limit: int = 1
    attempts: int | None = None
    """How often an item may fail, 0 for any number of times; the list's own number if left out."""
    noted: bool = False
    """Whether another process will settle it: `GET /v1/claims/{claim}` then gives exactly what was claimed."""


class SyncRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker has done, and what it wants next."""

    session: str
    settle: list[SyncSettlement] = []
    claim: SyncClaim | None = None


class SyncResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdicts of one settlement in the order of its items, or its problem."""

    verdicts: list[Verdict] = []
    problem: dict[str, Any] | None = None


class SyncResponse(msgspec.Struct, frozen=True):
    """What was settled and claimed."""

    settled: list[SyncResult]
    claimed: Claimed | None = None
    problem: dict[str, Any] | None = None
    """Why the claim failed."""


class PollRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A poll for work."""

    wait: str | float = 0
    """How long to wait for a list that may have work."""


class PollResponse(msgspec.Struct, frozen=True):
    """Lists that may have work."""

    lists: dict[str, Settings]
    """Settings by the names of the lists."""
    held: list[str]
    """Exclusive lists that the session holds; they are among `lists` too."""
    more: bool
    """Whether there are more: poll again."""
    next: float | None
    """Seconds until the next list wakes by itself."""


class SessionQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The session of a claim."""

    session: Annotated[str, Meta(description="The session that holds the claim.")]


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
    return Claimed(None, [], session, wanted.list) if taken is None else claimed(session, taken)


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


async def left(call: Call) -> Claimed:
    """Return what is left of a claim; 409 `stale-claim` if it has ended.

    If it was `noted`, these are the items that were claimed; else all that stand in its interval now.
    """
    session = call.query.session
    await check_session(call, session)
    taken = await call.service.executor.read(sessions.held, session, call.path["claim"])
    call.principal.check(taken.list)
    return claimed(session, taken)


async def close(call: Call) -> Closed:
    """End a claim; what of it was not settled is free at once."""
    await check_session(call, call.query.session)
    return Closed(await call.service.executor.write(claims.close, call.query.session, call.path["claim"]))


@form(SyncResponse)
def _lines(home: SyncResponse) -> str:
    settled = [row(each.verdicts) if each.problem is None else row((each.problem["code"],)) for each in home.settled]
    return "".join(settled) + ("" if home.claimed is None else text(home.claimed))
