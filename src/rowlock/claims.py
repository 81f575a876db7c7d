"""Claims: an interval of a lane in the hands of a session; one row, however many items. Verbs of a transaction."""

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rowlock import gates, leases, limits, tallies
from rowlock.db import Transaction, pipelined, unflushed
from rowlock.errors import Invalid, StaleClaim, StaleSession
from rowlock.group_commit import GroupKey, groupable
from rowlock.list_limits import check_attempts
from rowlock.model import PRIORITIES, Item, ListLimits, State

LARGEST = 10_000
PROMOTED_AT_ONCE = 1_000


class Lane(msgspec.Struct, frozen=True):
    """The only lane of a list without limits, leases and suspects, as it was seen: little is to be looked up there."""

    list: int
    gate: int
    priority: int


class ClaimedItems(msgspec.Struct, frozen=True):
    """A claim with the items it hands out."""

    token: str
    list: str
    gate: int
    priority: int
    low: int
    items: Sequence[Item]
    alone: bool = False
    """Whether workers died with its item in hand: run it with nothing beside it, so that it is known who did it."""
    exclusive: bool = False
    """Whether the session has the whole list, and runs its items one after the other; known from a thorough look."""
    limited: bool = False
    """Whether others may wait for these to be settled; known from a thorough look, which such a list always wants."""
    lane: Lane | None = None
    """The lane to ask for next, if the list has just this one; known from a thorough look, or from the one before."""

    @property
    def high(self) -> int:
        """The last position it covers."""
        last: int = self.items[-1].position
        return last


class ClaimRequest(msgspec.Struct, frozen=True):
    """What a claimer asks for."""

    session: str
    list: str
    limit: int
    token: str
    attempts: int | None = None
    """How often an item may fail under this claim, 0 for no limit; the default if left out."""
    floors: dict[int, int] = {}
    """How far the claimer has seen in each lane, by priority: a hint that saves walking, never a promise."""
    keep: int = leases.KEEP_IDLE_MILLISECONDS
    """How long an exclusive list may lie idle in this session's hands, in milliseconds."""
    lane: Lane | None = None
    """Where to look: if anything but this lane matters to the list by now, nothing is found."""

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= LARGEST:
            raise Invalid(f"a claim of {self.limit} items cannot be had", f"ask for 1 to {LARGEST}")
        check_attempts(self.attempts)


def group_key(request: ClaimRequest, **_: Any) -> GroupKey:
    """Where a claim belongs in a group."""
    return GroupKey(request.list)


# A claim that a power cut forgets is one that nobody can settle: its items are simply free again.
@unflushed
@groupable(group_key)
@pipelined
def take(tx: Transaction, request: ClaimRequest | Callable[[], ClaimRequest]) -> Callable[[], ClaimedItems | None]:
    """Claim the next items after the frontier by two statements; None says only that nothing stands there.

    In a pipeline the request is given as a function, called for each try: a try whose answer was lost may have landed,
    so the next one needs a token of its own.
    """
    wanted = request if isinstance(request, ClaimRequest) else request()
    tx.send("claims/lock", name=wanted.list)
    lane = wanted.lane
    if lane is None:
        rows = tx.send("claims/take", floors=_floors(wanted), **_parameters(wanted))
        return lambda: _taken(wanted, rows())
    floor = wanted.floors.get(lane.priority, 0)
    rows = tx.send("claims/take_lane", floor=floor, **_parameters(wanted), **msgspec.structs.asdict(lane))
    return lambda: _taken_of_lane(wanted, lane, rows())


@unflushed
@groupable(group_key)
def take_thoroughly(tx: Transaction, request: ClaimRequest) -> ClaimedItems | None:
    """Promote what is due, then the first items that nobody holds, wherever they stand; None: nothing is ready.

    Where nothing is left at the list's gate the next one opens. A list where nothing is free is put to sleep until
    something is due or somebody wakes it, one at its limit until more may be handed out. An exclusive list that another
    session has is left alone.
    """
    found = tx.row("claims/lock", name=request.list)
    if found is None:
        return None
    list_id, exclusive, limited, lanes, *_ = found
    promote(tx, list_id)
    ours = not exclusive or leases.hold(tx, list_id, request.session, keep=request.keep)
    looking = _ThoroughSearch(tx, request, list_id, None if limited is None else limits.read(limited))
    rows = looking.look() if ours else []
    if not rows:
        if tx.row("sessions/alive", session=request.session) is None:
            raise lost(request.session)
        rows = looking.again_and_sleep(exclusive=exclusive) if ours else []
    lane = None if exclusive or limited else _only_lane(lanes, rows)
    return _taken(request, rows, exclusive=exclusive, limited=limited is not None, lane=lane)


def _only_lane(lanes: int, rows: list[tuple[Any, ...]]) -> Lane | None:
    """Where to look next time, if these rows stand in the list's only lane and no suspects are ahead of them."""
    if not rows:
        return None
    list_id, gate, priority, _, alone, *_ = rows[0]
    return Lane(list_id, gate, priority) if lanes == 1 << priority and alone is None else None


