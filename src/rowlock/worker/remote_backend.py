"""The backend of a worker on another machine: a server polls, ticks and does upkeep on its behalf."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from rowlock import lists
from rowlock.engine import Session, Transaction
from rowlock.engine.claimer import Claimer
from rowlock.engine.handles import Handles
from rowlock.errors import NeedsDatabase, RowlockError, Unavailable
from rowlock.lists import PollResult
from rowlock.worker.backend import RECONNECT_SECONDS
from rowlock.worker.lease_holder import HeldLeases, LeaseHooks

Look = Callable[..., PollResult]
"""Asks the server, by a session's id, which lists may have work; with `wait`, it answers as soon as there are some."""

LONG_POLL_SECONDS = 25.0
"""How long the server may hold a poll open before it answers that there is no work."""


class RemotePoller:
    """Polls the server; while there is nothing to do a thread holds a long poll open and passes on its answer."""

    max_pause = 10.0
    busy_pause = 1.0

    def __init__(self, look: Look, session: Session, *, leases: HeldLeases) -> None:
        self._look = look
        self._session = session
        self.leases = leases
        self._next_wake: float | None = None
        self._long_polled: PollResult | None = None
        self._idle = threading.Event()

    def poll(self) -> PollResult:
        """Return what the long poll has found, or what the server answers now."""
        result, self._long_polled = self._long_polled, None
        if result is None:
            result = self._look(self._session.id)
        self.leases.replace(set(result.held))
        self._next_wake = result.next
        if not result.names and not result.held:
            self._idle.set()
        return result

    def next_wake(self) -> float | None:
        """Return the seconds until the next sleeping list wakes by itself, as the last poll has said."""
        return self._next_wake

    def listen(self, wake: Callable[[], None]) -> None:
        """Hold long polls open whenever there is nothing to do, until the session closes."""
        while not self._session.closing.is_set():
            if not self._idle.wait(RECONNECT_SECONDS):
                continue
            try:
                result = self._look(self._session.id, wait=LONG_POLL_SECONDS)
            except Unavailable:
                self._session.closing.wait(RECONNECT_SECONDS)
                continue
            except RowlockError:
                wake()  # the worker's next poll raises it too
                return
            if result.names or result.held:
                self._idle.clear()
                self._long_polled = result
                wake()


class RemoteBackend:
    """Works for the server of a client."""

    def __init__(self, client: Handles, look: Look) -> None:
        self.engine = client
        self._look = look

    def claimer(self, session: Session) -> Claimer:
        """Return what claims for the session."""
        return Claimer(self.engine, session.id, heartbeat=True, server_searches=True)

    def poller(self, session: Session, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> RemotePoller:  # noqa: ARG002
        """Return what finds lists with work for the session; the server knows the patterns of the lists it works."""
        self._poller = RemotePoller(self._look, session, leases=HeldLeases(hooks, self.engine.environment.monotonic))
        return self._poller

    def ping(self) -> None:
        """Raise Unavailable if the server does not answer."""
        self.engine.read(lists.page, limit=1)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Yield a transaction that refuses to be used."""
        yield Transaction(_refuse)

    def start_threads(self, session: Session, *, wake: Callable[[], None]) -> list[threading.Thread]:  # noqa: ARG002
        """Start to hold long polls open; the server does the rest by itself."""
        thread = threading.Thread(target=self._poller.listen, args=(wake,), name="rowlock hints", daemon=True)
        thread.start()
        return [thread]


def _refuse() -> NoReturn:
    raise NeedsDatabase("a transaction of the settlement needs the database itself", "work with an Engine, beside it")
