"""The planner: how many items of which list a worker may claim now. Pure: it knows neither database nor threads."""

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Protocol

import msgspec

from rowlock.attempts import Policy
from rowlock.model import Settings
from rowlock.worker.handlers import Handler, HandlerKind

MAX_CLAIM_ITEMS = 1_000
LOOKAHEAD_SECONDS = 0.1
"""How much work is claimed beyond what the slots hold, so that they do not wait for the database."""
THROUGHPUT_WINDOW_SECONDS = 0.25


class ClaimInFlight(Protocol):
    """What the planner needs to know of a claim that is being worked."""

    list: str
    handler: Handler
    in_order: bool
    ended: bool
    must_run_alone: bool

    @property
    def unfinished(self) -> int:
        """Items that no handler has finished."""

    @property
    def unsettled(self) -> int:
        """Items whose outcomes are not written."""


def slots_in_use(claims: Iterable[ClaimInFlight]) -> int:
    """Return how many slots unfinished items need: one for each, or one for all of a list that is worked in order."""
    return sum(min(1, claim.unfinished) if claim.in_order else claim.unfinished for claim in claims if not claim.ended)


class Load(msgspec.Struct, frozen=True):
    """What a worker has in flight at one moment."""

    slots: int = 0
    batches: int = 0
    """Batch handlers that run."""
    lists: Set[str] = frozenset()
    """Lists with unfinished items."""
    unsettled: Mapping[str, int] = {}
    """Items whose outcomes are not written, by list."""
    must_run_alone: bool = False
    """Whether an item is in flight that may have killed a worker, and runs with nothing beside it."""

    @classmethod
    def of(cls, claims: Iterable[ClaimInFlight]) -> "Load":
        """Add up the claims that have not ended."""
        slots = batches = 0
        lists: set[str] = set()
        unsettled: dict[str, int] = {}
        must_run_alone = False
        for claim in claims:
            if claim.ended:
                continue
            unsettled[claim.list] = unsettled.get(claim.list, 0) + claim.unsettled
            must_run_alone = must_run_alone or claim.must_run_alone
            if (unfinished := claim.unfinished) > 0:
                slots += 1 if claim.in_order else unfinished
                batches += claim.handler.kind is HandlerKind.BATCH
                lists.add(claim.list)
        return cls(slots, batches, lists, unsettled, must_run_alone)


class PlannedClaim(msgspec.Struct, frozen=True):
    """What to claim next, for which handler, and by which rules."""

    list: str
    handler: Handler
    rules: Policy
    limit: int
    settles_whole: bool
    """Whether a claim that is all done is settled by one statement: nothing is kept of its items."""
    limited: bool
    """Whether the list has limits: others may wait for what is settled."""


class Throughput:
    """Items finished per second over the last moments, smoothed."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since = monotonic()
        self._count = 0
        self.per_second = 0.0

    def count(self, items: int) -> None:
        """Note that this many items have been finished."""
        self._count += items
        passed = self._monotonic() - self._since
        if passed >= THROUGHPUT_WINDOW_SECONDS or (self.per_second == 0.0 and self._count):
            latest = self._count / max(passed, 0.001)
            self.per_second = latest if self.per_second == 0.0 else (self.per_second + latest) / 2
            self._since, self._count = self._monotonic(), 0


class Planner:
    """Decides how many items may be claimed, from the slots, what is in flight, and how fast items get finished."""

    def __init__(self, concurrency: int, *, monotonic: Callable[[], float]) -> None:
        self._concurrency = concurrency
        self.throughput = Throughput(monotonic)

    @property
    def lookahead(self) -> int:
        """Items to claim beyond what the slots hold."""
        return min(2 * MAX_CLAIM_ITEMS, int(self.throughput.per_second * LOOKAHEAD_SECONDS))

    @property
    def wake_below(self) -> int:
        """The number of slots in use at which a finished item is worth another claim."""
        ahead = self.lookahead
        return self._concurrency + ahead - ahead // 2 - 1

    def room(self, name: str, handler: Handler, *, load: Load, held: bool) -> int:
        """Return how many items of a list may be claimed; of one that is `held`, one claim is worked at a time."""
        if held and name in load.lists:
            return 0
        if handler.kind is HandlerKind.BATCH:
            return handler.batch if load.batches < self._concurrency else 0
        ahead = self.lookahead
        room = self._concurrency + ahead - load.slots
        if room <= ahead // 2:
            return 0
        # Of a list that others may wait for, only what is soon done.
        return min(max(1, ahead) if held else room, MAX_CLAIM_ITEMS)

    def is_at_limit(self, name: str, settings: Settings, *, load: Load) -> bool:
        """Return whether this worker alone uses up the list's concurrency."""
        return settings.concurrency is not None and load.unsettled.get(name, 0) >= settings.concurrency

    def plan(self, name: str, handler: Handler, *, settings: Settings, load: Load, room: int) -> PlannedClaim | None:
        """Return the claim for a list that has room, by its settings; None if it must wait."""
        if settings.exclusive and name in load.lists:
            return None
        limited = settings.limits is not None
        if limited and handler.kind is not HandlerKind.BATCH:
            # What is claimed of a limited list is begun at once, and nothing of it is kept for later.
            room = min(room, self._concurrency - load.slots)
        if room <= 0:
            return None
        settles_whole = not settings.keep_results and handler.within is None
        return PlannedClaim(name, handler, handler.rules(settings), room, settles_whole, limited)
