"""The async face: the same handles, awaited. Made from the plain classes; `tools/stubs.py` writes the types of it."""

from rowlock.aio.faces import face
from rowlock.engine import (
    Claim,
    Counter,
    Engine,
    Grouped,
    List,
    RedisCounters,
    Schedule,
    Session,
    Tokens,
    Topic,
    Transaction,
)

AsyncTransaction = face(Transaction, here=("counter", "schedule", "topic"))
AsyncCounter = face(Counter)
AsyncList = face(List)
AsyncGrouped = face(Grouped, here=("ask", "awaited", "counter", "together"))
AsyncClaim = face(Claim, here=("__iter__", "done", "fail", "move", "retry", "say"))
AsyncRedisCounters = face(RedisCounters, here=("counter",))
AsyncSchedule = face(Schedule)
AsyncSession = face(Session)
AsyncTokens = face(Tokens, here=("recall",))
AsyncTopic = face(Topic)
AsyncEngine = face(Engine, here=("acting", "counter", "rejoin", "schedule", "session", "topic"), root=True)

__all__ = [
    "AsyncClaim",
    "AsyncCounter",
    "AsyncEngine",
    "AsyncGrouped",
    "AsyncList",
    "AsyncRedisCounters",
    "AsyncSchedule",
    "AsyncSession",
    "AsyncTokens",
    "AsyncTopic",
    "AsyncTransaction",
]
