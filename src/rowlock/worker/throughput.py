"""How fast items get finished: what to claim ahead is measured by it."""

from collections.abc import Callable

WINDOW = 0.25


class Throughput:
    """Items per second over the last moments, smoothed."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._since = monotonic()
        self._count = 0
        self.per_second = 0.0

    def count(self, items: int) -> None:
        """Note that so many have been finished."""
        self._count += items
        passed = self._monotonic() - self._since
        if passed >= WINDOW or (self.per_second == 0.0 and self._count):
            latest = self._count / max(passed, 0.001)
            self.per_second = latest if self.per_second == 0.0 else (self.per_second + latest) / 2
            self._since, self._count = self._monotonic(), 0
