"""Sorted maps and sets with clones in constant time, positions, and intervals."""

from rowlock.trees.augmented import AugmentedMap, AugmentedSet
from rowlock.trees.cursors import Cursor
from rowlock.trees.intervals import IntervalMap, IntervalSet
from rowlock.trees.maps import SortedMap
from rowlock.trees.ranked import RankedMap, RankedSet, ranges
from rowlock.trees.sets import SortedSet

__all__ = [
    "AugmentedMap",
    "AugmentedSet",
    "Cursor",
    "IntervalMap",
    "IntervalSet",
    "RankedMap",
    "RankedSet",
    "SortedMap",
    "SortedSet",
    "ranges",
]
