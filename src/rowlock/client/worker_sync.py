"""What a worker asks of a server: trips that settle and claim, and which lists may have work."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from rowlock.claims import Taking
from rowlock.client.link import Link
from rowlock.client.sessions import sync, wanted
from rowlock.errors import NeedsDatabase
from rowlock.lists import PollResult
from rowlock.model import Settings
from rowlock.outcomes import Done, PositionedOutcome
from rowlock.settlements import AllDone


class PollResponse(msgspec.Struct, frozen=True):
    """What a server says of lists that may have work."""

    lists: Mapping[str, Settings]
    held: Sequence[str]
    more: bool
    next: float | None


def pipeline(link: Link, works: Sequence[Callable[..., Any]]) -> list[Any]:
    """Do pieces of work in one request: what is done, and what is wanted next."""
    done = [work for work in works if isinstance(work, AllDone)]
    takings = [work.asked() for work in works if isinstance(work, Taking)]
    sessions = {each.session for each in done} | {each.session for each in takings}
    if len(done) + len(takings) < len(works) or len(takings) > 1 or len(sessions) != 1:
        raise NeedsDatabase("a trip over HTTP settles and claims, under one session", "use an Engine")
    body: dict[str, Any] = {"session": sessions.pop()}
    body["settle"] = list(map(_landing, done))
    if takings:
        body["claim"] = wanted(takings[0])
    home = sync(link, body)
    # What is wrong with a settlement is asked about by itself, and said then.
    settled = [None if landed.problem is not None else landed.verdicts for landed in home.settled]
    taken = None if home.claimed is None else home.claimed.taken
    return [*settled, taken] if takings else settled


def _landing(done: AllDone) -> dict[str, Any]:
    if done.limited is None:
        return {"claim": done.token, "done": done.positions}
    # The short way tells nobody who waits for room.
    outcomes = [PositionedOutcome.of(position, Done()) for position in done.positions]
    return {"claim": done.token, "outcomes": outcomes, "close": True}


def look(link: Link, session: str, *, wait: float) -> PollResult:
    """Lists that may have work, with their settings."""
    seen = link.ask("POST", "sessions", session, "look", gives=PollResponse, body={"wait": wait}, wait=wait)
    names = [name for name in seen.lists if name not in seen.held]
    return PollResult(names, seen.held, seen.more, seen.lists, seen.next)
