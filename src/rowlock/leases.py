"""Leases: exclusive lists in the hands of a session, from claim to claim, shared evenly. Verbs of a transaction."""

from collections.abc import Mapping, Sequence

import msgspec

from rowlock.db import Transaction
from rowlock.lists import ListWithWork

KEEP_IDLE_MILLISECONDS = 15_000
"""How long a lease may lie idle before others may have the list, in milliseconds."""
MAX_LISTS_PER_SESSION = 1_000
"""How many lists a session has at once, however many there are: what it must remember is bounded."""
ENDED_AT_ONCE = 100


class LeaseShare(msgspec.Struct, frozen=True):
    """How many lists a session has or will have, and how many of those others are still to give up."""

    lists: int
    asked: int = 0


class LeaseStep(msgspec.Struct, frozen=True):
    """What a session does to have its share."""

    take: int = 0
    """So many of the free lists."""
    ask: str | None = None
    """Of this session one list."""


def next_step(shares: Mapping[str, LeaseShare], me: str, *, free: int) -> LeaseStep:
    """Free lists up to an even share; if there are none, one of the session that has most, if it has more than that.

    Also of one that has just its share, where more than one list is wanting: so no two are more than one apart.
    """
    if me not in shares:
        return LeaseStep()
    target = -(-(sum(share.lists for share in shares.values()) + free) // len(shares))
    need = min(target, MAX_LISTS_PER_SESSION) - shares[me].lists
    if need <= 0:
        return LeaseStep()
    if free:
        return LeaseStep(take=min(need, free))
    holder, share = max(shares.items(), key=lambda each: each[1].lists)
    most = share.lists
    return LeaseStep(ask=holder if most > target or (most == target and need > 1) else None)


def free(tx: Transaction, *, after: ListWithWork | None = None, limit: int = 100) -> list[ListWithWork]:
    """Exclusive lists with work that nobody has, those that have waited longest first, a page at a time."""
    at, last = (after.wake_at, after.id) if after else (0, 0)
    return [ListWithWork(*row) for row in tx.rows("leases/free", wake_at=at, after=last, limit=limit)]


def shares(tx: Transaction, session: str) -> dict[str, LeaseShare]:
    """What each live session has that looks for the same lists as this one, itself among them."""
    return {found: LeaseShare(lists, asked) for found, lists, asked in tx.rows("leases/shares", session=session)}


def names(tx: Transaction, session: str) -> list[str]:
    """The lists that a session has."""
    return [row[0] for row in tx.rows("leases/names", session=session, limit=MAX_LISTS_PER_SESSION)]


def take(tx: Transaction, session: str, lists: Sequence[int], *, keep: int = KEEP_IDLE_MILLISECONDS) -> int:
    """Have those of the lists that are free; how many they are."""
    ids = msgspec.json.encode(lists).decode()
    return len(tx.rows("leases/take", session=session, ids=ids, keep=keep))


def request_handover(tx: Transaction, session: str, holder: str) -> None:
    """Have one of another session's lists: at once if nothing of it is in hand, else when that is settled."""
    found = tx.row("leases/transferable", holder=holder)
    if found is None:
        return
    list_id, name = found
    tx.rows("claims/lock", name=name)
    if not tx.run("leases/take_over", list=list_id, session=session, holder=holder, keep=KEEP_IDLE_MILLISECONDS):
        tx.run("leases/request_handover", list=list_id, session=session, holder=holder)


def collect_handovers(tx: Transaction, session: str) -> int:
    """Have what was asked for, as far as it has been settled; how many lists."""
    return tx.run("leases/collect_handovers", session=session, keep=KEEP_IDLE_MILLISECONDS)


def yield_oldest(tx: Transaction, session: str, *, limit: int) -> None:
    """Give up the lists that the session has had for longest: where there are too many for all, each has its while."""
    tx.rows("leases/yield_oldest", session=session, limit=limit)


def hold(tx: Transaction, list_id: int, session: str, *, keep: int = KEEP_IDLE_MILLISECONDS) -> bool:
    """Whether the session has the list, after taking it if nobody has; the list is locked.

    One that another has asked for is handed over: its holder comes for more, so all it had is settled.
    """
    found = tx.row("leases/show", list=list_id)
    if found and found[0] != session and tx.rows("leases/release_idle", list=list_id, limit=1):
        found = None
    if found is None:
        return take(tx, session, [list_id], keep=keep) == 1
    holder, asked_by = found
    if holder == session and asked_by is not None and tx.run("leases/hand_over", list=list_id, session=session):
        tx.run("lists/wake", list=list_id)
    return bool(holder == session and asked_by is None)


def release(tx: Transaction, list_id: int, session: str) -> None:
    """Give the list up, unless something of it is in hand; the list is locked."""
    tx.run("leases/release", list=list_id, session=session)
    tx.run("leases/refresh_leased", list=list_id)


def release_idle(tx: Transaction, *, limit: int = ENDED_AT_ONCE) -> int:
    """Free lists that somebody has and does not work; how many."""
    ended = tx.rows("leases/release_idle", list=None, limit=limit)
    for (list_id,) in ended:
        tx.run("lists/wake", list=list_id)
    return len(ended)
