"""Topics, their subscriptions and records, and notifications of them, over HTTP."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from rowlock import topics
from rowlock.api.documents import Value, page
from rowlock.api.items import Retried
from rowlock.api.lists import Changed
from rowlock.api.operation import Operation
from rowlock.errors import Invalid, InvalidPredicate, InvalidRecord
from rowlock.json_codec import is_finite
from rowlock.model import Notification, Published, RecordInfo, Subscription, TopicInfo
from rowlock.names import check_key
from rowlock.roles import Role
from rowlock.topics import matching, notifications, overview, predicates, records, subscriptions
from rowlock.topics.overview import TopicOverview
from rowlock.topics.records import FailedDelivery, KeyedRecord
from rowlock.topics.subscriptions import Entry, Subscribed, TopicDetails

VIEWER, WORKER, OPERATOR, ADMIN = Role
TOPIC_PATH = "/v1/topics/{topic}"
SUBSCRIPTIONS_PATH = f"{TOPIC_PATH}/subscriptions"
RECORDS_PATH = f"{TOPIC_PATH}/records"


class TopicOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields that a topic shall have, beside those that it has."""

    fields: dict[str, str] = {}
    """Each is text, integer, number, boolean or date."""
    keep_for: str | None = None
    """How long its history is kept, such as `90d`."""

    def __post_init__(self) -> None:
        predicates.check_fields(self.fields)


class SubscriptionCount(Value, frozen=True):
    """How many subscriptions a topic has."""

    subscriptions: int


class NewSubscriber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A subscriber to records that fulfil all predicates."""

    subscriber: str
    predicates: dict[str, Any] = {}

    def to_argument(self, *_: str) -> Entry:
        """Return the subscription as the verb takes it."""
        return self.subscriber, self.predicates

    @classmethod
    def from_argument(cls, entry: Entry) -> "NewSubscriber":
        """Return a subscription as it is sent."""
        subscriber, asked = entry
        check_key(subscriber)
        return NewSubscriber(subscriber, writable_predicates(asked))


class LeavingSubscriber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose subscriptions are removed: all, or the one to these predicates."""

    subscriber: str
    asked: dict[str, Any] | None = msgspec.field(default=None, name="predicates")

    def __post_init__(self) -> None:
        check_key(self.subscriber)
        if self.asked is not None:
            msgspec.structs.force_setattr(self, "asked", writable_predicates(self.asked))


class Unsubscribed(Value, frozen=True):
    """How many subscriptions were removed."""

    unsubscribed: int


class SampleRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record that is not published."""

    record: dict[str, Any]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "record", writable_record(self.record))


class NewRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record to be published; a subscriber is notified once of records with one key."""

    record: dict[str, Any]
    key: str | None = None

    def to_argument(self, *_: str) -> KeyedRecord:
        """Return the record as the verb takes it."""
        return self.record, self.key

    @classmethod
    def from_argument(cls, given: KeyedRecord) -> "NewRecord":
        """Return a record as it is sent."""
        record, key = given
        return NewRecord(writable_record(record), key)


