"""Routes of records: published, matched, told; and of who was told of them, and why."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock.api.bulk import Retried
from rowlock.api.lists import Changed
from rowlock.db import Transaction
from rowlock.http.call import Answer, Call
from rowlock.http.idempotency import once
from rowlock.http.pages import Page, link
from rowlock.http.texts import form, row
from rowlock.http.topics import FEW, one_or_lines
from rowlock.model import Notification, Published, RecordInfo
from rowlock.topics import notifications, records
from rowlock.topics.records import KeyedRecord

Before = Annotated[int, Meta(description="Strictly before this number.")] | None
Count = Annotated[int, Meta(description="At most so many, the newest first.")]


class NewRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A record to be published; nobody is told twice of records with one key."""

    record: dict[str, Any]
    key: str | None = None


class PublishQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What to do if one of many is malformed."""

    partial: Annotated[bool, Meta(description="Publish the others.")] = False


class PublishedPage(Page, frozen=True):
    """What became of each record, in their order: its number, or what is wrong with it."""

    published: list[Published]


class RecordQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which records."""

    count: Count = 50
    before: Before = None


class RecordPage(Page, frozen=True):
    """Records, the newest first."""

    records: list[RecordInfo]
    next: str | None
    """What to give as `before` for the next page; none if this is the last."""


class NotificationQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which notifications."""

    count: Count = 50
    before: Before = None
    subscriber: Annotated[str, Meta(description="Only those of one.")] | None = None
    delivered: Annotated[bool, Meta(description="Only those that were delivered, or were not.")] | None = None


class NotificationPage(Page, frozen=True):
    """Who was or will be told of what, and why, the newest first."""

    notifications: list[Notification]
    next: str | None
    """What to give as `before` for the next page; none if this is the last."""


class Forgetting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may be told again, and of which record: its number or its key."""

    subscriber: str
    record: int | str


class FailedQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which failed deliveries."""

    count: Annotated[int, Meta(ge=0, le=records.PAGE, description="At most so many.")] = records.PAGE
    list: Annotated[str, Meta(description="Strictly after this list and key.")] = ""
    key: str = ""


class Failed(msgspec.Struct, frozen=True):
    """A delivery that failed, as the item that it is: of which list, and to whom."""

    list: str
    key: str


class FailedPage(Page, frozen=True):
    """Failed deliveries in the order of lists and keys."""

    failed: list[Failed]


async def publish(call: Call) -> Answer:
    """Publish a record, or many by one line of NDJSON each: all who are subscribed when it commits are told.

    By whoever delivers on the same database, such as `rowlock topic deliver`; the service itself tells nobody.
    If one is malformed nothing is published, unless `partial` is asked for. Asked again it publishes again; under an
    Idempotency-Key it does not.
    """
    given: list[KeyedRecord] = [(each.record, each.key) for each in await one_or_lines(call, NewRecord)]
    executor, work = call.service.executor, partial(_publish, call.path["topic"], given, call.query.partial)
    apart = len(given) > FEW
    if call.header(b"idempotency-key"):
        asked = [call.path["topic"], given, call.query.partial]
        found, headers = await once(call, work, asked=asked, apart=apart)
    else:
        found = await (executor.run_in_thread(lambda: executor.engine.run(work)) if apart else executor.write(work))
        headers = []
    return Answer(PublishedPage(msgspec.convert(found, list[Published], from_attributes=True)), headers=headers)


def _publish(topic: str, given: Sequence[KeyedRecord], partly: bool, tx: Transaction) -> list[Published]:  # noqa: FBT001
    return records.publish(tx, topic, given, partial=partly)


async def page(call: Call) -> Answer:
    """Records that were published, the newest first, with how many were found for each."""
    query: RecordQuery = call.query
    found = await call.service.executor.read(records.page, call.path["topic"], before=query.before, limit=query.count)
    before = str(found[-1].id) if found and len(found) == query.count else None
    return Answer(RecordPage(found, before), headers=_link(call, before, count=query.count))


def _link(call: Call, before: str | None, **query: Any) -> list[tuple[bytes, bytes]]:
    return link(call, before, **query, by="before")


async def told(call: Call) -> Answer:
    """Who was or will be told of what, and by which of their predicates, the newest first."""
    query: NotificationQuery = call.query
    asked: dict[str, Any] = {"subscriber": query.subscriber, "delivered": query.delivered}
    found = await call.service.executor.read(
        notifications.page, call.path["topic"], before=query.before, limit=query.count, **asked
    )
    before = str(found[-1].number) if found and len(found) == query.count else None
    return Answer(NotificationPage(found, before), headers=_link(call, before, count=query.count, **asked))


async def forget(call: Call) -> Changed:
    """Let somebody be told again of a record."""
    asked: Forgetting = await call.document()
    verb, topic = notifications.forget, call.path["topic"]
    return Changed(await call.service.executor.write(verb, topic, asked.subscriber, record=asked.record))


async def failed(call: Call) -> FailedPage:
    """Deliveries that failed, all attempts spent; they stay until they are retried."""
    query: FailedQuery = call.query
    asked: dict[str, Any] = {"after": (query.list, query.key), "limit": query.count}
    found = await call.service.executor.read(records.failed, call.path["topic"], **asked)
    return FailedPage([Failed(*each) for each in found])


async def retry(call: Call) -> Retried:
    """Try again to tell everybody who could not be told."""
    executor, count, after = call.service.executor, 0, ("", "")
    while found := await executor.read(records.failed, call.path["topic"], after=after):
        count += await executor.write(records.retry, found)
        after = found[-1]
    return Retried(count)


@form(PublishedPage)
def _numbers(page: PublishedPage) -> str:
    return "".join(row((each.id, each.error)) for each in page.published)


@form(RecordPage)
def _records(page: RecordPage) -> str:
    return "".join(row((each.id, each.published_at, each.matched, each.record)) for each in page.records)


@form(NotificationPage)
def _notifications(page: NotificationPage) -> str:
    return "".join(
        row((each.number, each.subscriber, each.record_id, each.delivered_at, each.predicates, each.record))
        for each in page.notifications
    )


@form(FailedPage)
def _failed(page: FailedPage) -> str:
    return "".join(row((each.list, each.key)) for each in page.failed)
