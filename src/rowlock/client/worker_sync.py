"""What a worker asks of a server: trips that settle and claim, and which lists may have work."""

from collections.abc import Sequence
from typing import Any

from rowlock import claims, settlements
from rowlock.api.operation import ApiRequest
from rowlock.api.worker_sync import POLL, PollRequest, PollResponse, SyncRequest, SyncSettlement
from rowlock.client.sessions import claim_part, sync
from rowlock.client.transport import Transport
from rowlock.db import BoundVerb
from rowlock.errors import NeedsDatabase
from rowlock.lists import PollResult
from rowlock.outcomes import Done, PositionedOutcome


def pipeline(transport: Transport, calls: Sequence[BoundVerb]) -> list[Any]:
    """Settle whole claims and claim once, in one request; the answers are in the order of the calls."""
    settling = [call for call in calls if call.verb is settlements.try_settle_done]
    requests = [call.args[0]() for call in calls if call.verb is claims.take]
    sessions = {call.args[0] for call in settling} | {request.session for request in requests}
    if len(settling) + len(requests) < len(calls) or len(requests) > 1 or len(sessions) != 1:
        raise NeedsDatabase("a pipeline over HTTP settles and claims, under one session", "use an Engine")
    claim = claim_part(requests[0]) if requests else None
    response = sync(transport, SyncRequest(sessions.pop(), list(map(_settlement, settling)), claim))
    # A settlement with a problem is repeated alone by the caller, and raises then.
    settled = [None if result.problem is not None else result.verdicts for result in response.settled]
    claimed = None if response.claimed is None else response.claimed.taken
    return [*settled, claimed] if requests else settled


def _settlement(call: BoundVerb) -> SyncSettlement:
    _, token, positions = call.args
    if call.kwargs.get("limited") is None:
        return SyncSettlement(token, [*positions])
    # The short form wakes nobody who waits for room.
    outcomes = [PositionedOutcome.of(position, Done()) for position in positions]
    return SyncSettlement(token, outcomes=outcomes, close=True)


def look(transport: Transport, session: str, *, wait: float) -> PollResult:
    """Lists that may have work, with their settings."""
    request = ApiRequest((session,), body=PollRequest(wait))
    seen: PollResponse = transport.send(POLL, request, wait=wait)
    names = [name for name in seen.lists if name not in seen.held]
    return PollResult(names, seen.held, seen.more, seen.lists, seen.next)
