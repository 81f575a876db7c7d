"""Cleanup of topics: delete what nothing needs any more. Part of upkeep, a bounded amount at a time."""

from contextlib import suppress

from rowlock import lists, topics
from rowlock.db import Transaction
from rowlock.durations import milliseconds
from rowlock.errors import NoSuchList
from rowlock.json_codec import encode_json
from rowlock.topics import commit_order

COMPLETE_LIST_KEPT_MS = 60_000
"""How long the list of a record is kept when it is complete, so that a settlement can be sent again."""


def finish_records(tx: Transaction, *, limit: int = 100, age: int = COMPLETE_LIST_KEPT_MS) -> int:
    """Drop the lists of records whose notifications are all settled, and return how many records were finished."""
    finished = tx.rows("records/to_finish", limit=limit, age=age)
    for _, _, name in finished:
        if name is not None:
            with suppress(NoSuchList):  # upkeep of another process was faster
                lists.drop(tx, name)
    if finished:
        tx.run("records/finish", ids=encode_json([number for number, _, _ in finished]))
    return len(finished)


def delete_ended(tx: Transaction, *, limit: int = 1000, keep: int = commit_order.MOMENTS_KEPT) -> int:
    """Delete removed subscriptions that no record and no copy in memory needs any more; return how many rows."""
    deleted = tx.run("subscription_index/delete_ended", limit=limit)
    deleted += tx.run("subscriptions/delete_ended", limit=limit, keep=keep)
    return deleted + tx.run("commit_order/delete_old", limit=limit, keep=keep)


def prune(tx: Transaction, *, limit: int = 1000) -> int:
    """Delete records that are older than their topic keeps them, with their notifications; return how many rows."""
    pruned = 0
    for info in topics.page(tx):
        row = topics.find(tx, info.name)
        which = {"topic": row.id, "keep": milliseconds(info.keep_for), "limit": 10}
        expired = [number for (number,) in tx.rows("records/expired", **which)]
        if expired:
            deleted = tx.run("notifications/delete_by_records", topic=row.id, ids=encode_json(expired), limit=limit)
            if deleted < limit:
                deleted += tx.run("records/delete", ids=encode_json(expired))
            pruned += deleted
    return pruned
