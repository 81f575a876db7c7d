"""What crosses a process between a server and a worker on another machine."""

from typing import Any

import msgspec

from rowlock.api.claims import Claimed
from rowlock.api.documents import row
from rowlock.api.operation import Operation
from rowlock.api.sessions import SESSION_PATH
from rowlock.model import Settings
from rowlock.outcomes import PositionedOutcome, Verdict
from rowlock.roles import Role


class SyncSettlement(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The outcomes of items of one claim, by their positions."""

    claim: str
    done: list[int] = []
    """All that is left of the claim, if it is done and nothing is kept of it: the claim ends."""
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
    """What a worker has done, and what it wants next."""

    session: str
    settle: list[SyncSettlement] = []
    claim: SyncClaim | None = None


class SyncResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdicts of one settlement in the order of its items, or its problem."""

    verdicts: list[Verdict] = []
    problem: dict[str, Any] | None = None


class SyncResponse(msgspec.Struct, frozen=True):
    """What was settled and claimed."""

    settled: list[SyncResult]
    claimed: Claimed | None = None
    problem: dict[str, Any] | None = None
    """Why the claim failed."""

    def text(self) -> str:
        """A line of verdicts, or a code, for each settlement; then what was claimed."""
        settled = [row(each.verdicts if each.problem is None else (each.problem["code"],)) for each in self.settled]
        return "".join(settled) + ("" if self.claimed is None else self.claimed.text())


class PollRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A poll for work."""

    wait: str | float = 0
    """How long to wait for a list that may have work."""


class PollResponse(msgspec.Struct, frozen=True):
    """Lists that may have work."""

    lists: dict[str, Settings]
    """Settings by the names of the lists."""
    held: list[str]
    """Exclusive lists that the session holds; they are among `lists` too."""
    more: bool
    """Whether there are more: poll again."""
    next: float | None
    """Seconds until the next list wakes by itself."""


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
    summary="Settle what is finished and claim what is next, of any lists, in one request: for workers.",
    description="Each settlement has its own result. A repeated request is answered as before.",
)
POLL = Operation(
    None,
    "POST",
    f"{SESSION_PATH}/look",
    Role.WORKER,
    PollResponse,
    body=PollRequest,
    checks_prefixes=True,
    name="sessions.look",
    summary="Return the lists that may have work, of those that a session works; with `wait`, as soon as there are"
    " some.",
    description="It also takes the session's share of exclusive lists. A list that may have work may still have none.",
)
OPERATIONS = (POLL, SYNC)
