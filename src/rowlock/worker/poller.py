"""A lookout: which lists may have work, of those that a session seeks; beside the database."""

from collections.abc import Callable

from rowlock import lists
from rowlock.engine import Engine
from rowlock.lists import ListWithWork, PollResult
from rowlock.worker.lease_holder import LeaseHolder, LeaseHooks

PAGE = 100


class Poller:
    """Looks at lists that are awake, page by page, and at the exclusive ones that its session has."""

    longest_pause = 1.0
    """Seconds between two looks when nothing was there."""
    busy_pause = 0.25
    """How long a list that wakes may wait behind others that are never done."""

    def __init__(self, engine: Engine, session: str, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> None:
        self._engine = engine
        self.leases = LeaseHolder(engine, session, fits=fits, hooks=hooks)
        self._page_end: ListWithWork | None = None

    def look(self) -> PollResult:
        """The next page of lists that may have work."""
        if self._engine.read(lists.has_pending_wakes):
            self._engine.pipeline(lists.ask_apply_wakes)
        page = self._engine.read(lists.awake, after=self._page_end, limit=PAGE)
        self._page_end = page[-1] if len(page) == PAGE else None
        return PollResult([awake.name for awake in page], [*self.leases.look()], more=self._page_end is not None)

    def next_wake(self) -> float | None:
        """Seconds until the next sleeping list wakes by itself, if one does."""
        return self._engine.read(lists.next_wake)
