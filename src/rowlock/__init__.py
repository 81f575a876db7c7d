"""rowlock: durable work tracking on the database you already have."""

from typing import TYPE_CHECKING, Any

from rowlock.engine import Claim, Engine, List, Session, Transaction
from rowlock.errors import (
    Invalid,
    NotFound,
    OutcomeUnknown,
    Refused,
    RowlockError,
    Stale,
    StaleClaim,
    StaleSession,
    Unavailable,
)
from rowlock.model import Added, Counts, Failure, Item, ListInfo, NewItem, Progress, Settings, State
from rowlock.outcomes import Done, Fail, Move, Retry, Verdict

if TYPE_CHECKING:
    from rowlock.aio import AsyncEngine
    from rowlock.worker import Turn, Worker

__version__ = "0.1.0.dev0"

__all__ = [
    "Added",
    "AsyncEngine",
    "Claim",
    "Counts",
    "Done",
    "Engine",
    "Fail",
    "Failure",
    "Invalid",
    "Item",
    "List",
    "ListInfo",
    "Move",
    "NewItem",
    "NotFound",
    "OutcomeUnknown",
    "Progress",
    "Refused",
    "Retry",
    "RowlockError",
    "Session",
    "Settings",
    "Stale",
    "StaleClaim",
    "StaleSession",
    "State",
    "Transaction",
    "Turn",
    "Unavailable",
    "Verdict",
    "Worker",
]


def __getattr__(name: str) -> Any:
    # Workers bring threads, signals and more: whoever only adds items should not pay for them.
    if name in ("Turn", "Worker"):
        from rowlock import worker

        return getattr(worker, name)
    # The async face brings asyncio: only who awaits should wait for it.
    if name == "AsyncEngine":
        from rowlock.aio import AsyncEngine

        return AsyncEngine
    raise AttributeError(f"module 'rowlock' has no attribute {name!r}")
