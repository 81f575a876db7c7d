"""Connection pool: bounded, filled on demand, never shared across a fork.

Ctrl-C or an alarm may raise between any two bytecodes. So a caller has a lease before it waits for a connection, and
whatever it holds is noted there or in the semaphore by a single step of the interpreter. The standard library cannot do
this: an interrupted `threading.Semaphore` may lose its count, an interrupted `Condition` may stay locked.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

import msgspec

from rowlock.db.connections import DatabaseConnection
from rowlock.environment import Deadline
from rowlock.errors import DatabaseBusy
from rowlock.forks import PerProcess

T = TypeVar("T")
Permits = TypeVar("Permits", bound="Permit")

MAX_WAIT_SECONDS = 0.05
"""How long a permit waits before it looks by itself: an exception may have kept another thread from waking it."""


class Permit(msgspec.Struct, eq=False):
    """A place in the queue of a semaphore; it can be used again after it was released."""

    woken: "SimpleQueue[None] | None" = None

    def wait(self) -> None:
        """Wait to be woken, or for a short while."""
        if self.woken is not None:
            with suppress(Empty):
                self.woken.get(timeout=MAX_WAIT_SECONDS)


class InterruptSafeSemaphore(Generic[Permits]):
    """A queue of permits, of which the first `size` hold the semaphore. A forked child starts with an empty queue."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._queue: PerProcess[dict[Permits, None]] = PerProcess(dict)

    def acquire(self, permit: Permits, deadline: Deadline) -> bool:
        """Wait for the permit's turn and return whether it came in time. `release` must follow in every case."""
        queue = self._queue.get()
        queue[permit] = None
        if len(queue) <= self._size:
            return True
        permit.woken = SimpleQueue()
        while permit not in list(queue)[: self._size]:
            if deadline.passed():
                return False
            permit.wait()
        return True

    def release(self, permit: Permits) -> None:
        """Remove the permit and wake the one whose turn it is."""
        queue = self._queue.get()
        queue.pop(permit, None)
        # Also if it was released before: an exception may have kept it from waking the next.
        if len(queue) >= self._size:
            for last in list(queue)[self._size - 1 : self._size]:
                if last.woken is not None:
                    last.woken.put(None)

    def holders(self) -> list[Permits]:
        """Return the permits that hold the semaphore now."""
        return list(self._queue.get())[: self._size]


class Lease(Permit):
    """A connection in use; it is noted here first, so that no exception can lose it."""

    connection: DatabaseConnection | None = None
    idle: list[DatabaseConnection] = []
    """Where to put it back: after a fork in between, the child's copy of a list that only the parent uses."""


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

    def _take(self, lease: Lease, deadline: Deadline) -> DatabaseConnection:
        if not self._leases.acquire(lease, deadline):
            what = f"all {self._size} connections to {self._shown} are in use"
            raise DatabaseBusy(what, "end transactions sooner, or open the engine with more connections=")
        lease.idle = self._idle.get()
        try:
            lease.connection = lease.idle.pop()
        except IndexError:
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
