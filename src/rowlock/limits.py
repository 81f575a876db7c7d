"""Limits: how many items are in hand at once, of a list or of a family, and how many are handed out in a while.

What is counted is counted by a claimer that holds the list's lock: it can only become less meanwhile.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from rowlock.db import Transaction
from rowlock.model import PRIORITIES, ListLimits

SLOTS_PER_PERIOD = 100
"""A rate is counted in hundredths of its while."""
LOOK_AGAIN = 1_000
"""Milliseconds after which a list at its limit is looked at anyway; who settles wakes it before."""
AFTER = "\x01"
"""Behind a family's name: where the next one can begin, for no key has a character below it."""
ANY = 2**31


class Allowance(msgspec.Struct, frozen=True):
    """How many items may be handed out now, and if none, how long to wait."""

    items: int
    wait: int = LOOK_AGAIN
    gate: int = 0
    lanes: int = 0
    served: str | None = None
    """The family that was served last."""


class FamilyItem(msgspec.Struct, frozen=True):
    """A single item that may be handed out, and where it stands."""

    family: str
    gate: int
    priority: int
    position: int
    alone: bool
    rest: tuple[Any, ...]
    """Its key, attempts, version, data and trace."""


def read(text: str) -> ListLimits:
    """A list's limits as they are stored with it."""
    return msgspec.json.decode(text, type=ListLimits)


def allowance(tx: Transaction, list_id: int, limits: ListLimits) -> Allowance:
    """What may be handed out at this moment without going beyond any limit."""
    row = tx.row("limits/usage", list=list_id)
    if row is None:
        return Allowance(0)
    in_hand, strangers, gate, lanes, served = row
    if limits.by is not None and strangers:
        return Allowance(0)  # handed out before families were looked at: nobody knows whose they are
    free = ANY if limits.concurrency is None else limits.concurrency - in_hand
    if free <= 0:
        return Allowance(0)
    items, wait = _rated(tx, list_id, limits)
    return Allowance(min(free, items), wait, gate, lanes, served)


def _rated(tx: Transaction, list_id: int, limits: ListLimits) -> tuple[int, int]:
    if limits.rate is None:
        return ANY, LOOK_AGAIN
    most, period = limits.rate
    handed, wait = tx.rows("limits/recent_grants", list=list_id, period=period, width=width(period))[0]
    return most - handed, max(1, wait or 1)


def width(period: int) -> int:
    """How long a slot is in which hand-outs are counted together."""
    return max(1, period // SLOTS_PER_PERIOD)


def record_grants(tx: Transaction, list_id: int, limits: ListLimits, *, items: int) -> None:
    """Take note that so many were handed out."""
    if limits.rate is not None:
        _, period = limits.rate
        tx.run("limits/record_grants", list=list_id, width=width(period), items=items)
        tx.run("limits/delete_old_grants", list=list_id, period=period, width=width(period))


def snooze(tx: Transaction, list_id: int, allowed: Allowance) -> None:
    """Have a list looked at when more may be handed out; without anything ready it sleeps as any other."""
    tx.run("limits/snooze", list=list_id, wait=allowed.wait)


def wake(tx: Transaction, name: str) -> None:
    """What was settled makes room: have a list looked at that sleeps at its limit."""
    tx.send("limits/wake", name=name)


def next_of_family(tx: Transaction, list_id: int, limits: ListLimits, *, allowed: Allowance) -> FamilyItem | None:
    """The first item of the next family that may have one more in hand; families take turns."""
    if limits.by is None:
        return None
    starts = [""] if allowed.served is None else [f"{allowed.served}{AFTER}", ""]
    for priority, start in _walks(allowed.lanes, starts):
        where = {"list": list_id, "gate": allowed.gate, "priority": priority}
        row = tx.row("limits/next_family", start=start, most=limits.by.limit, **where)
        if row is not None:
            family, position = row
            *rest, alone = tx.rows("limits/item_at", position=position, **where)[0]
            return FamilyItem(family, allowed.gate, priority, position, bool(alone), tuple(rest))
    return None


def _walks(lanes: int, starts: list[str]) -> Iterator[tuple[int, str]]:
    for priority in PRIORITIES:
        if lanes >> priority & 1:
            yield from ((priority, start) for start in starts)


def rotate_family(tx: Transaction, list_id: int, found: FamilyItem) -> None:
    """The next time it is another family's turn."""
    tx.run("limits/rotate_family", list=list_id, family=found.family)
