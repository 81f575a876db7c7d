"""Waiters: items that stand aside until another list is complete. Verbs of a transaction."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from rowlock import tallies
from rowlock.db import Transaction

WAITING = timedelta(days=2_000_000)
"""How far off an item is due that waits for another list: longer than any duration that can be asked for."""
WAITING_MILLISECONDS = WAITING // timedelta(milliseconds=1)


def wait(tx: Transaction, list_id: int, keys: Sequence[str], *, awaited: int) -> None:
    """Note that items of a list wait for another one alone. The caller holds that one, and it is not complete."""
    tx.run("waiters/wait", list=list_id, keys=msgspec.json.encode(keys).decode(), awaited=awaited)


def release(tx: Transaction, awaited: int) -> None:
    """Put what waited for a list back in line; what was abandoned or retried meanwhile is left alone."""
    back = Counter(tx.rows("waiters/release", awaited=awaited, waiting=WAITING_MILLISECONDS))
    for (list_id, gate), count in sorted(back.items()):
        tallies.record(tx, list_id, gate, delayed_change=-count)
        tx.run("lists/wake", list=list_id)
    tx.run("waiters/forget", awaited=awaited)
