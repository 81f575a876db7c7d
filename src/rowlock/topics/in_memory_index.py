"""Segments: filings as columns of numbers in memory, ordered by their keys; built once, then only looked at.

A record's keys are found by a search in an ordered array, and everything under them is checked at once. Needs numpy.
"""

from collections.abc import Iterable, Sequence

import msgspec

from rowlock.errors import ExtraMissing
from rowlock.topics.subscription_index import CODES, HIGHEST, LOWEST, RANGES, Probes

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise ExtraMissing("a matcher in memory needs the package numpy", "run: pip install 'rowlock[match]'") from None

Numbers = NDArray[np.int64]

SUBSCRIPTION, BORN, GONE, KEY, SORT, BY_HAND, NEEDS = range(7)
"""The first columns of a row, as `subscriptions/index_rows` gives them; codes, low and high ends follow."""
FIRST = 7
FIELDS, SUM = FIRST, FIRST + 1
"""Here codes are two numbers: which fields have one, as bits, and what they add up to."""
LOW = FIRST + 2
BLOCK = 4
"""So many ranges are checked at once: their eight ends are a line of the processor's cache."""
ALL_WITHIN = np.uint64(0x0101010101010101)
"""Eight answers side by side that are all yes, looked at as one number."""


class ColumnCounts(msgspec.Struct, frozen=True):
    """How many columns of each kind a topic uses."""

    codes: int
    ranges: int

    @property
    def width(self) -> int:
        """Columns of a row."""
        return LOW + 2 * self.ranges

    @property
    def blocks(self) -> list[range]:
        """The ranges that are checked together."""
        return [range(first, min(first + BLOCK, self.ranges)) for first in range(0, self.ranges, BLOCK)]

    def array(self, rows: Sequence[Sequence[int]]) -> Numbers:
        """Rows of a statement as an array: codes added up, and without the columns that the topic does not use."""
        whole = np.array(rows, np.int64).reshape(len(rows), FIRST + CODES + 2 * RANGES)
        codes, lows, highs = FIRST + CODES, FIRST + CODES, FIRST + CODES + RANGES
        found = np.empty((len(rows), self.width), np.int64)
        found[:, :FIRST] = whole[:, :FIRST]
        found[:, FIELDS] = (whole[:, FIRST:codes] != 0) @ (1 << np.arange(CODES))
        found[:, SUM] = whole[:, FIRST:codes].sum(1)
        found[:, LOW : LOW + self.ranges] = whole[:, lows : lows + self.ranges]
        found[:, LOW + self.ranges :] = whole[:, highs : highs + self.ranges]
        return found


MISSING = 0x5DEECE66D1CE4E5B
"""Stands for the code of a field that a record does not have; as likely as any other to be somebody's."""


class ProbeArrays:
    """A record as arrays: the keys it looks under, and its values by column."""

    def __init__(self, shape: ColumnCounts, probes: Probes) -> None:
        self.keys = np.array(probes.keys, np.int64)
        self.ranged = probes.ranged
        self.sums = np.zeros(1 << shape.codes, np.int64)
        """What the codes of any fields add up to, by the bits of the fields."""
        for slot, code in enumerate(probes.codes[: shape.codes]):
            with_it = self.sums[1 << slot : 2 << slot]
            np.add(self.sums[: 1 << slot], np.int64(MISSING if code is None else code), out=with_it)
        numbers = [number or 0 for number in probes.numbers]
        self.ends = [_ends([numbers[slot] for slot in block]) for block in shape.blocks]
        self.missing = sum(1 << slot for slot in range(shape.ranges) if probes.numbers[slot] is None)


def _ends(numbers: list[int]) -> Numbers:
    # As a segment has them: what is not below a low end, and turned round, what is not above a high one.
    spare = [0] * (BLOCK - len(numbers))
    return np.array([*numbers, *spare, *(~number for number in numbers), *spare], np.int64)


