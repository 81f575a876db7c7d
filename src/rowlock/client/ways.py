"""The table of ways: what a client asks of a server instead of each verb that it would run on a database."""

from collections.abc import Callable, Mapping
from typing import Any

from rowlock import (
    claims,
    ranges,
    receipts,
    sessions,
    settlements,
)
from rowlock.client import sessions as of_sessions

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

OF_TRANSACTIONS = "a transaction of yours cannot travel to a server: settle without using="
NEEDS_DATABASE: Mapping[Callable[..., Any], str] = {
    claims.is_held: OF_TRANSACTIONS,
    receipts.answers: OF_TRANSACTIONS,
    settlements.hold: OF_TRANSACTIONS,
    settlements.settle_beside: OF_TRANSACTIONS,
    ranges.snapshot: "a snapshot is one read of the whole list: page through its items instead",
}
"""Verbs of handles that no request says the same as, and why."""

WAYS: Table = {**SESSIONS, **OTHERS}
