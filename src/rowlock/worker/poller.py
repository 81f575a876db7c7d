"""Polling a database for work: lists that are awake, leases, and hints that something was added."""

import threading
from collections.abc import Callable

from rowlock import lists
from rowlock.engine import Engine
from rowlock.errors import Unavailable
from rowlock.lists import ListWithWork, PollResult
from rowlock.worker.backend import RECONNECT_SECONDS
from rowlock.worker.lease_holder import HeldLeases, LeaseHolder, LeaseHooks

PAGE_LISTS = 100
HINT_SECONDS = 0.1
"""How long one wait for a hint takes: a thread that shall stop does so within it."""
PAUSE_AFTER_HINT_SECONDS = 0.005
"""A process's own commits are hints too: they must not come faster than they can be of use."""


class LocalPoller:
    """Finds lists with work in the database, page by page, and looks after the leases of its session."""

    max_pause = 1.0
    busy_pause = 0.25

    def __init__(self, engine: Engine, session: str, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> None:
        self._engine = engine
        self._lease_holder = LeaseHolder(engine, session, fits=fits, hooks=hooks)
        self._page_end: ListWithWork | None = None

    @property
    def leases(self) -> HeldLeases:
        """The exclusive lists that the session holds."""
        return self._lease_holder.held

    def poll(self) -> PollResult:
        """Return the next page of lists that may have work, and the exclusive lists that the session holds."""
        if self._engine.read(lists.has_pending_wakes):
            self._engine.pipeline(lists.apply_wakes.bind())
        page = self._engine.read(lists.awake, after=self._page_end, limit=PAGE_LISTS)
        self._page_end = page[-1] if len(page) == PAGE_LISTS else None
        held = [*self._lease_holder.refresh()]
        return PollResult([awake.name for awake in page], held, more=self._page_end is not None)

    def next_wake(self) -> float | None:
        """Return the seconds until the next sleeping list wakes by itself, if one does."""
        return self._engine.read(lists.next_wake)


def listen_for_hints(
    engine: Engine, wake: Callable[[], None], *, stopped: threading.Event, seconds: float = HINT_SECONDS
) -> None:
    """Call `wake` whenever somebody may have added work, until `stopped` is set; by a connection of its own."""
    database = engine.database.clone(connections=1, listening=True)
    try:
        while not stopped.is_set():
            try:
                if database.wait_for_hint(seconds):
                    wake()
                    stopped.wait(PAUSE_AFTER_HINT_SECONDS)
            except Unavailable:
                stopped.wait(RECONNECT_SECONDS)
    finally:
        database.close()
