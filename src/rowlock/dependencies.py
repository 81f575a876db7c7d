"""Verbs of dependencies: items that wait until another list is complete."""

from collections import Counter
from collections.abc import Sequence
from datetime import timedelta

from rowlock import tallies
from rowlock.db import Transaction
from rowlock.json_codec import encode_json

WAITING_DELAY = timedelta(days=2_000_000)
"""The delay of an item that waits for another list: longer than any duration that can be given."""
WAITING_DELAY_MILLISECONDS = WAITING_DELAY // timedelta(milliseconds=1)


def wait(tx: Transaction, list_id: int, keys: Sequence[str], *, awaited: int) -> None:
    """Record that items wait for another list alone. The caller holds that list's lock, and it is not complete."""
    tx.run("dependencies/wait", list=list_id, keys=encode_json(keys), awaited=awaited)


def release(tx: Transaction, awaited: int) -> None:
    """Make the items ready that waited for a list; those that were abandoned or retried meanwhile are left alone."""
    released = Counter(tx.rows("dependencies/release", awaited=awaited, waiting=WAITING_DELAY_MILLISECONDS))
    for (list_id, gate), count in sorted(released.items()):
        tallies.record(tx, list_id, gate, delayed_change=-count)
        tx.run("lists/wake", list=list_id)
    tx.run("dependencies/forget", awaited=awaited)
