"""In-memory matcher: a copy of a topic's subscription index that follows changes. Optional; needs numpy.

It answers as the database does. For a record from before the copy was read, the database must be asked. Entries are
columns of integers, ordered by key, in immutable segments. A record's keys are found by a search in an ordered array,
and all entries under them are checked at once.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rowlock import topics
from rowlock.db import Tx
from rowlock.errors import ExtraMissing
from rowlock.json_codec import encode_json
from rowlock.topics import commit_order, predicates, subscriptions
from rowlock.topics.matching import ProbePlan, Probes
from rowlock.topics.terms import EQUALITY_COLUMNS, HIGHEST, LOWEST, RANGE_COLUMNS

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise ExtraMissing("a matcher in memory needs the package numpy", "run: pip install 'rowlock[match]'") from None

Integers = NDArray[np.int64]

ROWS_PER_PAGE = 5_000
MAX_SEGMENTS = 6
MAX_TOMBSTONES = 20_000
MAX_CACHED_PREDICATES = 20_000
"""Predicates that are cached because entries of their subscriptions must be rechecked."""
MAX_MOMENTS_BEHIND = commit_order.MOMENTS_KEPT // 2
"""Moments after which the copy is read anew: removals further back may have been deleted in the meantime."""
SUBSCRIPTION, BORN, GONE, KEY, SORT, RECHECK, RANGES_USED = range(7)
"""The first columns of a row of `subscriptions/index_rows`; equality hashes, lower and upper bounds follow."""
COMMON_COLUMNS = 7
EQUALITY_USED, EQUALITY_SUM = COMMON_COLUMNS, COMMON_COLUMNS + 1
"""In memory, equality hashes are two columns: which fields have one, as bits, and the sum of the hashes."""
LOWER_BOUNDS = COMMON_COLUMNS + 2
RANGES_PER_BLOCK = 4
"""Ranges that are compared at once: their eight bounds are one line of the processor's cache."""
ALL_WITHIN = np.uint64(0x0101010101010101)
"""Eight comparisons that are all true, read as one integer."""
MISSING_HASH = 0x5DEECE66D1CE4E5B
"""Stands for the hash of a field that a record lacks; an arbitrary number, as unlikely to be met as any other."""


class ColumnCounts(msgspec.Struct, frozen=True):
    """How many columns of each kind a topic uses."""

    equality: int
    ranges: int

    @property
    def width(self) -> int:
        """The number of columns of a row in memory."""
        return LOWER_BOUNDS + 2 * self.ranges

    @property
    def blocks(self) -> list[range]:
        """The ranges that are compared at once."""
        starts = range(0, self.ranges, RANGES_PER_BLOCK)
        return [range(start, min(start + RANGES_PER_BLOCK, self.ranges)) for start in starts]

    def array(self, rows: Sequence[Sequence[int]]) -> Integers:
        """Convert rows of a statement: equality hashes are added up, and columns that the topic does not use go."""
        lows = COMMON_COLUMNS + EQUALITY_COLUMNS
        highs = lows + RANGE_COLUMNS
        whole = np.array(rows, np.int64).reshape(len(rows), highs + RANGE_COLUMNS)
        hashes = whole[:, COMMON_COLUMNS:lows]
        found = np.empty((len(rows), self.width), np.int64)
        found[:, :COMMON_COLUMNS] = whole[:, :COMMON_COLUMNS]
        found[:, EQUALITY_USED] = (hashes != 0) @ (1 << np.arange(EQUALITY_COLUMNS))
        found[:, EQUALITY_SUM] = hashes.sum(1)
        found[:, LOWER_BOUNDS : LOWER_BOUNDS + self.ranges] = whole[:, lows : lows + self.ranges]
        found[:, LOWER_BOUNDS + self.ranges :] = whole[:, highs : highs + self.ranges]
        return found


