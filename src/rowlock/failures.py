"""Failures: what was said of failed attempts, by item and by shape. Verbs are functions of a transaction."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from rowlock import lists
from rowlock.db import Transaction
from rowlock.item_input import encode_json
from rowlock.model import Failure, ItemStatus, to_datetime
from rowlock.names import check_key, check_limit, check_start

MAX_MESSAGE_CHARACTERS = 4_000
MAX_SHAPE_CHARACTERS = 200

Change = Callable[[Transaction, str, Sequence[str]], int]

_PARTICULARS = re.compile(
    r"0x[0-9a-fA-F]+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|https?://\S+|'[^']*'|\"[^\"]*\"|"
    r"(?<!exit status )(?<!signal )(?<!Status )(?<!Status: )(?<!\d)\d+"
)


class FailureGroup(msgspec.Struct, frozen=True):
    """Failed items whose last error has one shape."""

    kind: str
    shape: str
    count: int
    example: str
    """The key of one of them."""
    last: datetime


def truncate_message(message: str) -> str:
    """What was said, as it can be stored everywhere: without NUL and lone surrogates, its end kept if it is long."""
    text = message.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else f"…{text[1 - MAX_MESSAGE_CHARACTERS :]}"


def shape(message: str) -> str:
    """The last line of a message with its particulars masked: numbers, quoted words and addresses become #."""
    lines = message.strip().splitlines()
    return _PARTICULARS.sub("#", lines[-1].strip())[:MAX_SHAPE_CHARACTERS] if lines else ""


def of_item(tx: Transaction, name: str, key: str, *, limit: int = 20) -> list[Failure]:
    """How an item has failed, the newest first; also after it is gone, while errors are kept."""
    check_key(key)
    check_limit(limit, "failures")
    return [
        Failure(attempt, to_datetime(at), holder, kind, message)
        for attempt, at, holder, kind, message in tx.rows("errors/of_item", list=name, key=key, limit=limit)
    ]


def groups(tx: Transaction, name: str, *, limit: int = 50) -> list[FailureGroup]:
    """The list's failed items by the shape of their last error, the most frequent first."""
    check_limit(limit, "groups")
    row = lists.find(tx, name)
    if row is None:
        raise lists.no_such_list(tx, name)
    return [
        FailureGroup(kind, said, count, example, to_datetime(last))
        for kind, said, count, example, last in tx.rows("errors/groups", list=row.id, limit=limit)
    ]


def keys_matching_error(tx: Transaction, name: str, text: str, *, after: str = "", limit: int = 1000) -> list[str]:
    """The keys of failed items whose last error contains the text, in byte order, strictly after one."""
    row = lists.find(tx, name)
    if row is None:
        raise lists.no_such_list(tx, name)
    check_start(after)
    check_limit(limit, "keys")
    text = truncate_message(text)
    escaped = re.sub(r"([!%_])", r"!\1", text)
    rows = tx.rows("errors/keys_matching_error", list=row.id, said=f"%{escaped}%", kind=text, after=after, limit=limit)
    return [key for (key,) in rows]


def lock_existing(tx: Transaction, name: str, keys: Sequence[str]) -> list[ItemStatus]:
    """Lock those of the items that are on the list, and return them."""
    row = lists.find(tx, name)
    return tx.structs(ItemStatus, "items/lock_existing", list=row.id, keys=encode_json(keys)) if row else []


def count_existing(tx: Transaction, name: str, keys: Sequence[str]) -> int:
    """Of these keys how many are there."""
    return len(lock_existing(tx, name, keys))


def count_retryable(tx: Transaction, name: str, keys: Sequence[str]) -> int:
    """Of these keys how many are delayed or failed: what a retry would change."""
    return sum(item.delayed or item.failed for item in lock_existing(tx, name, keys))


def count_given(tx: Transaction, name: str, keys: Sequence[str]) -> int:  # noqa: ARG001
    """How many keys these are: what is done to them by who only wants to know."""
    return len(keys)


def change_failed(
    tx: Transaction, name: str, *, change: Change, after: str = "", error: str | None = None, limit: int = 1000
) -> tuple[int, str | None]:
    """Do something to the next failed items, all or those that say something; how many, and after which to go on.

    They are found and changed under one lock: an item that somebody retries meanwhile is not given up.
    """
    row = lists.find(tx, name)
    if row is None:
        raise lists.no_such_list(tx, name)
    if error is None:
        keys = [item.key for item in tx.structs(ItemStatus, "items/lock_failed", list=row.id, after=after, limit=limit)]
        return (change(tx, name, keys), keys[-1]) if keys else (0, None)
    saying = keys_matching_error(tx, name, error, after=after, limit=limit)
    still = [item.key for item in lock_existing(tx, name, saying) if item.failed]
    return (change(tx, name, still), saying[-1]) if saying else (0, None)
