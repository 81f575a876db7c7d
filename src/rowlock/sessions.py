"""Sessions: live workers. Claims depend on a session's row, and end with it. Functions that take a transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from rowlock import claims, json_codec, leases, settlements
from rowlock.db import Tx
from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid
from rowlock.heartbeats import SilentSession
from rowlock.json_codec import encode_json
from rowlock.names import MAX_PAGE_ROWS, check_limit
from rowlock.outcomes import Retry
from rowlock.roles import covers, sees

EXPIRY_MILLISECONDS = 15_000
MIN_EXPIRY_MILLISECONDS = 1_000
MAX_EXPIRY_MILLISECONDS = 24 * 3_600_000
CLAIMED_DETAIL = "handed"
"""Where the positions of claims are kept among a session's details, by token."""
WORKER_DIED = Retry(error="the worker died while it held only this item", after=0, kind="worker died")


class SessionInfo(msgspec.Struct, frozen=True):
    """A live worker, with what it holds."""

    id: str
    holder: str
    opened_at: datetime
    expires_at: datetime
    details: Any
    claims: int
    items: int
    leases: Sequence[str] = ()
    """The exclusive lists that it holds; the first of them, if they are very many."""
    beat_at: datetime | None = None
    """When its last heartbeat came; none if it sends none."""
    seeks: Sequence[str] = ()
    """Patterns of the lists that it works."""


class ClaimInfo(msgspec.Struct, frozen=True):
    """A claim: who holds which part of a list."""

    list: str
    session: str
    holder: str
    gate: int
    priority: int
    low: int
    high: int
    """The positions of its items are after `low`, up to and including `high`."""
    taken: int
    remaining: int
    taken_at: datetime
    first: int | None
    last: int | None
    """The first and the last position of the items of its gate and priority now."""


class SessionClaim(msgspec.Struct, frozen=True):
    """A claim of a session, and where its items stand."""

    token: str
    list: int
    gate: int
    priority: int
    low: int
    high: int
    taken: int
    attempts: int | None
    remaining: int

    @property
    def interval(self) -> dict[str, int]:
        """Where its items stand, as parameters of a statement."""
        return {"list": self.list, "gate": self.gate, "priority": self.priority, "low": self.low, "high": self.high}


def check_expiry(expiry: Duration, *, longest: int = MAX_EXPIRY_MILLISECONDS) -> int:
    """Return the expiry in milliseconds; refuse one that is too short or too long."""
    length = milliseconds(expiry)
    if not MIN_EXPIRY_MILLISECONDS <= length <= longest:
        raise Invalid(f"expiry must be 1s to {longest / 3_600_000:g}h, got {expiry!r}")
    return length


def open_session(
    tx: Tx,
    session: str,
    *,
    holder: str,
    expiry: int = EXPIRY_MILLISECONDS,
    details: Any = None,
    seeks: Sequence[str] = (),
    beats: bool = True,
) -> None:
    """Store a session that lives for `expiry` milliseconds from the database's now.

    Sessions that seek the same patterns share the exclusive lists among them evenly. With `beats` the worker promises a
    heartbeat in each half of the expiry; without, the session ends at its deadline by the database's clock.
    """
    text = None if details is None else json_codec.encode(details, "details")
    patterns = encode_json(sorted(seeks)) if seeks else None
    length = expiry if beats else None
    who = {"session": session, "holder": holder, "details": text, "seeks": patterns}
    tx.run("sessions/open", expiry=expiry, length=length, **who)


def beat(tx: Tx, session: str, *, expiry: int = EXPIRY_MILLISECONDS) -> bool:
    """Extend a session by its expiry; False if it has ended, and with it all its claims."""
    return tx.run("sessions/beat", session=session, expiry=expiry) == 1


def close(tx: Tx, session: str) -> bool:
    """End a session: what it has claimed and not settled is free at once."""
    tx.run("lists/request_wakes_of_session", session=session)
    return tx.run("sessions/close", session=session) == 1


def note_handed(tx: Tx, session: str, taken: claims.ClaimedItems) -> None:
    """Store with the session which positions were claimed, for another process that settles them."""
    details = _decoded(tx.row("sessions/lock", session=session))
    alive = {claim.token for claim in tx.structs(SessionClaim, "claims/lock_of_session", session=session)}
    known = {token: positions for token, positions in details.get(CLAIMED_DETAIL, {}).items() if token in alive}
    details[CLAIMED_DETAIL] = {**known, taken.token: [item.position for item in taken.items]}
    tx.run("sessions/set_details", session=session, details=encode_json(details))


