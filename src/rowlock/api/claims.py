"""Claims over HTTP: items that are handed out, their outcomes, and both in one request for workers."""

from typing import Annotated, Any

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
from rowlock.outcomes import UNCHANGED, Done, Fail, Move, Outcome, PositionedOutcome, Retry, Verdict
from rowlock.roles import Role

CLAIM_PATH = "/v1/claims/{claim}"


class ClaimOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The items that a worker asks for."""

    session: str
    limit: int = 1
    wait: str | float = 0
    """How long to wait for something to become ready."""


class Claimed(msgspec.Struct, frozen=True):
    """A claim with its items; no claim and no items if nothing is ready."""

    claim: str | None
    items: list[Item]
    session: str
    list: str
    alone: bool = False
    """Whether workers died while they ran this item: run it alone."""
    exclusive: bool = False
    """Whether the session holds the whole list, and runs its items one after the other."""
    gate: int | None = None
    priority: int | None = None
    low: int | None = None
    """The claim is of items at this gate and priority, after this position up to the last item."""

    @classmethod
    def of(cls, taken: ClaimedItems, session: str) -> "Claimed":
        """Return a claim as it is sent."""
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
        """Return a line with session and claim, and one for the key of each item."""
        if self.claim is None:
            return ""
        return row((self.session, self.claim)) + "".join(f"{item.key}\n" for item in self.items)


class DoneItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that succeeded."""

    key: str
    result: Any = None
    """Kept where the list keeps results."""


class RetryItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that failed and is tried again."""

    key: str
    error: str = ""
    after: str | float | None = None
    """How long to wait; by the list's backoff if left out."""
    counted: bool = True
    """Whether this counts as a failed attempt."""


class MoveItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that goes to another gate, or to the end of this one, with new data; what is left out stays as it is."""

    key: str
    gate: int | str | None = None
    """A gate's number, or its name."""
    data: Any = UNCHANGED
    after: str | float | None = None
    until: str | None = None
    """The name of a list: the item waits until that list is complete."""


class FailItem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An item that is given up."""

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
        """Return the outcome of each item by its key; refuse an item that is named twice."""
        lists: tuple[tuple[Any, type[Outcome]], ...] = (
            (self.done, Done),
            (self.retry, Retry),
            (self.move, Move),
            (self.fail, Fail),
        )
        pairs: list[tuple[str, Outcome]] = []
        for items, outcome in lists:
            for each in items:
                # The fields after the key are those of the outcome, in its order.
                key, *fields = (each,) if isinstance(each, str) else msgspec.structs.astuple(each)
                pairs.append((key, outcome(*fields)))
        outcomes = dict(pairs)
        check_keys(list(outcomes))
        if len(outcomes) < len(pairs):
            raise InvalidOutcome("an item was given two outcomes in one settlement", "give each item one")
        return outcomes


class Settled(msgspec.Struct, frozen=True):
    """The verdict on each item; `gone` means that it left the list before."""

    verdicts: dict[str, Verdict]

    def text(self) -> str:
        """Return a line for each item."""
        return "".join(map(row, self.verdicts.items()))


class SyncSettlement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The outcomes of items of one claim, by their positions."""

    claim: str
    done: list[int] = []
    """All that is left of the claim, if it is done without results: the claim ends."""
    outcomes: list[PositionedOutcome] = []
    """Or the outcome of each item."""
    close: bool = False
    """Whether the claim ends: what is not named is free at once."""


class SyncClaim(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What to claim next."""

    list: str
    token: str
    """The claim's token: 32 random hexadecimal digits. Repeated, it is the same claim."""
    limit: int = 1
    attempts: int | None = None
    """How often an item may fail, 0 for any number of times; the list's own number if left out."""
    noted: bool = False
    """Whether another process will settle it: `GET /v1/claims/{claim}` then gives exactly what was claimed."""


class SyncRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The settlements of a worker, and its next claim."""

    session: str
    settle: list[SyncSettlement] = []
    claim: SyncClaim | None = None


class SyncResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdicts of one settlement in the order of its items, or its problem."""

    verdicts: list[Verdict] = []
    problem: dict[str, Any] | None = None


class SyncResponse(msgspec.Struct, frozen=True):
    """The verdicts of settlements, and the new claim."""

    settled: list[SyncResult]
    claimed: Claimed | None = None
    problem: dict[str, Any] | None = None
    """Why the claim failed."""

    def text(self) -> str:
        """Return a line of verdicts, or a code, for each settlement; then what was claimed."""
        settled = [row(each.verdicts if each.problem is None else (each.problem["code"],)) for each in self.settled]
        return "".join(settled) + ("" if self.claimed is None else self.claimed.text())


class SessionQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The session of a claim."""

    session: Annotated[str, Meta(description="The session that holds the claim.")]


CLAIM_ITEMS = Operation(
    None, "POST", f"{LIST_PATH}/claims", Role.WORKER, Claimed, body=ClaimOptions, keyed=True, name="claims.claim"
)
SETTLE_CLAIM = Operation(
    None, "PUT", CLAIM_PATH, Role.WORKER, Settled, body=SettleRequest, checks_prefixes=True, name="claims.settle"
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
)
CLOSE_CLAIM = Operation(
    None, "DELETE", CLAIM_PATH, Role.WORKER, Closed, query=SessionQuery, checks_prefixes=True, name="claims.close"
)
SYNC = Operation(
    None,
    "POST",
    "/v1/claims",
    Role.WORKER,
    SyncResponse,
    body=SyncRequest,
    checks_prefixes=True,
    deep=True,
    name="claims.sync",
)
OPERATIONS = (CLAIM_ITEMS, SETTLE_CLAIM, SHOW_CLAIM, CLOSE_CLAIM, SYNC)
