"""Turns: the writers of one process on one file go one after the other."""

import os
import threading

from rowlock.errors import InvalidTransaction


class Turn:
    """A lock that knows whose it is, and that a fork's child does not inherit."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._owner: int | None = None

    def take(self) -> None:
        """Wait for the turn; a thread that has it already would wait for itself and is refused."""
        self.check()
        self._lock.acquire()
        self._owner = threading.get_ident()

    def check(self) -> None:
        """Refuse a thread that has the turn and is about to wait for one."""
        if self._process != os.getpid():
            self._reset()
        if self._owner == threading.get_ident():
            what = "this thread has a transaction open on this database already, and a file has one writer"
            raise InvalidTransaction(what, 'write inside it: tx["name"].add(…), or add(…, using=tx)')

    def end(self) -> None:
        """Let the next one write."""
        self._owner = None
        self._lock.release()