class ProbeArrays:
    """The probes of a record as arrays."""

    def __init__(self, counts: ColumnCounts, probes: Probes) -> None:
        self.keys = np.array(probes.keys, np.int64)
        self.ranged = probes.ranged
        self.sums = np.zeros(1 << counts.equality, np.int64)
        """The sum of the hashes of every combination of fields, by the bits of the fields."""
        for column, term in enumerate(probes.equality_values[: counts.equality]):
            with_it = self.sums[1 << column : 2 << column]
            np.add(self.sums[: 1 << column], np.int64(MISSING_HASH if term is None else term), out=with_it)
        values = [value or 0 for value in probes.range_values]
        self.bounds = [_as_bounds([values[column] for column in block]) for block in counts.blocks]
        self.missing = sum(1 << column for column in range(counts.ranges) if probes.range_values[column] is None)


def _as_bounds(values: list[int]) -> Integers:
    # In the form of a segment's blocks: each value, and its complement to be compared with complements of upper bounds.
    spare = [0] * (RANGES_PER_BLOCK - len(values))
    return np.array([*values, *spare, *(~value for value in values), *spare], np.int64)


SegmentMatches = tuple[Integers, Integers]
"""Subscriptions that a record fulfils, and subscriptions whose predicates must be rechecked."""
NO_SUBSCRIPTIONS = np.zeros(0, np.int64)


class Tombstones:
    """Subscriptions that were removed after their segment was built, with the place of the removal."""

    def __init__(self, removed_at: dict[int, int]) -> None:
        self.removed_at = removed_at
        self._ids = np.array(sorted(removed_at), np.int64)
        self._places = np.array([removed_at[number] for number in sorted(removed_at)], np.int64)

    def cover(self, subscriptions: Integers, seq: int) -> NDArray[np.bool_]:
        """Return for each subscription whether it had been removed at a place in the commit order."""
        if not len(self._ids):
            return np.zeros(len(subscriptions), bool)
        at = np.minimum(np.searchsorted(self._ids, subscriptions), len(self._ids) - 1)
        covered: NDArray[np.bool_] = (self._ids[at] == subscriptions) & (self._places[at] <= seq)
        return covered


class KeyDirectory:
    """Distinct keys in order, found by their first bits.

    Keys are hashes, so few share their first bits, and those are neighbours. A binary search would miss the processor's
    cache at nearly every step.
    """

    def __init__(self, keys: Integers) -> None:
        bits = max(len(keys).bit_length(), 1)
        self._shift, self._middle = 64 - bits, 1 << bits - 1
        buckets = (keys >> self._shift) + self._middle
        self._first = buckets.searchsorted(np.arange(1 << bits)).astype(np.int32)
        self._offsets = np.arange(np.bincount(buckets).max(initial=1))
        # Padding for searches that read past the last key: none of them looks for the lowest integer.
        self._keys = np.append(keys, np.full(len(self._offsets), LOWEST))

    @property
    def all(self) -> Integers:
        """All keys."""
        return self._keys[: -len(self._offsets)]

    def find(self, keys: Integers) -> Integers:
        """Return the positions of those of the given keys that exist."""
        candidates = self._first.take((keys >> self._shift) + self._middle)[:, None] + self._offsets
        found: Integers = candidates[self._keys.take(candidates) == keys[:, None]]
        return found


