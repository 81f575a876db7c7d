"""Notifier: how a worker goes through the lists of a topic's records: first it matches, then it tells subscribers."""

import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rowlock.durations import Duration, milliseconds
from rowlock.engine.runner import Runner
from rowlock.engine.subscriber_limit import SLOW_SECONDS, SubscriberLimit
from rowlock.errors import Unavailable
from rowlock.model import Item, Notification, RecordInfo
from rowlock.outcomes import Done, Fail, Move, Outcome, Retry
from rowlock.topics import notifications, records

if TYPE_CHECKING:
    from rowlock.topics.in_memory_matcher import InMemoryMatcher

PAGES_A_TURN = 5
"""Pages that are matched before others have their turn."""
RECORDS_KEPT = 256
LATER = Retry("the subscriber has not answered yet to what came before", after=SLOW_SECONDS, counted=False, kind="busy")

Function = Callable[[Notification], Any]


class Notifier:
    """The handler of a topic's lists: `function` is called with each notification."""

    def __init__(
        self,
        runner: Runner,
        function: Function,
        *,
        page: int = records.PAGE,
        finder: "InMemoryMatcher | None" = None,
        at_once: int = 8,
        timeout: Duration | None = None,
    ) -> None:
        self._runner = runner
        self._page = page
        self._finder = finder
        self._function = function
        self._limit = SubscriberLimit(at_once, timeout=None if timeout is None else milliseconds(timeout) / 1_000)
        self._kept: OrderedDict[int, RecordInfo] = OrderedDict()

    @property
    def handler(self) -> Callable[[Item], Any]:
        """What a worker calls with each item: a coroutine function if the given one is."""
        return self.notify_async if inspect.iscoroutinefunction(self._function) else self.notify

    def notify(self, item: Item) -> Outcome | Any:
        """Match a record a little further, or tell one subscriber of it."""
        if item.gate == records.MATCH:
            return self._match(item)
        told = self._notification(item)
        if not isinstance(told, Notification):
            return told
        with self._limit.slot(item.key) as free:
            return self._function(told) if free else LATER

    async def notify_async(self, item: Item) -> Outcome | Any:
        """The same on an event loop."""
        from asyncio import to_thread  # heavy, and only async functions need it

        if item.gate == records.MATCH:
            return await to_thread(self._match, item)
        told = self._notification(item) if self._knows(item) else await to_thread(self._notification, item)
        if not isinstance(told, Notification):
            return told
        at = self._limit.acquire(item.key, wait=0) or await to_thread(self._limit.acquire, item.key)
        if at is None:
            return LATER
        try:
            return await self._function(told)
        finally:
            self._limit.release(item.key, at)

    def note_delivered(self, items: Sequence[Item], tx: Runner) -> None:
        """Write down who has been told, in the transaction that takes them off the list."""
        told = [item for item in items if item.gate == records.NOTIFY]
        for name, group in groupby(sorted(told, key=lambda item: item.list), key=lambda item: item.list):
            record = self._kept.get(records.of_list(name)) or tx.read(records.show, records.of_list(name))
            if record is not None:
                tx.run(notifications.mark_delivered, record.subject, [item.key for item in group])

    def _match(self, item: Item) -> Outcome:
        number = records.of_list(item.list)
        try:
            found = None if self._finder is None else self._runner.read(self._finder.find, number)
            for _ in range(PAGES_A_TURN):
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
            return Fail("the record is kept no more", kind="no-record")
        return Notification(
            topic=record.topic,
            subscriber=item.key,
            record=record.record,
            record_id=record.id,
            predicates=item.data["predicates"],
            key=notifications.key_of(record.topic, record.id, published_at=record.published_at, subscriber=item.key),
            attempts=item.attempts,
        )

    def _knows(self, item: Item) -> bool:
        return records.of_list(item.list) in self._kept

    def _record(self, number: int) -> RecordInfo | None:
        found = self._kept.get(number)
        if found is None:
            found = self._runner.read(records.show, number)
            if found is not None:
                self._kept[number] = found
            while len(self._kept) > RECORDS_KEPT:
                self._kept.popitem(last=False)
        return found
