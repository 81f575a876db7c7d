"""Ranges: a list cut into parts of equal size, for whoever hands out its keys by hand. Verbs of a transaction."""

from typing import TYPE_CHECKING

import msgspec

from rowlock import lists
from rowlock.db import Transaction
from rowlock.errors import Invalid
from rowlock.item_input import encode_json

if TYPE_CHECKING:
    from rowlock.trees import RankedSet

MAX_PARTS = 10_000


class Range(msgspec.Struct, frozen=True):
    """Keys strictly after one, up to and with another, in byte order."""

    after: str
    upto: str
    count: int


def split(tx: Transaction, name: str, parts: int) -> list[Range]:
    """The list's keys in up to `parts` ranges whose sizes differ by one at the most; they touch and cover all.

    One walk over the index, in the database: no matter how long the list is. Fewer parts if there are fewer keys.
    """
    check_parts(parts)
    row = _find(tx, name)
    ends = tx.rows("items/range_ends", list=row.id, parts=parts, ids=encode_json(list(range(1, parts + 1))))
    cut, after, place = [], "", 0
    for key, until in ends:
        cut.append(Range(after, key, until - place))
        after, place = key, until
    return cut


def check_parts(parts: int) -> None:
    """Refuse a number of parts that cannot be had."""
    if isinstance(parts, bool) or not isinstance(parts, int) or not 1 <= parts <= MAX_PARTS:
        raise Invalid(f"a list cannot be cut into {parts!r} parts", f"ask for 1 to {MAX_PARTS}")


def snapshot(tx: Transaction, name: str) -> "RankedSet[str]":
    """All keys as they stand now, in memory: rank, nth and ranges of a list that fits, while it goes on changing."""
    from rowlock.trees import RankedSet  # only who asks for a snapshot needs trees

    row = _find(tx, name)
    return RankedSet(key for (key,) in tx.rows("items/keys", list=row.id))


def _find(tx: Transaction, name: str) -> lists.ListRow:
    row = lists.find(tx, name)
    if row is None:
        raise lists.no_such_list(tx, name)
    return row
