"""In-memory matcher: a copy of a topic's subscription index that follows changes. Optional; needs numpy.

It answers as the database does. For a record from before the copy was read, the database must be asked.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rowlock import topics
from rowlock.db import Transaction
from rowlock.json_codec import encode_json
from rowlock.topics import commit_order, predicates, subscriptions
from rowlock.topics.in_memory_index import ColumnCounts, ProbeArrays, Segment, Tombstones, merge
from rowlock.topics.probes import ProbePlan

ROWS_PER_PAGE = 5_000
MAX_SEGMENTS = 6
MAX_TOMBSTONES = 20_000
MAX_CACHED_PREDICATES = 20_000
"""Predicates that are cached because entries of their subscriptions must be rechecked."""
MAX_MOMENTS_BEHIND = commit_order.MOMENTS_KEPT // 2
"""Moments after which the copy is read anew: removals further back may have been deleted in the meantime."""


class Snapshot(msgspec.Struct, frozen=True):
    """The index of a topic as of the places `since` to `upto` in the commit order."""

    counts: ColumnCounts
    plan: ProbePlan
    segments: tuple[Segment, ...]
    removed: Tombstones
    since: int
    upto: int


class InMemoryMatcher:
    """Finds the subscriptions of one topic that a record fulfils, in memory. Safe to use from any thread."""

    def __init__(self, topic: str) -> None:
        self._topic = topic
        self._snapshot: Snapshot | None = None
        self._predicates: dict[int, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def find(self, tx: Transaction, record: int) -> list[int] | None:
        """Return the subscriptions that a record fulfils; None if it is matched already, or the database must match."""
        row = tx.row("records/unmatched", record=record)
        return None if row is None else self.match(tx, msgspec.json.decode(row[0]), seq=row[1])

    def matches(self, tx: Transaction, record: Mapping[str, Any]) -> list[int]:
        """Return the subscriptions that a record would fulfil now."""
        value = predicates.checked(topics.find(tx, self._topic).fields, record)
        return self.match(tx, value, seq=commit_order.settled(tx)) or []

    def match(self, tx: Transaction, record: Mapping[str, Any], *, seq: int) -> list[int] | None:
        """Return the subscriptions that a checked record fulfils, as of a place in the commit order."""
        snapshot = self._snapshot_at(tx, seq)
        if seq < snapshot.since:
            return None
        probes = ProbeArrays(snapshot.counts, snapshot.plan.probes(record))
        found: list[int] = []
        for segment in snapshot.segments:
            numbers, unsure = segment.find(probes, seq=seq, removed=snapshot.removed)
            found += numbers.tolist()
            if len(unsure):
                found += self._rechecked(tx, record, unsure.tolist())
        return found

    def _rechecked(self, tx: Transaction, record: Mapping[str, Any], numbers: Sequence[int]) -> list[int]:
        asked = self._cached_predicates(tx, numbers)
        return [number for number in numbers if number in asked and predicates.fits(asked[number], record)]

    def _cached_predicates(self, tx: Transaction, numbers: Sequence[int]) -> dict[int, dict[str, Any]]:
        # Never stale: the number of a subscription is not used again, and its predicates do not change.
        if len(self._predicates) > MAX_CACHED_PREDICATES:
            self._predicates = {}
        known = self._predicates
        if missing := [number for number in numbers if number not in known]:
            known.update(subscriptions.predicates_by_id(tx, missing))
        return known

    def _snapshot_at(self, tx: Transaction, seq: int) -> Snapshot:
        snapshot = self._snapshot
        if snapshot is not None and snapshot.upto >= seq:
            return snapshot
        with self._lock:
            snapshot = self._snapshot
            if snapshot is None or seq - snapshot.upto > MAX_MOMENTS_BEHIND:
                snapshot = _read(tx, self._topic, seq)
            elif snapshot.upto < seq:
                snapshot = _advanced(tx, self._topic, snapshot, seq)
            self._snapshot = snapshot
            return snapshot


def _column_counts(row: topics.TopicRow) -> ColumnCounts:
    return ColumnCounts(len(row.layout.equality_columns), len(row.layout.range_columns))


def _plan(tx: Transaction, row: topics.TopicRow) -> ProbePlan:
    return ProbePlan(row.layout, subscriptions.signatures(tx, row.id))


def _read(tx: Transaction, topic: str, seq: int) -> Snapshot:
    row = topics.find(tx, topic)
    counts, parts, after = _column_counts(row), [], 0
    while rows := tx.rows("subscriptions/index_rows", topic=row.id, after=after, limit=ROWS_PER_PAGE):
        parts.append(counts.array(rows))
        after = max(each[0] for each in rows)
    segments = (Segment(counts, parts),) if parts else ()
    return _with_changes(tx, row, Snapshot(counts, _plan(tx, row), segments, Tombstones({}), seq, seq))


def _advanced(tx: Transaction, topic: str, snapshot: Snapshot, seq: int) -> Snapshot:
    row = topics.find(tx, topic)
    if _column_counts(row) != snapshot.counts:
        return _read(tx, topic, seq)
    return msgspec.structs.replace(_with_changes(tx, row, snapshot), upto=seq)


def _with_changes(tx: Transaction, row: topics.TopicRow, snapshot: Snapshot) -> Snapshot:
    changes = tx.rows("subscriptions/changes", topic=row.id, after=snapshot.upto)
    if not changes:
        return snapshot
    counts, known = snapshot.counts, _known(snapshot, [number for number, _ in changes])
    removed = {number: gone for number, gone in changes if number in known and gone != commit_order.NOW}
    new = [number for number, _ in changes if number not in known]
    rows = tx.rows("subscriptions/index_rows_by_ids", ids=encode_json(new)) if new else []
    added = (Segment(counts, [counts.array(rows)]),) if rows else ()
    return _compacted(
        msgspec.structs.replace(
            snapshot,
            plan=_plan(tx, row) if rows else snapshot.plan,
            segments=snapshot.segments + added,
            removed=Tombstones(snapshot.removed.removed_at | removed),
        )
    )


def _known(snapshot: Snapshot, numbers: Sequence[int]) -> set[int]:
    return {number for segment in snapshot.segments for number in segment.known(numbers)}


def _compacted(snapshot: Snapshot) -> Snapshot:
    if len(snapshot.removed.removed_at) > MAX_TOMBSTONES:
        whole = merge(snapshot.counts, snapshot.segments, removed=snapshot.removed, upto=snapshot.upto)
        later = {number: gone for number, gone in snapshot.removed.removed_at.items() if gone > snapshot.upto}
        return msgspec.structs.replace(snapshot, segments=(whole,), removed=Tombstones(later), since=snapshot.upto)
    if len(snapshot.segments) <= MAX_SEGMENTS:
        return snapshot
    by_size = sorted(snapshot.segments, key=lambda each: -each.size)
    kept, small = by_size[: MAX_SEGMENTS // 2], by_size[MAX_SEGMENTS // 2 :]
    merged = merge(snapshot.counts, small, removed=Tombstones({}), upto=0)
    return msgspec.structs.replace(snapshot, segments=(*kept, merged))
