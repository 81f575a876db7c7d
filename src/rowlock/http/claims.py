"""Routes of claims: taking items, and saying what became of them."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import msgspec

from rowlock import claims, remote_claims
from rowlock.claims import ClaimedItems
from rowlock.durations import milliseconds
from rowlock.errors import Invalid, InvalidOutcome, RowlockError
from rowlock.http.auth import check_outcomes, check_session, check_session_id
from rowlock.http.bodies import Gone
from rowlock.http.call import Answer, Call
from rowlock.http.idempotency import key_of
from rowlock.http.long_poll import LongPollClaim
from rowlock.http.texts import form, row
from rowlock.model import Item
from rowlock.names import check_keys
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, Retry, Verdict
from rowlock.remote_claims import Settlement

T = TypeVar("T")


class Claiming(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a worker asks for."""

    session: str
    limit: int = 1
    wait: str | float = 0
    """How long to wait for something to become ready."""


class Claimed(msgspec.Struct, frozen=True):
    """What was handed out; no claim and no items if nothing is ready."""

    claim: str | None
    items: list[Item]
    session: str
    list: str
    alone: bool = False
    """Whether workers died with this item in hand: run it with nothing beside it."""
    exclusive: bool = False
    """Whether the session has the whole list, and runs its items one after the other."""
    gate: int | None = None
    priority: int | None = None
    low: int | None = None
    """The claim is of the list's gate and priority, of what stands after this position up to its last item."""


class DoneItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that succeeded."""

    key: str
    result: Any = None
    """Kept where the list keeps results."""


class RetryItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that failed and shall be tried again."""

    key: str
    error: str = ""
    after: str | float | None = None
    """How long to wait; by the list's backoff if left out."""
    counted: bool = True
    """Whether this was a failed attempt, and not only too early."""


class MoveItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that goes on to another gate, or back in line, with new data; what is left out stays as it is."""

    key: str
    gate: int | str | None = None
    """A gate's number, or its name."""
    data: Any = UNCHANGED
    after: str | float | None = None
    until: str | None = None
    """The name of a list: the item waits until that list is complete."""


class FailItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that gave up."""

    key: str
    error: str = ""


class Settling(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What became of items that were claimed; what is not named stays claimed."""

    session: str
    done: list[str | DoneItem] = []
    retry: list[str | RetryItem] = []
    move: list[str | MoveItem] = []
    fail: list[str | FailItem] = []
    close: bool = False
    """Whether the claim ends: what is not named is free at once."""


class Settled(msgspec.Struct, frozen=True):
    """What became of the settlement, item by item: `gone` is what somebody had taken off the list meanwhile."""

    verdicts: dict[str, Verdict]


async def claim(call: Call) -> Claimed | Answer:
    """Claim items of a list under a session; `wait` waits for some, and is answered as soon as there are.

    An answer without items is no error: nothing was ready. If you hang up before you are answered the items are free
    again, unless you gave an Idempotency-Key: then they wait for you to ask again.
    """
    asked: Claiming = await call.document()
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
    found = claimed(asked.session, taken)
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


def claimed(session: str, taken: ClaimedItems) -> Claimed:
    """A claim as it is told."""
    where = taken.gate, taken.priority, taken.low
    items = list(taken.items)
    return Claimed(taken.token, items, session, taken.list, taken.alone, taken.exclusive, *where)


async def settle(call: Call) -> Settled:
    """Say what became of items that were claimed: each is settled once, however often this is asked.

    Nothing is written if the claim is no more: 409 `stale-claim`. The same asked again is answered as before.
    """
    given: Settling = await call.document()
    check_session_id(given.session)
    outcomes = said(given)
    check_outcomes(outcomes.values(), call.principal)
    settlement = Settlement(given.session, call.path["claim"], outcomes, given.close, call.principal.lists)
    random = call.service.engine.environment.random
    return Settled(await call.service.executor.write(remote_claims.settle, settlement, random=random))


def said(given: Settling) -> dict[str, Outcome]:
    """The outcome of each item; one that is named twice is refused."""
    pairs: list[tuple[str, Outcome]] = [
        *((each.key, Done(each.result)) for each in _named(given.done, DoneItem)),
        *((each.key, Retry(each.error, each.after, each.counted)) for each in _named(given.retry, RetryItem)),
        *((each.key, Move(each.gate, each.data, each.after, each.until)) for each in _named(given.move, MoveItem)),
        *((each.key, Fail(each.error)) for each in _named(given.fail, FailItem)),
    ]
    outcomes = dict(pairs)
    check_keys(list(outcomes))
    if len(outcomes) < len(pairs):
        raise InvalidOutcome("an item was given two outcomes in one settlement", "give each item one")
    return outcomes


def _named(given: Iterable[str | T], form: Callable[[str], T]) -> Iterator[T]:
    return (form(each) if isinstance(each, str) else each for each in given)


@form(Claimed)
def _lines(found: Claimed) -> str:
    if found.claim is None:
        return ""
    return row((found.session, found.claim)) + "".join(f"{item.key}\n" for item in found.items)


@form(Settled)
def _verdicts(settled: Settled) -> str:
    return "".join(map(row, settled.verdicts.items()))
