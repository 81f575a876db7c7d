"""What a worker needs of whoever it works for: an engine's database, or a server that stands before one."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from rowlock.durations import Duration
from rowlock.engine import Session, Transaction
from rowlock.engine.runner import Runner
from rowlock.environment import Environment
from rowlock.lists import PollResult


class Source(Runner, Protocol):
    """Runs verbs, several for the price of one trip, and has sessions to claim under."""

    environment: Environment

    def session(
        self, *, holder: str | None = None, expiry: Duration = "15s", details: Any = None, beats: bool = True
    ) -> Session:
        """A session to claim under."""

    def pipeline(self, *works: Callable[..., Any]) -> list[Any]:
        """Do several pieces of work for the price of one."""


class Leases(Protocol):
    """The exclusive lists of a session, as far as they are known here."""

    held: set[str]

    def doubt(self, name: str) -> None:
        """A list gave nothing: it is ours no more, or somebody is just adding to it."""

    def note(self, name: str) -> None:
        """A list is ours, as a claim has shown."""

    def end(self) -> None:
        """The session ends, and all its leases with it."""


class Looking(Protocol):
    """Whoever knows which lists may have work."""

    longest_pause: float
    busy_pause: float

    @property
    def leases(self) -> Leases:
        """The exclusive lists that are ours."""

    def look(self) -> PollResult:
        """Lists that may have work, some at a time."""

    def next_wake(self) -> float | None:
        """Seconds until the next sleeping list wakes by itself, if one does."""


class Backend(Protocol):
    """Where a worker stands: what that means for looking and for the chores beside the work."""

    thorough: bool
    """Whether a claim of a trip looks everywhere, so that nothing is nothing."""

    @property
    def source(self) -> Source:
        """Whoever the worker works for."""

    def poller(self, session: Session, *, fits: Callable[[str], bool], hooks: Any) -> Looking:
        """Whoever looks for lists on the session's behalf."""

    def begin_chores(self, session: Session, *, wake: Callable[[], None]) -> list[threading.Thread]:
        """Begin what goes on beside the work, until the session closes; `wake` says that there may be some."""

    def well(self) -> None:
        """Ask whether the store answers; Unavailable if not."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction for a handler, begun when it is first used."""
