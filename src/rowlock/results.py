"""Results: what done items left behind, on lists that keep results. Functions that take a transaction."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from rowlock import lists
from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.names import check_key, check_limit, check_start


class Result(msgspec.Struct, frozen=True):
    """What a done item left behind."""

    key: str
    result: Any
    attempts: int
    """How often the item had failed before."""
    settled_at: datetime


def add(tx: Tx, list_id: int, rows: Sequence[dict[str, Any]], *, keep: int) -> None:
    """Store the results of done items: each row has a key, attempts and data as JSON text."""
    tx.run("results/add_many", list=list_id, keep=keep, rows=encode_json(rows))


def of_item(tx: Tx, name: str, key: str, *, limit: int = 20) -> list[Result]:
    """Return the results of an item, the newest first; several if it was added and done again."""
    check_key(key)
    check_limit(limit, "results")
    return of_row(tx, lists.get(tx, name).id, key, limit=limit)


def of_row(tx: Tx, list_id: int, key: str, *, limit: int = 20) -> list[Result]:
    """Return the results of an item of a list that was found before."""
    return tx.structs(Result, "results/of_item", list=list_id, key=key, limit=limit)


def page(tx: Tx, name: str, *, after: str = "", limit: int = 1000) -> list[Result]:
    """Return the newest result of each key, in the byte order of the keys, strictly after one."""
    check_limit(limit, "results")
    check_start(after)
    return tx.structs(Result, "results/page", list=lists.get(tx, name).id, after=after, limit=limit)
