"""Claims and settlements of a history, as they were answered."""

from collections.abc import Iterator
from typing import Any

import msgspec
from tests.histories.reading import Deed, Span

CLAIMS = ("claims.take", "claims.take_thoroughly", "claims.take_of_several")


class Handed(msgspec.Struct, frozen=True):
    """A claim as it was answered."""

    token: str
    session: str
    items: dict[int, dict[str, Any]]
    """By position."""
    gate: int
    exclusive: bool
    list: str
    span: Span


class Settled(msgspec.Struct, frozen=True):
    """A settlement: the verdicts by position; None for each if they are not known."""

    token: str
    verdicts: dict[int, str | None]
    span: Span
    uncounted: set[int] = set()
    """Positions of retries that do not count as an attempt."""
    delays: dict[int, float] = {}
    """The seconds after which the items of retries are due, by position."""


def handed_out(deed: Deed) -> Iterator[Handed]:
    """Return the claims that a verb has answered with."""
    if deed.verb not in CLAIMS or not deed.span.landed or deed.answer is None:
        return
    answers = deed.answer.values() if deed.verb == "claims.take_of_several" else [deed.answer]
    request = deed.args[0] if deed.args else None
    requests = request if isinstance(request, list | tuple) else [request]
    session = next((each["session"] for each in requests if isinstance(each, dict)), deed.session)
    for answer in answers:
        if answer is not None:
            items = {item["position"]: item for item in answer["items"]}
            place = answer.get("gate", 0), answer.get("exclusive", False), answer.get("list", "")
            yield Handed(answer["token"], session, items, *place, deed.span)


def settlements_of(deed: Deed) -> Iterator[Settled]:
    """Return what a verb has settled, or may have."""
    if not deed.verb.startswith("settlements.") or not deed.span.may_have_landed or len(deed.args) < 2:
        return
    match deed.verb:
        case "settlements.settle" | "settlements.settle_beside":
            positions = [position for position, _ in deed.args[2]]
        case "settlements.settle_done_beside":
            positions = [int(position) for position in deed.options["keys"]]
        case "settlements.settle_done" | "settlements.try_settle_done":
            positions = deed.args[2]
        case _:
            return
    if deed.span.landed and deed.answer is None:
        return  # the pipeline found the claim ended, and wrote nothing
    verdicts = deed.answer if deed.span.landed else [None] * len(positions)
    outcomes = deed.args[2] if len(deed.args) > 2 else []
    said = dict(each for each in outcomes if isinstance(each, list | tuple))
    uncounted = {position for position, outcome in said.items() if outcome.get("counted") is False}
    delays = {position: outcome["after"] for position, outcome in said.items() if outcome.get("after")}
    verdict_of = dict(zip(positions, verdicts, strict=True))
    yield Settled(deed.args[1], verdict_of, deed.span, uncounted, delays)
