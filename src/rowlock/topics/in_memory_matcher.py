"""In-memory matcher: a copy of a topic's subscription index that follows changes.

Optional, and only a copy: about a record from before it was read, the database is asked. Needs numpy.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rowlock import topics
from rowlock.db import Transaction
from rowlock.item_input import encode_json
from rowlock.topics import commit_order, predicates, subscriptions
from rowlock.topics.in_memory_index import ColumnCounts, ProbeArrays, Segment, Tombstones, merged
from rowlock.topics.subscription_index import ProbePlan

PAGE = 5_000
MOST_SEGMENTS = 6
MOST_ENDED = 20_000
MOST_BY_HAND = 20_000
"""Predicates that are remembered because nothing else can tell who asked for what."""
MOST_BEHIND = commit_order.KEPT // 2
"""Moments after which it is read anew instead of catching up: what has gone may have been forgotten meanwhile."""


class Snapshot(msgspec.Struct, frozen=True):
    """What is in memory, and of which moments it is true."""

    shape: ColumnCounts
    plan: ProbePlan
    segments: tuple[Segment, ...]
    ended: Tombstones
    since: int
    upto: int


class InMemoryMatcher:
    """The subscriptions of one topic, found in memory. From any thread."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._copy: Snapshot | None = None
        self._by_hand: dict[int, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def find(self, tx: Transaction, record: int) -> list[int] | None:
        """The subscriptions that a record fulfils; None if it has been matched, or the database must be asked."""
        row = tx.row("records/unmatched", record=record)
        return None if row is None else self.match(tx, msgspec.json.decode(row[0]), seq=row[1])

    def matches(self, tx: Transaction, record: Mapping[str, Any]) -> list[int]:
        """The subscriptions that a record would fulfil now."""
        value = predicates.checked(topics.find(tx, self._topic).fields, record)
        return self.match(tx, value, seq=commit_order.settled(tx)) or []

    def match(self, tx: Transaction, record: Mapping[str, Any], *, seq: int) -> list[int] | None:
        """The subscriptions that a checked record fulfils, as they stood at a place in the order of commits."""
        copy = self._current(tx, seq)
        if seq < copy.since:
            return None
        question = ProbeArrays(copy.shape, copy.plan.probes(record))
        found: list[int] = []
        for segment in copy.segments:
            numbers, doubtful = segment.find(question, seq=seq, ended=copy.ended)
            found += numbers.tolist()
            if len(doubtful):
                found += self._fitting(tx, record, doubtful.tolist())
        return found

    def _fitting(self, tx: Transaction, record: Mapping[str, Any], numbers: Sequence[int]) -> list[int]:
        asked = self._asked(tx, numbers)
        return [number for number in numbers if number in asked and predicates.fits(asked[number], record)]

    def _asked(self, tx: Transaction, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
        # A number is never given to anybody else, and what was asked for under it never changes.
        if len(self._by_hand) > MOST_BY_HAND:
            self._by_hand = {}
        known = self._by_hand
        if missing := [number for number in numbers if number not in known]:
            known.update(subscriptions.asked(tx, missing))
        return known

    def _current(self, tx: Transaction, seq: int) -> Snapshot:
        copy = self._copy
        if copy is not None and copy.upto >= seq:
            return copy
        with self._lock:
            copy = self._copy
            if copy is None or seq - copy.upto > MOST_BEHIND:
                copy = _read(tx, self._topic, seq)
            elif copy.upto < seq:
                copy = _followed(tx, self._topic, copy, seq)
            self._copy = copy
            return copy


def _shape(row: topics.TopicRow) -> ColumnCounts:
    return ColumnCounts(len(row.layout.codes), len(row.layout.ranges))


def _plan(tx: Transaction, row: topics.TopicRow) -> ProbePlan:
    return ProbePlan(
        row.layout, [shape for (shape,) in tx.rows("subscription_index/signatures_of_topic", topic=row.id)]
    )


def _read(tx: Transaction, topic: str, seq: int) -> Snapshot:
    row = topics.find(tx, topic)
    shape, parts, after = _shape(row), [], 0
    while rows := tx.rows("subscriptions/index_rows", topic=row.id, after=after, limit=PAGE):
        parts.append(shape.array(rows))
        after = max(each[0] for each in rows)
    segments = (Segment(shape, parts),) if parts else ()
    return _changed(tx, row, Snapshot(shape, _plan(tx, row), segments, Tombstones({}), seq, seq))


def _followed(tx: Transaction, topic: str, copy: Snapshot, seq: int) -> Snapshot:
    row = topics.find(tx, topic)
    if _shape(row) != copy.shape:
        return _read(tx, topic, seq)
    return msgspec.structs.replace(_changed(tx, row, copy), upto=seq)


def _changed(tx: Transaction, row: topics.TopicRow, copy: Snapshot) -> Snapshot:
    changes = tx.rows("subscriptions/changes", topic=row.id, after=copy.upto)
    if not changes:
        return copy
    known = _known(copy, [number for number, _ in changes])
    ended = {number: gone for number, gone in changes if number in known and gone != commit_order.NOW}
    new = [number for number, _ in changes if number not in known]
    rows = tx.rows("subscriptions/index_rows_by_ids", ids=encode_json(new)) if new else []
    more = (Segment(copy.shape, [copy.shape.array(rows)]),) if rows else ()
    plan = _plan(tx, row) if rows else copy.plan
    return _compact(
        Snapshot(copy.shape, plan, copy.segments + more, Tombstones(copy.ended.gone | ended), copy.since, copy.upto)
    )


def _known(copy: Snapshot, numbers: Sequence[int]) -> set[int]:
    return {number for segment in copy.segments for number in segment.known(numbers)}


def _compact(copy: Snapshot) -> Snapshot:
    if len(copy.ended.gone) > MOST_ENDED:
        whole = merged(copy.shape, copy.segments, without=copy.ended, upto=copy.upto)
        later = Tombstones({number: gone for number, gone in copy.ended.gone.items() if gone > copy.upto})
        return msgspec.structs.replace(copy, segments=(whole,), ended=later, since=copy.upto)
    if len(copy.segments) <= MOST_SEGMENTS:
        return copy
    by_size = sorted(copy.segments, key=lambda each: -each.size)
    kept, small = by_size[: MOST_SEGMENTS // 2], by_size[MOST_SEGMENTS // 2 :]
    one = merged(copy.shape, small, without=Tombstones({}), upto=0)
    return msgspec.structs.replace(copy, segments=(*kept, one))
