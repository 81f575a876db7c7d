"""What crosses a process about records of topics, and about notifications of them."""

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock.api.bulk import Retried
from rowlock.api.lists import Changed
from rowlock.api.operation import Operation
from rowlock.api.text import Page, row
from rowlock.api.topics import TOPIC_PATH, writable_record
from rowlock.model import Notification, Published, RecordInfo
from rowlock.names import check_key
from rowlock.roles import Role
from rowlock.topics import notifications, records
from rowlock.topics.records import KeyedRecord

RECORDS_PATH = f"{TOPIC_PATH}/records"

Before = Annotated[int, Meta(description="Strictly before this number.")] | None
Newest = Annotated[int, Meta(description="At most so many, the newest first.")]


class NewRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record to be published; a subscriber is notified once of records with one key."""

    record: dict[str, Any]
    key: str | None = None

    def to_argument(self, *_: str) -> KeyedRecord:
        """The record as the engine takes it."""
        return self.record, self.key

    @classmethod
    def from_argument(cls, given: KeyedRecord) -> "NewRecord":
        """A record of the engine as it is sent."""
        record, key = given
        return NewRecord(writable_record(record), key)


class PublishQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do if one of many is malformed."""

    partial: Annotated[bool, Meta(description="Publish the others.")] = False


class PublishedPage(Page, frozen=True):
    """What became of each record, in their order: its number, or what is wrong with it."""

    published: list[Published]

    def text(self) -> str:
        """A line for each record."""
        return "".join(row((each.id, each.error)) for each in self.published)


class RecordQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which records."""

    limit: Newest = msgspec.field(default=50, name="count")
    before: Before = None


class RecordPage(Page, frozen=True):
    """Records, the newest first."""

    records: list[RecordInfo]
    next: int | None
    """What to give as `before` for the next page; none if this is the last."""

    def text(self) -> str:
        """A line for each record."""
        return "".join(row((each.id, each.published_at, each.matched, each.record)) for each in self.records)


class NotificationQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which notifications."""

    limit: Newest = msgspec.field(default=50, name="count")
    before: Before = None
    subscriber: Annotated[str, Meta(description="Only those of one.")] | None = None
    delivered: Annotated[bool, Meta(description="Only those that were delivered, or were not.")] | None = None


class NotificationPage(Page, frozen=True):
    """Notifications, the newest first: who was or will be notified of what, and why."""

    notifications: list[Notification]
    next: int | None
    """What to give as `before` for the next page; none if this is the last."""

    def text(self) -> str:
        """A line for each notification."""
        return "".join(
            row((each.number, each.subscriber, each.record_id, each.delivered_at, each.predicates, each.record))
            for each in self.notifications
        )


class ForgottenNotification(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may be notified again, and of which record: its number or its key."""

    subscriber: str
    record: int | str

    def __post_init__(self) -> None:
        check_key(self.subscriber)


class FailedDeliveryQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which failed deliveries."""

    count: Annotated[int, Meta(ge=0, le=records.PAGE, description="At most so many.")] = records.PAGE
    list: Annotated[str, Meta(description="Strictly after this list and key.")] = ""
    key: str = ""


class FailedDelivery(msgspec.Struct, frozen=True):
    """A delivery that failed, as the item that it is: of which list, and to whom."""

    list: str
    key: str


class FailedDeliveryPage(Page, frozen=True):
    """Failed deliveries in the order of lists and keys."""

    failed: list[FailedDelivery]

    def text(self) -> str:
        """A line for each delivery."""
        return "".join(row((each.list, each.key)) for each in self.failed)


FAILED_DELIVERIES = Operation(
    records.failed,
    "GET",
    f"{TOPIC_PATH}/failures",
    Role.VIEWER,
    FailedDeliveryPage,
    query=FailedDeliveryQuery,
    custom=True,
    tag="topics",
)
RETRY_DELIVERIES = Operation(
    None,
    "POST",
    f"{TOPIC_PATH}/retry",
    Role.OPERATOR,
    Retried,
    custom=True,
    name="records.retry",
    tag="topics",
    summary="Try again to notify everybody who could not be notified.",
)
OPERATIONS = (
    Operation(
        records.publish,
        "POST",
        RECORDS_PATH,
        Role.WORKER,
        PublishedPage,
        query=PublishQuery,
        body=NewRecord,
        line=NewRecord,
        whole="given",
        value="published",
        idempotent=False,
        keyed=True,
        tag="topics",
        description="One document, or one to a line of NDJSON: all who are subscribed when it commits are notified, by"
        " whoever delivers on the same database, such as `rowlock topic deliver`; the service itself delivers nothing."
        " If one is malformed nothing is published, unless `partial` is given. A repeated request publishes again;"
        " under an Idempotency-Key it does not.",
    ),
    Operation(
        records.page,
        "GET",
        RECORDS_PATH,
        Role.VIEWER,
        RecordPage,
        query=RecordQuery,
        value="records",
        cursor="id",
        tag="topics",
    ),
    Operation(
        notifications.page,
        "GET",
        f"{TOPIC_PATH}/notifications",
        Role.VIEWER,
        NotificationPage,
        query=NotificationQuery,
        value="notifications",
        cursor="number",
        tag="topics",
    ),
    Operation(
        notifications.forget,
        "POST",
        f"{TOPIC_PATH}/forget",
        Role.WORKER,
        Changed,
        body=ForgottenNotification,
        value="changed",
        tag="topics",
    ),
    FAILED_DELIVERIES,
    RETRY_DELIVERIES,
)
