"""Connection pool: bounded, filled on demand, never shared across a fork."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rowlock.db.connections import DatabaseConnection
from rowlock.db.semaphore import InterruptSafeSemaphore, Permit
from rowlock.environment import Deadline
from rowlock.errors import DatabaseBusy
from rowlock.forks import PerProcess

T = TypeVar("T")


class Lease(Permit):
    """A connection in use; it is noted here first, so that no exception can lose it."""

    def __init__(self) -> None:
        super().__init__()
        self.connection: DatabaseConnection | None = None
        self.idle: list[DatabaseConnection] = []
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
        self._leases = InterruptSafeSemaphore(size)

    def lend(self, work: Callable[[DatabaseConnection], T], deadline: Deadline) -> T:
        """Call `work` with a connection. An exception at any moment leaks neither the connection nor its permit."""
        lease = Lease()
        try:
            try:
                answer = work(self._take(lease, deadline))
            except Exception:
                self._put_back(lease)
                raise
            self._put_back(lease)
        except BaseException:
            self._discard(lease)
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
            self._discard(lease)
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
        return lease.connection

    def _put_back(self, lease: Lease) -> None:
        connection = lease.connection
        if connection is not None and connection.usable and not self._closed:
            lease.connection = None  # first: a connection that is in the pool twice is worse than one that is lost
            lease.idle.append(connection)
        self._discard(lease)

    def _discard(self, lease: Lease) -> None:
        if lease.connection is not None:
            lease.connection.close()
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
