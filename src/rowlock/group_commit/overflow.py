"""What nobody else should wait for: calls that are long, or stand before what somebody has locked."""

import threading
from collections import deque

from rowlock.db import Database
from rowlock.group_commit.calls import GroupedCall
from rowlock.group_commit.transactions import answer

OVERFLOW_THREADS = 8


class Overflow:
    """A few threads with connections of their own, begun when needed, that do one call at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database.clone(connections=OVERFLOW_THREADS)
        self._lock = threading.Lock()
        self._waiting: deque[GroupedCall] = deque()
        self._threads: set[threading.Thread] = set()

    def take(self, call: GroupedCall) -> None:
        """Do it when a thread is free."""
        with self._lock:
            self._waiting.append(call)
            if len(self._threads) < OVERFLOW_THREADS:
                thread = threading.Thread(target=self._work, name="rowlock beside", daemon=True)
                self._threads.add(thread)
                thread.start()

    def close(self) -> None:
        """Finish what waits."""
        with self._lock:
            threads = list(self._threads)
        for thread in threads:
            thread.join()
        self._database.close()

    def _work(self) -> None:
        while (call := self._next()) is not None:
            answer(self._database, [call])

    def _next(self) -> GroupedCall | None:
        with self._lock:
            if self._waiting:
                return self._waiting.popleft()
            self._threads.discard(threading.current_thread())
            return None
