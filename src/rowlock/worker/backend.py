"""What a worker works for, behind one interface: a database beside it, or a server in front of one."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from rowlock.engine import Session, Transaction
from rowlock.engine.claimer import Claimer
from rowlock.engine.handles import Handles
from rowlock.lists import PollResult
from rowlock.worker.lease_holder import HeldLeases, LeaseHooks

RECONNECT_SECONDS = 0.5
"""The pause after an error that says the database or the server cannot be reached."""


class Poller(Protocol):
    """Finds the lists that may have work for one session."""

    max_pause: float
    """Seconds between two polls while nothing is found."""
    busy_pause: float
    """Seconds that a list which wakes may wait behind others that always have work."""

    @property
    def leases(self) -> HeldLeases:
        """The exclusive lists that the session holds."""

    def poll(self) -> PollResult:
        """Return lists that may have work, some at a time."""

    def next_wake(self) -> float | None:
        """Return the seconds until the next sleeping list wakes by itself, if one does."""


class Backend(Protocol):
    """Where a worker polls, claims and settles, and which threads it needs beside that."""

    @property
    def engine(self) -> Handles:
        """The engine or client that runs the verbs."""

    def claimer(self, session: Session) -> Claimer:
        """Return what claims for the session."""

    def poller(self, session: Session, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> Poller:
        """Return what finds lists with work for the session."""

    def start_threads(self, session: Session, *, wake: Callable[[], None]) -> list[threading.Thread]:
        """Start what runs beside the work until the session closes; `wake` is called when there may be work."""

    def ping(self) -> None:
        """Raise Unavailable if the database or the server does not answer."""

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return a transaction for a handler, which begins when it is first used."""
