"""Claims in flight: items that handlers work on, their outcomes as they come in, and which of them are settled."""

import threading
from collections import deque
from collections.abc import Callable, Sequence

from rowlock import tracing
from rowlock.claims import ClaimedItems
from rowlock.model import Item
from rowlock.outcomes import Done, Outcome, Retry
from rowlock.worker.planner import PlannedClaim

BeforeItem = Callable[[Item], None] | None
"""Called when an item's turn begins."""


class InFlightClaim:
    """Items that were claimed together. Handlers finish them from any thread; the worker's thread settles them."""

    def __init__(
        self, claimed: ClaimedItems, plan: PlannedClaim, *, before: BeforeItem = None, in_order: bool = False
    ) -> None:
        self.claimed = claimed
        self.list = claimed.list
        self.token = claimed.token
        self.items = claimed.items
        self.must_run_alone = claimed.alone
        self.handler = plan.handler
        self.rules = plan.rules
        self.settles_whole = plan.settles_whole
        self.settles_each = plan.limited
        """Whether each outcome is written as soon as it is there: others may wait for room in the list's limits."""
        self.in_order = in_order
        """Whether its items run one after the other."""
        self._waiting = deque(claimed.items if in_order else ())
        self.halted = False
        """Whether an item that is worked in order shall be tried again at once: those after it must wait."""
        self._before = before
        self.spans = tracing.spans()
        """Makes a span of each turn, if tracing is on."""
        self.cancelled = threading.Event()
        """Set when nothing of it can be settled any more."""
        self.finished: list[tuple[Item, Outcome]] = []
        self._all_done: bool | None = None
        """Whether all are done, once all are finished."""
        self.settled = 0
        self.returned = 0
        self.ended = False

    @property
    def unfinished(self) -> int:
        """Items that no handler has finished."""
        return len(self.items) - len(self.finished) - self.returned

    @property
    def unsettled(self) -> int:
        """Items whose outcomes are not written."""
        return len(self.items) - self.settled

    @property
    def unwritten(self) -> Sequence[tuple[Item, Outcome]]:
        """Items with outcomes that are not written."""
        return self.finished[self.settled :]

    def begin(self, *items: Item) -> None:
        """Report that the turn of these items begins."""
        if self._before is not None:
            for item in items:
                self._before(item)

    def next_item(self) -> Item | None:
        """Return the next item of a claim that is worked in order, if one may begin; safe from any thread."""
        return None if self.halted else self._popped()

    def _popped(self) -> Item | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def return_waiting(self) -> None:
        """Give back what waits for its turn; in the worker's thread."""
        while self._popped() is not None:
            self.returned += 1

    def finish(self, item: Item, outcome: Outcome) -> bool:
        """Note an outcome, and return whether it is to be written at once. One list append: safe from any thread."""
        if self.in_order and isinstance(outcome, Retry) and outcome.after == 0:
            self.halted = True
        self.finished.append((item, outcome))
        return self.halted or self.settles_each or self.unfinished <= 0

    def all_done(self) -> bool:
        """Return whether all of it is done and nothing of it settled yet, so that one statement can settle it."""
        if not (self.settles_whole and self.settled == 0 and self.returned == 0 and self.unfinished == 0):
            return False
        if self._all_done is None:
            self._all_done = all(type(outcome) is Done for _, outcome in self.finished)
        return self._all_done
