"""Turns: a bounded number of holders at a time, within a deadline.

An exception may come at any moment: Ctrl-C, an alarm. So whoever wants a turn has a ticket first, the record of who
holds what is the lock itself, and to end a turn twice does no harm. The standard library cannot do this: an interrupted
`Semaphore` may lose its count, an interrupted `Condition` may stay locked.
"""

import os
import threading
from contextlib import suppress

from rowlock.world import Deadline

LONGEST_WAIT = 0.05
"""Seconds after which a waiting ticket looks again by itself: an exception may have kept another from waking it."""


class Ticket:
    """Whoever wants a turn; to be used again when it has ended."""

    def __init__(self) -> None:
        self.thread = 0
        """The thread that came with it last."""
        self.place = 0
        """The turn that it has, if that is its."""
        self._woken: threading.Lock | None = None

    def prepare(self) -> None:
        """Make ready to be woken."""
        if self._woken is None:
            lock = threading.Lock()
            lock.acquire()
            self._woken = lock

    def wait(self) -> None:
        """Wait to be woken, or for a short while."""
        if self._woken is not None:
            self._woken.acquire(timeout=LONGEST_WAIT)

    def wake(self) -> None:
        """End its waiting."""
        if self._woken is not None and self._woken.locked():
            with suppress(RuntimeError):  # another thread may have woken it in the same moment
                self._woken.release()


class Turns:
    """So many turns at a time; who comes just when one is free does not wait. A fork's child inherits none."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._holders: dict[int, Ticket] = {}
        self._waiting: dict[Ticket, None] = {}

    def take(self, ticket: Ticket, deadline: Deadline) -> bool:
        """Wait for a turn; whether it came in time. After a no, or an exception, `end` must follow too."""
        if self._process != os.getpid():
            self._reset()
        ticket.thread = threading.get_ident()
        if self._taken(ticket):
            return True
        ticket.prepare()
        self._waiting[ticket] = None
        while not self._taken(ticket):
            if deadline.passed():
                return False
            ticket.wait()
        self._waiting.pop(ticket, None)
        return True

    def end(self, ticket: Ticket) -> None:
        """Let the next one have the turn; nothing happens to a ticket that has none."""
        if self._holders.get(ticket.place) is ticket:
            self._holders.pop(ticket.place)
        # Also if it has ended before: what should have followed may have been interrupted.
        if self._waiting:
            self._waiting.pop(ticket, None)
            for first in list(self._waiting)[:1]:
                first.wake()

    def holders(self) -> list[Ticket]:
        """Those that have a turn now."""
        return list(self._holders.values())

    def _taken(self, ticket: Ticket) -> bool:
        for place in range(self._size):
            ticket.place = place
            # Taken and noted in one step of the interpreter.
            if self._holders.setdefault(place, ticket) is ticket:
                return True
        return False
