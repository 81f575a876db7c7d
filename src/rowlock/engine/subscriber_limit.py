"""Concurrency limit per subscriber: one that does not answer does not hold up the others."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SLOW_SECONDS = 1.0
"""Seconds after which somebody who has not answered is slow."""
SLOW_REMEMBERED_SECONDS = 60.0
"""Seconds for which whoever was slow is told of one thing at a time."""


class SubscriberLimit:
    """Lets so many be under way to one subscriber; one, if it was slow to answer. From any thread.

    Whoever answers quickly never notices: a place is waited for as long as that takes.
    """

    def __init__(self, most: int, *, timeout: float | None = None) -> None:
        self._most = most
        self._timeout = timeout
        self._since: dict[str, list[float]] = {}
        self._slow: dict[str, float] = {}
        self._changed = threading.Condition()

    @contextmanager
    def slot(self, subscriber: str) -> Iterator[bool]:
        """A block in which somebody is told; whether that may be now."""
        at = self.acquire(subscriber)
        try:
            yield at is not None
        finally:
            if at is not None:
                self.release(subscriber, at)

    def acquire(self, subscriber: str, *, wait: float = SLOW_SECONDS) -> float | None:
        """Take a place, if need be after a while; None if there is none. Who has none for long is slow."""
        with self._changed:
            free = self._changed.wait_for(lambda: self._has_slot(subscriber), wait)
            now = time.monotonic()
            if not free or (self._is_slow(subscriber, now) and self._live(subscriber, now)):
                if wait >= SLOW_SECONDS:
                    self._slow[subscriber] = now + SLOW_REMEMBERED_SECONDS
                return None
            self._since.setdefault(subscriber, []).append(now)
            return now

    def release(self, subscriber: str, at: float) -> None:
        """Give the place back."""
        with self._changed:
            now, since = time.monotonic(), self._since.get(subscriber, [])
            if at in since:
                since.remove(at)
            if not since:
                self._since.pop(subscriber, None)
            if now - at > SLOW_SECONDS:
                self._slow[subscriber] = now + SLOW_REMEMBERED_SECONDS
            self._changed.notify_all()

    def _has_slot(self, subscriber: str) -> bool:
        now = time.monotonic()
        return self._is_slow(subscriber, now) or len(self._live(subscriber, now)) < self._most

    def _is_slow(self, subscriber: str, now: float) -> bool:
        if self._slow.get(subscriber, now) < now:
            del self._slow[subscriber]
        live = self._live(subscriber, now)
        return subscriber in self._slow or bool(live and now - live[0] > SLOW_SECONDS)

    def _live(self, subscriber: str, now: float) -> list[float]:
        # What has timed out is given up, though its thread may still hang.
        since = self._since.get(subscriber, [])
        return since if self._timeout is None else [at for at in since if now - at < self._timeout]
