"""Progress of a list while somebody watches it: what was done since then, what is left, the rate, and when it ends."""

from collections import deque
from collections.abc import Callable

import msgspec

from rowlock.backlog import count_unfinished
from rowlock.model import Counts, ListInfo, Progress

RATE_WINDOW_SECONDS = 10.0


class ProgressSnapshot(msgspec.Struct, frozen=True):
    """The progress of a list at one moment; `done`, `retried` and `failed` count from the start of the watch."""

    done: int
    left: int
    """Items that are neither done nor failed."""
    retried: int
    failed: int
    rate: float
    """Items done in a second, over the last ten seconds."""
    counts: Counts
    """How many items are in each state."""

    @property
    def total(self) -> int:
        """Items that are done or left: the end of a progress bar."""
        return self.done + self.left

    @property
    def eta(self) -> float | None:
        """Seconds until nothing is left, at this rate; None while nothing is done."""
        return self.left / self.rate if self.rate else None


class ProgressTracker:
    """Compares what a list is now with what it was at the start."""

    def __init__(self, start: Progress, monotonic: Callable[[], float]) -> None:
        self._start = start
        self._monotonic = monotonic
        self._done_at = deque([(monotonic(), 0)])

    def snapshot(self, info: ListInfo) -> ProgressSnapshot:
        """Return the progress up to now, and remember it for the rate of the next snapshots."""
        done, retried, failed = (
            max(0, getattr(info.progress, name) - getattr(self._start, name)) for name in ("done", "retried", "failed")
        )
        left = info.counts.total - info.counts.failed
        return ProgressSnapshot(done, left, retried, failed, self._rate(done), info.counts)

    def _rate(self, done: int) -> float:
        now = self._monotonic()
        self._done_at.append((now, done))
        while len(self._done_at) > 2 and now - self._done_at[0][0] > RATE_WINDOW_SECONDS:
            self._done_at.popleft()
        since, before = self._done_at[0]
        return max(0, done - before) / (now - since) if now > since else 0.0


def is_over(info: ListInfo) -> bool:
    """Return whether nothing is left that will be worked by itself; a paused list may be resumed."""
    return info.state == "complete" or not count_unfinished(info.settings, info.counts)