def held(tx: Tx, session: str, token: str) -> claims.ClaimedItems:
    """Return a claim with what is left of its items; StaleClaim if it has ended.

    If `note_handed` did not store its positions, these are all items that stand in its interval now.
    """
    taken = claims.left(tx, session, token)
    if taken is None:
        raise claims.stale(session, token)
    positions = _decoded(tx.row("sessions/details", session=session)).get(CLAIMED_DETAIL, {}).get(token)
    if positions is None:
        return taken
    noted = set(positions)
    return msgspec.structs.replace(taken, items=[item for item in taken.items if item.position in noted])


def _decoded(row: tuple[Any, ...] | None) -> dict[str, Any]:
    decoded = msgspec.json.decode(row[0]) if row and row[0] else None
    return decoded if isinstance(decoded, dict) else {}


def patterns(tx: Tx, session: str) -> list[str] | None:
    """Return the patterns of the lists that a session works; None if it has ended."""
    row = tx.row("sessions/patterns", session=session)
    if row is None:
        return None
    patterns: list[str] = msgspec.json.decode(row[0]) if row[0] else []
    return patterns


def set_scope(tx: Tx, session: str, lists: Sequence[str]) -> None:
    """Limit a session to lists with these prefixes: other scopes can neither see nor use it."""
    tx.run("sessions/set_scope", session=session, scope=encode_json(lists))


def is_within(tx: Tx, session: str, lists: Sequence[str]) -> bool:
    """Return whether a session exists for a caller who is limited to lists with these prefixes."""
    return not lists or sees(lists, _scope(tx.value("sessions/scope", session=session)))


def _scope(stored: str | None) -> list[str] | None:
    return None if stored is None else msgspec.json.decode(stored)


def page(tx: Tx, *, limit: int = 1000, prefixes: Sequence[str] = ()) -> list[SessionInfo]:
    """Return live sessions, the oldest first, with what each has claimed; or only those within the prefixes."""
    if not prefixes:
        return _page(tx, limit)
    visible = {session for session, scope in tx.rows("sessions/all_with_scope") if sees(prefixes, _scope(scope))}
    found = [info for info in _page(tx, MAX_PAGE_ROWS) if info.id in visible]
    return [
        msgspec.structs.replace(info, leases=[name for name in info.leases if covers(prefixes, name)])
        for info in found[:limit]
    ]


def _page(tx: Tx, limit: int) -> list[SessionInfo]:
    found = tx.structs(SessionInfo, "sessions/page", limit=limit)
    held: dict[str, list[str]] = {}
    for session, name in tx.rows("leases/page", limit=leases.MAX_LISTS_PER_SESSION):
        held.setdefault(session, []).append(name)
    return [msgspec.structs.replace(info, leases=held.get(info.id, [])) for info in found]


def claims_page(
    tx: Tx, *, session: str = "", of: str = "", limit: int = 1000, prefixes: Sequence[str] = ()
) -> list[ClaimInfo]:
    """Return live claims, the oldest first: all, those of a session, or those of a list."""
    check_limit(limit, "claims")
    found = tx.structs(ClaimInfo, "claims/page", session=session, list=of, limit=limit)
    return [each for each in found if covers(prefixes, each.list)]


def silent(tx: Tx, *, limit: int = 1000) -> list[SilentSession]:
    """Return sessions that may be dead, by deadline; a `HeartbeatMonitor` decides which are."""
    return tx.structs(SilentSession, "sessions/maybe_dead", limit=limit)


def expire(tx: Tx, dead: Sequence[SilentSession]) -> int:
    """Expire sessions that are dead, unless a heartbeat has come since they were read, and return how many.

    Releases their items and marks them as suspects: one of them may have killed the worker.
    """
    return sum(_expire_one(tx, each) for each in dead)


def _expire_one(tx: Tx, dead: SilentSession) -> bool:
    if tx.row("sessions/lock_silent", session=dead.id, expires_at=dead.expires_at) is None:
        return False
    held = tx.structs(SessionClaim, "claims/lock_of_session", session=dead.id)
    unsettled = [claim for claim in held if claim.remaining > 0]
    if len(unsettled) == 1 and unsettled[0].taken == 1:
        _charge(tx, dead, unsettled[0])
    else:
        # Any of them may have killed the worker, so none is charged. Each is claimed by itself from now on: a second
        # death leaves few suspects, and those run alone.
        for claim in unsettled:
            tx.run("claims/suspect_interval", holder=dead.holder, **claim.interval)
    close(tx, dead.id)
    return True


def _charge(tx: Tx, dead: SilentSession, claim: SessionClaim) -> None:
    where = {name: value for name, value in claim.interval.items() if name != "low"}
    for position, key in tx.rows("claims/item_of_single_claim", **where):
        settlements.settle(tx, dead.id, claim.token, [(position, WORKER_DIED)], holder=dead.holder, close=False)
        tx.run("claims/suspect_item", list=claim.list, key=key, holder=dead.holder)
