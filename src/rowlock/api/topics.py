"""What crosses a process about topics and their subscriptions."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import topics
from rowlock.api.lists import AfterName, Limit
from rowlock.api.operation import Operation
from rowlock.api.text import Page, row
from rowlock.errors import Invalid, InvalidPredicate, InvalidRecord
from rowlock.json_codec import is_finite
from rowlock.model import Subscription, TopicInfo
from rowlock.names import check_key
from rowlock.roles import Role
from rowlock.topics import matching, predicates, subscriptions
from rowlock.topics.subscriptions import Entry, Subscribed, TopicDetails

TOPIC_PATH = "/v1/topics/{topic}"
SUBSCRIPTIONS_PATH = f"{TOPIC_PATH}/subscriptions"


class TopicQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which topics."""

    limit: Limit = msgspec.field(default=1000, name="count")
    after: AfterName = ""


class TopicPage(Page, frozen=True):
    """A page of topics."""

    topics: list[TopicInfo]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""

    def text(self) -> str:
        """A line for each topic."""
        return "".join(row((each.name, each.keep_for, *_fields(each))) for each in self.topics)


class TopicOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The fields that a topic shall have, beside those that it has."""

    fields: dict[str, str] = {}
    """Each is text, integer, number, boolean or date."""
    keep_for: str | None = None
    """How long its history is kept, such as `90d`."""

    def __post_init__(self) -> None:
        predicates.check_fields(self.fields)


class NewSubscriber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A subscriber to records that fulfil all predicates."""

    subscriber: str
    predicates: dict[str, Any] = {}

    def to_argument(self, *_: str) -> Entry:
        """The subscription as the engine takes it."""
        return self.subscriber, self.predicates

    @classmethod
    def from_argument(cls, entry: Entry) -> "NewSubscriber":
        """A subscription of the engine as it is sent."""
        subscriber, asked = entry
        check_key(subscriber)
        return NewSubscriber(subscriber, writable_predicates(asked))


class SubscribedPage(Page, frozen=True):
    """The subscriptions that were requested, in their order, and which of them are new."""

    subscribed: list[Subscribed]

    def text(self) -> str:
        """A line for each subscription."""
        return "".join(row((each.id, "new" if each.new else "known")) for each in self.subscribed)


class SubscriptionQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which subscriptions."""

    limit: Limit = msgspec.field(default=1000, name="count")
    after: Annotated[int, Meta(description="Strictly after this number.")] = 0
    subscriber: Annotated[str, Meta(description="Only those of one.")] | None = None


class SubscriptionPage(Page, frozen=True):
    """A page of subscriptions in the order in which they were made."""

    subscriptions: list[Subscription]
    next: int | None = None
    """What to give as `after` for the next page; none if this is the last."""

    def text(self) -> str:
        """A line for each subscription."""
        return "".join(row((each.id, each.subscriber, each.predicates, each.created_at)) for each in self.subscriptions)


class LeavingSubscriber(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whose subscriptions are removed: all, or the one to these predicates."""

    subscriber: str
    asked: dict[str, Any] | None = msgspec.field(default=None, name="predicates")

    def __post_init__(self) -> None:
        check_key(self.subscriber)
        if self.asked is not None:
            msgspec.structs.force_setattr(self, "asked", writable_predicates(self.asked))


class Unsubscribed(msgspec.Struct, frozen=True):
    """How many subscriptions were removed."""

    unsubscribed: int


class MatchQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many."""

    limit: Limit = msgspec.field(default=1000, name="count")


class SampleRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record that is not published."""

    record: dict[str, Any]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "record", writable_record(self.record))


def writable_predicates(asked: Any) -> dict[str, Any]:
    """Predicates as JSON can say them; InvalidPredicate if it cannot."""
    if not isinstance(asked, Mapping):
        what = f"predicates must be a mapping by field, got {type(asked).__name__}"
        raise InvalidPredicate(what, "write {field: value}")
    return _writable({str(name): each for name, each in asked.items()}, "predicates", InvalidPredicate)


def writable_record(record: Any) -> dict[str, Any]:
    """A record as JSON can say it; InvalidRecord if it cannot."""
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


def topic_info(details: TopicDetails, *_: str) -> TopicInfo:
    """The topic without the number of its subscriptions."""
    return TopicInfo(details.name, details.fields, details.keep_for)


def _fields(info: TopicInfo) -> list[str]:
    return [f"{name}={kind}" for name, kind in info.fields.items()]


SHOW_TOPIC = Operation(
    topics.show,
    "GET",
    TOPIC_PATH,
    Role.VIEWER,
    TopicDetails,
    served_by=subscriptions.show_topic,
    to_result=topic_info,
)
UNSUBSCRIBE = Operation(
    subscriptions.unsubscribe,
    "DELETE",
    f"{SUBSCRIPTIONS_PATH}/{{subscription}}",
    Role.WORKER,
    Unsubscribed,
    value="unsubscribed",
    custom=True,
    tag="topics",
)
OPERATIONS = (
    Operation(
        topics.page,
        "GET",
        "/v1/topics",
        Role.VIEWER,
        TopicPage,
        query=TopicQuery,
        value="topics",
        cursor="name",
        scoped=True,
    ),
    SHOW_TOPIC,
    Operation(
        topics.define,
        "PUT",
        TOPIC_PATH,
        Role.OPERATOR,
        TopicInfo,
        body=TopicOptions,
        served_by=topics.put,
        statuses=(200, 201),
    ),
    Operation(
        subscriptions.subscribe,
        "POST",
        SUBSCRIPTIONS_PATH,
        Role.WORKER,
        SubscribedPage,
        body=NewSubscriber,
        line=NewSubscriber,
        whole="entries",
        value="subscribed",
        tag="topics",
        description="One document, or one to a line of NDJSON. If one is wrong, nobody is subscribed.",
    ),
    Operation(
        subscriptions.page,
        "GET",
        SUBSCRIPTIONS_PATH,
        Role.VIEWER,
        SubscriptionPage,
        query=SubscriptionQuery,
        value="subscriptions",
        cursor="id",
        tag="topics",
    ),
    UNSUBSCRIBE,
    Operation(
        subscriptions.unsubscribe_from,
        "POST",
        f"{TOPIC_PATH}/unsubscribe",
        Role.WORKER,
        Unsubscribed,
        body=LeavingSubscriber,
        value="unsubscribed",
        tag="topics",
    ),
    Operation(
        matching.matches,
        "POST",
        f"{TOPIC_PATH}/matches",
        Role.WORKER,
        SubscriptionPage,
        query=MatchQuery,
        body=SampleRecord,
        value="subscriptions",
        safe=True,
        tag="topics",
    ),
)
