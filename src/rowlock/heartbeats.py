"""Heartbeats: which silent sessions are dead, by the monotonic clock of the process that watches them.

The database's clock may jump. A live session changes its row with each heartbeat, three times in its expiry. So a
session is dead when a process has watched its row long enough by a monotonic clock and has seen no change.
"""

from collections.abc import Callable, Sequence

import msgspec


class SilentSession(msgspec.Struct, frozen=True):
    """A session whose last heartbeat is long ago, or in the future, by the database's clock."""

    id: str
    holder: str
    expires_at: int
    """Changes with each heartbeat."""
    expiry: int | None
    """Milliseconds; None if it has no heartbeat."""
    overdue: bool
    """Whether its deadline has passed by the database's clock."""


class Sighting(msgspec.Struct, frozen=True):
    """A session's row as it was first seen, and when."""

    expires_at: int
    since: float


class HeartbeatMonitor:
    """What one process has seen of silent sessions, which it reads about once a second."""

    def __init__(self, monotonic: Callable[[], float], *, trusts_clock: bool = False) -> None:
        self._monotonic = monotonic
        self._trusts_clock = trusts_clock
        """Whether the database's clock is a test's, which jumps only on purpose."""
        self._seen: dict[str, Sighting] = {}

    def dead(self, silent: Sequence[SilentSession]) -> list[SilentSession]:
        """Note that these sessions are silent now, and return those that are dead."""
        now = self._monotonic()
        self._seen = {session.id: self._sighted(session, now) for session in silent}
        return [session for session in silent if self._is_dead(session, now)]

    def seconds_to_watch(self, silent: Sequence[SilentSession]) -> float | None:
        """Return the seconds until the next overdue session can be known to be dead; None if none is overdue."""
        now = self._monotonic()
        overdue = [
            session
            for session in silent
            if session.overdue and session.id in self._seen and not self._is_dead(session, now)
        ]
        return min((self._needed(session) - self._watched(session, now) for session in overdue), default=None)

    def _sighted(self, session: SilentSession, now: float) -> Sighting:
        seen = self._seen.get(session.id)
        return seen if seen is not None and seen.expires_at == session.expires_at else Sighting(session.expires_at, now)

    def _is_dead(self, session: SilentSession, now: float) -> bool:
        if session.expiry is None or self._trusts_clock:
            return session.overdue
        watched = self._watched(session, now)
        # Also a session whose deadline lies far ahead, because the clock was set back.
        return watched > session.expiry / 1_000 or (session.overdue and watched >= self._needed(session))

    def _watched(self, session: SilentSession, now: float) -> float:
        return now - self._seen[session.id].since

    def _needed(self, session: SilentSession) -> float:
        # Half of its expiry: a live session sends a heartbeat every third of it.
        return (session.expiry or 0) / 2_000
