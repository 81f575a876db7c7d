"""Moments: which came first, a subscription or a record. Settled by their commits, not by when they were asked for."""

from rowlock.db import Transaction

SUBSCRIBES, PUBLISHES = 1, 2
NOW = 2**63 - 1
"""After everything that has been committed."""
KEPT = 100_000
"""So many moments are remembered, for copies in memory that follow them."""


def settled(tx: Transaction) -> int:
    """A place in the order of commits before which nobody who subscribes or takes it back can come any more."""
    return int(tx.value("commit_order/settled_upto"))


def enter(tx: Transaction, kind: int) -> int:
    """The moment of this transaction, which now also subscribes or publishes; one for all that it does."""
    moment, kinds = tx.memo.get("moment", (None, 0))
    if not kinds & kind:
        moment = tx.value("commit_order/enter", moment=moment, kinds=kind)
        tx.memo["moment"] = moment, kinds | kind
    return int(moment)
