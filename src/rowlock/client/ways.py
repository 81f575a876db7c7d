"""The table of ways: what a client asks of a server instead of each verb that it would run on a database."""

from collections.abc import Callable, Mapping
from typing import Any

from rowlock import (
    audit,
    claims,
    counters,
    failures,
    gates,
    items,
    lists,
    ranges,
    receipts,
    results,
    schedules,
    sessions,
    settlements,
    topics,
)
from rowlock.client import adding, tokens
from rowlock.client import counters as of_counters
from rowlock.client import items as of_items
from rowlock.client import lists as of_lists
from rowlock.client import schedules as of_schedules
from rowlock.client import sessions as of_sessions
from rowlock.client import topics as of_topics
from rowlock.topics import matching, notifications, records, subscriptions

Table = dict[Callable[..., Any], Callable[..., Any]]

ITEMS: Table = {
    items.add: adding.add,
    items.page: of_items.page,
    items.show: of_items.show,
    items.save: of_items.save,
    items.increment: of_items.increment,
    items.done: of_items.done,
    items.abandon: of_items.abandon,
    items.retry: of_items.retry,
    failures.of_item: of_items.failures,
    failures.count_existing: of_items.there,
    failures.count_retryable: of_items.waiting,
    failures.change_failed: of_items.change_some,
    failures.groups: of_items.groups,
    failures.keys_matching_error: of_items.keys_matching_error,
    results.of_item: of_items.results,
}

LISTS: Table = {
    lists.page: of_lists.page,
    lists.show: of_lists.show,
    lists.find: of_lists.find,
    lists.settings_of: of_lists.settings_of,
    lists.unfinished: of_lists.unfinished,
    lists.with_work: of_lists.with_work,
    lists.gate_number: of_lists.gate_number,
    lists.change_settings: of_lists.change_settings,
    lists.pause: of_lists.pause,
    lists.resume: of_lists.resume,
    lists.rename: of_lists.rename,
    lists.drop: of_lists.drop,
    ranges.split: of_lists.split,
    gates.show: of_lists.gates,
    gates.is_awaited_by_name: of_lists.awaited_by_name,
    gates.open_gate: of_lists.open_gate,
    gates.seal: of_lists.seal,
    gates.complete: of_lists.complete,
    gates.reopen: of_lists.reopen,
}

SESSIONS: Table = {
    sessions.open_session: of_sessions.open_session,
    sessions.beat: of_sessions.beat,
    sessions.close: of_sessions.close,
    sessions.page: of_sessions.page,
    sessions.note_handed: of_sessions.note_handed,
    sessions.held: of_sessions.held,
    claims.take: of_sessions.take,
    claims.close: of_sessions.close_claim,
    settlements.settle: of_sessions.settle,
    settlements.settle_done: of_sessions.settle_done,
}

OTHERS: Table = {
    counters.take: of_counters.take,
    counters.show: of_counters.show,
    counters.page: of_counters.page,
    counters.raise_to: of_counters.raise_to,
    schedules.define: of_schedules.define,
    schedules.show: of_schedules.show,
    schedules.page: of_schedules.page,
    schedules.upcoming: of_schedules.upcoming,
    schedules.trigger: of_schedules.trigger,
    schedules.pause: of_schedules.pause,
    schedules.resume: of_schedules.resume,
    schedules.remove: of_schedules.remove,
    audit.page: tokens.audit,
}

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

WAYS: Table = {**ITEMS, **LISTS, **SESSIONS, **TOPICS, **OTHERS}
