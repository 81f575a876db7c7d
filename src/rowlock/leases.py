"""Leases: exclusive lists that a session holds from claim to claim. Functions that take a transaction."""

from collections.abc import Mapping, Sequence

import msgspec

from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.lists import ListWithWork

KEEP_IDLE_MILLISECONDS = 15_000
"""How long a lease may be idle before another session may take the list."""
MAX_LISTS_PER_SESSION = 1_000
"""However many there are: what a session must remember is bounded."""
MAX_RELEASED_LEASES = 100


class LeaseShare(msgspec.Struct, frozen=True):
    """How many lists a session holds or will hold, and how many of those others are still to hand over."""

    lists: int
    asked: int = 0


class LeaseRow(msgspec.Struct, frozen=True):
    """The session that holds a list, and the one that has requested it."""

    session: str
    asked_by: str | None


class LeaseStep(msgspec.Struct, frozen=True):
    """What a session does to get its share."""

    take: int = 0
    """How many of the free lists to take."""
    ask: str | None = None
    """The session to request one list of."""


def next_step(shares: Mapping[str, LeaseShare], me: str, *, free: int) -> LeaseStep:
    """Return the step to an even share: take free lists, or request one of the session that holds most.

    A session that holds just its share is asked too if this one lacks more than one list: then no two sessions are more
    than one list apart.
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


def free(tx: Tx, *, after: ListWithWork | None = None, limit: int = 100) -> list[ListWithWork]:
    """Return exclusive lists with work that no session holds, the longest waiting first, a page at a time."""
    at, last = (after.wake_at, after.id) if after else (0, 0)
    return tx.structs(ListWithWork, "leases/unleased_with_work", wake_at=at, after=last, limit=limit)


def shares(tx: Tx, session: str) -> dict[str, LeaseShare]:
    """Return the share of each live session that works the same patterns as this one, itself included."""
    return {
        holder: LeaseShare(lists, asked) for holder, lists, asked in tx.rows("leases/count_by_session", session=session)
    }


def names(tx: Tx, session: str) -> list[str]:
    """Return the names of the lists that a session holds."""
    return [row[0] for row in tx.rows("leases/lists_of_session", session=session, limit=MAX_LISTS_PER_SESSION)]


def take(tx: Tx, session: str, lists: Sequence[int], *, keep: int = KEEP_IDLE_MILLISECONDS) -> int:
    """Take those of the lists that are free, and return how many."""
    return len(tx.rows("leases/take", session=session, ids=encode_json(lists), keep=keep))


def request_handover(tx: Tx, session: str, holder: str) -> None:
    """Take over one of another session's lists: at once if it has no claims, else when these are settled."""
    transferable = tx.row("leases/transferable", holder=holder)
    if transferable is None:
        return
    list_id, name = transferable
    tx.send_to_server("claims/lock_list", name=name)
    if not tx.run("leases/take_over", list=list_id, session=session, holder=holder, keep=KEEP_IDLE_MILLISECONDS):
        tx.run("leases/request_handover", list=list_id, session=session, holder=holder)


def collect_handovers(tx: Tx, session: str) -> int:
    """Take over requested lists whose claims are settled, and return how many."""
    return tx.run("leases/collect_handovers", session=session, keep=KEEP_IDLE_MILLISECONDS)


def yield_oldest(tx: Tx, session: str, *, limit: int) -> None:
    """Release the lists that the session has held longest: where there are too many lists, they take turns."""
    tx.rows("leases/release_oldest", session=session, limit=limit)


def hold(tx: Tx, list_id: int, session: str, *, keep: int = KEEP_IDLE_MILLISECONDS) -> bool:
    """Return whether the session holds the list, after taking it if it is free; the list is locked.

    A list that another session has requested is handed over now: its holder wants more, so all it had is settled.
    """
    lease = tx.struct(LeaseRow, "leases/show", list=list_id)
    if lease and lease.session != session and tx.rows("leases/release_idle", list=list_id, limit=1):
        tx.run("leases/set_leased_flag", list=list_id)  # a paused list is not taken now, and must be found later
        lease = None
    if lease is None:
        return take(tx, session, [list_id], keep=keep) == 1
    if lease.session != session:
        return False
    if lease.asked_by is not None and tx.run("leases/hand_over", list=list_id, session=session):
        tx.run("lists/request_wake", list=list_id)
    return lease.asked_by is None


def release(tx: Tx, list_id: int, session: str) -> None:
    """Release the list unless claims of it are left; the list is locked."""
    tx.run("leases/release", list=list_id, session=session)
    tx.run("leases/set_leased_flag", list=list_id)


def release_idle(tx: Tx, *, limit: int = MAX_RELEASED_LEASES) -> int:
    """Release lists whose holders do not work them, and return how many."""
    ended = tx.rows("leases/release_idle", list=None, limit=limit)
    for (list_id,) in ended:
        tx.run("lists/request_wake", list=list_id)
    return len(ended)
