"""Claims: an interval of a lane, held by a session. One row, however many items. Functions that take a transaction."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from rowlock import gates, leases, limits, tallies
from rowlock.db import Pending, Tx, pipelined, unflushed
from rowlock.db.row_decoders import decoder
from rowlock.errors import Invalid, StaleClaim, StaleSession
from rowlock.group_commit import GroupKey, groupable
from rowlock.json_codec import encode_json
from rowlock.model import CLAIMED_COLUMNS, PRIORITIES, Item, ListLimits, State
from rowlock.settings import check_attempts

MAX_CLAIM_ITEMS = 10_000
MAX_PROMOTED_ITEMS = 1_000


class Lane(msgspec.Struct, frozen=True):
    """The only lane of a list that had neither limits nor leases nor suspects ahead when it was last searched."""

    list: int
    gate: int
    priority: int


class ClaimedItems(msgspec.Struct, frozen=True):
    """A claim and its items."""

    token: str
    list: str
    gate: int
    priority: int
    low: int
    items: Sequence[Item]
    alone: bool = False
    """Whether workers died while they held its item: it runs with nothing beside it, so that the culprit is known."""
    exclusive: bool = False
    """Whether the session holds the whole list and runs its items in order; known from a thorough claim."""
    limited: bool = False
    """Whether the list has limits, so that others may wait for these items; known from a thorough claim."""
    lane: Lane | None = None
    """The lane to claim from next, if the list has just this one: a hint for the next request."""

    @property
    def high(self) -> int:
        """The last position it covers."""
        last: int = self.items[-1].position
        return last


class Interval(msgspec.Struct, frozen=True):
    """Where a new claim lies; each row of a claim begins with it."""

    list_id: int
    gate: int
    priority: int
    low: int
    alone: bool | None
    """Whether workers died while they held its item; None if no suspects are ahead."""


COLUMNS = (*Interval.__struct_fields__, *CLAIMED_COLUMNS)
"""What the statements that claim give, in this order; those of a known lane give the items' columns alone."""

_SAME = ("list", "state", "token", "due", "failed_at")
_interval = decoder(Interval, COLUMNS, partial=True)
_items = decoder(Item, COLUMNS, given=_SAME, partial=True)
_items_of_lane = decoder(Item, CLAIMED_COLUMNS, given=(*_SAME, "gate", "priority"))


class ClaimRequest(msgspec.Struct, frozen=True):
    """What a session wants to claim."""

    session: str
    list: str
    limit: int
    token: str
    attempts: int | None = None
    """How often an item may fail under this claim, 0 for any number of times; the default if left out."""
    floors: dict[int, int] = {}
    """How far each lane was seen, by priority: a hint that saves walking over settled items."""
    keep: int = leases.KEEP_IDLE_MILLISECONDS
    """How long the session may hold an exclusive list idle, in milliseconds."""
    lane: Lane | None = None
    """The only lane to look at: nothing is found if anything else matters to the list by now."""

    def __post_init__(self) -> None:
        if not isinstance(self.limit, int) or not 1 <= self.limit <= MAX_CLAIM_ITEMS:
            raise Invalid(f"limit must be 1 to {MAX_CLAIM_ITEMS}, got {self.limit!r}", "give a whole number")
        check_attempts(self.attempts)


def group_key(request: ClaimRequest, **_: Any) -> GroupKey:
    """Return how claims are grouped in a group commit: by list."""
    return GroupKey(request.list)


# A claim that a power cut forgets is one that nobody can settle: its items are simply free again.
@unflushed
@groupable(group_key)
@pipelined
def take(tx: Tx, request: ClaimRequest | Callable[[], ClaimRequest]) -> Pending[ClaimedItems | None]:
    """Claim the next items after the frontier by two statements; None says only that nothing stands there.

    In a pipeline the request is given as a function, called for each try: a try whose answer was lost may have landed,
    so the next one needs a token of its own.
    """
    wanted = request if isinstance(request, ClaimRequest) else request()
    tx.send_to_server("claims/lock_list", name=wanted.list)
    lane = wanted.lane
    if lane is None:
        floors = encode_json([wanted.floors.get(priority, 0) for priority in PRIORITIES])
        rows = tx.send("claims/take", floors=floors, **_parameters(wanted))
        return rows.map(partial(_taken, wanted))
    floor = wanted.floors.get(lane.priority, 0)
    rows = tx.send("claims/take_hinted_lane", floor=floor, **_parameters(wanted), **msgspec.structs.asdict(lane))
    return rows.map(partial(_taken_of_lane, wanted, lane))


