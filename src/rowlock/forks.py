"""Forks: what a child process must not share with its parent. Everything that knows about forks stands here."""

import os
import weakref
from collections.abc import Callable
from pathlib import Path
from threading import get_ident
from time import monotonic, sleep
from typing import Generic, Protocol, TypeVar

from rowlock.errors import DatabaseUnreachable

T = TypeVar("T")


class PerProcess(Generic[T]):
    """State of one process: a forked child makes its own instead of using its parent's sockets, locks and threads."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._values = {os.getpid(): make()}

    def get(self) -> T:
        """Return the state of this process."""
        process = os.getpid()
        value = self._values.get(process)
        # In one step: threads of a child that come at the same moment get the same state.
        return self._values.setdefault(process, self._make()) if value is None else value

    @property
    def inherited(self) -> bool:
        """Whether this process was forked and has no state of its own yet."""
        return os.getpid() not in self._values


class FilePool(Protocol):
    """Connections to one SQLite file."""

    @property
    def busy(self) -> bool:
        """Whether any connection is in use."""

    @property
    def busy_elsewhere(self) -> bool:
        """Whether another thread uses a connection."""

    def close_idle(self) -> None:
        """Close the connections that are not in use."""


# SQLite keeps the locks of a file in memory. A forked child inherits that memory but not the locks, and would write
# while others do. So idle connections are closed before a fork, and a child never opens a file that was in use then.
#
# SQLite also has locks for the whole process, around its allocator among them. A thread that holds one at the fork does
# not exist in the child, where the lock then stays for ever. So a fork waits for the connections that are in use, and
# no thread takes one meanwhile: of children of a busy process 6 in 100 hung.
MAX_PAUSE_SECONDS = 1.0
"""How long a fork waits for transactions of other threads."""
PAUSE_SECONDS = 0.001
forking_threads: set[int] = set()
"""Threads that are about to fork; until they have, no other thread may take a connection."""
_pools: "weakref.WeakKeyDictionary[FilePool, str]" = weakref.WeakKeyDictionary()
_in_use: set[str] = set()
_unusable: set[str] = set()


def guard_file(pool: FilePool, path: str) -> None:
    """Close the pool's idle connections before every fork."""
    _pools[pool] = str(Path(path).resolve())


def check_file(path: str) -> None:
    """Refuse a file whose connections were in use when this process was forked."""
    if _unusable and str(Path(path).resolve()) in _unusable:
        what = f"this process was forked while {path} was in use, and cannot share it safely"
        raise DatabaseUnreachable(what, "start processes by spawn, or fork before there is a worker or a session")


def _before_fork() -> None:
    forking_threads.add(get_ident())
    deadline = monotonic() + MAX_PAUSE_SECONDS
    while any(pool.busy_elsewhere for pool in list(_pools)) and monotonic() < deadline:
        sleep(PAUSE_SECONDS)
    _in_use.clear()
    for pool, path in list(_pools.items()):
        pool.close_idle()
        if pool.busy:
            _in_use.add(path)


def _in_child() -> None:
    forking_threads.clear()
    _unusable.update(_in_use)


os.register_at_fork(
    before=_before_fork, after_in_parent=lambda: forking_threads.discard(get_ident()), after_in_child=_in_child
)