Found = tuple[Numbers, Numbers]
"""Subscriptions that a record fulfils, and others that may: those must be looked at by hand."""
NONE = np.zeros(0, np.int64)


class Tombstones:
    """Subscriptions that have gone since they were read, and when."""

    def __init__(self, gone: dict[int, int]) -> None:
        self.gone = gone
        self._ids = np.array(sorted(gone), np.int64)
        self._seqs = np.array([gone[number] for number in sorted(gone)], np.int64)

    def before(self, subscriptions: Numbers, seq: int) -> NDArray[np.bool_]:
        """Which of these had gone at a moment."""
        if not len(self._ids):
            return np.zeros(len(subscriptions), bool)
        at = np.minimum(np.searchsorted(self._ids, subscriptions), len(self._ids) - 1)
        answer: NDArray[np.bool_] = (self._ids[at] == subscriptions) & (self._seqs[at] <= seq)
        return answer


class KeyDirectory:
    """KeyDirectory in their order. They are hashes, so few have their first bits in common, and these lie side by side.

    A search by halves would miss the processor's cache at nearly every step.
    """

    def __init__(self, keys: Numbers) -> None:
        bits = max(len(keys).bit_length(), 1)
        self._shift, self._middle = 64 - bits, 1 << bits - 1
        places = (keys >> self._shift) + self._middle
        self._first = places.searchsorted(np.arange(1 << bits)).astype(np.int32)
        self._near = np.arange(np.bincount(places).max(initial=1))
        # Nobody who looks beyond the last looks for the lowest.
        self._keys = np.append(keys, np.full(len(self._near), LOWEST))

    @property
    def all(self) -> Numbers:
        """All keys."""
        return self._keys[: -len(self._near)]

    def find(self, keys: Numbers) -> Numbers:
        """Where those of the given keys are that are here."""
        near = self._first.take((keys >> self._shift) + self._middle)[:, None] + self._near
        found: Numbers = near[self._keys.take(near) == keys[:, None]]
        return found


