"""Segments: filings as columns of numbers in memory, ordered by their keys; built once, then only looked at.

A record's keys are found by a search in an ordered array, and everything under them is checked at once. Needs numpy.
"""

from collections.abc import Iterable, Sequence

import msgspec

from rowlock.errors import ExtraMissing
from rowlock.topics.filing import CODES, HIGHEST, LOWEST, RANGES, Probes

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise ExtraMissing("a matcher in memory needs the package numpy", "run: pip install 'rowlock[match]'") from None

Numbers = NDArray[np.int64]

SUBSCRIPTION, BORN, GONE, KEY, SORT, BY_HAND, NEEDS = range(7)
"""The first columns of a row, as `subscriptions/filed` gives them; codes, low and high ends follow."""
FIRST = 7
FIELDS, SUM = FIRST, FIRST + 1
"""Here codes are two numbers: which fields have one, as bits, and what they add up to."""
LOW = FIRST + 2
TRUTHS = {4: np.uint32, 8: np.uint64}
"""So many answers side by side are looked at as one number."""


class Shape(msgspec.Struct, frozen=True):
    """How many columns of each kind a topic uses."""

    codes: int
    ranges: int

    @property
    def width(self) -> int:
        """Columns of a row."""
        return LOW + 2 * self.ranges

    @property
    def room(self) -> int:
        """Columns for low ends, and as many for high ones, in memory."""
        return next(size for size in TRUTHS if size >= self.ranges)

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


class Question:
    """A record as arrays: the keys it looks under, and its values by column."""

    def __init__(self, shape: Shape, probes: Probes) -> None:
        self.keys = np.array(probes.keys, np.int64)
        self.ranged = probes.ranged
        self.sums = np.zeros(1, np.int64)
        """What the codes of any fields add up to, by the bits of the fields."""
        for code in probes.codes[: shape.codes]:
            self.sums = np.concatenate((self.sums, self.sums + np.int64(MISSING if code is None else code)))
        self.numbers = np.zeros(shape.room, np.int64)
        self.numbers[: shape.ranges] = [number or 0 for number in probes.numbers[: shape.ranges]]
        self.missing = sum(1 << slot for slot, number in enumerate(probes.numbers) if number is None)


Found = tuple[Numbers, Numbers]
"""Subscriptions that a record fulfils, and those of them that must be looked at by hand."""


class Ended:
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


class Segment:
    """Rows in the order of their keys."""

    def __init__(self, shape: Shape, parts: Sequence[Numbers]) -> None:
        keys, sorts = _column(parts, KEY), _column(parts, SORT)
        order = np.lexsort((sorts, keys))
        self.size = len(order)
        self._shape = shape
        self._keys, self._starts = np.unique(keys[order], return_index=True)
        self._ends = np.append(self._starts[1:], self.size)
        self._sorts = sorts[order]
        self._whose, self._born, self._gone, self._by_hand, self._needs, self._fields, self._sums = (
            _column(parts, column)[order] for column in (SUBSCRIPTION, BORN, GONE, BY_HAND, NEEDS, FIELDS, SUM)
        )
        self._always = int(self._born.max(initial=0)), int(self._gone.min(initial=HIGHEST))
        """Between these two moments all of its rows hold."""
        self._lows = _columns(parts, range(LOW, LOW + shape.ranges), order, room=shape.room, spare=LOWEST)
        self._highs = _columns(parts, range(LOW + shape.ranges, shape.width), order, room=shape.room, spare=HIGHEST)
        self._ids = np.unique(self._whose)
        ordered = np.unique(keys[sorts != 0])
        self._spans = {
            int(key): place for key, place in zip(ordered, np.searchsorted(self._keys, ordered), strict=True)
        }
        """Keys whose rows have an order, and where they are."""

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
        rows[:, SUBSCRIPTION], rows[:, BORN], rows[:, GONE] = self._whose, self._born, self._gone
        rows[:, KEY] = np.repeat(self._keys, self._ends - self._starts)
        rows[:, SORT], rows[:, BY_HAND], rows[:, NEEDS] = self._sorts, self._by_hand, self._needs
        rows[:, FIELDS], rows[:, SUM] = self._fields, self._sums
        ranges = self._shape.ranges
        rows[:, LOW:] = np.hstack((self._lows[:, :ranges], self._highs[:, :ranges]))
        return rows

    def find(self, question: Question, *, seq: int, ended: Ended) -> Found:
        """Whose rows a record fulfils, of those that held at a moment."""
        if not self.size:
            return self._whose, self._whose
        places = self._places(question)
        places = places[question.sums.take(self._fields.take(places)) == self._sums.take(places)]
        if question.missing:
            places = places[self._needs.take(places) & question.missing == 0]
        # What is not there counts as 0, and nothing is asked of it by those that are left.
        within = self._lows.take(places, 0) <= question.numbers
        within &= self._highs.take(places, 0) >= question.numbers
        truths = TRUTHS[self._shape.room]
        places = places[within.view(truths)[:, 0] == truths(int.from_bytes(b"\1" * self._shape.room))]
        return self._held(places, seq, ended)

    def _held(self, places: Numbers, seq: int, ended: Ended) -> Found:
        born, gone = self._always
        if not born <= seq < gone:
            places = places[(self._born.take(places) <= seq) & (self._gone.take(places) > seq)]
        if ended.gone:
            places = places[~ended.before(self._whose.take(places), seq)]
        numbers: Numbers = self._whose.take(places)
        return numbers, numbers[self._by_hand.take(places) != 0]

    def _places(self, question: Question) -> Numbers:
        at = np.searchsorted(self._keys, question.keys)
        at[at == len(self._keys)] = 0
        at = at[self._keys[at] == question.keys]
        starts, ends = self._starts[at], self._ends[at]
        ranged = [span for each in question.ranged if (span := self._span(*each)) is not None]
        if ranged:
            starts = np.append(starts, [start for start, _ in ranged])
            ends = np.append(ends, [end for _, end in ranged])
        counts = ends - starts
        shifts = np.repeat(starts - np.append(0, np.cumsum(counts)[:-1]), counts)
        places: Numbers = np.arange(counts.sum()) + shifts
        return places

    def _span(self, key: int, low: int, high: int) -> tuple[int, int] | None:
        place = self._spans.get(key)
        if place is None:
            return None
        start, end = self._starts[place], self._ends[place]
        first, last = np.searchsorted(self._sorts[start:end], (low, high + 1 if high < HIGHEST else high))
        return int(start + first), int(end if high == HIGHEST else start + last)


def _column(parts: Sequence[Numbers], column: int) -> Numbers:
    return np.concatenate([part[:, column] for part in parts])


def _columns(parts: Sequence[Numbers], columns: Sequence[int], order: Numbers, *, room: int, spare: int) -> Numbers:
    # Column by column: all parts side by side would take as much memory once more.
    found = np.full((len(order), room), spare, np.int64)
    for place, column in enumerate(columns):
        found[:, place] = _column(parts, column)[order]
    return found


def merged(shape: Shape, segments: Iterable[Segment], *, without: Ended, upto: int) -> Segment:
    """Several segments as one, without what had gone by a moment."""
    parts = []
    for segment in segments:
        rows = segment.rows()
        parts.append(rows[~without.before(rows[:, SUBSCRIPTION], upto) & (rows[:, GONE] > upto)])
    return Segment(shape, parts)
