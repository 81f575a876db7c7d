"""The handles that users hold: an Engine, its lists, schedules, topics, transactions, sessions and claims."""

from rowlock.engine.claim import Claim
from rowlock.engine.counter import Counter
from rowlock.engine.engine import BatchedFunction, Engine, Grouped
from rowlock.engine.list import List
from rowlock.engine.redis_counters import RedisCounters
from rowlock.engine.schedule import Schedule
from rowlock.engine.session import Session
from rowlock.engine.tokens import Tokens
from rowlock.engine.topic import Topic
from rowlock.engine.transaction import Transaction

__all__ = [
    "BatchedFunction",
    "Claim",
    "Counter",
    "Engine",
    "Grouped",
    "List",
    "RedisCounters",
    "Schedule",
    "Session",
    "Tokens",
    "Topic",
    "Transaction",
]
