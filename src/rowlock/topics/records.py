"""Records: what is published to a topic, and how far it has been matched. Functions that take a transaction.

Each record has a list of its own. Its first item matches the record, page by page; each subscription that is found
adds an item that notifies one subscriber.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from rowlock import gates, item_input, items, json_codec, topics
from rowlock.db import Tx
from rowlock.errors import Invalid, InvalidRecord
from rowlock.group_commit import GroupKey, groupable
from rowlock.item_input import ItemDefaults
from rowlock.json_codec import encode_json
from rowlock.model import Published, RecordInfo
from rowlock.names import check_key, check_limit, check_start
from rowlock.topics import commit_order, list_of, matching, notifications, predicates
from rowlock.topics.matching import MatchCursor

MATCH, NOTIFY = 0, 1
"""The gates of a record's list: items that match the record, and items that notify a subscriber."""
MATCH_KEY = "match"
MAX_PER_CALL = 1_000
MAX_GROUPED = 100
"""Records of one call up to which other calls can wait for it in a group commit."""
PAGE = 2_000
"""Subscriptions that are matched in one transaction."""

KeyedRecord = tuple[Mapping[str, Any], str | None]
"""A record and its key; records with one key notify a subscriber once."""


def of_list(name: str) -> int:
    """Return the number of the record that a list belongs to."""
    return int(name.rpartition("/")[2])


def _group_key(topic: str, given: Sequence[KeyedRecord], **_: Any) -> GroupKey:
    return GroupKey(topic, isolated=len(given) > MAX_GROUPED, cost=len(given))


@groupable(_group_key)
def publish(tx: Tx, topic: str, given: Sequence[KeyedRecord], *, partial: bool = False) -> list[Published]:
    """Publish records, each with its list, and return the result of each, in order.

    If one is invalid nothing is published and the error names it; with `partial` the others are published.
    """
    if len(given) > MAX_PER_CALL:
        raise Invalid(f"records must be at most {MAX_PER_CALL}, got {len(given)}", "publish in several calls")
    row = topics.find(tx, topic)
    read = [_checked(row.fields, number, *each, partial=partial) for number, each in enumerate(given, 1)]
    good = [each for each in read if not isinstance(each, Published)]
    numbers = _store(tx, row, good) if good else []
    for number in numbers:
        items.add(tx, list_of(topic, number), item_input.batches(MATCH_KEY, ItemDefaults(gate=MATCH)))
    stored = iter(numbers)
    return [each if isinstance(each, Published) else Published(next(stored)) for each in read]


def _checked(
    fields: predicates.Fields, number: int, record: Mapping[str, Any], key: str | None, *, partial: bool
) -> dict[str, Any] | Published:
    try:
        if key is not None:
            check_key(key)
        data = msgspec.json.encode(predicates.checked(fields, record)).decode()
    except Invalid as error:
        if partial:
            return Published(None, str(error))
        raise InvalidRecord(
            f"record {number}: {error.what}", error.hint, **{**error.fields, "record": number}
        ) from None
    return {"key": key, "data": data, "subject": None}


def _store(tx: Tx, row: topics.TopicRow, rows: Sequence[dict[str, Any]]) -> list[int]:
    at = commit_order.enter(tx, commit_order.PUBLISHES)
    numbers: dict[int, int] = {}
    # A loop, because records may share a key: the first of them is the subject of the others.
    while missing := [position for position in range(len(rows)) if position not in numbers]:
        subjects: dict[str | None, int] = {}
        if keys := [key for position in missing if (key := rows[position]["key"]) is not None]:
            subjects = dict(tx.rows("records/subjects_by_key", topic=row.id, keys=encode_json(keys)))
        batch: dict[int, dict[str, Any]] = {}
        first_keys = set()
        for position in missing:
            key = rows[position]["key"]
            if key is None or key in subjects or key not in first_keys:
                first_keys.add(key)
                batch[position] = rows[position] | {"subject": subjects.get(key)}
        encoded = encode_json(list(batch.values()))
        numbers |= _numbered(batch, tx.rows("records/add", topic=row.id, rows=encoded, moment=at))
    return [numbers[position] for position in range(len(rows))]


