"""A hand: one claim in work, its outcomes as they come in, and what of them has been settled."""

import threading
from collections import deque
from collections.abc import Callable, Sequence

from rowlock import tracing
from rowlock.attempts import Policy
from rowlock.claims import ClaimedItems
from rowlock.model import Item
from rowlock.outcomes import Done, Outcome, Retry
from rowlock.worker.handlers import Handler

Before = Callable[[Item], None] | None
"""Who wants to hear that an item's turn begins, if anybody."""


class InFlightClaim:
    """Items that were claimed together. Handlers finish them from any thread; the worker settles them."""

    def __init__(
        self,
        taken: ClaimedItems,
        handler: Handler,
        rules: Policy,
        *,
        plain: bool,
        before: Before = None,
        in_order: bool = False,
        eager: bool = False,
    ) -> None:
        self.taken = taken
        self.in_order = in_order
        """Whether its items run one after the other."""
        self.eager = eager
        """Whether each outcome is written as soon as it is there: the list has a limit, and others may wait for it."""
        self._waiting = deque(taken.items if in_order else ())
        self.halted = False
        """Whether an item that is worked in order shall be tried again at once: those after it must wait."""
        self.handler = handler
        self.rules = rules
        self.plain = plain
        """Whether done items leave nothing behind: then a whole hand is settled by one statement."""
        self._before = before
        self.spans = tracing.spans()
        """What makes a span of each turn, if anybody traces."""
        self.cancelled = threading.Event()
        """Set when nothing of it can be settled any more."""
        self.finished: list[tuple[Item, Outcome]] = []
        self._done: bool | None = None
        """Whether all are done, once somebody has asked who knew that all are finished."""
        self.settled = 0
        self.returned = 0
        self.over = False

    @property
    def left(self) -> int:
        """Items that no handler has finished yet."""
        return len(self.taken.items) - len(self.finished) - self.returned

    @property
    def unsettled(self) -> Sequence[tuple[Item, Outcome]]:
        """Outcomes that are not written yet."""
        return self.finished[self.settled :]

    def begin(self, *items: Item) -> None:
        """Tell who wants to hear of it that the turn of these begins."""
        if self._before is not None:
            for item in items:
                self._before(item)

    def next(self) -> Item | None:
        """The next item of a hand that is worked in order, if one may begin; safe from any thread."""
        return None if self.halted else self._popped()

    def _popped(self) -> Item | None:
        try:
            return self._waiting.popleft()
        except IndexError:
            return None

    def return_waiting(self) -> None:
        """What waits for its turn goes back; in the worker's thread."""
        while self._popped() is not None:
            self.returned += 1

    def finish(self, item: Item, outcome: Outcome) -> bool:
        """Note an outcome; whether it is to be written at once. One list append: safe from any thread."""
        if self.in_order and isinstance(outcome, Retry) and outcome.after == 0:
            self.halted = True
        self.finished.append((item, outcome))
        return self.halted or self.eager or self.left <= 0

    def all_done(self) -> bool:
        """Whether it can be settled by one statement."""
        if not (self.plain and self.settled == 0 and self.returned == 0 and self.left == 0):
            return False
        if self._done is None:
            self._done = all(type(outcome) is Done for _, outcome in self.finished)
        return self._done
