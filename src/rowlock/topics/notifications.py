"""Notifications: which subscriber is notified of which record, once, and why. Functions that take a transaction."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

import msgspec

from rowlock import json_codec, topics
from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.model import Notification, to_datetime
from rowlock.names import check_key, check_limit
from rowlock.topics import commit_order


def note(
    tx: Tx, subscriptions: Sequence[int], *, topic: int, record: int, subject: int
) -> list[tuple[str, dict[str, Any]]]:
    """Add notifications, one per subscriber and subject, and return the new ones: subscriber and predicates."""
    found = tx.rows("subscriptions/by_ids", ids=encode_json(subscriptions))
    rows = [{"subscriber": who, "subscription": number, "predicates": asked} for number, who, asked, _ in found]
    new = tx.rows("notifications/add", topic=topic, record=record, subject=subject, rows=encode_json(rows))
    return [(subscriber, msgspec.json.decode(asked)) for subscriber, asked in new]


def mark_delivered(tx: Tx, subject: int, subscribers: Sequence[str]) -> int:
    """Mark notifications of a subject as delivered, and return how many were not delivered before."""
    return tx.run("notifications/mark_delivered", subject=subject, keys=encode_json(list(subscribers)))


def key_of(topic: str, record: int, *, published_at: datetime, subscriber: str) -> str:
    """Return the idempotency key of a notification: the same however often it is sent, different in other databases."""
    text = f"{topic}\0{record}\0{published_at.isoformat()}\0{subscriber}"
    return blake2b(text.encode(), digest_size=16).hexdigest()


def page(
    tx: Tx,
    topic: str,
    *,
    subscriber: str | None = None,
    delivered: bool | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Notification]:
    """Return notifications, the newest first, strictly before one; filtered by subscriber and by delivery."""
    check_limit(limit, "notifications")
    return page_of(tx, topics.find(tx, topic), subscriber=subscriber, delivered=delivered, before=before, limit=limit)


def page_of(
    tx: Tx,
    row: topics.TopicRow,
    *,
    subscriber: str | None = None,
    delivered: bool | None = None,
    before: int | None = None,
    limit: int,
) -> list[Notification]:
    """Return notifications of a topic that was found before; see `page`."""
    asked: dict[str, Any] = {
        "topic": row.id,
        "before": before or commit_order.NOW,
        "limit": limit,
        "delivered": None if delivered is None else int(delivered),
    }
    if subscriber is None:
        found = tx.rows("notifications/page", **asked)
    else:
        check_key(subscriber)
        found = tx.rows("notifications/page_of_subscriber", subscriber=subscriber, **asked)
    return [_notification(row.name, columns) for columns in found]


def _notification(topic: str, columns: tuple[Any, ...]) -> Notification:
    number, subscriber, asked, matched_at, delivered_at, record, published_at, data = columns
    return Notification(
        topic=topic,
        subscriber=subscriber,
        record=json_codec.decode(data, f"the record {record}"),
        record_id=record,
        predicates=msgspec.json.decode(asked),
        key=key_of(topic, record, published_at=to_datetime(published_at), subscriber=subscriber),
        number=number,
        matched_at=to_datetime(matched_at),
        delivered_at=None if delivered_at is None else to_datetime(delivered_at),
    )


def forget(tx: Tx, topic: str, subscriber: str, *, record: int | str) -> bool:
    """Delete a notification so that a record, by number or key, is delivered again; return whether there was one."""
    row = topics.find(tx, topic)
    check_key(subscriber)
    if isinstance(record, str):
        check_key(record)
        found = tx.row("records/subjects_by_key", topic=row.id, keys=encode_json([record]))
        subject = found[1] if found else None
    else:
        subject = tx.value("records/subject_by_id", topic=row.id, record=record)
    return bool(tx.run("notifications/delete", topic=row.id, subscriber=subscriber, subject=subject))
