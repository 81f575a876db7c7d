"""The handle of a topic: each method calls the database, nothing is cached."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from rowlock import topics
from rowlock.durations import Duration
from rowlock.engine.notification_handler import Notifier
from rowlock.engine.protocols import NamedHandle, Runner
from rowlock.errors import Invalid
from rowlock.model import Notification, Published, RecordInfo, Subscription, TopicInfo
from rowlock.topics import check_topic, matching, notifications, overview, records, subscriptions
from rowlock.topics.overview import TopicOverview
from rowlock.topics.records import FailedDelivery
from rowlock.topics.subscriptions import Entry

if TYPE_CHECKING:
    from rowlock.topics.in_memory_matcher import InMemoryMatcher


class Topic(NamedHandle):
    """A topic by its name: standing queries, and the records that are matched against them."""

    _noun = "topic"

    def __init__(self, runner: Runner, name: str) -> None:
        check_topic(name)
        super().__init__(runner, name)

    def define(
        self, fields: Mapping[str, str] | None = None, /, *, keep_for: str | None = None, **more: str
    ) -> TopicInfo:
        """Create the topic with these fields, or add them to it: text, integer, number, boolean or date.

        Existing fields stay; another type for one of them is refused. `keep_for` is how long its history is kept.
        """
        return self._runner.run(topics.define, self.name, {**(fields or {}), **more}, keep_for=keep_for)

    def info(self) -> TopicInfo:
        """Return the topic's fields and settings; NoSuchTopic if it does not exist."""
        return self._runner.read(topics.show, self.name)

    def overview(self, *, limit: int = 50) -> TopicOverview:
        """Return the topic with its first subscriptions, undelivered notifications and failed deliveries."""
        return self._runner.read(overview.show, self.name, limit=limit)

    def subscribe(
        self, subscriber: str, predicates: Mapping[str, Any] | None = None, /, *, using: Any = None, **more: Any
    ) -> int:
        """Subscribe to records that fulfil all predicates, and return the subscription's number.

        Subscribing to the same again changes nothing. `using` is an open transaction of yours to do it in.
        """
        entry = subscriber, {**(predicates or {}), **more}
        [answer] = self._joined(using).run(subscriptions.subscribe, self.name, [entry])
        return answer.id

    def subscribe_many(self, entries: Iterable[Entry], *, using: Any = None) -> list[int]:
        """Subscribe many pairs of subscriber and predicates, all or none, and return their numbers."""
        answers = self._joined(using).run(subscriptions.subscribe, self.name, list(entries))
        return [answer.id for answer in answers]

    def unsubscribe(
        self, which: int | str, predicates: Mapping[str, Any] | None = None, /, *, using: Any = None, **more: Any
    ) -> int:
        """Remove a subscription by its number, or a subscriber's: those with the predicates given, else all of them.

        Return how many were removed. Subscribers are still notified of records that were published before.
        """
        runner = self._joined(using)
        asked = None if predicates is None and not more else {**(predicates or {}), **more}
        if isinstance(which, str):
            return runner.run(subscriptions.unsubscribe_from, self.name, which, asked=asked)
        if asked is not None:
            raise Invalid("a number and predicates were given", "give the number, or the subscriber with predicates")
        return runner.run(subscriptions.unsubscribe, self.name, which)

    def subscriptions(self, *, subscriber: str | None = None, after: int = 0, limit: int = 1000) -> list[Subscription]:
        """Return subscriptions in the order of their numbers, strictly after one; all, or one subscriber's."""
        return self._runner.read(subscriptions.page, self.name, subscriber=subscriber, after=after, limit=limit)

    def count(self) -> int:
        """Return the number of subscriptions."""
        return self._runner.read(subscriptions.count, self.name)

    def matches(self, record: Mapping[str, Any], *, limit: int = 1000) -> list[Subscription]:
        """Return the subscriptions that a record would match if it were published now; it is not published."""
        return self._runner.read(matching.matches, self.name, record, limit=limit)

    def publish(self, record: Mapping[str, Any], *, key: str | None = None, using: Any = None) -> int:
        """Publish a record and return its number; workers that `deliver` notify who is subscribed when it commits.

        A subscriber is not notified twice of records with one key.
        """
        [answer] = self._joined(using).run(records.publish, self.name, [(record, key)])
        return int(answer.id or 0)

    def publish_many(
        self,
        given: Iterable[Mapping[str, Any]],
        *,
        keys: Iterable[str | None] | None = None,
        partial: bool = False,
        using: Any = None,
    ) -> list[Published]:
        """Publish up to 1,000 records and return the result of each, in order.

        If one is invalid nothing is published, and the error names it; with `partial` the others are published.
        """
        each = list(given)
        known = [None] * len(each) if keys is None else list(keys)
        if len(known) != len(each):
            what = f"keys must be as many as the {len(each)} records, got {len(known)}"
            raise Invalid(what, "give None for a record without a key")
        pairs = list(zip(each, known, strict=True))
        return self._joined(using).run(records.publish, self.name, pairs, partial=partial)

    def records(self, *, before: int | None = None, limit: int = 50) -> list[RecordInfo]:
        """Return published records, the newest first, strictly before a number."""
        return self._runner.read(records.page, self.name, before=before, limit=limit)

    def notifications(
        self,
        *,
        subscriber: str | None = None,
        delivered: bool | None = None,
        before: int | None = None,
        limit: int = 50,
    ) -> list[Notification]:
        """Return notifications, delivered and pending, the newest first, strictly before a number."""
        asked: dict[str, Any] = {"subscriber": subscriber, "delivered": delivered, "before": before, "limit": limit}
        return self._runner.read(notifications.page, self.name, **asked)

    def forget(self, subscriber: str, record: int | str, *, using: Any = None) -> bool:
        """Forget that a subscriber was notified of a record, by its number or key; return whether that was noted."""
        return self._joined(using).run(notifications.forget, self.name, subscriber, record=record)

    def failed(self) -> int:
        """Return how many notifications have failed, all attempts spent; they stay until they are retried."""
        return sum(len(page) for page in self._failed())

    def retry(self) -> int:
        """Retry all notifications that have failed, and return how many."""
        return sum(self._runner.run(records.retry, page) for page in self._failed())

    def _failed(self) -> Iterator[list[FailedDelivery]]:
        last = FailedDelivery("", "")
        while page := self._runner.read(records.failed, self.name, after_list=last.list, after_key=last.key):
            yield page
            last = page[-1]

    def deliver(
        self,
        worker: Any,
        function: Any = None,
        *,
        attempts: int | None = None,
        backoff: str | None = None,
        timeout: Duration | None = "30s",
        in_memory: bool = False,
    ) -> Any:
        """Have a worker match this topic's records and call `function(notification)` for every subscriber that matches.

        Use it as a decorator, or give the function: a `def`, an `async def`, a `Webhook` or a `Mail`. What it returns
        or raises is the outcome, as with any handler. With `in_memory` the worker keeps a copy of the subscriptions, to
        match faster.
        """
        matcher = self._in_memory_matcher() if in_memory else None

        def register(chosen: Any) -> Any:
            half = max(1, worker.concurrency // 2)
            notifier = Notifier(self._runner, chosen, matcher=matcher, per_subscriber=half, timeout=timeout)
            terms = {"attempts": attempts, "backoff": backoff, "timeout": timeout}
            worker.on(topics.list_of(self.name, "*"), notifier.handler, within=notifier.note_delivered, **terms)
            if hasattr(chosen, "close"):
                worker.on_stop(chosen.close)
            return chosen

        return register if function is None else register(function)

    def _in_memory_matcher(self) -> "InMemoryMatcher":
        from rowlock.topics.in_memory_matcher import InMemoryMatcher  # needs numpy

        return InMemoryMatcher(self.name)