class Segment:
    """Entries in the order of their keys, one array for each column."""

    def __init__(self, counts: ColumnCounts, parts: Sequence[Integers]) -> None:
        keys, sorts = _column(parts, KEY), _column(parts, SORT)
        order = np.lexsort((sorts, keys))
        self.size = len(order)
        self._counts = counts
        unique, starts = np.unique(keys[order], return_index=True)
        self._keys, self._starts = KeyDirectory(unique), np.append(starts, self.size)
        self._sorts = sorts[order]
        self._born, self._gone, self._ranges_used, self._equality_used, self._equality_sums = (
            _column(parts, column)[order] for column in (BORN, GONE, RANGES_USED, EQUALITY_USED, EQUALITY_SUM)
        )
        subscriptions, recheck = _column(parts, SUBSCRIPTION)[order], _column(parts, RECHECK)[order]
        self._subscriptions = np.where(recheck != 0, -subscriptions, subscriptions)
        """Numbers of subscriptions, negative where the predicates must be rechecked."""
        self._ids = np.unique(subscriptions)
        self._all_visible = int(self._born.max(initial=0)), int(self._gone.min(initial=HIGHEST))
        """The places in the commit order between which all entries are visible."""
        self._bounds = [_block(parts, counts, block)[order] for block in counts.blocks]
        self._spans = _spans(unique, [*starts.tolist(), self.size], np.unique(keys[sorts != 0]))

    def known(self, subscriptions: Sequence[int]) -> list[int]:
        """Return those of the subscriptions that have entries here."""
        if not self.size:
            return []
        asked = np.array(subscriptions, np.int64)
        at = np.minimum(np.searchsorted(self._ids, asked), len(self._ids) - 1)
        here: list[int] = asked[self._ids[at] == asked].tolist()
        return here

    def rows(self) -> Integers:
        """Return all entries as rows, in the order of their keys."""
        rows = np.empty((self.size, self._counts.width), np.int64)
        rows[:, SUBSCRIPTION], rows[:, RECHECK] = np.abs(self._subscriptions), self._subscriptions < 0
        rows[:, BORN], rows[:, GONE] = self._born, self._gone
        rows[:, KEY] = self._keys.all.repeat(np.diff(self._starts))
        rows[:, SORT], rows[:, RANGES_USED] = self._sorts, self._ranges_used
        rows[:, EQUALITY_USED], rows[:, EQUALITY_SUM] = self._equality_used, self._equality_sums
        for block, bounds in zip(self._counts.blocks, self._bounds, strict=True):
            for position, column in enumerate(block):
                rows[:, LOWER_BOUNDS + column] = bounds[:, position]
                rows[:, LOWER_BOUNDS + self._counts.ranges + column] = ~bounds[:, RANGES_PER_BLOCK + position]
        return rows

    def find(self, probes: ProbeArrays, *, seq: int, removed: Tombstones) -> SegmentMatches:
        """Return the subscriptions whose entries a record fulfils, of those visible at a place in the commit order."""
        found = self._under_keys(probes)
        found = found[probes.sums.take(self._equality_used.take(found)) == self._equality_sums.take(found)]
        if probes.missing:
            found = found[self._ranges_used.take(found) & probes.missing == 0]
        # A value that the record lacks counts as 0 here; the entries that are left have no range for it.
        for bounds, values in zip(self._bounds, probes.bounds, strict=True):
            within = bounds.take(found, 0) <= values
            found = found[within.view(np.uint64)[:, 0] == ALL_WITHIN]
        return self._visible(found, seq, removed)

    def _visible(self, found: Integers, seq: int, removed: Tombstones) -> SegmentMatches:
        born, gone = self._all_visible
        if not born <= seq < gone:
            found = found[(self._born.take(found) <= seq) & (self._gone.take(found) > seq)]
        numbers: Integers = self._subscriptions.take(found)
        if removed.removed_at:
            numbers = numbers[~removed.cover(np.abs(numbers), seq)]
        unsure = numbers < 0
        if not unsure.any():
            return numbers, NO_SUBSCRIPTIONS
        return numbers[~unsure], -numbers[unsure]

    def _under_keys(self, probes: ProbeArrays) -> Integers:
        at = self._keys.find(probes.keys)
        starts, ends = self._starts.take(at), self._starts.take(at + 1)
        spans = [self._span(*each) for each in probes.ranged if each[0] in self._spans]
        if spans:
            more = np.array(spans)
            starts, ends = np.concatenate((starts, more[:, 0])), np.concatenate((ends, more[:, 1]))
        sizes = ends - starts
        positions: Integers = (starts + sizes - sizes.cumsum()).repeat(sizes)
        positions += np.arange(len(positions))
        return positions

    def _span(self, key: int, low: int, high: int) -> tuple[int, int]:
        start, end = self._spans[key]
        sorts = self._sorts[start:end]
        first = start if low == LOWEST else start + int(sorts.searchsorted(low))
        return first, end if high == HIGHEST else start + int(sorts.searchsorted(high, "right"))


def _spans(keys: Integers, starts: list[int], ordered: Integers) -> dict[int, tuple[int, int]]:
    """Return for each key whose entries have an order where these start and end."""
    positions = keys.searchsorted(ordered).tolist()
    return {key: (starts[at], starts[at + 1]) for key, at in zip(ordered.tolist(), positions, strict=True)}


