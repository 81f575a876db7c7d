"""rowlock: durable work tracking on the database you already have."""

from rowlock.engine import Engine, List, Transaction
from rowlock.errors import (
    Invalid,
    NotFound,
    OutcomeUnknown,
    Refused,
    RowlockError,
    Stale,
    Unavailable,
)
from rowlock.model import Added, Counts, Failure, Item, ListInfo, NewItem, Progress, Settings, State

__version__ = "0.1.0.dev0"

__all__ = [
    "Added",
    "Counts",
    "Engine",
    "Failure",
    "Invalid",
    "Item",
    "List",
    "ListInfo",
    "NewItem",
    "NotFound",
    "OutcomeUnknown",
    "Progress",
    "Refused",
    "RowlockError",
    "Settings",
    "Stale",
    "State",
    "Transaction",
    "Unavailable",
]
