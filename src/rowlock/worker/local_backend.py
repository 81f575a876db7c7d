"""The backend of a worker beside the database: it also runs schedules and upkeep, and listens for hints."""

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from rowlock import diagnostics, upkeep
from rowlock.durations import Duration, milliseconds
from rowlock.engine import Engine, Session, Transaction
from rowlock.engine.claimer import Claimer
from rowlock.errors import Unavailable
from rowlock.worker.backend import RECONNECT_SECONDS
from rowlock.worker.lease_holder import LeaseHooks
from rowlock.worker.poller import LocalPoller, listen_for_hints
from rowlock.worker.schedule_ticker import ScheduleTicker

log = logging.getLogger("rowlock.worker")


class LocalBackend:
    """Works for the database of an engine."""

    def __init__(self, engine: Engine, *, expiry: Duration = "15s") -> None:
        self.engine = engine
        self._ticker = ScheduleTicker(engine)
        self._upkeep_seconds = milliseconds(expiry) / 3_000

    def claimer(self, session: Session) -> Claimer:
        """Return what claims for the session."""
        return Claimer(self.engine, session.id, heartbeat=True, server_searches=False)

    def poller(self, session: Session, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> LocalPoller:
        """Return what finds lists with work for the session."""
        return LocalPoller(self.engine, session.id, fits=fits, hooks=hooks)

    def ping(self) -> None:
        """Raise Unavailable if the database does not answer."""
        self.engine.read(diagnostics.now)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """Return a transaction for a handler, which begins when it is first used."""
        return self.engine.late_transaction()

    def start_threads(self, session: Session, *, wake: Callable[[], None]) -> list[threading.Thread]:
        """Start to tick schedules, to do upkeep and to listen for hints, until the session closes."""
        self._tick()
        named = {
            "rowlock hints": lambda: listen_for_hints(self.engine, wake, stopped=session.closing),
            "rowlock upkeep": lambda: self._keep_up(session),
            "rowlock ticks": lambda: self._keep_ticking(session),
        }
        threads = [threading.Thread(target=target, name=name, daemon=True) for name, target in named.items()]
        for thread in threads:
            thread.start()
        return threads

    def _keep_up(self, session: Session) -> None:
        housekeeping = upkeep.Housekeeping(self.engine.database, seconds=self._upkeep_seconds)
        while not session.closing.wait(housekeeping.pause):
            try:
                housekeeping.go_on()
            except Unavailable as error:
                log.info("upkeep put off", extra={"code": error.code})

    def _keep_ticking(self, session: Session) -> None:
        while not session.closing.wait(self._tick()):
            pass

    def _tick(self) -> float:
        """Tick once, and return the seconds until the next time."""
        try:
            self._ticker.tick_due()
        except Unavailable as error:
            log.info("ticking put off", extra={"code": error.code})
            return RECONNECT_SECONDS
        return self._ticker.wait
