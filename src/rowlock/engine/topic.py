"""A topic in a user's hands: each method asks the database, nothing is remembered."""

from collections.abc import Iterable, Mapping
from typing import Any

from rowlock import matching, subscriptions, topics
from rowlock.engine.runner import Runner
from rowlock.errors import Invalid
from rowlock.model import Subscription, TopicInfo
from rowlock.subscriptions import Entry


class Topic:
    """A topic by its name: standing queries, and the records that are held against them."""

    def __init__(self, runner: Runner, name: str) -> None:
        self._runner = runner
        self.name = name

    def __repr__(self) -> str:
        return f"Topic({self.name!r})"

    def define(
        self, fields: Mapping[str, str] | None = None, /, *, keep_for: str | None = None, **more: str
    ) -> TopicInfo:
        """Make the topic with these fields, or add them to it: text, integer, number, boolean or date.

        Fields that are there stay; one of another kind is refused. `keep_for` is how long its history is kept.
        """
        return self._runner.run(topics.define, self.name, {**(fields or {}), **more}, keep_for=keep_for)

    def info(self) -> TopicInfo:
        """The topic as a whole; NoSuchTopic if it is not there."""
        return self._runner.read(topics.show, self.name)

    def subscribe(
        self, subscriber: str, predicates: Mapping[str, Any] | None = None, /, *, using: Any = None, **more: Any
    ) -> int:
        """Subscribe somebody to records that fulfil all predicates; the subscription's number.

        To ask for the same again changes nothing. `using` is an open transaction of yours to do it in.
        """
        entry = subscriber, {**(predicates or {}), **more}
        [answer] = self._joined(using).run(subscriptions.subscribe, self.name, [entry])
        return answer.id

    def subscribe_many(self, entries: Iterable[Entry], *, using: Any = None) -> list[int]:
        """The same for many, given as pairs of subscriber and predicates; if one is wrong, nobody is subscribed."""
        answers = self._joined(using).run(subscriptions.subscribe, self.name, list(entries))
        return [answer.id for answer in answers]

    def unsubscribe(
        self, which: int | str, predicates: Mapping[str, Any] | None = None, /, *, using: Any = None, **more: Any
    ) -> int:
        """Take back a subscription by its number, or a subscriber's: those to the predicates given, else all of them.

        How many were there. Records that were published before are still told of.
        """
        runner = self._joined(using)
        asked = None if predicates is None and not more else {**(predicates or {}), **more}
        if isinstance(which, str):
            return runner.run(subscriptions.unsubscribe_from, self.name, which, asked=asked)
        if asked is not None:
            raise Invalid("a number and predicates were given", "give the number, or the subscriber with predicates")
        return runner.run(subscriptions.unsubscribe, self.name, [which])

    def subscriptions(self, *, subscriber: str | None = None, after: int = 0, limit: int = 1000) -> list[Subscription]:
        """Subscriptions in the order in which they were made, strictly after a number; all, or one subscriber's."""
        return self._runner.read(subscriptions.page, self.name, subscriber=subscriber, after=after, limit=limit)

    def count(self) -> int:
        """How many subscriptions there are."""
        return self._runner.read(subscriptions.count, self.name)

    def matches(self, record: Mapping[str, Any], *, limit: int = 1000) -> list[Subscription]:
        """Subscriptions that a record would fulfil if it were published now; nothing is."""
        return self._runner.read(matching.matches, self.name, record, limit=limit)

    def _joined(self, using: Any) -> Runner:
        return self._runner if using is None else self._runner.join(using)
