"""Marks: how far positions had got at some moments, to tell the age of what waits. Verbs of a transaction."""

from rowlock.db import Transaction

KEPT_MILLISECONDS = 30 * 24 * 3_600_000
"""How long marks are kept, in milliseconds."""


def record(tx: Transaction) -> None:
    """Note how far positions have got; every pass of upkeep does."""
    tx.run("watermarks/note")
    tx.run("watermarks/prune", keep=KEPT_MILLISECONDS)


def longest_wait_seconds(tx: Transaction, name: str) -> float:
    """For how many seconds, at least, the list's first free item has stood in line; 0 if none does.

    Right to within the time between two passes of upkeep; an item that was retried has a new place, and a new age.
    """
    row = tx.row("watermarks/age", name=name)
    return max(0.0, row[0] / 1_000) if row and row[0] is not None else 0.0
