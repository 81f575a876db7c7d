"""Watermarks: samples of position and time, from which the age of waiting items is estimated."""

from rowlock.db import Tx

KEPT_MILLISECONDS = 30 * 24 * 3_600_000


def record(tx: Tx) -> None:
    """Record how far positions have got; every pass of upkeep does."""
    tx.run("watermarks/add")
    tx.run("watermarks/prune", keep=KEPT_MILLISECONDS)


def longest_wait_seconds(tx: Tx, name: str) -> float:
    """Return for how long, at least, the list's first free item has waited; 0 if no item is free.

    Exact to within the time between two passes of upkeep. A retried item has a new position, and its age begins anew.
    """
    age = tx.value("watermarks/oldest_item_age", name=name)
    return 0.0 if age is None else max(0.0, age / 1_000)