@unflushed
@groupable(group_key)
def take_thoroughly(tx: Tx, request: ClaimRequest) -> ClaimedItems | None:
    """Promote what is due, then claim the first items that no claim covers, wherever they stand.

    None if nothing is ready. When nothing is left at the list's gate the next one opens. A list without free items is
    put to sleep until something is due or somebody wakes it; one at its limit, until more may be claimed. An exclusive
    list that another session holds is left alone.
    """
    locked = tx.row("claims/lock_list", name=request.list)
    return None if locked is None else _search_locked(tx, request, locked)


@unflushed
def take_of_several(tx: Tx, requests: Sequence[ClaimRequest]) -> dict[str, ClaimedItems | None]:
    """Claim thoroughly of one list after the other until the first request's limit is used up.

    Return the claims by the names of their lists, None where nothing is ready. A list after the first is left out if it
    is locked: two callers that wait for each other's lists would deadlock.
    """
    first, *others = requests
    taken = {first.list: take_thoroughly(tx, first)}
    for request in others:
        claims = [claimed for claimed in taken.values() if claimed is not None]
        left = first.limit - sum(len(claimed.items) for claimed in claims)
        if left <= 0 or any(claimed.alone for claimed in claims):
            break
        locked = tx.row("claims/lock_list_if_free", name=request.list)
        if locked is not None:
            wanted = msgspec.structs.replace(request, limit=min(request.limit, left))
            taken[request.list] = _search_locked(tx, wanted, locked, has_due=bool(locked[-1]))
    return taken


@unflushed
def sleep_empty(tx: Tx, names: Sequence[str]) -> list[str]:
    """Put lists to sleep that have neither items nor claims, and return their names: two statements for all of them.

    Lists that are locked, sealed, exclusive or limited are left as they are.
    """
    locked = [row[0] for row in tx.rows("lists/lock_empty", keys=encode_json(names))]
    if not locked:
        return []
    return [name for (name,) in tx.rows("lists/sleep_empty", ids=encode_json(locked))]


def _search_locked(
    tx: Tx, request: ClaimRequest, locked: tuple[Any, ...], *, has_due: bool = True
) -> ClaimedItems | None:
    list_id, exclusive, limited, lanes, *_ = locked
    if has_due:
        promote(tx, list_id)
    may_claim = not exclusive or leases.hold(tx, list_id, request.session, keep=request.keep)
    search = _ThoroughSearch(tx, request, list_id, None if limited is None else limits.read(limited))
    rows = search.search() if may_claim else []
    if not rows:
        if tx.row("sessions/alive", session=request.session) is None:
            raise lost(request.session)
        rows = search.search_or_sleep(exclusive=exclusive) if may_claim else []
    lane = None if exclusive or limited else _only_lane(lanes, rows)
    return _taken(request, rows, exclusive=exclusive, limited=limited is not None, lane=lane)


def _only_lane(lanes: int, rows: list[tuple[Any, ...]]) -> Lane | None:
    """Return the list's only lane, if it has just one and no suspects are ahead."""
    if not rows:
        return None
    [interval] = _interval(rows[:1])
    only = lanes == 1 << interval.priority and interval.alone is None
    return Lane(interval.list_id, interval.gate, interval.priority) if only else None