class _ThoroughSearch:
    """A thorough look at one list, which is locked."""

    def __init__(self, tx: Transaction, request: ClaimRequest, list_id: int, bounds: ListLimits | None) -> None:
        self._tx = tx
        self._request = request
        self._list = list_id
        self._bounds = bounds
        self._allowed = limits.Allowance(request.limit)

    def look(self) -> list[tuple[Any, ...]]:
        """The first free items that may be handed out, as rows."""
        if self._bounds is None:
            return self._tx.rows("claims/take_gap", **_parameters(self._request))
        self._allowed = limits.allowance(self._tx, self._list, self._bounds)
        if self._allowed.items <= 0:
            return []
        rows = self._one_of_a_family(self._bounds) if self._bounds.by else self._as_many_as_allowed()
        if rows:
            limits.record_grants(self._tx, self._list, self._bounds, items=len(rows))
        return rows

    def _as_many_as_allowed(self) -> list[tuple[Any, ...]]:
        limit = min(self._request.limit, self._allowed.items)
        return self._tx.rows("claims/take_gap", **{**_parameters(self._request), "limit": limit})

    def _one_of_a_family(self, bounds: ListLimits) -> list[tuple[Any, ...]]:
        found = limits.next_of_family(self._tx, self._list, bounds, allowed=self._allowed)
        if found is None:
            return []
        who = {"token": self._request.token, "session": self._request.session, "attempts": self._request.attempts}
        what = {name: getattr(found, name) for name in ("gate", "priority", "position", "alone", "family")}
        if not self._tx.run("claims/take_item", list=self._list, **who, **what):
            return []
        limits.rotate_family(self._tx, self._list, found)
        low = found.position - 1
        return [(self._list, found.gate, found.priority, low, found.alone, found.position, *found.rest)]

    def again_and_sleep(self, *, exclusive: bool) -> list[tuple[Any, ...]]:
        """Look once more while nobody adds; if nothing is there the next gate opens, or the list sleeps."""
        rows = self._again_or_asleep(exclusive=exclusive)
        if not rows and self._bounds is not None:
            limits.snooze(self._tx, self._list, self._allowed)
        return rows

    def _again_or_asleep(self, *, exclusive: bool) -> list[tuple[Any, ...]]:
        # While somebody is adding the list cannot be got, and stays awake; once it is got nobody can begin to add, so
        # that what is not found now is not there: the next gate may open.
        if self._tx.row("lists/lock_exclusive_nowait", name=self._request.list) is None:
            return []
        rows = self.look()
        while not rows and gates.advance(self._tx, self._list):
            rows = self.look()
        if not rows:
            self._tx.run("lists/sleep", list=self._list)
            if exclusive:
                leases.release(self._tx, self._list, self._request.session)
        return rows


def _parameters(request: ClaimRequest) -> dict[str, Any]:
    return {
        "name": request.list,
        "session": request.session,
        "token": request.token,
        "limit": request.limit,
        "attempts": request.attempts,
    }


def _floors(request: ClaimRequest) -> str:
    return msgspec.json.encode([request.floors.get(priority, 0) for priority in PRIORITIES]).decode()


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
    _, gate, priority, low, alone, *_ = rows[0]
    items = _items(request.list, request.token, gate, priority, [row[5:] for row in rows])
    return ClaimedItems(
        request.token, request.list, gate, priority, low, items, bool(alone), bool(exclusive), limited, lane
    )


def _taken_of_lane(request: ClaimRequest, lane: Lane, rows: list[tuple[Any, ...]]) -> ClaimedItems | None:
    if not rows:
        return None
    items = _items(request.list, request.token, lane.gate, lane.priority, rows)
    low = items[0].position - 1
    return ClaimedItems(request.token, request.list, lane.gate, lane.priority, low, items, lane=lane)


def _items(name: str, token: str, gate: int, priority: int, rows: list[tuple[Any, ...]]) -> list[Item]:
    state = State.CLAIMED
    return [
        Item(name, key, position, gate, priority, attempts, None, None, version, data, state, token, trace)
        for position, key, attempts, version, data, trace in rows
    ]


def lost(session: str) -> StaleSession:
    """The error for a session that is no more."""
    return StaleSession(f"the session {session} has ended or expired", "open a new one; its items are free again")


def stale(session: str, token: str) -> StaleClaim:
    """Return the error for a claim that has ended."""
    what = f"the session {session} holds no claim {token}: it was settled, closed, or has expired"
    return StaleClaim(what, "nothing was written; its items are free, or done by another", token=token)


def promote(tx: Transaction, list_id: int) -> int:
    """Put delayed items whose time has come in line; how many."""
    due = tx.rows("items/due", list=list_id, limit=PROMOTED_AT_ONCE)
    if not due:
        return 0
    tx.run("items/promote", list=list_id, keys=msgspec.json.encode([key for key, _ in due]).decode())
    for gate in {gate for _, gate in due}:
        tallies.record(tx, list_id, gate, delayed_change=-sum(1 for _, at in due if at == gate))
    return len(due)


def left(tx: Transaction, session: str, token: str) -> ClaimedItems | None:
    """A claim and the items that stand in its interval now; None if it is no more. Some may have come in late."""
    row = tx.row("claims/find", session=session, token=token)
    if row is None:
        return None
    name, list_id, gate, priority, low, high = row
    rows = tx.rows("items/in_interval", list=list_id, gate=gate, priority=priority, low=low, high=high)
    items = _items(name, token, gate, priority, rows)
    return ClaimedItems(token, name, gate, priority, low, items)


def is_held(tx: Transaction, session: str, token: str) -> bool:
    """Whether a claim is still there."""
    return tx.row("claims/find", session=session, token=token) is not None


def close(tx: Transaction, session: str, token: str) -> bool:
    """End a claim; what of it was not settled is free at once."""
    tx.run("lists/wake_of_session", session=session)
    return tx.run("claims/close", session=session, token=token) == 1
