"""Helpers for tests of programs that use rowlock: a throw-away engine, a clock to move, workers that run inline."""

from rowlock.testing.assertions import assert_added, assert_counts, assert_empty, assert_failed
from rowlock.testing.clocks import MovableClock
from rowlock.testing.engines import throwaway
from rowlock.testing.workers import drain

__all__ = [
    "MovableClock",
    "assert_added",
    "assert_counts",
    "assert_empty",
    "assert_failed",
    "drain",
    "throwaway",
]