class Segment:
    """Rows in the order of their keys."""

    def __init__(self, shape: ColumnCounts, parts: Sequence[Numbers]) -> None:
        keys, sorts = _column(parts, KEY), _column(parts, SORT)
        order = np.lexsort((sorts, keys))
        self.size = len(order)
        self._shape = shape
        unique, starts = np.unique(keys[order], return_index=True)
        self._keys, self._starts = KeyDirectory(unique), np.append(starts, self.size)
        self._sorts = sorts[order]
        subscriptions, by_hand, self._born, self._gone, self._needs, self._fields, self._sums = (
            _column(parts, column)[order] for column in (SUBSCRIPTION, BY_HAND, BORN, GONE, NEEDS, FIELDS, SUM)
        )
        self._whose = np.where(by_hand != 0, -subscriptions, subscriptions)
        """Below zero: what is asked for must be looked at by hand."""
        self._ids = np.unique(subscriptions)
        self._always = int(self._born.max(initial=0)), int(self._gone.min(initial=HIGHEST))
        """Between these two moments all of its rows hold."""
        self._ends = [_block(parts, shape, block)[order] for block in shape.blocks]
        self._spans = _spans(unique, [*starts.tolist(), self.size], np.unique(keys[sorts != 0]))

    def known(self, subscriptions: Sequence[int]) -> list[int]:
        """Which of these are here."""
        if not self.size:
            return []
        asked = np.array(subscriptions, np.int64)
        at = np.minimum(np.searchsorted(self._ids, asked), len(self._ids) - 1)
        here: list[int] = asked[self._ids[at] == asked].tolist()
        return here

    def rows(self) -> Numbers:
        """All rows, as they came but for their order."""
        rows = np.empty((self.size, self._shape.width), np.int64)
        rows[:, SUBSCRIPTION], rows[:, BY_HAND] = np.abs(self._whose), self._whose < 0
        rows[:, BORN], rows[:, GONE] = self._born, self._gone
        rows[:, KEY] = self._keys.all.repeat(np.diff(self._starts))
        rows[:, SORT], rows[:, NEEDS] = self._sorts, self._needs
        rows[:, FIELDS], rows[:, SUM] = self._fields, self._sums
        for block, ends in zip(self._shape.blocks, self._ends, strict=True):
            for place, slot in enumerate(block):
                rows[:, LOW + slot] = ends[:, place]
                rows[:, LOW + self._shape.ranges + slot] = ~ends[:, BLOCK + place]
        return rows

    def find(self, question: ProbeArrays, *, seq: int, ended: Tombstones) -> Found:
        """Whose rows a record fulfils, of those that held at a moment."""
        places = self._places(question)
        places = places[question.sums.take(self._fields.take(places)) == self._sums.take(places)]
        if question.missing:
            places = places[self._needs.take(places) & question.missing == 0]
        # What is not there counts as 0, and nothing is asked of it by those that are left.
        for ends, asked in zip(self._ends, question.ends, strict=True):
            within = ends.take(places, 0) <= asked
            places = places[within.view(np.uint64)[:, 0] == ALL_WITHIN]
        return self._held(places, seq, ended)

    def _held(self, places: Numbers, seq: int, ended: Tombstones) -> Found:
        born, gone = self._always
        if not born <= seq < gone:
            places = places[(self._born.take(places) <= seq) & (self._gone.take(places) > seq)]
        numbers: Numbers = self._whose.take(places)
        if ended.gone:
            numbers = numbers[~ended.before(np.abs(numbers), seq)]
        doubtful = numbers < 0
        if not doubtful.any():
            return numbers, NONE
        return numbers[~doubtful], -numbers[doubtful]

    def _places(self, question: ProbeArrays) -> Numbers:
        at = self._keys.find(question.keys)
        starts, ends = self._starts.take(at), self._starts.take(at + 1)
        spans = [self._span(*each) for each in question.ranged if each[0] in self._spans]
        if spans:
            more = np.array(spans)
            starts, ends = np.concatenate((starts, more[:, 0])), np.concatenate((ends, more[:, 1]))
        counts = ends - starts
        places: Numbers = (starts + counts - counts.cumsum()).repeat(counts)
        places += np.arange(len(places))
        return places

    def _span(self, key: int, low: int, high: int) -> tuple[int, int]:
        start, end = self._spans[key]
        sorts = self._sorts[start:end]
        first = start if low == LOWEST else start + int(sorts.searchsorted(low))
        return first, end if high == HIGHEST else start + int(sorts.searchsorted(high, "right"))


def _spans(keys: Numbers, starts: list[int], ordered: Numbers) -> dict[int, tuple[int, int]]:
    """KeyDirectory whose rows have an order, and from where to where they lie."""
    places = keys.searchsorted(ordered).tolist()
    return {key: (starts[at], starts[at + 1]) for key, at in zip(ordered.tolist(), places, strict=True)}


def _block(parts: Sequence[Numbers], shape: ColumnCounts, block: range) -> Numbers:
    # Low ends, and high ones turned round, so that one comparison serves both. Column by column: all parts side by
    # side would take as much memory once more.
    found = np.full((sum(map(len, parts)), 2 * BLOCK), LOWEST, np.int64)
    for place, slot in enumerate(block):
        found[:, place] = _column(parts, LOW + slot)
        found[:, BLOCK + place] = ~_column(parts, LOW + shape.ranges + slot)
    return found


def _column(parts: Sequence[Numbers], column: int) -> Numbers:
    return np.concatenate([part[:, column] for part in parts])


def merged(shape: ColumnCounts, segments: Iterable[Segment], *, without: Tombstones, upto: int) -> Segment:
    """Several segments as one, without what had gone by a moment."""
    parts = []
    for segment in segments:
        rows = segment.rows()
        parts.append(rows[~without.before(rows[:, SUBSCRIPTION], upto) & (rows[:, GONE] > upto)])
    return Segment(shape, parts)
