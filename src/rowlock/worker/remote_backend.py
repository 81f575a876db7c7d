"""Afar: working on another machine than the database, for a server that looks, ticks and keeps house by itself."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn, Protocol

from rowlock import lists
from rowlock.engine import Session, Transaction
from rowlock.errors import NeedsDatabase, RowlockError, Unavailable
from rowlock.lists import PollResult
from rowlock.worker.backend import Source
from rowlock.worker.lease_holder import LeaseHooks

WAIT = 25.0
"""Seconds that the server is asked to wait for work before it says that there is none."""
AFTER_LOSS = 0.5


class PollingServer(Source, Protocol):
    """A source that also looks for work, and may wait for it."""

    def look(self, session: str, *, wait: float = 0.0) -> PollResult:
        """Lists that may have work; with `wait`, as soon as there are some in time."""


class ReportedLeases:
    """The exclusive lists that a server says are ours."""

    def __init__(self, hooks: LeaseHooks) -> None:
        self._hooks = hooks
        self.held: set[str] = set()

    def doubt(self, name: str) -> None:
        """A list gave nothing: whether it is still ours will be told."""
        self.see(self.held - {name})

    def note(self, name: str) -> None:
        """A list is ours, as a claim has shown."""
        self.see(self.held | {name})

    def end(self) -> None:
        """The session ends, and all its leases with it."""
        self.see(set())

    def see(self, held: set[str]) -> None:
        """These are ours now."""
        before, self.held = self.held, held
        for name in sorted(held - before):
            self._hooks.begun(name)
        for name in sorted(before - held):
            self._hooks.ended(name)


class RemotePoller:
    """Asks the server; while there is nothing to do a thread waits there, and passes on what it hears."""

    longest_pause = 10.0
    busy_pause = 1.0

    def __init__(self, server: PollingServer, session: Session, *, hooks: LeaseHooks) -> None:
        self._server = server
        self._session = session
        self.leases = ReportedLeases(hooks)
        self._next: float | None = None
        self._told: PollResult | None = None
        self._idle = threading.Event()

    def look(self) -> PollResult:
        """What the thread has heard, or what the server says now."""
        seen, self._told = self._told, None
        if seen is None:
            seen = self._server.look(self._session.id)
        self.leases.see(set(seen.held))
        self._next = seen.next
        if not seen.names and not seen.held:
            self._idle.set()
        return seen

    def next_wake(self) -> float | None:
        """Seconds until the next sleeping list wakes by itself, as the last look has told."""
        return self._next

    def listen(self, wake: Callable[[], None]) -> None:
        """Wait at the server whenever there is nothing to do, until the session closes."""
        while not self._session.closing.is_set():
            if not self._idle.wait(AFTER_LOSS):
                continue
            try:
                seen = self._server.look(self._session.id, wait=WAIT)
            except Unavailable:
                self._session.closing.wait(AFTER_LOSS)
                continue
            except RowlockError:
                wake()  # whoever works is told the same
                return
            if seen.names or seen.held:
                self._idle.clear()
                self._told = seen
                wake()


class RemoteBackend:
    """A worker's place on another machine, by a client of a server."""

    thorough = True

    def __init__(self, server: PollingServer) -> None:
        self.source = server

    def poller(self, session: Session, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> RemotePoller:  # noqa: ARG002
        """Whoever looks for lists on the session's behalf; the server knows what it seeks."""
        self._looking = RemotePoller(self.source, session, hooks=hooks)
        return self._looking

    def well(self) -> None:
        """Ask whether the server answers."""
        self.source.read(lists.page, limit=1)

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """None: whoever would use it is told so."""
        yield Transaction(_refuse)

    def begin_chores(self, session: Session, *, wake: Callable[[], None]) -> list[threading.Thread]:  # noqa: ARG002
        """Begin to wait for work at the server; it does the rest by itself."""
        chore = threading.Thread(target=self._looking.listen, args=(wake,), name="rowlock hints", daemon=True)
        chore.start()
        return [chore]


def _refuse() -> NoReturn:
    raise NeedsDatabase("there is no transaction to write in: the database is elsewhere", "work beside the database")
