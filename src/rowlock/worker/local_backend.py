"""Here: working beside the database. Every worker also ticks, keeps house, and hears of what is added."""

import logging
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from rowlock import diagnostics, upkeep
from rowlock.durations import Duration, milliseconds
from rowlock.engine import Engine, Session, Transaction
from rowlock.errors import Unavailable
from rowlock.worker.lease_holder import LeaseHooks
from rowlock.worker.poller import Poller
from rowlock.worker.schedule_ticker import ScheduleTicker

log = logging.getLogger("rowlock.worker")

HINT_SECONDS = 0.1
AFTER_HINT = 0.005
"""Our own commits are hints too: they must not come faster than they can be of use."""
AFTER_LOSS = 0.5


class LocalBackend:
    """A worker's place beside the database of an engine."""

    thorough = False

    def __init__(self, engine: Engine, *, expiry: Duration = "15s") -> None:
        self.source = engine
        self._ticking = ScheduleTicker(engine)
        self._pause = milliseconds(expiry) / 3_000

    def poller(self, session: Session, *, fits: Callable[[str], bool], hooks: LeaseHooks) -> Poller:
        """Whoever looks for lists on the session's behalf."""
        return Poller(self.source, session.id, fits=fits, hooks=hooks)

    def well(self) -> None:
        """Ask whether the database answers."""
        self.source.read(diagnostics.now)

    def transaction(self) -> AbstractContextManager[Transaction]:
        """A transaction for a handler, begun when it is first used."""
        return self.source.late_transaction()

    def begin_chores(self, session: Session, *, wake: Callable[[], None]) -> list[threading.Thread]:
        """Begin to tick, to keep house and to listen for hints, until the session closes."""
        self._tick()
        named = {
            "rowlock hints": lambda: self._pass_on_hints(session, wake),
            "rowlock upkeep": lambda: self._keep_up(session),
            "rowlock ticks": lambda: self._keep_ticking(session),
        }
        chores = [threading.Thread(target=chore, name=name, daemon=True) for name, chore in named.items()]
        for chore in chores:
            chore.start()
        return chores

    def _pass_on_hints(self, session: Session, wake: Callable[[], None]) -> None:
        database = self.source.database.clone(connections=1, listening=True)
        try:
            while not session.closing.is_set():
                try:
                    if database.wait_for_hint(HINT_SECONDS):
                        wake()
                        session.closing.wait(AFTER_HINT)
                except Unavailable:
                    session.closing.wait(AFTER_LOSS)
        finally:
            database.close()

    def _keep_up(self, session: Session) -> None:
        housekeeping = upkeep.Housekeeping(self.source.database, seconds=self._pause)
        while not session.closing.wait(housekeeping.pause):
            try:
                housekeeping.go_on()
            except Unavailable as error:
                log.info("upkeep put off", extra={"code": error.code})

    def _keep_ticking(self, session: Session) -> None:
        while not session.closing.wait(self._tick()):
            pass

    def _tick(self) -> float:
        try:
            self._ticking.look()
        except Unavailable as error:
            log.info("ticking put off", extra={"code": error.code})
            return AFTER_LOSS
        return self._ticking.wait
