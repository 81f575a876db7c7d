"""Routes of topics and of those who have subscribed to them."""

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from rowlock import topics
from rowlock.db import Transaction
from rowlock.errors import InvalidQuery, NoSuchTopic
from rowlock.http.bodies import decoded
from rowlock.http.call import Answer, Call
from rowlock.http.kinds import Kind
from rowlock.http.pages import Page, link
from rowlock.http.texts import form, row
from rowlock.model import Subscription, TopicInfo
from rowlock.topics import matching, records, subscriptions
from rowlock.topics.subscriptions import Entry, Subscribed

PAGE = 1_000
FEW = 100
"""More than these are written apart from what others ask."""

T = TypeVar("T")
Count = Annotated[int, Meta(description="At most so many.")]


class TopicQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which topics."""

    count: Count = PAGE
    after: Annotated[str, Meta(description="Strictly after this name, in byte order.")] = ""


class TopicPage(Page, frozen=True):
    """A page of topics."""

    topics: list[TopicInfo]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""


class TopicShown(TopicInfo, frozen=True):
    """A topic, and how many subscriptions it has."""

    subscriptions: int


class TopicWanted(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The fields that a topic shall have, beside those that it has."""

    fields: dict[str, str] = {}
    """Each is text, integer, number, boolean or date."""
    keep_for: str | None = None
    """How long its history is kept, such as `90d`."""


class Wish(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Somebody who wants to be told of records that fulfil all predicates."""

    subscriber: str
    predicates: dict[str, Any] = {}


class SubscribedPage(Page, frozen=True):
    """The subscriptions that were asked for, in their order, and which of them are new."""

    subscribed: list[Subscribed]


class SubscriptionQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which subscriptions."""

    count: Count = PAGE
    after: Annotated[int, Meta(description="Strictly after this number.")] = 0
    subscriber: Annotated[str, Meta(description="Only those of one.")] | None = None


class SubscriptionPage(Page, frozen=True):
    """A page of subscriptions in the order in which they were made."""

    subscriptions: list[Subscription]
    next: str | None = None
    """What to give as `after` for the next page; none if this is the last."""


class Leaving(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose subscriptions are taken back: all, or the one to these predicates."""

    subscriber: str
    predicates: dict[str, Any] | None = None


class Unsubscribed(msgspec.Struct, frozen=True):
    """How many subscriptions were there and are taken back."""

    unsubscribed: int


class MatchQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many."""

    count: Count = PAGE


class Sample(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record that nobody publishes."""

    record: dict[str, Any]


async def page(call: Call) -> Answer:
    """The topics in the order of their names."""
    query: TopicQuery = call.query
    found = await call.service.executor.read(topics.page, after=query.after, limit=query.count)
    after = found[-1].name if found and len(found) == query.count else None
    theirs = [each for each in found if call.principal.may_touch(records.list_of(each.name, ""))]
    return Answer(TopicPage(theirs, after), headers=link(call, after, count=query.count))


async def show(call: Call) -> TopicShown:
    """One topic: its fields, how long its history is kept, and how many have subscribed."""
    return await call.service.executor.read(_shown, call.path["topic"])


def _shown(tx: Transaction, topic: str) -> TopicShown:
    info = topics.show(tx, topic)
    return TopicShown(info.name, info.fields, info.keep_for, subscriptions.count(tx, topic))


async def put(call: Call) -> Answer:
    """Make a topic, or add fields to it; fields that are there stay, and one of another kind is refused."""
    asked: TopicWanted = await call.document()
    new, info = await call.service.executor.write(_defined, call.path["topic"], asked)
    return Answer(info, status=201 if new else 200)


def _defined(tx: Transaction, topic: str, asked: TopicWanted) -> tuple[bool, TopicInfo]:
    topics.check_topic(topic)
    try:
        topics.show(tx, topic)
        new = False
    except NoSuchTopic:
        new = True
    return new, topics.define(tx, topic, asked.fields, keep_for=asked.keep_for)


async def subscribe(call: Call) -> SubscribedPage:
    """Subscribe somebody, or many by one line of NDJSON each; who has asked for the same already stays as it is.

    If one is wrong, nobody is subscribed.
    """
    wishes: list[Entry] = [(each.subscriber, each.predicates) for each in await one_or_lines(call, Wish)]
    executor, topic = call.service.executor, call.path["topic"]
    if len(wishes) <= FEW:
        return SubscribedPage(await executor.write(subscriptions.subscribe, topic, wishes))
    # In a transaction of its own: other writes need not wait for it.
    run = executor.engine.run
    return SubscribedPage(await executor.run_in_thread(lambda: run(subscriptions.subscribe, topic, wishes)))


async def one_or_lines(call: Call, kind: type[T]) -> list[T]:
    """What a body holds: one document, or one to a line of NDJSON."""
    if call.sent is not Kind.NDJSON:
        return [await call.document()]
    text = await call.body.whole(call.service.limits.document_bytes)
    return [decoded(line, kind) for line in text.splitlines() if line.strip()]


async def listed(call: Call) -> Answer:
    """Subscriptions in the order in which they were made; all, or one subscriber's."""
    query: SubscriptionQuery = call.query
    asked: dict[str, Any] = {"subscriber": query.subscriber, "after": query.after, "limit": query.count}
    found = await call.service.executor.read(subscriptions.page, call.path["topic"], **asked)
    after = str(found[-1].id) if found and len(found) == query.count else None
    headers = link(call, after, count=query.count, subscriber=query.subscriber)
    return Answer(SubscriptionPage(found, after), headers=headers)


async def end(call: Call) -> Unsubscribed:
    """Take back a subscription by its number; records that were published before are still told of."""
    number = call.path["subscription"]
    if not number.isascii() or not number.isdecimal() or len(number) > 18:
        raise InvalidQuery(f"{number[:100]!r} is no number of a subscription", "list them to see their numbers")
    return Unsubscribed(await call.service.executor.write(subscriptions.unsubscribe, call.path["topic"], [int(number)]))


async def unsubscribe(call: Call) -> Unsubscribed:
    """Take back all that somebody has subscribed to, or what they asked for by these predicates."""
    asked: Leaving = await call.document()
    verb, topic = subscriptions.unsubscribe_from, call.path["topic"]
    return Unsubscribed(await call.service.executor.write(verb, topic, asked.subscriber, asked=asked.predicates))


async def matches(call: Call) -> SubscriptionPage:
    """Who would be told if a record were published now; nothing is."""
    asked: Sample = await call.document()
    limit = call.query.count
    return SubscriptionPage(
        await call.service.executor.read(matching.matches, call.path["topic"], asked.record, limit=limit)
    )


@form(TopicPage)
def _topics(page: TopicPage) -> str:
    return "".join(row((each.name, each.keep_for, *_fields(each))) for each in page.topics)


def _fields(info: TopicInfo) -> list[str]:
    return [f"{name}={kind}" for name, kind in info.fields.items()]


@form(SubscribedPage)
def _numbers(page: SubscribedPage) -> str:
    return "".join(row((each.id, "new" if each.new else "known")) for each in page.subscribed)


@form(SubscriptionPage)
def _rows(page: SubscriptionPage) -> str:
    return "".join(row((each.id, each.subscriber, each.predicates, each.created_at)) for each in page.subscriptions)
