"""What crosses a process about claims: items that are handed out, and their outcomes."""

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from rowlock.api.documents import row
from rowlock.api.lists import LIST_PATH
from rowlock.api.operation import Operation
from rowlock.api.sessions import Closed
from rowlock.claims import ClaimedItems
from rowlock.errors import InvalidOutcome
from rowlock.model import Item
from rowlock.names import check_keys
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, Retry, Verdict
from rowlock.roles import Role

T = TypeVar("T")

CLAIM_PATH = "/v1/claims/{claim}"


class ClaimOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
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

    @classmethod
    def of(cls, taken: ClaimedItems, session: str) -> "Claimed":
        """A claim of the engine as it is sent."""
        where = taken.gate, taken.priority, taken.low
        return Claimed(taken.token, [*taken.items], session, taken.list, taken.alone, taken.exclusive, *where)

    @property
    def taken(self) -> ClaimedItems | None:
        """The claim as the engine has it; None if nothing was ready."""
        if self.claim is None:
            return None
        where = self.gate or 0, self.priority or 0, self.low or 0
        return ClaimedItems(self.claim, self.list, *where, self.items, self.alone, self.exclusive)

    def text(self) -> str:
        """A line with session and claim, and one for the key of each item."""
        if self.claim is None:
            return ""
        return row((self.session, self.claim)) + "".join(f"{item.key}\n" for item in self.items)


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


class SettleRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The outcomes of claimed items; those that are not named stay claimed."""

    session: str
    done: list[str | DoneItem] = []
    retry: list[str | RetryItem] = []
    move: list[str | MoveItem] = []
    fail: list[str | FailItem] = []
    close: bool = False
    """Whether the claim ends: what is not named is free at once."""

    def outcomes(self) -> dict[str, Outcome]:
        """The outcome of each item by its key; an item that is named twice is refused."""
        pairs: list[tuple[str, Outcome]] = [
            *((each.key, Done(each.result)) for each in _whole(self.done, DoneItem)),
            *((each.key, Retry(each.error, each.after, each.counted)) for each in _whole(self.retry, RetryItem)),
            *((each.key, Move(each.gate, each.data, each.after, each.until)) for each in _whole(self.move, MoveItem)),
            *((each.key, Fail(each.error)) for each in _whole(self.fail, FailItem)),
        ]
        outcomes = dict(pairs)
        check_keys(list(outcomes))
        if len(outcomes) < len(pairs):
            raise InvalidOutcome("an item was given two outcomes in one settlement", "give each item one")
        return outcomes


class Settled(msgspec.Struct, frozen=True):
    """The verdict on each item; `gone` means that it had left the list meanwhile."""

    verdicts: dict[str, Verdict]

    def text(self) -> str:
        """A line for each item."""
        return "".join(map(row, self.verdicts.items()))


class SessionQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The session of a claim."""

    session: Annotated[str, Meta(description="The session that holds the claim.")]


def _whole(given: Iterable[str | T], kind: Callable[[str], T]) -> Iterator[T]:
    return (kind(each) if isinstance(each, str) else each for each in given)


CLAIM_ITEMS = Operation(
    None,
    "POST",
    f"{LIST_PATH}/claims",
    Role.WORKER,
    Claimed,
    body=ClaimOptions,
    keyed=True,
    name="claims.claim",
    summary="Claim items of a list under a session; `wait` waits for some, and is answered as soon as there are.",
    description="An answer without items is no error: nothing was ready. If you hang up before you are answered the"
    " items are free again, unless you gave an Idempotency-Key: then they wait for you to ask again.",
)
SETTLE_CLAIM = Operation(
    None,
    "PUT",
    CLAIM_PATH,
    Role.WORKER,
    Settled,
    body=SettleRequest,
    checks_prefixes=True,
    name="claims.settle",
    summary="Settle claimed items: each is settled once, however often this is asked.",
    description="Nothing is written if the claim has ended: 409 `stale-claim`. A repetition is answered as before.",
)
SHOW_CLAIM = Operation(
    None,
    "GET",
    CLAIM_PATH,
    Role.WORKER,
    Claimed,
    query=SessionQuery,
    checks_prefixes=True,
    deep=True,
    name="claims.show",
    summary="Return what is left of a claim; 409 `stale-claim` if it has ended.",
    description="If it was `noted`, these are the items that were claimed; else all that stand in its interval now.",
)
CLOSE_CLAIM = Operation(
    None,
    "DELETE",
    CLAIM_PATH,
    Role.WORKER,
    Closed,
    query=SessionQuery,
    checks_prefixes=True,
    name="claims.close",
    summary="End a claim; what of it was not settled is free at once.",
)
OPERATIONS = (CLAIM_ITEMS, SETTLE_CLAIM, SHOW_CLAIM, CLOSE_CLAIM)
