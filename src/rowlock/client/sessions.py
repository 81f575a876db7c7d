"""Sessions and claims of a client, as HTTP requests."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from rowlock import claims, sessions, settlements
from rowlock.api.claims import CLOSE_CLAIM, SHOW_CLAIM, SYNC, SyncClaim, SyncRequest, SyncResponse, SyncSettlement
from rowlock.api.operation import ApiRequest
from rowlock.api.sessions import (
    BEAT_SESSION,
    OPEN_SESSION,
    POLL,
    PollRequest,
    PollResponse,
    SessionBeat,
    SessionOptions,
)
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.client.caller import Caller
from rowlock.client.errors import error_of_problem
from rowlock.client.transport import Transport
from rowlock.db import BoundVerb
from rowlock.errors import NeedsDatabase, StaleSession
from rowlock.failures import truncate_message
from rowlock.lists import PollResult
from rowlock.outcomes import Done, Fail, Outcome, PositionedOutcome, Retry, Verdict
from rowlock.receipts import OutcomesByPosition
from rowlock.sessions import EXPIRY_MILLISECONDS


def open_session(
    caller: Caller,
    session: str,
    *,
    holder: str,
    expiry: int = EXPIRY_MILLISECONDS,
    details: Any = None,
    seeks: Sequence[str] = (),
    beats: bool = True,  # noqa: ARG001
) -> None:
    """Open a session under an id of its own: repeated, it is the same one. The server watches all sessions alike."""
    options = SessionOptions(holder, f"{expiry}ms", {} if details is None else details, session, list(seeks))
    caller.transport.send(OPEN_SESSION, ApiRequest((), body=options))


def beat(caller: Caller, session: str, *, expiry: int = EXPIRY_MILLISECONDS) -> bool:
    """Keep the session alive; return False if it is lost."""
    try:
        caller.transport.send(BEAT_SESSION, ApiRequest((session,), body=SessionBeat(f"{expiry}ms")))
    except StaleSession:
        return False
    return True


def take(caller: Caller, request: ClaimRequest) -> ClaimedItems | None:
    """Claim the next items of a list, from the frontier or anywhere; its token makes it harmless to repeat."""
    response = _sync(caller.transport, SyncRequest(request.session, claim=_claim_part(request)))
    return None if response.claimed is None else response.claimed.taken


def _claim_part(request: ClaimRequest) -> SyncClaim:
    return SyncClaim(request.list, request.token, request.limit, request.attempts, noted=request.keep == 0)


def note_handed(caller: Caller, session: str, taken: ClaimedItems) -> None:
    """Do nothing: the server has stored with the session what the claim handed out."""


def held(caller: Caller, session: str, token: str) -> ClaimedItems:
    """Return a claim with what is left of the items that were handed out under it."""
    taken: ClaimedItems = caller.transport.send(SHOW_CLAIM, ApiRequest((token,), {"session": session})).taken
    return taken


def close_claim(caller: Caller, session: str, token: str) -> bool:
    """End a claim; its items that are not settled are free at once."""
    closed: bool = caller.ask(CLOSE_CLAIM, ApiRequest((token,), {"session": session}))
    return closed


def settle(
    caller: Caller,
    session: str,
    token: str,
    settling: OutcomesByPosition,
    *,
    holder: str = "",  # noqa: ARG001
    close: bool = True,
) -> list[Verdict]:
    """Write each outcome where its item still stands as handed out; the server knows the holder."""
    outcomes = [_ending(position, outcome) for position, outcome in settling]
    return _settle(caller.transport, session, SyncSettlement(token, outcomes=outcomes, close=close))


def _ending(position: int, outcome: Outcome) -> PositionedOutcome:
    if isinstance(outcome, Retry | Fail):
        # The text of an exception may be of any length, and not valid UTF-8.
        outcome = msgspec.structs.replace(
            outcome,
            error=truncate_message(outcome.error),
            kind=truncate_message(outcome.kind),
            traceback=None if outcome.traceback is None else truncate_message(outcome.traceback),
        )
    return PositionedOutcome.of(position, outcome)


def settle_done(caller: Caller, session: str, token: str, positions: Sequence[int]) -> list[Verdict]:
    """Settle all that is left of a claim as done, without results."""
    return _settle(caller.transport, session, SyncSettlement(token, [*positions]))


def _settle(transport: Transport, session: str, settlement: SyncSettlement) -> list[Verdict]:
    [result] = _sync(transport, SyncRequest(session, [settlement])).settled
    if result.problem is not None:
        raise error_of_problem(result.problem, server=transport.server)
    return result.verdicts


def _sync(transport: Transport, request: SyncRequest) -> SyncResponse:
    """Settle and claim in one request; a settlement's problem is in its result, that of the claim is raised."""
    response: SyncResponse = transport.send(SYNC, ApiRequest((), body=request))
    if response.problem is not None:
        raise error_of_problem(response.problem, server=transport.server)
    return response


def pipeline(transport: Transport, calls: Sequence[BoundVerb]) -> list[Any]:
    """Settle whole claims and claim once, in one request; the answers are in the order of the calls."""
    settling = [call for call in calls if call.verb is settlements.try_settle_done]
    requests = [call.args[0]() for call in calls if call.verb is claims.take]
    ids = {call.args[0] for call in settling} | {request.session for request in requests}
    if len(settling) + len(requests) < len(calls) or len(requests) > 1 or len(ids) != 1:
        raise NeedsDatabase("a pipeline over HTTP settles and claims, under one session", "use an Engine")
    claim = _claim_part(requests[0]) if requests else None
    response = _sync(transport, SyncRequest(ids.pop(), list(map(_settlement, settling)), claim))
    # A settlement with a problem is repeated alone by the caller, and raises then.
    settled = [None if result.problem is not None else result.verdicts for result in response.settled]
    claimed = None if response.claimed is None else response.claimed.taken
    return [*settled, claimed] if requests else settled


def _settlement(call: BoundVerb) -> SyncSettlement:
    _, token, positions = call.args
    if call.kwargs.get("limited") is None:
        return SyncSettlement(token, [*positions])
    # The short form does not wake sessions that wait for room under a limit.
    outcomes = [PositionedOutcome.of(position, Done()) for position in positions]
    return SyncSettlement(token, outcomes=outcomes, close=True)


def look(transport: Transport, session: str, *, wait: float) -> PollResult:
    """Return lists that may have work, with their settings."""
    request = ApiRequest((session,), body=PollRequest(wait))
    response: PollResponse = transport.send(POLL, request, wait=wait)
    names = [name for name in response.lists if name not in response.held]
    return PollResult(names, response.held, response.more, response.lists, response.next)


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
