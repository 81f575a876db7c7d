"""Async handles: the methods of the plain ones, awaited. `tools/async_handles.py` writes them from those."""

from rowlock.aio._generated import (
    AsyncClaim,
    AsyncCounter,
    AsyncEngine,
    AsyncGrouped,
    AsyncList,
    AsyncRedisCounters,
    AsyncSchedule,
    AsyncSession,
    AsyncTokens,
    AsyncTopic,
    AsyncTransaction,
)

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
