"""Upkeep while serving: where all workers are elsewhere, nobody else buries the dead and puts the due in line."""

import logging
import threading

from rowlock import upkeep
from rowlock.engine import Engine
from rowlock.errors import RowlockError

log = logging.getLogger("rowlock.http")

SECONDS = 2.0


class Upkeep:
    """A thread that does one bounded pass of housekeeping after the other."""

    def __init__(self, engine: Engine, *, seconds: float = SECONDS) -> None:
        self._engine = engine
        self._seconds = seconds
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work, name="rowlock http upkeep", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End after the pass that is under way."""
        self._stopping.set()
        self._thread.join()

    def _work(self) -> None:
        database = self._engine.database.clone(connections=1)
        housekeeping = upkeep.Housekeeping(database, seconds=self._seconds)
        try:
            while not self._stopping.wait(housekeeping.pause):
                try:
                    housekeeping.go_on()
                except RowlockError as error:
                    log.info("upkeep put off", extra={"code": error.code})
        finally:
            database.close()
