"""Past ticks of schedules: when each was, and what came of it. Functions that take a transaction."""

from datetime import datetime

import msgspec

from rowlock.db import Tx
from rowlock.failures import truncate_message

KEPT_TICKS = 100
"""Ticks that are kept of each schedule."""


class PastTick(msgspec.Struct, frozen=True):
    """A tick that has happened, also of several times at once that were missed."""

    at: datetime
    items: int
    """How many items it was for: none if missed ticks were skipped."""
    added: int
    """How many of them were added; the others were on the list already."""
    error: str | None
    """Why the list refused them."""
    triggered: bool
    """Whether somebody triggered it."""


def record(
    tx: Tx, schedule: str, *, items: int, added: int = 0, error: str | None = None, triggered: bool = False
) -> None:
    """Record what came of a tick, and forget those before the last hundred."""
    text = None if error is None else truncate_message(error)
    tx.run("ticks/record", schedule=schedule, items=items, added=added, error=text, triggered=triggered)
    tx.run("ticks/prune", schedule=schedule, keep=KEPT_TICKS)


def page(tx: Tx, schedule: str, *, limit: int) -> list[PastTick]:
    """Return the last ticks of a schedule, the newest first."""
    return tx.structs(PastTick, "ticks/page", schedule=schedule, limit=limit)
