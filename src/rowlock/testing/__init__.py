"""Helpers for tests of programs that use rowlock: a throw-away engine, a clock to move, workers that run inline.

pytest loads this module in every run that has rowlock installed, so the rest of rowlock is imported on first use.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rowlock.testing.assertions import assert_added, assert_counts, assert_empty, assert_failed

if TYPE_CHECKING:
    from rowlock.durations import Duration
    from rowlock.engine import Engine
    from rowlock.outcomes import Verdict
    from rowlock.worker import Worker

__all__ = [
    "MovableClock",
    "assert_added",
    "assert_counts",
    "assert_empty",
    "assert_failed",
    "drain",
    "throwaway",
]

START_MILLISECONDS = 1_700_000_000_000


class MovableClock:
    """Milliseconds that stand still until they are advanced: `Engine(url, clock=MovableClock())`."""

    def __init__(self, now: int = START_MILLISECONDS) -> None:
        self.now = now

    def __call__(self) -> int:
        """Return the time, in milliseconds."""
        return self.now

    def __repr__(self) -> str:
        return f"MovableClock({self.now})"

    def advance(self, duration: "Duration") -> None:
        """Advance by a duration: `"5m"`, a number of seconds, or a timedelta."""
        from rowlock.durations import milliseconds

        self.now += milliseconds(duration)


@contextmanager
def throwaway(**options: Any) -> "Iterator[Engine]":
    """Open an engine on a SQLite file of its own, removed at the end; options are those of `Engine`."""
    from tempfile import TemporaryDirectory

    from rowlock.engine import Engine

    with (
        TemporaryDirectory(prefix="rowlock-", ignore_cleanup_errors=True) as folder,
        Engine(str(Path(folder, "throwaway.db")), **options) as engine,
    ):
        yield engine


def drain(worker: "Worker") -> "Counter[Verdict]":
    """Run the worker until nothing is ready, and count the verdicts: `drain(worker) == {"done": 3}`.

    Items that are retried later are delayed: advance the clock, then drain again.
    """
    verdicts: Counter[Verdict] = Counter()

    def note(*arguments: Any) -> None:
        verdicts[arguments[-1]] += 1

    worker.after(note)
    try:
        worker.run(until="idle", signals=False)
    finally:
        worker._hooks.remove("after", note)
    return verdicts