class ForgottenNotification(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A subscriber who may be notified again of a record, named by its number or its key."""

    subscriber: str
    record: int | str

    def __post_init__(self) -> None:
        check_key(self.subscriber)


def writable_predicates(asked: Any) -> dict[str, Any]:
    """Return predicates as JSON values; InvalidPredicate if they cannot be written as JSON."""
    if not isinstance(asked, Mapping):
        what = f"predicates must be a mapping by field, got {type(asked).__name__}"
        raise InvalidPredicate(what, "write {field: value}")
    return _writable({str(name): each for name, each in asked.items()}, "predicates", InvalidPredicate)


def writable_record(record: Any) -> dict[str, Any]:
    """Return a record as JSON values; InvalidRecord if it cannot be written as JSON."""
    if not isinstance(record, Mapping) or not all(isinstance(name, str) for name in record):
        what = f"a record must be values by the names of their fields, got {type(record).__name__}"
        raise InvalidRecord(what, 'write it like {"series": "Saga", "issue": 1}')
    return _writable(dict(record), "a record", InvalidRecord)


def _writable(values: dict[str, Any], what: str, error: type[Invalid]) -> dict[str, Any]:
    with suppress(TypeError, ValueError, RecursionError, OverflowError):
        plain: dict[str, Any] = msgspec.to_builtins(values)
        # JSON has no other numbers: they would arrive as null.
        if is_finite(plain):
            return plain
    raise error(f"{what} cannot be written as JSON", "give text, numbers, dates, lists and mappings")


def _topic_cells(info: TopicInfo) -> list[str]:
    return [info.name, info.keep_for, *(f"{name}={kind}" for name, kind in info.fields.items())]


TopicPage = page("TopicPage", "topics", of=TopicInfo, cells=_topic_cells, cursor="name")
SubscribedPage = page(
    "SubscribedPage",
    "subscribed",
    of=Subscribed,
    cells=lambda each: (each.id, "new" if each.new else "known"),
    doc="The requested subscriptions, in order, and which of them are new.",
)
SubscriptionPage = page(
    "SubscriptionPage",
    "subscriptions",
    of=Subscription,
    cells=("id", "subscriber", "predicates", "created_at"),
    cursor="id",
)
PublishedPage = page(
    "PublishedPage",
    "published",
    of=Published,
    cells=("id", "error"),
    doc="The result of each record, in order: its number, or its error.",
)
RecordPage = page(
    "RecordPage", "records", of=RecordInfo, cells=("id", "published_at", "matched", "record"), cursor="id"
)
NotificationPage = page(
    "NotificationPage",
    "notifications",
    of=Notification,
    cells=("number", "subscriber", "record_id", "delivered_at", "predicates", "record"),
    cursor="number",
)
FailedDeliveryPage = page(
    "FailedDeliveryPage", "failed", of=FailedDelivery, cells=("list", "key"), doc="Failed deliveries, by list and key."
)

UNSUBSCRIBE = Operation(
    subscriptions.unsubscribe, "DELETE", f"{SUBSCRIPTIONS_PATH}/{{subscription}}", WORKER, Unsubscribed
)
RETRY_DELIVERIES = Operation(None, "POST", f"{TOPIC_PATH}/retry", OPERATOR, Retried, name="records.retry")
OPERATIONS = (
    Operation(topics.page, "GET", "/v1/topics", VIEWER, TopicPage),
    Operation(
        subscriptions.show_topic,
        "GET",
        TOPIC_PATH,
        VIEWER,
        TopicDetails,
        also={topics.show: TopicInfo, subscriptions.count: SubscriptionCount},
        name="topics.show",
    ),
    Operation(overview.show, "GET", f"{TOPIC_PATH}/overview", VIEWER, TopicOverview, name="topics.overview"),
    Operation(
        topics.put,
        "PUT",
        TOPIC_PATH,
        OPERATOR,
        TopicInfo,
        body=TopicOptions,
        also={topics.define: TopicInfo},
        name="topics.define",
    ),
    Operation(
        subscriptions.subscribe,
        "POST",
        SUBSCRIPTIONS_PATH,
        WORKER,
        SubscribedPage,
        body=NewSubscriber,
        whole="entries",
        line=NewSubscriber,
        description="One document, or one to a line of NDJSON. If one is wrong, nobody is subscribed.",
    ),
    Operation(subscriptions.page, "GET", SUBSCRIPTIONS_PATH, VIEWER, SubscriptionPage),
    UNSUBSCRIBE,
    Operation(
        subscriptions.unsubscribe_from,
        "POST",
        f"{TOPIC_PATH}/unsubscribe",
        WORKER,
        Unsubscribed,
        body=LeavingSubscriber,
    ),
    Operation(
        matching.matches, "POST", f"{TOPIC_PATH}/matches", WORKER, SubscriptionPage, body=SampleRecord, safe=True
    ),
    Operation(
        records.publish,
        "POST",
        RECORDS_PATH,
        WORKER,
        PublishedPage,
        body=NewRecord,
        whole="given",
        line=NewRecord,
        keyed=True,
        description="One document, or one to a line of NDJSON: all who are subscribed when it commits are notified, by"
        " any worker that delivers on the same database, such as `rowlock topic deliver`; the service itself delivers"
        " nothing."
        " If one is malformed nothing is published, unless `partial` is given. A repeated request publishes again;"
        " under an Idempotency-Key it does not.",
    ),
    Operation(records.page, "GET", RECORDS_PATH, VIEWER, RecordPage),
    Operation(notifications.page, "GET", f"{TOPIC_PATH}/notifications", VIEWER, NotificationPage),
    Operation(notifications.forget, "POST", f"{TOPIC_PATH}/forget", WORKER, Changed, body=ForgottenNotification),
    Operation(records.failed, "GET", f"{TOPIC_PATH}/failures", VIEWER, FailedDeliveryPage),
    RETRY_DELIVERIES,
)
