"""Waiters: items that stand aside until another list is complete. Verbs of a transaction."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

import msgspec

from rowlock import tallies
from rowlock.db import Transaction

WAITING_DELAY = timedelta(days=2_000_000)
"""How far off an item is due that waits for another list: longer than any duration that can be asked for."""
WAITING_DELAY_MILLISECONDS = WAITING_DELAY // timedelta(milliseconds=1)


def wait(tx: Transaction, list_id: int, keys: Sequence[str], *, awaited: int) -> None:
    """Note that items of a list wait for another one alone. The caller holds that one, and it is not complete."""
    tx.run("dependencies/wait", list=list_id, keys=msgspec.json.encode(keys).decode(), awaited=awaited)


def release(tx: Transaction, awaited: int) -> None:
    """Put what waited for a list back in line; what was abandoned or retried meanwhile is left alone."""
    back = Counter(tx.rows("dependencies/release", awaited=awaited, waiting=WAITING_DELAY_MILLISECONDS))
    for (list_id, gate), count in sorted(back.items()):
        tallies.record(tx, list_id, gate, delayed_change=-count)
        tx.run("lists/wake", list=list_id)
    tx.run("dependencies/forget", awaited=awaited)
