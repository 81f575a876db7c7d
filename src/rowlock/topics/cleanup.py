"""Tidying: what is over of topics leaves the database. Part of upkeep, a bounded amount at a time."""

from contextlib import suppress

from rowlock import lists, topics
from rowlock.db import Transaction
from rowlock.durations import milliseconds
from rowlock.errors import NoSuchList
from rowlock.item_input import encode_json
from rowlock.topics import commit_order

LATER = 60_000
"""How long a complete list stays, so that a settlement can be asked for again."""


def finish_records(tx: Transaction, *, limit: int = 100, age: int = LATER) -> int:
    """Forget the lists of records of which everybody has been told; how many."""
    over = tx.rows("records/to_finish", limit=limit, age=age)
    for _, _, name in over:
        if name is not None:
            with suppress(NoSuchList):  # somebody else's upkeep was faster
                lists.drop(tx, name)
    if over:
        tx.run("records/finish", ids=encode_json([number for number, _, _ in over]))
    return len(over)


def sweep_gone(tx: Transaction, *, limit: int = 1000, keep: int = commit_order.KEPT) -> int:
    """Remove subscriptions that were taken back and that no record or copy can need any more; how many rows."""
    swept = tx.run("subscription_index/delete_ended", limit=limit) + tx.run(
        "subscriptions/delete_ended", limit=limit, keep=keep
    )
    return swept + tx.run("commit_order/delete_old", limit=limit, keep=keep)


def prune(tx: Transaction, *, limit: int = 1000) -> int:
    """Forget records that are past their time, and who was told of them; how many rows."""
    pruned = 0
    for info in topics.page(tx):
        row = topics.find(tx, info.name)
        old = [
            number for (number,) in tx.rows("records/expired", topic=row.id, keep=milliseconds(info.keep_for), limit=10)
        ]
        if old:
            gone = tx.run("notifications/delete_by_records", topic=row.id, ids=encode_json(old), limit=limit)
            if gone < limit:
                gone += tx.run("records/delete", ids=encode_json(old))
            pruned += gone
    return pruned