def _numbered(batch: Mapping[int, dict[str, Any]], inserted: Sequence[Any]) -> dict[int, int]:
    # Numbers are given in the order of the rows. The first record of a key has none if another transaction was faster.
    new_keys = {key for _, key, subject in inserted if key is not None and subject is None}
    positions = [
        position
        for position, row in batch.items()
        if row["key"] is None or row["subject"] is not None or row["key"] in new_keys
    ]
    return dict(zip(positions, sorted(number for number, _, _ in inserted), strict=True))


class LockedRecord(msgspec.Struct, frozen=True):
    """A record that is being matched, locked against other workers."""

    topic_name: str
    topic: int
    subject: int
    data: str
    seq: int
    cursor: MatchCursor | None
    matched: bool


def match_page(tx: Tx, record: int, *, limit: int = PAGE, found: Sequence[int] | None = None) -> bool:
    """Match the next page of a record's subscriptions and add their notifications; return whether all are matched.

    Does nothing if the record is matched already. `found` are all subscriptions that it fulfils, where they are known.
    """
    held = tx.struct(LockedRecord, "records/lock", record=record)
    if held is None or held.matched:
        return True
    name = list_of(held.topic_name, record)
    numbers, cursor = _next_page(tx, held, limit, found)
    if numbers:
        new = notifications.note(tx, numbers, topic=held.topic, record=record, subject=held.subject)
        rows = [{"key": subscriber, "data": {"predicates": asked}} for subscriber, asked in new]
        items.add(tx, name, item_input.batches(rows, ItemDefaults(gate=NOTIFY)))
    text = None if cursor is None else encode_json(cursor)
    tx.run("records/set_match_cursor", record=record, cursor=text, found=len(numbers))
    if cursor is None:
        gates.seal(tx, name)
    return cursor is None


def _next_page(
    tx: Tx, held: LockedRecord, limit: int, found: Sequence[int] | None
) -> tuple[Sequence[int], MatchCursor | None]:
    if found is not None and held.cursor is None and len(found) <= limit:
        return found, None
    row = topics.find(tx, held.topic_name)
    value = json_codec.decode(held.data, f"a record of {held.topic_name!r}")
    return matching.page(tx, row, value, at=held.seq, cursor=held.cursor, limit=limit)


class FailedDelivery(msgspec.Struct, frozen=True):
    """A delivery that failed, as the item that it is: its list, and its key, which is the subscriber."""

    list: str
    key: str


def failed(tx: Tx, topic: str, *, after_list: str = "", after_key: str = "", limit: int = PAGE) -> list[FailedDelivery]:
    """Return failed deliveries of a topic in the order of lists and keys, strictly after one."""
    check_limit(limit, "deliveries")
    check_start(after_list)
    check_start(after_key)
    return failed_of(tx, topics.find(tx, topic), after_list=after_list, after_key=after_key, limit=limit)


def failed_of(
    tx: Tx, row: topics.TopicRow, *, after_list: str = "", after_key: str = "", limit: int
) -> list[FailedDelivery]:
    """Return failed deliveries of a topic that was found before; see `failed`."""
    prefix = list_of(row.name, "")
    # The last character of Unicode: no name contains it, so all names with the prefix sort before it.
    span = {"prefix": prefix, "beyond": f"{prefix}\U0010ffff", "after_list": after_list, "after_key": after_key}
    return tx.structs(FailedDelivery, "records/failed_deliveries", **span, limit=limit)


def retry(tx: Tx, deliveries: Sequence[FailedDelivery]) -> int:
    """Make failed deliveries ready again and return how many were failed."""
    by_list = groupby(deliveries, key=lambda each: each.list)
    return sum(items.retry(tx, name, [each.key for each in group]) for name, group in by_list)


def show(tx: Tx, record: int) -> RecordInfo | None:
    """Return a record by its number, or None if it is not kept."""
    return tx.struct(RecordInfo, "records/show", record=record)


def page(tx: Tx, topic: str, *, before: int | None = None, limit: int = 50) -> list[RecordInfo]:
    """Return records of a topic, the newest first, strictly before one."""
    check_limit(limit, "records")
    row = topics.find(tx, topic)
    return tx.structs(RecordInfo, "records/page", topic=row.id, before=before or commit_order.NOW, limit=limit)
