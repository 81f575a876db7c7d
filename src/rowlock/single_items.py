"""One item added, counted as failed or removed by one statement, which is a transaction of its own.

Round trips are most of what a small write costs on a server: this is one, in place of begin, lock, insert, tally and
commit. `items` has the verbs. A function here returns None where one statement is not enough.
Then it has changed nothing, and the verb itself runs:

- The list does not exist, is sealed, remembers done keys, or has passed the gate; or the priority is new to it.
- Something waits for the end of an item: a later gate, the completion of the list, or its results.
"""

from collections.abc import Iterable, Sequence

import msgspec

from rowlock.db import Tx
from rowlock.item_input import Batch
from rowlock.model import Added
from rowlock.names import check_keys


class SingleChange(msgspec.Struct, frozen=True):
    """What one statement has changed."""

    fits: bool
    """Whether one statement was enough; otherwise nothing was changed."""
    changed: int


def add(tx: Tx, name: str, batches: Iterable[Batch], *, strict: bool = False) -> Added | None:
    """Add one key; None if there are more.

    An item that is on the list already stays as it is. A list that sleeps is woken, unless a wake was requested before.
    """
    batch = batches[0] if isinstance(batches, list) and len(batches) == 1 else None
    if strict or batch is None or len(batch.entries) != 1 or batch.same is None:
        return None
    answer = tx.struct(SingleChange, "items/add_single", name=name, key=batch.entries[0], **batch.same)
    return Added(answer.changed, 1 - answer.changed) if answer and answer.fits else None


def done(tx: Tx, name: str, keys: Sequence[str]) -> int | None:
    """Remove an item that is done; None if something waits for its end, or results are kept."""
    if not _is_single(tx, keys):
        return None
    answer = tx.struct(SingleChange, "items/done_single", name=name, key=keys[0])
    return answer.changed if answer and answer.fits else None


def increment(tx: Tx, name: str, keys: Sequence[str], *, error: str | None = None) -> int | None:
    """Record a failed attempt of an item; None if an error is to be recorded with it."""
    if error or not _is_single(tx, keys):
        return None
    answer = tx.struct(SingleChange, "items/increment_single", name=name, key=keys[0])
    return answer.changed if answer else None


def _is_single(tx: Tx, keys: Sequence[str]) -> bool:
    """Return whether one statement saves anything: a file has no round trips."""
    check_keys(keys)
    return len(keys) == 1 and tx.statements.for_server
