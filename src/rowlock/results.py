"""Results: what done items left behind, on lists that keep them. Verbs are functions of a transaction."""

from datetime import datetime
from typing import Any

import msgspec

from rowlock import lists, nesting
from rowlock.db import Transaction
from rowlock.model import to_datetime


class Result(msgspec.Struct, frozen=True):
    """What a done item left behind."""

    key: str
    result: Any
    attempts: int
    """How often it had failed before."""
    settled_at: datetime


def of_item(tx: Transaction, name: str, key: str, *, limit: int = 20) -> list[Result]:
    """The results of an item, the newest first; more than one if it was added and done again."""
    row = lists.find(tx, name)
    if row is None:
        raise lists.no_such_list(tx, name)
    return [_result(key, *columns) for columns in tx.rows("results/of_item", list=row.id, key=key, limit=limit)]


def _result(key: str, data: str | None, attempts: int, settled_at: int) -> Result:
    decoded = None if data is None else nesting.decode(data, f"the result of {key!r}")
    return Result(key, decoded, attempts, to_datetime(settled_at))
