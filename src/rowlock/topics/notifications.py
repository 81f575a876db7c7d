"""Notifications: who is told of which record, once, and why. Verbs are functions of a transaction."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from typing import Any

import msgspec

from rowlock import nesting, topics
from rowlock.db import Transaction
from rowlock.item_input import encode_json
from rowlock.model import Notification, to_datetime
from rowlock.names import check_key, check_limit
from rowlock.topics import commit_order


def note(
    tx: Transaction, subscriptions: Sequence[int], *, topic: int, record: int, subject: int
) -> list[tuple[str, dict[str, Any]]]:
    """Write down who shall be told, once for a subject; those who are new, with the predicates that matched."""
    found = tx.rows("subscriptions/by_ids", ids=encode_json(subscriptions))
    rows = [{"subscriber": who, "subscription": number, "predicates": asked} for number, who, asked, _ in found]
    new = tx.rows("notifications/add", topic=topic, record=record, subject=subject, rows=encode_json(rows))
    return [(subscriber, msgspec.json.decode(asked)) for subscriber, asked in new]


def mark_delivered(tx: Transaction, subject: int, subscribers: Sequence[str]) -> int:
    """Write down who has been told now; how many had not been."""
    return tx.run("notifications/mark_delivered", subject=subject, keys=encode_json(list(subscribers)))


def key_of(topic: str, record: int, *, published_at: datetime, subscriber: str) -> str:
    """What a notification is known by outside: the same however often it is sent, another in another database."""
    text = f"{topic}\0{record}\0{published_at.isoformat()}\0{subscriber}"
    return blake2b(text.encode(), digest_size=16).hexdigest()


def page(
    tx: Transaction,
    topic: str,
    *,
    subscriber: str | None = None,
    delivered: bool | None = None,
    before: int | None = None,
    limit: int = 50,
) -> list[Notification]:
    """Notifications, the newest first, strictly before one; all, one subscriber's, those delivered or not."""
    check_limit(limit, "notifications")
    row = topics.find(tx, topic)
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
    return [_notification(topic, columns) for columns in found]


def _notification(topic: str, columns: tuple[Any, ...]) -> Notification:
    number, subscriber, asked, matched_at, delivered_at, record, published_at, data = columns
    return Notification(
        topic=topic,
        subscriber=subscriber,
        record=nesting.decode(data, f"the record {record}"),
        record_id=record,
        predicates=msgspec.json.decode(asked),
        key=key_of(topic, record, published_at=to_datetime(published_at), subscriber=subscriber),
        number=number,
        matched_at=to_datetime(matched_at),
        delivered_at=None if delivered_at is None else to_datetime(delivered_at),
    )


def forget(tx: Transaction, topic: str, subscriber: str, *, record: int | str) -> bool:
    """Let somebody be told again of a record, which is known by its number or its key; whether they had been."""
    row = topics.find(tx, topic)
    check_key(subscriber)
    if isinstance(record, str):
        check_key(record)
        found = tx.row("records/subjects_by_key", topic=row.id, keys=encode_json([record]))
        subject = found[1] if found else None
    else:
        subject = tx.value("records/subject_by_id", topic=row.id, record=record)
    return bool(tx.run("notifications/forget", topic=row.id, subscriber=subscriber, subject=subject))
