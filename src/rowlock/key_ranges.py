"""Verbs of key ranges: a list cut into parts of equal size, and a snapshot of its keys in memory."""

from typing import TYPE_CHECKING

import msgspec

from rowlock import lists
from rowlock.db import Tx
from rowlock.errors import Invalid
from rowlock.json_codec import encode_json

if TYPE_CHECKING:
    from rowlock.trees import RankedSet

MAX_PARTS = 10_000


class Range(msgspec.Struct, frozen=True):
    """Keys strictly after one, up to and including another, in byte order."""

    after: str
    upto: str
    count: int


class _RangeEnd(msgspec.Struct, frozen=True):
    key: str
    place: int


def split(tx: Tx, name: str, parts: int) -> list[Range]:
    """Cut the list's keys into up to `parts` adjacent ranges whose sizes differ by at most one.

    One walk over the index, in the database, however long the list is. Fewer ranges if there are fewer keys.
    """
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MAX_PARTS:
        raise Invalid(f"parts must be 1 to {MAX_PARTS}, got {parts!r}")
    numbers = encode_json(list(range(1, parts + 1)))
    ends = tx.structs(_RangeEnd, "items/split_points", list=lists.get(tx, name).id, parts=parts, ids=numbers)
    starts = [_RangeEnd("", 0), *ends]
    return [Range(start.key, end.key, end.place - start.place) for start, end in zip(starts, ends, strict=False)]


def snapshot(tx: Tx, name: str) -> "RankedSet[str]":
    """Read all keys into memory: rank, nth and ranges as of now, while the list goes on changing."""
    from rowlock.trees import RankedSet  # only a snapshot needs trees

    return RankedSet(key for (key,) in tx.rows("items/keys", list=lists.get(tx, name).id))
