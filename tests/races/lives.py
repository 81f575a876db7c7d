"""Lives of processes that end after a number of persisted steps."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from tests.races.faults import Faulty
from tests.waiting import WAIT_SECONDS

from rowlock import Worker
from rowlock.db.driver import ConnectionLost
from rowlock.errors import DatabaseUnreachable

STEPS = (
    "autocommit",
    "begin",
    "change",
    "commit",
    "execute",
    "executemany",
    "query",
    "pipeline",
    "script",
    "wait_for_hint",
)


class Life:
    """A process that is gone after a number of persisted steps: nothing of it reaches the database from then on."""

    def __init__(self, steps: int) -> None:
        self.left = steps
        self.over = threading.Event()

    def wrap(self, connection: Any) -> Faulty:
        """A connection of that process."""
        before = {f"before_{step}": self._check for step in STEPS}
        return Faulty(
            connection, **before, after_autocommit=self._count, after_commit=self._count, after_pipeline=self._count
        )

    def _check(self, _: Any) -> None:
        if self.over.is_set():
            raise ConnectionLost(DatabaseUnreachable("this process is no more", ""))

    def _count(self, _: Any) -> None:
        self.left -= 1
        if self.left == 0:
            self.over.set()

    def work(self, worker: Worker) -> bool:
        """Work until all is done, or the end; whether all was done."""
        run: Callable[[], None] = partial(worker.run, until="done", signals=False)
        thread = threading.Thread(target=run)
        thread.start()
        while thread.is_alive() and not self.over.wait(0.01):
            pass
        worker.stop(now=True)
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
        return not self.over.is_set()
