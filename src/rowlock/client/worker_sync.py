"""What a worker asks of a server: trips that settle and claim, and which lists may have work."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rowlock import claims, settlements
from rowlock.client.sessions import sync, wanted
from rowlock.client.transport import Transport
from rowlock.db import BoundVerb
from rowlock.errors import NeedsDatabase
from rowlock.lists import PollResult
from rowlock.model import Settings
from rowlock.outcomes import Done, PositionedOutcome


class PollResponse(msgspec.Struct, frozen=True):
    """What a server says of lists that may have work."""

    lists: Mapping[str, Settings]
    held: Sequence[str]
    more: bool
    next: float | None


def pipeline(transport: Transport, calls: Sequence[BoundVerb]) -> list[Any]:
    """Settle whole claims and claim once, in one request; the answers are in the order of the calls."""
    settling = [call for call in calls if call.verb is settlements.try_settle_done]
    requests = [call.args[0]() for call in calls if call.verb is claims.take]
    sessions = {call.args[0] for call in settling} | {request.session for request in requests}
    if len(settling) + len(requests) < len(calls) or len(requests) > 1 or len(sessions) != 1:
        raise NeedsDatabase("a pipeline over HTTP settles and claims, under one session", "use an Engine")
    body: dict[str, Any] = {"session": sessions.pop(), "settle": list(map(_settlement, settling))}
    if requests:
        body["claim"] = wanted(requests[0])
    response = sync(transport, body)
    # A settlement with a problem is repeated alone by the caller, and raises then.
    settled = [None if result.problem is not None else result.verdicts for result in response.settled]
    claimed = None if response.claimed is None else response.claimed.taken
    return [*settled, claimed] if requests else settled


def _settlement(call: BoundVerb) -> dict[str, Any]:
    _, token, positions = call.args
    if call.kwargs.get("limited") is None:
        return {"claim": token, "done": positions}
    # The short form wakes nobody who waits for room.
    outcomes = [PositionedOutcome.of(position, Done()) for position in positions]
    return {"claim": token, "outcomes": outcomes, "close": True}


def look(transport: Transport, session: str, *, wait: float) -> PollResult:
    """Lists that may have work, with their settings."""
    seen = transport.ask("POST", "sessions", session, "look", gives=PollResponse, body={"wait": wait}, wait=wait)
    names = [name for name in seen.lists if name not in seen.held]
    return PollResult(names, seen.held, seen.more, seen.lists, seen.next)
