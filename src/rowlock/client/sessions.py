"""Sessions and claims of a client: their verbs by the requests that workers on other machines send."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from rowlock import claims, sessions, settlements
from rowlock.api.claims import CLOSE_CLAIM, SHOW_CLAIM, Claimed
from rowlock.api.operation import ApiRequest
from rowlock.api.sessions import BEAT_SESSION, OPEN_SESSION, Closed, SessionBeat, SessionOptions
from rowlock.api.worker_sync import SYNC, SyncClaim, SyncRequest, SyncResponse, SyncSettlement
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.client.problems import told
from rowlock.client.transport import Transport
from rowlock.errors import StaleSession
from rowlock.failures import truncate_message
from rowlock.outcomes import Fail, Outcome, PositionedOutcome, Retry, Verdict
from rowlock.receipts import OutcomesByPosition
from rowlock.sessions import EXPIRY_MILLISECONDS


class HasTransport(Protocol):
    """Sends requests to a server."""

    transport: Transport


def open_session(
    asker: HasTransport,
    session: str,
    *,
    holder: str,
    expiry: int = EXPIRY_MILLISECONDS,
    details: Any = None,
    seeks: Sequence[str] = (),
    beats: bool = True,  # noqa: ARG001
) -> None:
    """Open a session under an id of its own: asked again, it is the same one. The server watches all of them alike."""
    options = SessionOptions(holder, f"{expiry}ms", {} if details is None else details, session, list(seeks))
    asker.transport.send(OPEN_SESSION, ApiRequest((), body=options), again=True)


def beat(asker: HasTransport, session: str, *, expiry: int = EXPIRY_MILLISECONDS) -> bool:
    """Stay alive; False means that the session is lost."""
    try:
        asker.transport.send(BEAT_SESSION, ApiRequest((session,), body=SessionBeat(f"{expiry}ms")))
    except StaleSession:
        return False
    return True


def take(asker: HasTransport, request: ClaimRequest) -> ClaimedItems | None:
    """Claim the next items of a list, from the frontier or anywhere; its token makes it harmless to ask again."""
    response = sync(asker.transport, SyncRequest(request.session, claim=claim_part(request)))
    return None if response.claimed is None else response.claimed.taken


def claim_part(request: ClaimRequest) -> SyncClaim:
    """What to claim, as a server reads it."""
    return SyncClaim(request.list, request.token, request.limit, request.attempts, noted=request.keep == 0)


def note_handed(asker: HasTransport, session: str, taken: ClaimedItems) -> None:
    """Keep with the session what a claim handed out: the server has done so when it was taken."""


def held(asker: HasTransport, session: str, token: str) -> ClaimedItems:
    """Return a claim with what is left of the items that were handed out under it."""
    claimed: Claimed = asker.transport.send(SHOW_CLAIM, ApiRequest((token,), {"session": session}))
    assert claimed.taken is not None, "a claim that has ended is an error"  # noqa: S101
    return claimed.taken


def close_claim(asker: HasTransport, session: str, token: str) -> bool:
    """End a claim; what of it was not settled is free at once."""
    closed: Closed = asker.transport.send(CLOSE_CLAIM, ApiRequest((token,), {"session": session}))
    return closed.closed


def settle(
    asker: HasTransport,
    session: str,
    token: str,
    settling: OutcomesByPosition,
    *,
    holder: str = "",  # noqa: ARG001
    close: bool = True,
) -> list[Verdict]:
    """Write each outcome where its item still stands as handed out; the server knows the holder."""
    outcomes = [_ending(position, outcome) for position, outcome in settling]
    return _settle(asker.transport, session, SyncSettlement(token, outcomes=outcomes, close=close))


def _ending(position: int, outcome: Outcome) -> PositionedOutcome:
    if isinstance(outcome, Retry | Fail):
        # What somebody else's exception says may be of any length, and no text at all.
        outcome = msgspec.structs.replace(
            outcome, error=truncate_message(outcome.error), kind=truncate_message(outcome.kind)
        )
    return PositionedOutcome.of(position, outcome)


def settle_done(asker: HasTransport, session: str, token: str, positions: Sequence[int]) -> list[Verdict]:
    """All that is left of a claim is done, and nothing is kept of it."""
    return _settle(asker.transport, session, SyncSettlement(token, [*positions]))


def _settle(transport: Transport, session: str, settlement: SyncSettlement) -> list[Verdict]:
    [result] = sync(transport, SyncRequest(session, [settlement])).settled
    if result.problem is not None:
        raise told(result.problem, server=transport.server)
    return result.verdicts


def sync(transport: Transport, request: SyncRequest) -> SyncResponse:
    """Settle and claim in one request; a settlement's problem is in its result, that of the claim is raised."""
    response: SyncResponse = transport.send(SYNC, ApiRequest((), body=request))
    if response.problem is not None:
        raise told(response.problem, server=transport.server)
    return response


VERBS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    sessions.open_session: open_session,
    sessions.beat: beat,
    sessions.note_handed: note_handed,
    sessions.held: held,
    claims.take: take,
    claims.close: close_claim,
    settlements.settle: settle,
    settlements.settle_done: settle_done,
}
