"""A semaphore that an exception at any moment cannot break.

Ctrl-C or an alarm may raise between any two bytecodes. So a caller has a permit before it asks, the record of the
holders is the lock itself, and releasing twice does no harm. The standard library cannot do this: an interrupted
`Semaphore` may lose its count, an interrupted `Condition` may stay locked.
"""

import threading
from contextlib import suppress

import msgspec

from rowlock.environment import Deadline
from rowlock.forks import PerProcess

MAX_WAIT_SECONDS = 0.05
"""How long a permit waits before it tries again by itself: an exception may have kept another from waking it."""


class Permit:
    """What a caller acquires; it can be used again after it was released."""

    def __init__(self) -> None:
        self.thread = 0
        """The thread that asked with it last."""
        self.slot = 0
        """The slot that it holds, if `holders` says so."""
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
            self._woken.acquire(timeout=MAX_WAIT_SECONDS)

    def wake(self) -> None:
        """End its waiting."""
        if self._woken is not None and self._woken.locked():
            with suppress(RuntimeError):  # another thread may have woken it at the same moment
                self._woken.release()


class _Holders(msgspec.Struct):
    """Who holds a slot and who waits for one, in this process."""

    by_slot: dict[int, Permit] = {}
    waiting: dict[Permit, None] = {}


class InterruptSafeSemaphore:
    """At most `size` holders at a time; a caller that finds a free slot takes it. A forked child has no holders."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._state = PerProcess(_Holders)

    def acquire(self, permit: Permit, deadline: Deadline) -> bool:
        """Wait for a slot and return whether it came in time. `release` must follow, also after False or an error."""
        state = self._state.get()
        permit.thread = threading.get_ident()
        if self._try(state, permit):
            return True
        permit.prepare()
        state.waiting[permit] = None
        while not self._try(state, permit):
            if deadline.passed():
                return False
            permit.wait()
        state.waiting.pop(permit, None)
        return True

    def release(self, permit: Permit) -> None:
        """Give the slot to the next caller; a permit without a slot is left alone."""
        state = self._state.get()
        if state.by_slot.get(permit.slot) is permit:
            state.by_slot.pop(permit.slot)
        # Also if it was released before: what should have followed may have been interrupted.
        if state.waiting:
            state.waiting.pop(permit, None)
            for first in list(state.waiting)[:1]:
                first.wake()

    def holders(self) -> list[Permit]:
        """Return the permits that hold a slot now."""
        return list(self._state.get().by_slot.values())

    def _try(self, state: _Holders, permit: Permit) -> bool:
        for slot in range(self._size):
            permit.slot = slot
            # Taken and noted in one step of the interpreter.
            if state.by_slot.setdefault(slot, permit) is permit:
                return True
        return False
