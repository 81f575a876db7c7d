"""Verbs of failures: the errors of failed attempts, by item and by the shape of their messages."""

import re
from collections.abc import Sequence
from datetime import datetime

import msgspec

from rowlock import lists
from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.model import Failure, ItemStatus
from rowlock.names import check_key, check_limit
from rowlock.outcomes import Fail, Retry

MAX_MESSAGE_CHARACTERS = 4_000
MAX_SHAPE_CHARACTERS = 200
MAX_TRACEBACK_CHARACTERS_PER_SETTLEMENT = 1_000_000
"""A batch of thousands that fails together has one traceback, which need not be stored thousands of times."""

_PARTICULARS = re.compile(
    r"0x[0-9a-f]+|[0-9a-f]{8}-[0-9a-f-]{27}|https?://\S+|'[^']*'|\"[^\"]*\"|"
    # A status, an exit code or an error number is a cause, and not the number of one item.
    r"(?P<cause>(?:\b(?:code|errno|error|exit|http(?:/[\d.]+)?|signal|status)\b[ :=#]{0,3}|[(\[])\d{1,3}(?![\w.]*\d))|"
    r"\d+",
    re.IGNORECASE,
)


class FailureGroup(msgspec.Struct, frozen=True):
    """Failed items whose last error has the same shape."""

    kind: str
    shape: str
    count: int
    example: str
    """The key of one of the items."""
    last: datetime


class FailedAttempt(msgspec.Struct):
    """A failed attempt at an item, as it is stored."""

    key: str
    attempt: int
    kind: str
    message: str
    shape: str
    traceback: str | None

    @classmethod
    def of(cls, key: str, outcome: Retry | Fail, *, attempt: int) -> "FailedAttempt":
        """Make it of an outcome that has an error."""
        message = truncate_message(outcome.error or outcome.kind)
        traceback = None if outcome.traceback is None else truncate_message(outcome.traceback)
        return cls(key, attempt, truncate_message(outcome.kind), message, shape(message), traceback)


def truncate_message(message: str) -> str:
    """Make a message storable on every database: no NUL or lone surrogate, and only its end if it is long."""
    text = message.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else f"…{text[1 - MAX_MESSAGE_CHARACTERS :]}"


def shape(message: str) -> str:
    """Return the last line of a message with `#` in place of numbers, quoted words and addresses.

    Numbers of one to three digits that stand alone stay: a 404 and a 503 have different causes.
    """
    lines = message.strip().splitlines()
    return _PARTICULARS.sub(_masked, lines[-1].strip())[:MAX_SHAPE_CHARACTERS] if lines else ""


def _masked(found: re.Match[str]) -> str:
    return found["cause"] or "#"


def record(tx: Tx, row_id: int, failed: Sequence[FailedAttempt], *, holder: str, keep: int) -> None:
    """Record failed attempts; a traceback replaces that of the item's last failure."""
    raised = [attempt.key for attempt in failed if attempt.traceback is not None]
    if raised:
        tx.run("errors/clear_tracebacks", list=row_id, keys=encode_json(raised))
    stored = 0
    for attempt in failed:
        stored += len(attempt.traceback or "")
        if stored > MAX_TRACEBACK_CHARACTERS_PER_SETTLEMENT:
            attempt.traceback = None
    tx.run("errors/record_many", list=row_id, holder=holder, keep=keep, rows=encode_json(failed))


def of_item(tx: Tx, name: str, key: str, *, limit: int = 20) -> list[Failure]:
    """Return how an item has failed, the newest first; also of an item that is gone, while its errors are kept."""
    check_key(key)
    check_limit(limit, "failures")
    found = recent(tx, name, key, limit=limit)
    if not found:
        lists.get(tx, name)
    return found


def recent(tx: Tx, name: str, key: str, *, limit: int = 20) -> list[Failure]:
    """Return how an item of a list that exists has failed, the newest first."""
    return tx.structs(Failure, "errors/of_item", list=name, key=key, limit=limit)


def groups(tx: Tx, name: str, *, limit: int = 50) -> list[FailureGroup]:
    """Return the list's failed items by the shape of their last error, the most frequent first."""
    check_limit(limit, "groups")
    return tx.structs(FailureGroup, "errors/groups", list=lists.get(tx, name).id, limit=limit)


def lock_existing(tx: Tx, name: str, keys: Sequence[str]) -> list[ItemStatus]:
    """Lock those of the items that are on the list, and return them."""
    row = lists.find(tx, name)
    return tx.structs(ItemStatus, "items/lock_existing", list=row.id, keys=encode_json(keys)) if row else []


def count_existing(tx: Tx, name: str, keys: Sequence[str]) -> int:
    """Count those of the keys that are on the list: the dry run of `done` and `abandon`."""
    return len(lock_existing(tx, name, keys))


def count_retryable(tx: Tx, name: str, keys: Sequence[str]) -> int:
    """Count those of the keys that are delayed or failed: the dry run of `retry`."""
    return sum(item.delayed or item.failed for item in lock_existing(tx, name, keys))
