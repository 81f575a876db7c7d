"""Ways of sessions and claims: each is a verb of `rowlock.sessions` and its neighbours, asked of a server."""

from collections.abc import Sequence
from typing import Any

import msgspec

from rowlock.api.operation import ApiRequest
from rowlock.api.sessions import BEAT_SESSION, OPEN_SESSION, Closed, SessionBeat, SessionOptions
from rowlock.claims import ClaimedItems, ClaimRequest
from rowlock.client.problems import told
from rowlock.client.transport import Transport
from rowlock.errors import StaleSession
from rowlock.failures import truncate_message
from rowlock.model import Item
from rowlock.outcomes import Fail, Outcome, PositionedOutcome, Retry, Verdict
from rowlock.receipts import OutcomesByPosition
from rowlock.sessions import EXPIRY_MILLISECONDS


class Claimed(msgspec.Struct, frozen=True):
    """What was handed out."""

    claim: str | None
    items: list[Item]
    list: str
    gate: int | None = None
    priority: int | None = None
    low: int | None = None
    alone: bool = False
    exclusive: bool = False

    @property
    def taken(self) -> ClaimedItems | None:
        """The same as the engine has it; None if nothing was ready."""
        token = self.claim
        if token is None:
            return None
        where = self.gate or 0, self.priority or 0, self.low or 0
        return ClaimedItems(token, self.list, *where, self.items, self.alone, self.exclusive)


class SyncResult(msgspec.Struct, frozen=True):
    """What became of one settlement: a verdict for each item, or what is wrong."""

    verdicts: list[Verdict] = []
    problem: dict[str, Any] | None = None


class SyncResponse(msgspec.Struct, frozen=True):
    """What a trip has brought."""

    settled: list[SyncResult]
    claimed: Claimed | None = None
    problem: dict[str, Any] | None = None


def open_session(
    transport: Transport,
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
    transport.send(OPEN_SESSION, ApiRequest((), body=options), again=True)


def beat(transport: Transport, session: str, *, expiry: int = EXPIRY_MILLISECONDS) -> bool:
    """Stay alive; False means that the session is lost."""
    try:
        transport.send(BEAT_SESSION, ApiRequest((session,), body=SessionBeat(f"{expiry}ms")))
    except StaleSession:
        return False
    return True


def take(transport: Transport, request: ClaimRequest) -> ClaimedItems | None:
    """The next items of a list, from the frontier or anywhere; its token makes it harmless to ask again."""
    response = sync(transport, {"session": request.session, "claim": wanted(request)})
    return None if response.claimed is None else response.claimed.taken


def wanted(request: ClaimRequest) -> dict[str, Any]:
    """What is asked for, as a server reads it."""
    terms = {"list": request.list, "token": request.token, "limit": request.limit, "attempts": request.attempts}
    return {**terms, "noted": request.keep == 0}


def note_handed(transport: Transport, session: str, taken: ClaimedItems) -> None:
    """Keep with the session what a claim handed out: the server has done so when it was taken."""


def held(transport: Transport, session: str, token: str) -> ClaimedItems:
    """A claim with what is left of the items that were handed out under it."""
    taken = transport.ask("GET", "claims", token, gives=Claimed, query={"session": session}, cut=True).taken
    assert taken is not None, "a claim that is no more is told as an error"  # noqa: S101
    return taken


def close_claim(transport: Transport, session: str, token: str) -> bool:
    """End a claim; what of it was not settled is free at once."""
    return transport.ask("DELETE", "claims", token, gives=Closed, query={"session": session}).closed


def settle(
    transport: Transport,
    session: str,
    token: str,
    settling: OutcomesByPosition,
    *,
    holder: str = "",  # noqa: ARG001
    close: bool = True,
) -> list[Verdict]:
    """Write each outcome where its item still stands as handed out; the server knows the holder."""
    outcomes = [_ending(position, outcome) for position, outcome in settling]
    return _settle(transport, session, {"claim": token, "outcomes": outcomes, "close": close})


def _ending(position: int, outcome: Outcome) -> PositionedOutcome:
    if isinstance(outcome, Retry | Fail):
        # What somebody else's exception says may be of any length, and no text at all.
        outcome = msgspec.structs.replace(
            outcome, error=truncate_message(outcome.error), kind=truncate_message(outcome.kind)
        )
    return PositionedOutcome.of(position, outcome)


def settle_done(transport: Transport, session: str, token: str, positions: Sequence[int]) -> list[Verdict]:
    """All that is left of a claim is done, and nothing is kept of it."""
    return _settle(transport, session, {"claim": token, "done": positions})


def _settle(transport: Transport, session: str, settlement: dict[str, Any]) -> list[Verdict]:
    [result] = sync(transport, {"session": session, "settle": [settlement]}).settled
    if result.problem is not None:
        raise told(result.problem, server=transport.server)
    return result.verdicts


def sync(transport: Transport, trip: dict[str, Any]) -> SyncResponse:
    """Settle and claim in one go; what is wrong with a settlement is told beside it, with the claim raised."""
    response = transport.ask("POST", "claims", gives=SyncResponse, body=trip, cut=True)
    if response.problem is not None:
        raise told(response.problem, server=transport.server)
    return response
