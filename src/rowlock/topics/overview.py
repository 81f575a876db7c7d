"""A topic at a glance: its subscriptions, what is not delivered yet and what has failed."""

from collections.abc import Sequence

import msgspec

from rowlock import topics
from rowlock.db import Tx
from rowlock.model import Notification, Subscription, TopicInfo
from rowlock.names import check_limit
from rowlock.topics import notifications, records
from rowlock.topics.records import FailedDelivery


class TopicOverview(msgspec.Struct, frozen=True):
    """A topic with its first subscriptions, undelivered notifications and failed deliveries."""

    topic: TopicInfo
    count: int
    """How many subscriptions it has."""
    subscriptions: Sequence[Subscription]
    undelivered: Sequence[Notification]
    """The newest first."""
    failed: Sequence[FailedDelivery]


def show(tx: Tx, topic: str, *, limit: int = 50) -> TopicOverview:
    """Return a topic with up to `limit` of its subscriptions, undelivered notifications and failed deliveries."""
    check_limit(limit, "rows")
    row = topics.find(tx, topic)
    return TopicOverview(
        row.info,
        int(tx.value("subscriptions/count", topic=row.id)),
        tx.structs(Subscription, "subscriptions/page", topic=row.id, after=0, limit=limit),
        notifications.page_of(tx, row, delivered=False, limit=limit),
        records.failed_of(tx, row, limit=limit),
    )
