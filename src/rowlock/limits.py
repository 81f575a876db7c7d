"""Limits: how many items of a list or a family may be claimed at once, and how many in a period.

A claimer counts while it holds the list's lock: meanwhile the number can only become smaller.
"""

from itertools import product

import msgspec

from rowlock.db import Tx
from rowlock.settings import PRIORITIES, ListLimits

SLOTS_PER_PERIOD = 100
"""A rate is counted in slots of a hundredth of its period."""
SNOOZE_MILLISECONDS = 1_000
"""How long a list at its limit sleeps; a settlement wakes it before."""
AFTER_FAMILY = "\x01"
"""Appended to a family's name: the next family sorts after it, for no key has a smaller character."""
UNLIMITED = 2**31


class Allowance(msgspec.Struct, frozen=True):
    """How many items may be claimed now, and if none, how many milliseconds to wait."""

    items: int
    wait: int = SNOOZE_MILLISECONDS
    gate: int = 0
    lanes: int = 0
    served: str | None = None
    """The family that was claimed from last."""


class FamilyItem(msgspec.Struct, frozen=True):
    """A single item that may be claimed, and its position."""

    family: str
    place: dict[str, int]
    """Its list, gate, priority and position."""


def read(text: str) -> ListLimits:
    """Decode limits as they are stored with a list."""
    return msgspec.json.decode(text, type=ListLimits)


def allowance(tx: Tx, list_id: int, limits: ListLimits) -> Allowance:
    """Return how many items may be claimed now without exceeding any limit."""
    row = tx.row("limits/usage", list=list_id)
    if row is None:
        return Allowance(0)
    claimed, without_family, gate, lanes, served = row
    if limits.by is not None and without_family:
        return Allowance(0)  # claimed before families were limited: their families are not known
    items = UNLIMITED if limits.concurrency is None else limits.concurrency - claimed
    if items <= 0 or limits.rate is None:
        return Allowance(max(0, items), SNOOZE_MILLISECONDS, gate, lanes, served)
    most, period = limits.rate
    granted, wait = tx.rows("limits/recent_grants", list=list_id, period=period, width=width(period))[0]
    return Allowance(min(items, most - granted), max(1, wait or 1), gate, lanes, served)


def width(period: int) -> int:
    """Return the length of a slot, in which claimed items are counted together."""
    return max(1, period // SLOTS_PER_PERIOD)


def record_grants(tx: Tx, list_id: int, limits: ListLimits, *, items: int) -> None:
    """Record that so many items were claimed."""
    if limits.rate is not None:
        _, period = limits.rate
        tx.run("limits/record_grants", list=list_id, width=width(period), items=items)
        tx.run("limits/delete_old_grants", list=list_id, period=period, width=width(period))


def snooze(tx: Tx, list_id: int, allowed: Allowance) -> None:
    """Put a list to sleep until more may be claimed; one without ready items sleeps as any other."""
    tx.run("lists/sleep_at_limit", list=list_id, wait=allowed.wait)


def wake(tx: Tx, name: str) -> None:
    """Wake a list that sleeps at its limit: a settlement has made room."""
    tx.send("lists/wake_if_asleep", name=name)


def next_of_family(tx: Tx, list_id: int, limits: ListLimits, *, allowed: Allowance) -> FamilyItem | None:
    """Return the first item of the next family that is below its limit; families take turns."""
    if limits.by is None:
        return None
    starts = [""] if allowed.served is None else [f"{allowed.served}{AFTER_FAMILY}", ""]
    lanes = [priority for priority in PRIORITIES if allowed.lanes >> priority & 1]
    for priority, start in product(lanes, starts):
        where = {"list": list_id, "gate": allowed.gate, "priority": priority}
        row = tx.row("limits/next_family", start=start, most=limits.by.limit, **where)
        if row is not None:
            family, position = row
            return FamilyItem(family, {**where, "position": position})
    return None


def rotate_family(tx: Tx, list_id: int, found: FamilyItem) -> None:
    """Note which family was claimed from: the next time it is another's turn."""
    tx.run("limits/set_last_family", list=list_id, family=found.family)
