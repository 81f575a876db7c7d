"""Verbs of results: what done items left behind, on lists that keep results."""

from datetime import datetime
from typing import Any

import msgspec

from rowlock import lists
from rowlock.db import Transaction


class Result(msgspec.Struct, frozen=True):
    """What a done item left behind."""

    key: str
    result: Any
    attempts: int
    """How often the item had failed before."""
    settled_at: datetime


def of_item(tx: Transaction, name: str, key: str, *, limit: int = 20) -> list[Result]:
    """Return the results of an item, the newest first; several if it was added and done again."""
    return tx.structs(Result, "results/of_item", list=lists.get(tx, name).id, key=key, limit=limit)
