"""Ways of topics: each is a verb of `rowlock.topics` and its rooms, asked of a server."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

import msgspec

from rowlock.api.bulk import RETRY_ITEMS
from rowlock.client.transport import Transport
from rowlock.errors import Invalid, InvalidPredicate, InvalidRecord
from rowlock.model import Notification, Published, RecordInfo, Subscription, TopicInfo, is_finite
from rowlock.names import check_key, check_limit, check_start
from rowlock.topics import check_topic, predicates
from rowlock.topics.records import MAX_PER_CALL as MOST_RECORDS
from rowlock.topics.records import PAGE, KeyedRecord, Place
from rowlock.topics.subscriptions import MAX_PER_CALL, Entry, Subscribed


class TopicPage(msgspec.Struct, frozen=True):
    """A page of topics."""

    topics: list[TopicInfo]


class TopicShown(msgspec.Struct, frozen=True):
    """How many have subscribed to a topic."""

    subscriptions: int


class SubscribedPage(msgspec.Struct, frozen=True):
    """Subscriptions that were asked for."""

    subscribed: list[Subscribed]


class SubscriptionPage(msgspec.Struct, frozen=True):
    """A page of subscriptions."""

    subscriptions: list[Subscription]


class Unsubscribed(msgspec.Struct, frozen=True):
    """How many were taken back."""

    unsubscribed: int


class PublishedPage(msgspec.Struct, frozen=True):
    """What became of each record."""

    published: list[Published]


class RecordPage(msgspec.Struct, frozen=True):
    """A page of records."""

    records: list[RecordInfo]


class NotificationPage(msgspec.Struct, frozen=True):
    """A page of notifications."""

    notifications: list[Notification]


class Failed(msgspec.Struct, frozen=True):
    """A delivery that failed."""

    list: str
    key: str


class FailedPage(msgspec.Struct, frozen=True):
    """A page of those."""

    failed: list[Failed]


class Changed(msgspec.Struct, frozen=True):
    """Whether that changed anything."""

    changed: bool


def define(transport: Transport, name: str, fields: Mapping[str, str], *, keep_for: str | None = None) -> TopicInfo:
    """Make the topic, or add fields to it."""
    check_topic(name)
    wanted = {"fields": predicates.check_fields(fields), "keep_for": keep_for}
    return transport.ask("PUT", "topics", name, gives=TopicInfo, body=wanted)


def show(transport: Transport, name: str) -> TopicInfo:
    """The topic as users see it."""
    return transport.ask("GET", "topics", name, gives=TopicInfo)


def page(transport: Transport, *, after: str = "", limit: int = 1000) -> list[TopicInfo]:
    """Topics in the order of their names."""
    check_limit(limit, "topics")
    check_start(after)
    return transport.ask("GET", "topics", gives=TopicPage, query={"count": limit, "after": after or None}).topics


def subscribe(transport: Transport, topic: str, entries: Sequence[Entry]) -> list[Subscribed]:
    """Subscribe each to what it asks for; all or none."""
    if len(entries) > MAX_PER_CALL:
        raise Invalid(f"subscriptions must be at most {MAX_PER_CALL}, got {len(entries)}", "subscribe in several calls")
    for subscriber, _ in entries:
        check_key(subscriber)
    body = _lines([{"subscriber": who, "predicates": _plain(asked)} for who, asked in entries], InvalidPredicate)
    return transport.ask(
        "POST", "topics", topic, "subscriptions", gives=SubscribedPage, lines=lambda: [body]
    ).subscribed


def _plain(asked: Any) -> Any:
    if not isinstance(asked, Mapping):
        raise InvalidPredicate(f"predicates are given by field, not as {type(asked).__name__}", "write {field: value}")
    return {str(name): each for name, each in asked.items()}


def _lines(values: Iterable[Any], error: type[Invalid]) -> bytes:
    try:
        return b"".join(map(_line, values))
    except (TypeError, ValueError, RecursionError, OverflowError):
        raise error("this cannot be written as JSON", "give text, numbers, dates, lists and mappings") from None


def _line(value: Any) -> bytes:
    # What JSON has no number for would arrive as nothing.
    if not is_finite(msgspec.to_builtins(value)):
        raise ValueError
    return msgspec.json.encode(value) + b"\n"


def unsubscribe(transport: Transport, topic: str, ids: Sequence[int]) -> int:
    """Take subscriptions back by their numbers."""
    path = ("topics", topic, "subscriptions")
    return sum(transport.ask("DELETE", *path, str(number), gives=Unsubscribed).unsubscribed for number in ids)


def unsubscribe_from(
    transport: Transport, topic: str, subscriber: str, *, asked: Mapping[str, Any] | None = None
) -> int:
    """Take back what a subscriber asked for, or all of it."""
    check_key(subscriber)
    body = {"subscriber": subscriber, "predicates": None if asked is None else _plain(asked)}
    return transport.ask("POST", "topics", topic, "unsubscribe", gives=Unsubscribed, body=body).unsubscribed


def subscriptions(
    transport: Transport, topic: str, *, subscriber: str | None = None, after: int = 0, limit: int = 1000
) -> list[Subscription]:
    """Subscriptions in the order in which they were made."""
    check_limit(limit, "subscriptions")
    query = {"count": limit, "after": after or None, "subscriber": subscriber}
    return transport.ask("GET", "topics", topic, "subscriptions", gives=SubscriptionPage, query=query).subscriptions


def count(transport: Transport, topic: str) -> int:
    """How many subscriptions there are."""
    return transport.ask("GET", "topics", topic, gives=TopicShown).subscriptions


def matches(transport: Transport, topic: str, record: Mapping[str, Any], *, limit: int = 1000) -> list[Subscription]:
    """Subscriptions that a record would fulfil now."""
    check_limit(limit, "subscriptions")
    asked = msgspec.Raw(_lines([{"record": _record(record)}], InvalidRecord))
    query = {"count": limit}
    return transport.ask(
        "POST", "topics", topic, "matches", gives=SubscriptionPage, body=asked, query=query
    ).subscriptions


def _record(record: Any) -> Any:
    if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
        what = f"a record is values by the names of their fields, not {type(record).__name__}"
        raise InvalidRecord(what, 'write it like {"series": "Saga", "issue": 1}')
    return dict(record)


def publish(
    transport: Transport, topic: str, given: Sequence[KeyedRecord], *, partial: bool = False
) -> list[Published]:
    """Publish records; the same ones once if the answer was lost."""
    if len(given) > MOST_RECORDS:
        raise Invalid(f"records must be at most {MOST_RECORDS}, got {len(given)}", "publish in several calls")
    body = _lines([{"record": _record(record), "key": key} for record, key in given], InvalidRecord)
    asked: dict[str, Any] = {"query": {"partial": partial or None}, "keyed": True}
    return transport.ask(
        "POST", "topics", topic, "records", gives=PublishedPage, lines=lambda: [body], **asked
    ).published


def records(transport: Transport, topic: str, *, before: int | None = None, limit: int = 50) -> list[RecordInfo]:
    """Records that were published, the newest first."""
    check_limit(limit, "records")
    query = {"count": limit, "before": before}
    return transport.ask("GET", "topics", topic, "records", gives=RecordPage, query=query).records


def notifications(
    transport: Transport,
    topic: str,
    *,
    subscriber: str | None = None,
    delivered: bool | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Notification]:
    """Who was or will be told of what, and why."""
    check_limit(limit, "notifications")
    query = {"count": limit, "before": before, "subscriber": subscriber, "delivered": delivered}
    return transport.ask("GET", "topics", topic, "notifications", gives=NotificationPage, query=query).notifications


def forget(transport: Transport, topic: str, subscriber: str, *, record: int | str) -> bool:
    """Let somebody be told again of a record."""
    check_key(subscriber)
    body = {"subscriber": subscriber, "record": record}
    return transport.ask("POST", "topics", topic, "forget", gives=Changed, body=body).changed


def failed(transport: Transport, topic: str, *, after: Place = ("", ""), limit: int = PAGE) -> list[Place]:
    """Deliveries that failed, all attempts spent."""
    query = {"count": limit, "list": after[0] or None, "key": after[1] or None}
    found = transport.ask("GET", "topics", topic, "failures", gives=FailedPage, query=query).failed
    return [(each.list, each.key) for each in found]


def retry(transport: Transport, places: Sequence[Place]) -> int:
    """Make these failed items ready again."""
    by_list = groupby(places, key=lambda place: place[0])
    return sum(_retry(transport, name, [key for _, key in group]) for name, group in by_list)


def _retry(transport: Transport, name: str, keys: list[str]) -> int:
    retried: int = transport.send(RETRY_ITEMS, RETRY_ITEMS.request(name, keys)).retried
    return retried
