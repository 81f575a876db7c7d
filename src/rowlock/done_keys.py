"""Keys that were done: lists with the setting `once` remember them, and do not add them again."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rowlock import lists
from rowlock.db import Tx
from rowlock.durations import Duration, milliseconds
from rowlock.errors import AlreadyThere, Invalid
from rowlock.json_codec import encode_json
from rowlock.names import check_keys, check_limit, check_start
from rowlock.settings import Settings

MAX_FORGOTTEN_PER_STEP = 10_000
"""Keys that are forgotten in one transaction."""


class DoneKey(msgspec.Struct, frozen=True):
    """A key that a list remembers as done."""

    key: str
    at: datetime


class RememberingList(msgspec.Struct, frozen=True):
    """A list with the setting `once`."""

    id: int
    settings: Settings


def remember(tx: Tx, list_id: int, keys: Sequence[str]) -> None:
    """Remember keys that are done, in the transaction that takes them off their list."""
    tx.run("done_keys/record", list=list_id, keys=encode_json(keys))


def among(tx: Tx, list_id: int, keys: Sequence[str]) -> set[str]:
    """Return those of the keys that were done."""
    return {key for (key,) in tx.rows("done_keys/among", list=list_id, keys=encode_json(keys))}


def among_added(tx: Tx, list_id: int, keys: Sequence[str]) -> set[str]:
    """Return those of the keys that this transaction has added although another one has just settled them as done."""
    return {key for (key,) in tx.rows("done_keys/among_added", list=list_id, keys=encode_json(keys))}


def refusal(name: str, key: str) -> AlreadyThere:
    """Make the error for a key that a list remembers as done."""
    what, hint = f"{key!r} was done already on the list {name!r}", "nothing was added; forget the key to add it again"
    return AlreadyThere(what, hint, key=key)


def count(tx: Tx, name: str) -> int:
    """Return how many keys the list remembers as done."""
    number: int = tx.value("done_keys/count", list=lists.get(tx, name).id)
    return number


def page(tx: Tx, name: str, *, after: str = "", limit: int = 1000) -> list[DoneKey]:
    """Return the keys that the list remembers as done, in their byte order, strictly after one."""
    check_limit(limit, "keys")
    check_start(after)
    return tx.structs(DoneKey, "done_keys/page", list=lists.get(tx, name).id, after=after, limit=limit)


def forget(
    tx: Tx,
    name: str,
    *,
    keys: Sequence[str] | None = None,
    older: Duration | None = None,
    limit: int = MAX_FORGOTTEN_PER_STEP,
) -> int:
    """Forget that keys were done, so that they can be added again; return how many.

    Either some keys, or the oldest ones up to `limit` that were done at least `older` ago.
    """
    if (keys is None) == (older is None):
        raise Invalid("either keys or older must be given to forget", "older of 0s forgets all")
    row = lists.get(tx, name)
    if keys is not None:
        check_keys(keys)
        return tx.run("done_keys/delete", list=row.id, keys=encode_json(keys))
    check_limit(limit, "keys")
    return tx.run("done_keys/delete_older", list=row.id, age=milliseconds(older or 0), limit=limit)


def prune(tx: Tx, *, limit: int) -> int:
    """Forget keys that were done longer ago than their list's setting `once_for`, and return how many."""
    found = tx.structs(RememberingList, "done_keys/lists")
    ages = [(each.id, milliseconds(each.settings.once_for)) for each in found if each.settings.once_for is not None]
    return sum(tx.run("done_keys/delete_older", list=number, age=age, limit=limit) for number, age in ages)
