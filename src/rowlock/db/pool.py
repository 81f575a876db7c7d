"""Connections kept for the next transaction: bounded, made when needed, never shared across a fork."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rowlock.db.connections import DatabaseConnection
from rowlock.db.semaphore import InterruptSafeSemaphore, Permit
from rowlock.environment import Deadline
from rowlock.errors import DatabaseBusy

T = TypeVar("T")


class Lease(Permit):
    """A connection in use; it is noted here first, so that no exception can lose it."""

    def __init__(self) -> None:
        super().__init__()
        self.connection: DatabaseConnection | None = None


class Pool:
    """A stack of idle connections; the last used is the first taken, so that few stay warm.

    Connections are opened in the thread that needs one: what goes wrong is told to who asked. A connection whose work
    was interrupted is closed, since nobody knows what it was doing.
    """

    def __init__(self, open_connection: Callable[[Deadline], DatabaseConnection], size: int, *, shown: str) -> None:
        self._open = open_connection
        self._size = size
        self._shown = shown
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._idle: list[DatabaseConnection] = []
        self._leases = InterruptSafeSemaphore(self._size)
        self._closed = False

    def lend(self, work: Callable[[DatabaseConnection], T], deadline: Deadline) -> T:
        """Do the work on a connection. An exception at any moment leaves neither it nor its place in use."""
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
        """The same for a block. An exception between two bytecodes of `with` itself is seen to by the collector."""
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
        """Whether any connection is in use; a guess while other threads take and give."""
        return bool(self._leases.holders())

    def _take(self, lease: Lease, deadline: Deadline) -> DatabaseConnection:
        if self._process != os.getpid():
            self._reset()  # a fork's child must not speak on its parent's sockets
        if not self._leases.acquire(lease, deadline):
            what = f"all {self._size} connections to {self._shown} are in use"
            raise DatabaseBusy(what, "end transactions sooner, or open the engine with more connections=")
        try:
            lease.connection = self._idle.pop()
        except IndexError:
            lease.connection = self._open(deadline)
        return lease.connection

    def _put_back(self, lease: Lease) -> None:
        connection = lease.connection
        if connection is not None and connection.usable and not self._closed:
            lease.connection = None  # first, for to be put back twice would be worse than to be lost
            self._idle.append(connection)
        self._discard(lease)

    def _discard(self, lease: Lease) -> None:
        if lease.connection is not None:
            lease.connection.close()
            lease.connection = None
        self._leases.release(lease)

    def forget_idle(self) -> None:
        """Close what lies idle: after one connection was lost, the others are probably lost too."""
        if self._process != os.getpid():
            return
        while self._idle:
            self._idle.pop().close()

    def close(self) -> None:
        """Close all; connections in use are closed when they come back."""
        self._closed = True
        self.forget_idle()
