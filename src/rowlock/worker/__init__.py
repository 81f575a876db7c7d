"""Workers: handlers run for items, and each outcome is settled once, whatever dies."""

from rowlock.worker.handlers import Turn
from rowlock.worker.typed_items import TypedItem
from rowlock.worker.worker import Worker

__all__ = ["Turn", "TypedItem", "Worker"]
