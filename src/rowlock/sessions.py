"""Sessions: live workers. Claims hang on a session's row; death is that row's deletion. Verbs of a transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from rowlock import claims, leases, nesting, settlements
from rowlock.db import Transaction
from rowlock.heartbeats import SilentSession
from rowlock.model import to_datetime
from rowlock.names import MAX_PAGE_ROWS
from rowlock.outcomes import Retry
from rowlock.roles import covers, within

EXPIRY_MILLISECONDS = 15_000
HANDED = "handed"
DIED = Retry(error="the worker died while it had this item alone in hand", after=0, kind="worker died")


class SessionInfo(msgspec.Struct, frozen=True):
    """A live worker, as others see it."""

    id: str
    holder: str
    opened_at: datetime
    expires_at: datetime
    details: Any
    claims: int
    items: int
    leases: Sequence[str] = ()
    """The exclusive lists that it has; the first of them, if they are very many."""


class ClaimAtDeath(msgspec.Struct, frozen=True):
    """A claim of a session that died."""

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
        """Where its items stand."""
        return {"list": self.list, "gate": self.gate, "priority": self.priority, "low": self.low, "high": self.high}


def open_session(
    tx: Transaction,
    session: str,
    *,
    holder: str,
    expiry: int = EXPIRY_MILLISECONDS,
    details: Any = None,
    seeks: Sequence[str] = (),
    beats: bool = True,
) -> None:
    """Enter a worker, alive for `expiry` milliseconds from the database's now.

    Those who seek lists by the same patterns share the exclusive ones among these evenly. With `beats` the worker
    promises a heartbeat in each half of the expiry; without, it ends at its deadline by the database's clock.
    """
    text = None if details is None else nesting.encode(details, "details")
    patterns = msgspec.json.encode(sorted(seeks)).decode() if seeks else None
    length = expiry if beats else None
    who = {"session": session, "holder": holder, "details": text, "seeks": patterns}
    tx.run("sessions/open", expiry=expiry, length=length, **who)


def beat(tx: Transaction, session: str, *, expiry: int = EXPIRY_MILLISECONDS) -> bool:
    """Stay alive; False means the session is lost, and with it all claims."""
    return tx.run("sessions/beat", session=session, expiry=expiry) == 1


def close(tx: Transaction, session: str) -> bool:
    """End gently: what was claimed is free at once."""
    tx.run("lists/wake_of_session", session=session)
    return tx.run("sessions/close", session=session) == 1


def note_handed(tx: Transaction, session: str, taken: claims.ClaimedItems) -> None:
    """Keep with the session which positions a claim handed out: for whoever settles it from another process."""
    details = _decoded(tx.row("sessions/lock", session=session))
    alive = {claim[0] for claim in tx.rows("claims/of_session", session=session)}
    handed = {token: positions for token, positions in details.get(HANDED, {}).items() if token in alive}
    details[HANDED] = {**handed, taken.token: [item.position for item in taken.items]}
    tx.run("sessions/set_details", session=session, details=msgspec.json.encode(details).decode())


def held(tx: Transaction, session: str, token: str) -> claims.ClaimedItems:
    """A claim with what is left of the items that were handed out under it; StaleClaim if it is no more.

    Where it was not noted what was handed out, it is all that stands in the claim's interval now.
    """
    taken = claims.left(tx, session, token)
    if taken is None:
        raise claims.stale(session, token)
    handed = _decoded(tx.row("sessions/details", session=session)).get(HANDED, {}).get(token)
    if handed is None:
        return taken
    among = set(handed)
    return msgspec.structs.replace(taken, items=[item for item in taken.items if item.position in among])


def _decoded(row: tuple[Any, ...] | None) -> dict[str, Any]:
    decoded = msgspec.json.decode(row[0]) if row and row[0] else None
    return decoded if isinstance(decoded, dict) else {}


def patterns(tx: Transaction, session: str) -> list[str] | None:
    """The patterns of the lists that a session looks for; None if it is no more."""
    row = tx.row("sessions/patterns", session=session)
    if row is None:
        return None
    patterns: list[str] = msgspec.json.decode(row[0]) if row[0] else []
    return patterns


def set_scope(tx: Transaction, session: str, lists: Sequence[str]) -> None:
    """Hold a session to lists with these prefixes: only who is held to no others may see and touch it."""
    tx.run("sessions/set_scope", session=session, scope=msgspec.json.encode(lists).decode())


def is_within(tx: Transaction, session: str, lists: Sequence[str]) -> bool:
    """Whether a session is there for who is held to lists with these prefixes."""
    return not lists or _is_within(tx.value("sessions/scope", session=session), lists)


def _is_within(scope: str | None, lists: Sequence[str]) -> bool:
    return scope is not None and within(msgspec.json.decode(scope), lists)


def page_within(tx: Transaction, lists: Sequence[str], *, limit: int = 1000) -> list[SessionInfo]:
    """Who is at work, as whoever is held to lists with these prefixes may know."""
    if not lists:
        return page(tx, limit=limit)
    theirs = {session for session, scope in tx.rows("sessions/scoped") if _is_within(scope, lists)}
    found = [info for info in page(tx, limit=MAX_PAGE_ROWS) if info.id in theirs]
    return [
        msgspec.structs.replace(info, leases=[name for name in info.leases if covers(lists, name)])
        for info in found[:limit]
    ]


def page(tx: Transaction, *, limit: int = 1000) -> list[SessionInfo]:
    """Who is at work, the oldest first."""
    found = [_info(row) for row in tx.rows("sessions/page", limit=limit)]
    held: dict[str, list[str]] = {}
    for session, name in tx.rows("leases/page", limit=leases.MAX_LISTS_PER_SESSION):
        held.setdefault(session, []).append(name)
    return [msgspec.structs.replace(info, leases=held.get(info.id, [])) for info in found]


def _info(row: tuple[Any, ...]) -> SessionInfo:
    session, holder, opened, expires, details, claims, items = row
    decoded = None if details is None else msgspec.json.decode(details)
    return SessionInfo(session, holder, to_datetime(opened), to_datetime(expires), decoded, claims, items)


def silent(tx: Transaction, *, limit: int = 1000) -> list[SilentSession]:
    """Sessions that may be dead, those whose deadline is the oldest first: a `HeartbeatMonitor` says which are."""
    return [SilentSession(*row) for row in tx.rows("sessions/silent", limit=limit)]


def expire(tx: Transaction, dead: Sequence[SilentSession]) -> int:
    """End sessions that are dead, unless one has beaten since it was seen; how many.

    Their items are free, and marked as suspects: one of them may have killed the worker.
    """
    return sum(_expire_one(tx, each) for each in dead)


def _expire_one(tx: Transaction, dead: SilentSession) -> bool:
    if tx.row("sessions/lock_silent", session=dead.id, expires_at=dead.expires_at) is None:
        return False
    in_hand = [ClaimAtDeath(*row) for row in tx.rows("claims/of_session", session=dead.id)]
    unsettled = [grasp for grasp in in_hand if grasp.remaining > 0]
    if len(unsettled) == 1 and unsettled[0].taken == 1:
        _charge(tx, dead.id, dead.holder, unsettled[0])
    else:
        # Any of them may have done it: none is charged. They are handed out one to a claim, so that a second death
        # leaves few to choose from, and those run alone.
        for grasp in unsettled:
            tx.run("claims/add_suspects", holder=dead.holder, **grasp.interval)
    close(tx, dead.id)
    return True


def _charge(tx: Transaction, session: str, holder: str, grasp: ClaimAtDeath) -> None:
    where = {name: grasp.interval[name] for name in ("list", "gate", "priority", "high")}
    for position, key in tx.rows("claims/only_item", **where):
        settlements.settle(tx, session, grasp.token, [(position, DIED)], holder=holder, close=False)
        tx.run("claims/suspect_item", list=grasp.list, key=key, holder=holder)
