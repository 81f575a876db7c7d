"""The write lock of a SQLite file: one writer of this process at a time. Between processes SQLite's own lock holds."""

import sqlite3
import threading

from rowlock.db.semaphore import InterruptSafeSemaphore, Permit
from rowlock.errors import InvalidTransaction


class WritePermit(Permit):
    """A connection's permit to write."""

    def __init__(self, driver: sqlite3.Connection) -> None:
        super().__init__()
        self._driver = driver

    @property
    def in_transaction(self) -> bool:
        """Whether its connection has a transaction open."""
        try:
            return self._driver.in_transaction
        except sqlite3.ProgrammingError:
            return False  # the connection is closed


class WriteLock(InterruptSafeSemaphore):
    """Held by the connection whose transaction may write; all connections of an engine to a file share it."""

    def __init__(self) -> None:
        super().__init__(1)

    def check_reentry(self) -> None:
        """Refuse a thread that holds the lock by an open transaction: it would wait for itself."""
        for permit in self.holders():
            if not isinstance(permit, WritePermit) or permit.thread != threading.get_ident():
                continue
            if permit.in_transaction:
                what = "this thread has a transaction open on this database already, and a file has one writer"
                raise InvalidTransaction(what, 'write inside it: tx["name"].add(…), or add(…, using=tx)')
            self.release(permit)  # left behind by a call of this thread that was interrupted more than once