class _ThoroughSearch:
    """A search for free items of one list, which is locked."""

    def __init__(self, tx: Tx, request: ClaimRequest, list_id: int, bounds: ListLimits | None) -> None:
        self._tx = tx
        self._request = request
        self._list = list_id
        self._bounds = bounds
        self._allowed = limits.Allowance(request.limit)

    def search(self) -> list[tuple[Any, ...]]:
        """Claim the first free items within the list's limits, and return them as rows."""
        if self._bounds is None:
            return self._tx.rows("claims/take_gap", **_parameters(self._request))
        self._allowed = limits.allowance(self._tx, self._list, self._bounds)
        limit = min(self._request.limit, self._allowed.items)
        if limit <= 0:
            return []
        if self._bounds.by:
            rows = self._one_of_a_family(self._bounds)
        else:
            rows = self._tx.rows("claims/take_gap", **{**_parameters(self._request), "limit": limit})
        if rows:
            limits.record_grants(self._tx, self._list, self._bounds, items=len(rows))
        return rows

    def _one_of_a_family(self, bounds: ListLimits) -> list[tuple[Any, ...]]:
        request, item = self._request, limits.next_of_family(self._tx, self._list, bounds, allowed=self._allowed)
        if item is None:
            return []
        rows = self._tx.rows("items/claimable_at", **item.place)
        [interval] = _interval(rows)
        claim = {"token": request.token, "session": request.session, "attempts": request.attempts}
        if not self._tx.run("claims/take_item", family=item.family, alone=interval.alone, **claim, **item.place):
            return []
        limits.rotate_family(self._tx, self._list, item)
        return rows

    def search_or_sleep(self, *, exclusive: bool) -> list[tuple[Any, ...]]:
        """Search while nobody can add; if nothing is there the next gate opens, or the list sleeps."""
        rows: list[tuple[Any, ...]] = []
        # While somebody is adding the lock cannot be taken, and the list stays awake. Once it is taken nobody can begin
        # to add, so what is not found now is not there, and the next gate may open.
        if self._tx.row("lists/lock_exclusive_nowait", name=self._request.list) is not None:
            rows = self.search()
            while not rows and gates.advance(self._tx, self._list):
                rows = self.search()
            if not rows:
                self._tx.run("lists/sleep", list=self._list)
                if exclusive:
                    leases.release(self._tx, self._list, self._request.session)
        if not rows and self._bounds is not None:
            limits.snooze(self._tx, self._list, self._allowed)
        return rows


def _parameters(request: ClaimRequest) -> dict[str, Any]:
    return {
        "name": request.list,
        "session": request.session,
        "token": request.token,
        "limit": request.limit,
        "attempts": request.attempts,
    }


def _taken(
    request: ClaimRequest,
    rows: list[tuple[Any, ...]],
    *,
    exclusive: bool = False,
    limited: bool = False,
    lane: Lane | None = None,
) -> ClaimedItems | None:
    if not rows:
        return None
    [interval] = _interval(rows[:1])
    items = _items(rows, request.list, State.CLAIMED, request.token, None, None)
    place = request.token, request.list, interval.gate, interval.priority, interval.low
    return ClaimedItems(*place, items, bool(interval.alone), bool(exclusive), limited, lane)


def _taken_of_lane(request: ClaimRequest, lane: Lane, rows: list[tuple[Any, ...]]) -> ClaimedItems | None:
    if not rows:
        return None
    same = request.list, State.CLAIMED, request.token, None, None
    items = _items_of_lane(rows, *same, lane.gate, lane.priority)
    low = items[0].position - 1
    return ClaimedItems(request.token, request.list, lane.gate, lane.priority, low, items, lane=lane)


def lost(session: str) -> StaleSession:
    """Return the error for a session that has ended."""
    return StaleSession(f"the session {session} has ended or expired", "open a new one; its items are free again")


def stale(session: str, token: str) -> StaleClaim:
    """Return the error for a claim that has ended."""
    what = f"the session {session} holds no claim {token}: it was settled, closed, or has expired"
    return StaleClaim(what, "nothing was written; its items are free, or done by another", token=token)


def promote(tx: Tx, list_id: int) -> int:
    """Make delayed items ready whose time has come, and return how many."""
    due = tx.rows("items/lock_due", list=list_id, limit=MAX_PROMOTED_ITEMS)
    if not due:
        return 0
    tx.run("items/promote", list=list_id, keys=encode_json([key for key, _ in due]))
    for gate in {gate for _, gate in due}:
        tallies.record(tx, list_id, gate, delayed_change=-sum(1 for _, at in due if at == gate))
    return len(due)


def left(tx: Tx, session: str, token: str) -> ClaimedItems | None:
    """Return a claim with the items in its interval now, some of which may have come late; None if it has ended."""
    row = tx.row("claims/find", session=session, token=token)
    if row is None:
        return None
    name, list_id, gate, priority, low, high = row
    rows = tx.rows("items/in_interval", list=list_id, gate=gate, priority=priority, low=low, high=high)
    items = _items_of_lane(rows, name, State.CLAIMED, token, None, None, gate, priority)
    return ClaimedItems(token, name, gate, priority, low, items)


def is_held(tx: Tx, session: str, token: str) -> bool:
    """Return whether a claim has not ended."""
    return tx.row("claims/find", session=session, token=token) is not None


def close(tx: Tx, session: str, token: str) -> bool:
    """End a claim, and return whether there was one; what of it was not settled is free at once."""
    tx.run("lists/request_wakes_of_session", session=session)
    return tx.run("claims/close", session=session, token=token) == 1
