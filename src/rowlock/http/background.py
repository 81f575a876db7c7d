"""Threads that run beside the requests: upkeep, and the service's worker if it has one."""

import logging
import threading
from collections.abc import Callable

from rowlock import upkeep
from rowlock.engine import Engine
from rowlock.errors import RowlockError
from rowlock.worker import Worker

log = logging.getLogger("rowlock.http")

UPKEEP_SECONDS = 2.0


class BackgroundThreads:
    """Upkeep, which no other process does where all workers are remote, and a worker."""

    def __init__(self, engine: Engine, *, upkeep_seconds: float = UPKEEP_SECONDS) -> None:
        self._engine = engine
        self._upkeep_seconds = upkeep_seconds
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self._worker: Worker | None = None
        self.started = False

    def start(self, worker: Worker | None) -> None:
        """Start the threads, once."""
        if self.started:
            return
        self.started, self._worker = True, worker
        self._start("upkeep", self._keep_up)
        if worker is not None:
            self._start("worker", lambda: worker.run(signals=False))

    def _start(self, name: str, run: Callable[[], object]) -> None:
        thread = threading.Thread(target=run, name=f"rowlock http {name}", daemon=True)
        thread.start()
        self._threads.append(thread)

    def stop(self) -> None:
        """Stop after the upkeep pass and the items that are under way."""
        if self._worker is not None:
            self._worker.stop()
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _keep_up(self) -> None:
        database = self._engine.database.clone(connections=1)
        housekeeping = upkeep.Housekeeping(database, seconds=self._upkeep_seconds)
        try:
            while not self._stopping.wait(housekeeping.pause):
                try:
                    housekeeping.go_on()
                except RowlockError as error:
                    log.info("upkeep put off", extra={"code": error.code})
        finally:
            database.close()
