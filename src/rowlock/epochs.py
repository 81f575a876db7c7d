"""Epochs of a database: a failover or a restore begins a new one, and what was committed in the old one may be lost."""

import msgspec

from rowlock import sessions
from rowlock.db import Database, Tx
from rowlock.errors import RowlockError

SKIPPED_NUMBERS = 1_000_000
"""How far a counter of Redis jumps when reservations may be lost: as many as the largest block has."""


class CurrentEpoch(msgspec.Struct, frozen=True):
    """What the server says of itself."""

    server: int
    timeline: int
    tables: int
    synchronous: bool
    """Whether a commit waits for a standby: then a failover loses none."""
    entered: bool
    """Whether a pass of upkeep has noticed this epoch."""


class Epoch(msgspec.Struct, frozen=True):
    """A server, its timeline and a copy of our tables, since when they are used, and whether commits may be lost."""

    server: int
    timeline: int
    tables: int
    entered_at: int
    lossy: bool

    def is_copy(self, other: "Epoch | CurrentEpoch") -> bool:
        """Return whether the other has another server or other tables: then a backup was restored."""
        return (self.server, self.tables) != (other.server, other.tables)


def current(tx: Tx) -> CurrentEpoch | None:
    """Return the epoch that the server is in now; None for a database without epochs, and for a standby."""
    found = tx.structs(CurrentEpoch, "epochs/current")
    return found[0] if found else None


def last(tx: Tx) -> list[Epoch]:
    """Return the last two epochs that upkeep has noticed, the newest first."""
    return tx.structs(Epoch, "epochs/last")


def may_lose(before: Epoch, now: CurrentEpoch) -> bool:
    """Return whether commits may be missing: a backup was restored, or no commit waited for a standby."""
    return before.is_copy(now) or not now.synchronous


def enter(tx: Tx) -> bool:
    """Note the current epoch if it is new, and return whether commits of the one before may be lost.

    Then all sessions end: a live worker does not know of a claim whose settlement was lost, and would keep it. And
    counters of Redis skip the numbers that it may hand out without a reservation.
    """
    now, before = current(tx), last(tx)
    if now is None:
        return False
    lossy = bool(before) and may_lose(before[0], now)
    where = {"server": now.server, "timeline": now.timeline, "tables": now.tables}
    if not tx.run("epochs/enter", lossy=lossy, **where) or not lossy:
        return False
    while live := sessions.page(tx):
        for session in live:
            sessions.close(tx, session.id)
    tx.run("epochs/skip_numbers", step=SKIPPED_NUMBERS)
    return True


def watch(database: Database) -> bool:
    """Enter a new epoch if the server is in one; return whether sessions were ended. An old epoch costs one read."""
    try:
        now = database.read(current)
        return now is not None and not now.entered and database.run(enter)
    except RowlockError:  # the server hides its timeline or denies a write: the rest of upkeep must run
        return False
