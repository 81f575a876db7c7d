"""Connection pool: idle connections kept for the next request to the same place."""

import os
import threading
import time
from collections import defaultdict, deque

import msgspec

from rowlock.delivery.connections import OutgoingConnection
from rowlock.http_url import HttpUrl

IDLE_SECONDS = 30.0
LIFE_SECONDS = 300.0
"""When a connection is made anew: so a host that has moved is found again, and checked again."""
MOST = 256

Origin = tuple[str, str, int]


class IdleConnection(msgspec.Struct, frozen=True):
    """A connection that nobody uses, and since when."""

    connection: OutgoingConnection
    since: float


class ConnectionPool:
    """Connections by where they lead; the one used last is used first, so that those too many grow old."""

    def __init__(self) -> None:
        self._era = 0
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._kept: defaultdict[Origin, deque[IdleConnection]] = defaultdict(deque)
        self._count = 0
        self._looked_at = time.monotonic()

    @property
    def era(self) -> int:
        """How often all has been closed: a connection of an earlier era is not kept."""
        return self._era

    def take(self, target: HttpUrl) -> OutgoingConnection | None:
        """A connection to the target that can still be used, if there is one."""
        while (kept := self._pop(target)) is not None:
            if kept.connection.is_quiet and not _is_old(kept, time.monotonic()):
                return kept.connection
            kept.connection.close()
        return None

    def _pop(self, target: HttpUrl) -> IdleConnection | None:
        self._forget_parents()
        with self._lock:
            kept = self._kept.get(_origin(target))
            if not kept:
                return None
            self._count -= 1
            return kept.pop()

    def keep(self, target: HttpUrl, connection: OutgoingConnection) -> None:
        """Keep a connection, or close it if there are enough."""
        now = time.monotonic()
        self._forget_parents()
        with self._lock:
            old = self._taken_out(now) if now - self._looked_at > 1 else []
            if self._count < MOST and connection.era == self._era and now - connection.born < LIFE_SECONDS:
                self._kept[_origin(target)].append(IdleConnection(connection, now))
                self._count += 1
            else:
                old.append(connection)
        for each in old:
            each.close()

    def _taken_out(self, now: float) -> list[OutgoingConnection]:
        old = []
        for origin, kept in list(self._kept.items()):
            while kept and _is_old(kept[0], now):
                old.append(kept.popleft().connection)
            if not kept:
                del self._kept[origin]
        self._count -= len(old)
        self._looked_at = now
        return old

    def _forget_parents(self) -> None:
        # A fork has what its parent had open: two that speak on one connection would hear each other's answers.
        # It has no threads of its parent: one of them may hold the lock for ever.
        if self._process != os.getpid():
            self._reset()

    def close(self) -> None:
        """Close all that are kept; those that are in use are closed when they come back."""
        self._forget_parents()
        with self._lock:
            every = [each.connection for kept in self._kept.values() for each in kept]
            self._kept.clear()
            self._count = 0
            self._era += 1
        for connection in every:
            connection.close()


def _is_old(kept: IdleConnection, now: float) -> bool:
    return now - kept.since > IDLE_SECONDS or now - kept.connection.born > LIFE_SECONDS


def _origin(target: HttpUrl) -> Origin:
    return target.scheme, target.host, target.port
