"""InterruptSafeSemaphore: a bounded number of holders at a time, within a deadline.

An exception may come at any moment: Ctrl-C, an alarm. So whoever wants a turn has a permit first, the record of who
holds what is the lock itself, and to end a turn twice does no harm. The standard library cannot do this: an interrupted
`Semaphore` may lose its count, an interrupted `Condition` may stay locked.
"""

import os
import threading
from contextlib import suppress

from rowlock.environment import Deadline

LONGEST_WAIT = 0.05
"""Seconds after which a waiting permit looks again by itself: an exception may have kept another from waking it."""


class Permit:
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


class InterruptSafeSemaphore:
    """So many turns at a time; who comes just when one is free does not wait. A fork's child inherits none."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._holders: dict[int, Permit] = {}
        self._waiting: dict[Permit, None] = {}

    def acquire(self, permit: Permit, deadline: Deadline) -> bool:
        """Wait for a turn; whether it came in time. After a no, or an exception, `end` must follow too."""
        if self._process != os.getpid():
            self._reset()
        permit.thread = threading.get_ident()
        if self._try(permit):
            return True
        permit.prepare()
        self._waiting[permit] = None
        while not self._try(permit):
            if deadline.passed():
                return False
            permit.wait()
        self._waiting.pop(permit, None)
        return True

    def release(self, permit: Permit) -> None:
        """Let the next one have the turn; nothing happens to a permit that has none."""
        if self._holders.get(permit.place) is permit:
            self._holders.pop(permit.place)
        # Also if it has ended before: what should have followed may have been interrupted.
        if self._waiting:
            self._waiting.pop(permit, None)
            for first in list(self._waiting)[:1]:
                first.wake()

    def holders(self) -> list[Permit]:
        """Those that have a turn now."""
        return list(self._holders.values())

    def _try(self, permit: Permit) -> bool:
        for place in range(self._size):
            permit.place = place
            # Taken and noted in one step of the interpreter.
            if self._holders.setdefault(place, permit) is permit:
                return True
        return False
