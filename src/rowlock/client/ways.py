"""The table of ways: what a client asks of a server instead of each verb that it would run on a database."""

from collections.abc import Callable, Mapping
from typing import Any

from rowlock import (
    claims,
    ranges,
    receipts,
    sessions,
    settlements,
    topics,
)
from rowlock.client import sessions as of_sessions
from rowlock.client import topics as of_topics
from rowlock.topics import matching, notifications, records, subscriptions

Table = dict[Callable[..., Any], Callable[..., Any]]

SESSIONS: Table = {
    sessions.open_session: of_sessions.open_session,
    sessions.beat: of_sessions.beat,
    sessions.note_handed: of_sessions.note_handed,
    sessions.held: of_sessions.held,
    claims.take: of_sessions.take,
    claims.close: of_sessions.close_claim,
    settlements.settle: of_sessions.settle,
    settlements.settle_done: of_sessions.settle_done,
}

OTHERS: Table = {}

TOPICS: Table = {
    topics.define: of_topics.define,
    topics.show: of_topics.show,
    topics.page: of_topics.page,
    subscriptions.subscribe: of_topics.subscribe,
    subscriptions.unsubscribe: of_topics.unsubscribe,
    subscriptions.unsubscribe_from: of_topics.unsubscribe_from,
    subscriptions.page: of_topics.subscriptions,
    subscriptions.count: of_topics.count,
    matching.matches: of_topics.matches,
    records.publish: of_topics.publish,
    records.page: of_topics.records,
    records.retry: of_topics.retry,
    records.failed: of_topics.failed,
    notifications.page: of_topics.notifications,
    notifications.forget: of_topics.forget,
}

OF_TRANSACTIONS = "a transaction of yours cannot travel to a server: settle without using="
NEEDS_DATABASE: Mapping[Callable[..., Any], str] = {
    claims.is_held: OF_TRANSACTIONS,
    receipts.answers: OF_TRANSACTIONS,
    settlements.hold: OF_TRANSACTIONS,
    settlements.settle_beside: OF_TRANSACTIONS,
    ranges.snapshot: "a snapshot is one read of the whole list: page through its items instead",
}
"""Verbs of handles that no request says the same as, and why."""

WAYS: Table = {**SESSIONS, **TOPICS, **OTHERS}
