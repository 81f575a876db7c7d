"""Connection pool: bounded, filled on demand, never shared across a fork.

Ctrl-C or an alarm may raise between any two bytecodes. So a caller has a lease before it waits for a connection, and
whatever it holds is noted there or in the semaphore by a single step of the interpreter. The standard library cannot do
this: an interrupted `threading.Semaphore` may lose its count, an interrupted `Condition` may stay locked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from threading import get_ident
from time import monotonic, sleep
from typing import Generic, TypeVar

import msgspec

from rowlock.db.driver import DatabaseConnection
from rowlock.environment import Deadline
from rowlock.errors import AlreadyClosed, DatabaseBusy
from rowlock.forks import PAUSE_SECONDS, PerProcess, forking_threads

T = TypeVar("T")
Permits = TypeVar("Permits", bound="Permit")

MAX_WAIT_SECONDS = 0.05
"""How long a permit waits before it looks by itself: an exception may have kept another thread from waking it."""
MAX_QUEUE_SECONDS = 1.0
"""How long a waiting permit keeps later ones waiting: after that its thread may have been interrupted and gone."""


class Permit(msgspec.Struct, eq=False):
    """What a caller acquires; it can be used again after it was released."""

    slot: int = 0
    """The slot that it holds, if `holders` names it."""
    woken: "SimpleQueue[None] | None" = None

    def wait(self) -> None:
        """Wait to be woken, or for a short while."""
        if self.woken is not None:
            with suppress(Empty):
                self.woken.get(timeout=MAX_WAIT_SECONDS)


class _Slots(msgspec.Struct, Generic[Permits]):
    """The permits that hold a slot, and those that wait with the time since when."""

    held: dict[int, Permits] = {}
    waiting: dict[Permits, float] = {}


class InterruptSafeSemaphore(Generic[Permits]):
    """At most `size` permits hold it at a time, in the order in which they came. A forked child starts with none.

    Without an order one of eight threads that add to a file makes nearly all adds, and some none.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._slots: PerProcess[_Slots[Permits]] = PerProcess(_Slots)

    def acquire(self, permit: Permits, deadline: Deadline) -> bool:
        """Wait for a slot and return whether it came in time. `release` must follow in every case."""
        slots = self._slots.get()
        if not slots.waiting and self._take(slots, permit):
            return True
        permit.woken = SimpleQueue()
        slots.waiting[permit] = monotonic()
        while not (self._is_next(slots, permit) and self._take(slots, permit)):
            if deadline.passed():
                return False
            permit.wait()
        slots.waiting.pop(permit, None)
        return True

    def _is_next(self, slots: _Slots[Permits], permit: Permits) -> bool:
        # Not `list(items())`: it makes pairs, so a garbage collection may let another thread change the size meanwhile.
        for first in list(slots.waiting)[:1]:
            return first is permit or monotonic() - slots.waiting.get(first, 0.0) > MAX_QUEUE_SECONDS
        return True

    def _take(self, slots: _Slots[Permits], permit: Permits) -> bool:
        for slot in range(self._size):
            permit.slot = slot
            # Taken and noted in one step of the interpreter.
            if slots.held.setdefault(slot, permit) is permit:
                return True
        return False

    def release(self, permit: Permits) -> None:
        """Give back the permit's slot, if it holds one, and wake the next."""
        slots = self._slots.get()
        if slots.held.get(permit.slot) is permit:
            slots.held.pop(permit.slot)
        # Also if it was released before: an exception may have kept it from waking the next.
        if slots.waiting:
            slots.waiting.pop(permit, None)
            for first in list(slots.waiting)[:1]:
                if first.woken is not None:
                    first.woken.put(None)

    def holders(self) -> list[Permits]:
        """Return the permits that hold the semaphore now."""
        return list(self._slots.get().held.values())


class Lease(Permit):
    """A connection in use; it is noted here first, so that no exception can lose it."""

    connection: DatabaseConnection | None = None
    idle: list[DatabaseConnection] = []
    """Where to put it back: after a fork in between, the child's copy of a list that only the parent uses."""
    thread: int = msgspec.field(default_factory=get_ident)


class Pool:
    """A stack of idle connections; the last used is the first taken, so that few stay warm.

    Connections are opened in the thread that needs one, so errors are raised to its caller. A connection whose work
    was interrupted is closed, since its state is unknown.
    """

    def __init__(self, open_connection: Callable[[Deadline], DatabaseConnection], size: int, *, shown: str) -> None:
        self._open = open_connection
        self._size = size
        self._shown = shown
        self._closed = False
        self._idle: PerProcess[list[DatabaseConnection]] = PerProcess(list)
        self._leases: InterruptSafeSemaphore[Lease] = InterruptSafeSemaphore(size)
        self.has_connected = False
        """Whether a connection could be opened: then the address is right."""

    def lend(self, work: Callable[[DatabaseConnection, Deadline], T], deadline: Deadline) -> T:
        """Call `work` with a connection. An exception at any moment leaks neither the connection nor its lease."""
        lease = Lease()
        try:
            try:
                answer = work(self._take(lease, deadline), deadline)
            except Exception:
                self._put_back(lease)
                raise
            self._put_back(lease)
        except BaseException:
            self._put_back(lease, intact=False)
            raise
        return answer

    @contextmanager
    def connection(self, deadline: Deadline) -> Iterator[DatabaseConnection]:
        """Lend a connection to a with block.

        It repeats `lend` because neither can be made of the other: an exception between two bytecodes of `with` itself
        leaks the connection until it is garbage collected, so `lend` cannot use `with`.
        """
        lease = Lease()
        try:
            try:
                yield self._take(lease, deadline)
            except Exception:
                self._put_back(lease)
                raise
            self._put_back(lease)
        except BaseException:
            self._put_back(lease, intact=False)
            raise

    @property
    def busy(self) -> bool:
        """Whether any connection is in use; approximate while other threads take and return connections."""
        return bool(self._leases.holders())

    @property
    def busy_elsewhere(self) -> bool:
        """Whether a thread other than the caller uses a connection."""
        return any(lease.thread != get_ident() for lease in self._leases.holders())

    def _take(self, lease: Lease, deadline: Deadline) -> DatabaseConnection:
        while True:
            if not self._leases.acquire(lease, deadline):
                what = f"all {self._size} connections to {self._shown} are in use"
                raise DatabaseBusy(what, "end transactions sooner, or open the engine with more connections=")
            if not forking_threads or get_ident() in forking_threads or deadline.passed():
                break
            self._leases.release(lease)
            sleep(PAUSE_SECONDS)
        lease.idle = self._idle.get()
        try:
            lease.connection = lease.idle.pop()
        except IndexError:
            if self._closed:
                raise AlreadyClosed.of("engine") from None
            lease.connection = self._open(deadline)
            self.has_connected = True
        return lease.connection

    def _put_back(self, lease: Lease, *, intact: bool = True) -> None:
        connection = lease.connection
        if connection is not None:
            if intact and connection.usable and not self._closed:
                lease.connection = None  # first: a connection that is in the pool twice is worse than one that is lost
                lease.idle.append(connection)
            else:
                connection.close()
                lease.connection = None
        self._leases.release(lease)

    def close_idle(self) -> None:
        """Close the idle connections: after one connection was lost, the others probably are too."""
        if self._idle.inherited:
            return
        idle = self._idle.get()
        while idle:
            idle.pop().close()

    def close(self) -> None:
        """Close all connections; those in use are closed when they are returned."""
        self._closed = True
        self.close_idle()
