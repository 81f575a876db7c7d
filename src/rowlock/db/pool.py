"""Connections kept for the next transaction: bounded, made when needed, never shared across a fork."""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rowlock.db.connections import Connection


class Pool:
    """A stack of idle connections; the last used is the first taken, so that few stay warm.

    Connections are opened in the thread that needs one: what goes wrong is told to who asked.
    """

    def __init__(self, open_connection: Callable[[], Connection], size: int) -> None:
        self._open = open_connection
        self._size = size
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._idle: list[Connection] = []
        self._taken = 0
        self._room = threading.BoundedSemaphore(self._size)
        self._closed = False

    @contextmanager
    def connection(self) -> Iterator[Connection]:
        """A connection for one transaction; put back if it is still usable."""
        if self._process != os.getpid():
            self._reset()  # a fork's child must not speak on its parent's sockets
        with self._room:
            self._taken += 1
            try:
                connection = self._take()
                try:
                    yield connection
                finally:
                    self._put_back(connection)
            finally:
                self._taken -= 1

    @property
    def busy(self) -> bool:
        """Whether any connection is in use; a guess while other threads take and give."""
        return self._taken > 0

    def _take(self) -> Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def _put_back(self, connection: Connection) -> None:
        if connection.usable and not self._closed:
            self._idle.append(connection)
        else:
            connection.close()

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
