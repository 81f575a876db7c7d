"""The handler of a topic's lists: it matches records, then notifies the subscribers of each."""

import inspect
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rowlock.durations import Duration, milliseconds
from rowlock.engine.protocols import Runner
from rowlock.errors import Unavailable
from rowlock.model import Item, Notification, RecordInfo
from rowlock.outcomes import Done, Fail, Move, Outcome, Retry
from rowlock.topics import notifications, records

if TYPE_CHECKING:
    from rowlock.topics.in_memory_matcher import InMemoryMatcher

MATCH_PAGES_PER_TURN = 5
"""Pages of subscriptions that are matched before other items have their turn."""
MAX_CACHED_RECORDS = 256
SLOW_SECONDS = 1.0
"""A subscriber that has not answered for this long is slow."""
SLOW_REMEMBERED_SECONDS = 60.0
"""How long a slow subscriber is sent one notification at a time."""
RETRY_LATER = Retry("the subscriber is slow to answer earlier ones", after=SLOW_SECONDS, counted=False, kind="busy")

Function = Callable[[Notification], Any]


class Notifier:
    """A worker's handler that calls `function` with each notification of a topic."""

    def __init__(
        self,
        runner: Runner,
        function: Function,
        *,
        page: int = records.PAGE,
        matcher: "InMemoryMatcher | None" = None,
        per_subscriber: int = 8,
        timeout: Duration | None = None,
    ) -> None:
        self._runner = runner
        self._page = page
        self._matcher = matcher
        self._function = function
        seconds = None if timeout is None else milliseconds(timeout) / 1_000
        self._limit = SubscriberLimit(per_subscriber, timeout=seconds)
        self._cache: OrderedDict[int, RecordInfo] = OrderedDict()

    @property
    def handler(self) -> Callable[[Item], Any]:
        """What a worker calls with each item: a coroutine function if the given one is."""
        return self.notify_async if inspect.iscoroutinefunction(self._function) else self.notify

    def notify(self, item: Item) -> Outcome | Any:
        """Match some more pages of a record, or notify one subscriber of it."""
        if item.gate == records.MATCH:
            return self._match(item)
        notification = self._notification(item)
        if not isinstance(notification, Notification):
            return notification
        since = self._limit.acquire(item.key)
        if since is None:
            return RETRY_LATER
        try:
            return self._function(notification)
        finally:
            self._limit.release(item.key, since)

    async def notify_async(self, item: Item) -> Outcome | Any:
        """Do what `notify` does on an event loop: the database is read in a thread."""
        from asyncio import to_thread  # heavy, and only async functions need it

        if item.gate == records.MATCH:
            return await to_thread(self._match, item)
        is_cached = records.of_list(item.list) in self._cache
        notification = self._notification(item) if is_cached else await to_thread(self._notification, item)
        if not isinstance(notification, Notification):
            return notification
        since = self._limit.acquire(item.key, wait=0) or await to_thread(self._limit.acquire, item.key)
        if since is None:
            return RETRY_LATER
        try:
            return await self._function(notification)
        finally:
            self._limit.release(item.key, since)

    def note_delivered(self, items: Sequence[Item], tx: Runner) -> None:
        """Mark notifications as delivered, in the transaction that takes their items off the list."""
        notified = [item for item in items if item.gate == records.NOTIFY]
        for name, group in groupby(sorted(notified, key=lambda item: item.list), key=lambda item: item.list):
            record = self._cache.get(records.of_list(name)) or tx.read(records.show, records.of_list(name))
            if record is not None:
                tx.run(notifications.mark_delivered, record.subject, [item.key for item in group])

    def _match(self, item: Item) -> Outcome:
        number = records.of_list(item.list)
        try:
            found = None if self._matcher is None else self._runner.read(self._matcher.find, number)
            for _ in range(MATCH_PAGES_PER_TURN):
                if self._runner.run(records.match_page, number, limit=self._page, found=found):
                    return Done()
        except Unavailable as error:
            return Retry(error.what, counted=False, kind=error.code)
        return Move()

    def _notification(self, item: Item) -> Notification | Outcome:
        try:
            record = self._record(records.of_list(item.list))
        except Unavailable as error:
            return Retry(error.what, counted=False, kind=error.code)
        if record is None:
            return Fail("the record has been removed", kind="no-record")
        return Notification(
            topic=record.topic,
            subscriber=item.key,
            record=record.record,
            record_id=record.id,
            predicates=item.data["predicates"],
            key=notifications.key_of(record.topic, record.id, published_at=record.published_at, subscriber=item.key),
            attempts=item.attempts,
        )

    def _record(self, number: int) -> RecordInfo | None:
        record = self._cache.get(number)
        if record is None:
            record = self._runner.read(records.show, number)
            if record is not None:
                self._cache[number] = record
            while len(self._cache) > MAX_CACHED_RECORDS:
                self._cache.popitem(last=False)
        return record


class SubscriberLimit:
    """Bounds how many notifications are under way to one subscriber, so that a slow one does not hold up others.

    A slow subscriber gets one at a time. A quick one never notices: a slot is waited for. Safe from any thread.
    """

    def __init__(self, slots: int, *, timeout: float | None = None) -> None:
        self._slots = slots
        self._timeout = timeout
        self._since: dict[str, list[float]] = {}
        self._slow_until: dict[str, float] = {}
        self._changed = threading.Condition()

    def acquire(self, subscriber: str, *, wait: float = SLOW_SECONDS) -> float | None:
        """Take a slot, waiting up to `wait` seconds, and return since when; None on timeout.

        A timeout of SLOW_SECONDS or more marks the subscriber as slow.
        """
        with self._changed:
            free = self._changed.wait_for(lambda: self._has_slot(subscriber), wait)
            now = time.monotonic()
            if not free or (self._is_slow(subscriber, now) and self._live(subscriber, now)):
                if wait >= SLOW_SECONDS:
                    self._slow_until[subscriber] = now + SLOW_REMEMBERED_SECONDS
                return None
            self._since.setdefault(subscriber, []).append(now)
            return now

    def release(self, subscriber: str, since: float) -> None:
        """Give a slot back."""
        with self._changed:
            now, taken = time.monotonic(), self._since.get(subscriber, [])
            if since in taken:
                taken.remove(since)
            if not taken:
                self._since.pop(subscriber, None)
            if now - since > SLOW_SECONDS:
                self._slow_until[subscriber] = now + SLOW_REMEMBERED_SECONDS
            self._changed.notify_all()

    def _has_slot(self, subscriber: str) -> bool:
        now = time.monotonic()
        return self._is_slow(subscriber, now) or len(self._live(subscriber, now)) < self._slots

    def _is_slow(self, subscriber: str, now: float) -> bool:
        if self._slow_until.get(subscriber, now) < now:
            del self._slow_until[subscriber]
        live = self._live(subscriber, now)
        return subscriber in self._slow_until or bool(live and now - live[0] > SLOW_SECONDS)

    def _live(self, subscriber: str, now: float) -> list[float]:
        # A call that has timed out is given up, though its thread may still hang.
        taken = self._since.get(subscriber, [])
        return taken if self._timeout is None else [since for since in taken if now - since < self._timeout]
