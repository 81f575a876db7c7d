"""Handlers of claims: a claim may wait for work, and is taken back if its answer cannot be delivered."""

from functools import partial
from typing import TypeVar

from rowlock import claims, remote_claims
from rowlock.api.claims import Claimed, ClaimOptions, Settled, SettleRequest
from rowlock.claims import ClaimedItems
from rowlock.durations import milliseconds
from rowlock.errors import Invalid, RowlockError
from rowlock.http.auth import check_outcomes, check_session, check_session_id
from rowlock.http.bodies import Gone
from rowlock.http.call import Answer, Call
from rowlock.http.idempotency import key_of
from rowlock.http.long_poll import LongPollClaim
from rowlock.remote_claims import Settlement

T = TypeVar("T")


async def claim(call: Call) -> Claimed | Answer:
    """Claim items of a list under a session; `wait` waits for some, and is answered as soon as there are.

    An answer without items is no error: nothing was ready. If you hang up before you are answered the items are free
    again, unless you gave an Idempotency-Key: then they wait for you to ask again.
    """
    asked: ClaimOptions = await call.document()
    name, limits = call.path["list"], call.service.limits
    if not 1 <= asked.limit <= limits.claim_items:
        raise Invalid(f"a claim of {asked.limit} items cannot be had", f"ask for 1 to {limits.claim_items}")
    wait = read_wait(call, asked.wait)
    await check_session(call, asked.session)
    under = key_of(call) if call.header(b"idempotency-key") else None
    wish = LongPollClaim(name, asked.session, asked.limit, wait, under)
    taken = await _taken(call, wish)
    if taken is None:
        return Claimed(None, [], asked.session, name)
    await _still_theirs(call, asked.session, taken)
    found = Claimed.of(taken, asked.session)
    if under is not None:
        return found
    return Answer(found, undelivered=partial(call.service.executor.write, claims.close, asked.session, taken.token))


async def _taken(call: Call, wish: LongPollClaim) -> ClaimedItems | None:
    try:
        return await call.service.claimer.claim(wish, left=call.body.left_or_silent, slot=call.long_poll)
    except Gone:
        if call.body.silent:
            return None  # nothing came in time: if they are still there, they hear that
        raise


def read_wait(call: Call, wait: str | float) -> float:
    """How many seconds somebody wants to wait, if that is not too long."""
    seconds, longest = milliseconds(wait) / 1_000, call.service.limits.wait_seconds
    if seconds > longest:
        raise Invalid(f"nobody waits for {wait!r}", f"wait for up to {longest:g}s, and ask again")
    return seconds


async def _still_theirs(call: Call, session: str, taken: ClaimedItems) -> None:
    """Hand back what came after so long a wait that whoever waited may not have it any more."""
    try:
        await call.service.recheck(call)
    except RowlockError:
        await call.service.executor.write(claims.close, session, taken.token)
        raise


async def settle(call: Call) -> Settled:
    """Say what became of items that were claimed: each is settled once, however often this is asked.

    Nothing is written if the claim is no more: 409 `stale-claim`. The same asked again is answered as before.
    """
    given: SettleRequest = await call.document()
    check_session_id(given.session)
    outcomes = given.outcomes()
    check_outcomes(outcomes.values(), call.principal)
    settlement = Settlement(given.session, call.path["claim"], outcomes, given.close, call.principal.lists)
    random = call.service.engine.environment.random
    return Settled(await call.service.executor.write(remote_claims.settle, settlement, random=random))
