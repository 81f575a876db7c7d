"""Commit order: which came first, a subscription or a record. Decided by their commits, not by when they were sent.

A transaction that subscribes or publishes has a *moment*, a row whose place in the order is set when it commits.
"""

from rowlock.db import Tx

SUBSCRIBES, PUBLISHES = 1, 2
NOW = 2**63 - 1
"""A place after everything that has been committed."""
MOMENTS_KEPT = 100_000
"""Moments that are kept for the copies in memory that follow them."""


def settled(tx: Tx) -> int:
    """Return a place in the commit order before which no subscription can be added or removed any more."""
    return int(tx.value("commit_order/visible_upto"))


def enter(tx: Tx, kind: int) -> int:
    """Return the moment of this transaction, which subscribes or publishes; it has one moment for all it does."""
    moment, kinds = tx.memo.get("moment", (None, 0))
    if not kinds & kind:
        moment = tx.value("commit_order/add", moment=moment, kinds=kind)
        tx.memo["moment"] = moment, kinds | kind
    return int(moment)
