"""Segments: filings as columns of numbers in memory, ordered by their keys; built once, then only looked at.

A record's keys are found by a search in an ordered array, and everything under them is checked at once. Needs numpy.
"""

from collections.abc import Iterable, Sequence

import msgspec

from rowlock.errors import ExtraMissing
from rowlock.topics.filing import CODES, HIGHEST, RANGES, Probes

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError:
    raise ExtraMissing("a matcher in memory needs the package numpy", "run: pip install 'rowlock[match]'") from None

Numbers = NDArray[np.int64]

SUBSCRIPTION, BORN, GONE, KEY, SORT, BY_HAND, NEEDS = range(7)
"""The first columns of a row, as `subscriptions/filed` gives them; codes, low and high ends follow."""
FIRST = 7


class Shape(msgspec.Struct, frozen=True):
    """How many columns of each kind a topic uses."""

    codes: int
    ranges: int

    @property
    def width(self) -> int:
        """Columns of a row."""
        return FIRST + self.codes + 2 * self.ranges

    def array(self, rows: Sequence[Sequence[int]]) -> Numbers:
        """Rows of a statement as an array, without the columns that the topic does not use."""
        whole = np.array(rows, np.int64).reshape(len(rows), FIRST + CODES + 2 * RANGES)
        lows, highs = FIRST + CODES, FIRST + CODES + RANGES
        used = [*range(FIRST + self.codes), *range(lows, lows + self.ranges), *range(highs, highs + self.ranges)]
        return np.ascontiguousarray(whole[:, used])


class Question:
    """A record as arrays: the keys it looks under, and its values by column."""

    def __init__(self, probes: Probes) -> None:
        self.keys = np.array(probes.keys, np.int64)
        self.ranged = probes.ranged
        self.codes = np.array([code or 0 for code in probes.codes], np.int64)
        self.numbers = np.array([number or 0 for number in probes.numbers], np.int64)
        present = [value is not None for value in probes.numbers]
        self.missing = sum(1 << slot for slot, there in enumerate(present) if not there)


WHOSE = (SUBSCRIPTION, BORN, GONE, BY_HAND)
HAND = 3
"""Where a look by hand stands among those."""


class Found:
    """Subscriptions that a record fulfils, those that must be looked at by hand, and from when to when each holds."""

    def __init__(self, parts: Sequence[Numbers]) -> None:
        whole = np.concatenate(parts) if parts else np.zeros((0, 4), np.int64)
        self._rows: Numbers = whole

    def at(self, seq: int, ended: "Ended") -> tuple[list[int], list[int]]:
        """Those that held at a moment, and which of them must be looked at by hand."""
        rows = self._rows
        rows = rows[(rows[:, BORN] <= seq) & (rows[:, GONE] > seq)]
        rows = rows[~ended.before(rows[:, SUBSCRIPTION], seq)]
        by_hand = rows[:, HAND] != 0
        return rows[:, SUBSCRIPTION].tolist(), rows[by_hand, SUBSCRIPTION].tolist()


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
        self._needs = _column(parts, NEEDS)[order]
        self._whose = _columns(parts, WHOSE, order)
        lows = FIRST + shape.codes
        highs = lows + shape.ranges
        self._codes = _columns(parts, range(FIRST, lows), order)
        self._lows = _columns(parts, range(lows, highs), order)
        self._highs = _columns(parts, range(highs, shape.width), order)
        self._ids = np.unique(self._whose[:, 0])
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
        rows[:, WHOSE] = self._whose
        rows[:, KEY] = np.repeat(self._keys, self._ends - self._starts)
        rows[:, SORT], rows[:, NEEDS] = self._sorts, self._needs
        rows[:, FIRST:] = np.hstack((self._codes, self._lows, self._highs))
        return rows

    def find(self, question: Question) -> Numbers:
        """Whose rows a record fulfils: subscription, born, gone, and whether to look by hand."""
        if not self.size:
            return self._whose
        places = self._places(question)
        if question.missing:
            places = places[self._needs.take(places) & question.missing == 0]
        # What is not there counts as 0, and nothing is asked of it by those that are left.
        numbers = question.numbers[: self._shape.ranges]
        within = self._lows.take(places, 0) <= numbers
        within &= self._highs.take(places, 0) >= numbers
        places = places[within.all(1)]
        codes = self._codes.take(places, 0)
        same = codes == question.codes[: self._shape.codes]
        same |= codes == 0
        found: Numbers = self._whose.take(places[same.all(1)], 0)
        return found

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


def _columns(parts: Sequence[Numbers], columns: Sequence[int], order: Numbers) -> Numbers:
    # Column by column: all parts side by side would take as much memory once more.
    found = np.empty((len(order), len(columns)), np.int64)
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
