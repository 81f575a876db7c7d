"""rowlock: durable work tracking on the database you already have."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rowlock.aio import AsyncEngine
    from rowlock.client import Client
    from rowlock.counters import CounterInfo
    from rowlock.delivery.mail import Mail
    from rowlock.delivery.signatures import verify
    from rowlock.delivery.webhooks import Webhook
    from rowlock.engine import (
        BatchedFunction,
        Claim,
        Counter,
        Engine,
        Grouped,
        List,
        RedisCounters,
        Schedule,
        Session,
        Topic,
        Transaction,
    )
    from rowlock.errors import (
        Invalid,
        ItemsGone,
        NotFound,
        OutcomeUnknown,
        Refused,
        RowlockError,
        Stale,
        StaleClaim,
        StaleSession,
        Unavailable,
    )
    from rowlock.model import (
        Added,
        Counts,
        Failure,
        GateInfo,
        Item,
        ListInfo,
        NewItem,
        Notification,
        Progress,
        Published,
        RecordInfo,
        State,
        Subscription,
        TopicInfo,
    )
    from rowlock.outcomes import Done, Fail, Move, Retry, Verdict
    from rowlock.schedules import ScheduleInfo
    from rowlock.settings import Processor, Settings, Then
    from rowlock.worker import Turn, TypedItem, Worker

__version__ = "0.1.0.dev0"

__all__ = [
    "Added",
    "AsyncEngine",
    "BatchedFunction",
    "Claim",
    "Client",
    "Counter",
    "CounterInfo",
    "Counts",
    "Done",
    "Engine",
    "Fail",
    "Failure",
    "GateInfo",
    "Grouped",
    "Invalid",
    "Item",
    "ItemsGone",
    "List",
    "ListInfo",
    "Mail",
    "Move",
    "NewItem",
    "NotFound",
    "Notification",
    "OutcomeUnknown",
    "Processor",
    "Progress",
    "Published",
    "RecordInfo",
    "RedisCounters",
    "Refused",
    "Retry",
    "RowlockError",
    "Schedule",
    "ScheduleInfo",
    "Session",
    "Settings",
    "Stale",
    "StaleClaim",
    "StaleSession",
    "State",
    "Subscription",
    "Then",
    "Topic",
    "TopicInfo",
    "Transaction",
    "Turn",
    "TypedItem",
    "Unavailable",
    "Verdict",
    "Webhook",
    "Worker",
    "verify",
]


_HOMES = {
    "aio": "AsyncEngine",
    "client": "Client",
    "counters": "CounterInfo",
    "delivery.mail": "Mail",
    "delivery.signatures": "verify",
    "delivery.webhooks": "Webhook",
    "engine": "BatchedFunction Claim Counter Engine Grouped List RedisCounters Schedule Session Topic Transaction",
    "model": "Added Counts Failure GateInfo Item ListInfo NewItem Notification Progress Published RecordInfo State "
    "Subscription TopicInfo",
    "outcomes": "Done Fail Move Retry Verdict",
    "schedules": "ScheduleInfo",
    "settings": "Processor Settings Then",
    "worker": "Turn TypedItem Worker",
}
_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}
"""The module of each public name that is not an error."""


def __getattr__(name: str) -> Any:
    # Imported at first use: a program that only adds items does not load the worker.
    if name not in __all__:
        raise AttributeError(f"module 'rowlock' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"rowlock.{_HOME.get(name, 'errors')}"), name)
    return value