def _block(parts: Sequence[Integers], counts: ColumnCounts, block: range) -> Integers:
    # Lower bounds, and complements of upper bounds, so that one comparison checks both. Column by column: to put whole
    # parts side by side first would take the same memory once more.
    found = np.full((sum(map(len, parts)), 2 * RANGES_PER_BLOCK), LOWEST, np.int64)
    for position, column in enumerate(block):
        found[:, position] = _column(parts, LOWER_BOUNDS + column)
        found[:, RANGES_PER_BLOCK + position] = ~_column(parts, LOWER_BOUNDS + counts.ranges + column)
    return found


def _column(parts: Sequence[Integers], column: int) -> Integers:
    return np.concatenate([part[:, column] for part in parts])


def merge(counts: ColumnCounts, segments: Iterable[Segment], *, removed: Tombstones, upto: int) -> Segment:
    """Merge segments into one, without the entries that were removed up to a place in the commit order."""
    parts = []
    for segment in segments:
        rows = segment.rows()
        parts.append(rows[~removed.cover(rows[:, SUBSCRIPTION], upto) & (rows[:, GONE] > upto)])
    return Segment(counts, parts)


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

    def find(self, tx: Tx, record: int) -> list[int] | None:
        """Return the subscriptions that a record fulfils; None if it is matched already, or the database must match."""
        row = tx.row("records/find_if_unmatched", record=record)
        return None if row is None else self.match(tx, msgspec.json.decode(row[0]), seq=row[1])

    def matches(self, tx: Tx, record: Mapping[str, Any]) -> list[int]:
        """Return the subscriptions that a record would fulfil now."""
        value = predicates.checked(topics.find(tx, self._topic).fields, record)
        return self.match(tx, value, seq=commit_order.settled(tx)) or []

    def match(self, tx: Tx, record: Mapping[str, Any], *, seq: int) -> list[int] | None:
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

    def _rechecked(self, tx: Tx, record: Mapping[str, Any], numbers: Sequence[int]) -> list[int]:
        # The cache is never stale: the number of a subscription is not used again, its predicates do not change.
        if len(self._predicates) > MAX_CACHED_PREDICATES:
            self._predicates = {}
        known = self._predicates
        if missing := [number for number in numbers if number not in known]:
            known.update(subscriptions.predicates_by_id(tx, missing))
        return [number for number in numbers if number in known and predicates.fits(known[number], record)]

    def _snapshot_at(self, tx: Tx, seq: int) -> Snapshot:
        snapshot = self._snapshot
        if snapshot is not None and snapshot.upto >= seq:
            return snapshot
        with self._lock:
            snapshot = self._snapshot
            if snapshot is None or snapshot.upto < seq:
                row = topics.find(tx, self._topic)
                counts = ColumnCounts(len(row.layout.equality_columns), len(row.layout.range_columns))
                if snapshot is None or counts != snapshot.counts or seq - snapshot.upto > MAX_MOMENTS_BEHIND:
                    snapshot = _read(tx, row, counts, seq)
                snapshot = self._snapshot = msgspec.structs.replace(_with_changes(tx, row, snapshot), upto=seq)
            return snapshot


def _plan(tx: Tx, row: topics.TopicRow) -> ProbePlan:
    return ProbePlan(row.layout, subscriptions.signatures(tx, row.id))


def _read(tx: Tx, row: topics.TopicRow, counts: ColumnCounts, seq: int) -> Snapshot:
    parts, after = [], 0
    while rows := tx.rows("subscriptions/index_rows", topic=row.id, after=after, limit=ROWS_PER_PAGE):
        parts.append(counts.array(rows))
        after = max(each[0] for each in rows)
    segments = (Segment(counts, parts),) if parts else ()
    return Snapshot(counts, _plan(tx, row), segments, Tombstones({}), seq, seq)


def _with_changes(tx: Tx, row: topics.TopicRow, snapshot: Snapshot) -> Snapshot:
    changes = tx.rows("subscriptions/changed_since", topic=row.id, after=snapshot.upto)
    if not changes:
        return snapshot
    counts, numbers = snapshot.counts, [number for number, _ in changes]
    known = {number for segment in snapshot.segments for number in segment.known(numbers)}
    removed = {number: gone for number, gone in changes if number in known and gone != commit_order.NOW}
    new = [number for number in numbers if number not in known]
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
