"""The schedule ticker: adds the items of schedules when they are due, for as long as a process lives."""

import logging

from rowlock import schedules
from rowlock.engine import Engine
from rowlock.schedules import Tick

log = logging.getLogger("rowlock.schedules")

MAX_WAIT_SECONDS = 1.0
MIN_WAIT_SECONDS = 0.005
JITTER_SECONDS = 0.05
"""Of many processes that wait for one tick most come when it is over, and find nothing to do."""


class ScheduleTicker:
    """Ticks schedules that are due; while there are none, it costs one small query a second."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._reported: dict[str, str] = {}
        """The last error of each schedule that was logged, by code."""
        self.wait = 0.0
        """Seconds until the next call."""

    def tick_due(self) -> list[Tick]:
        """Add the items of ticks that are due, and return the ticks."""
        left = self._engine.read(schedules.seconds_to_next)
        if left is None or left > 0:
            self.wait = (
                MAX_WAIT_SECONDS
                if left is None
                else min(left + self._engine.environment.random() * JITTER_SECONDS, MAX_WAIT_SECONDS)
            )
            return []
        ticks = self._engine.tick()
        # What this machine cannot read stays due: it must not be tried again and again.
        self.wait = MAX_WAIT_SECONDS if any(tick.stuck for tick in ticks) else MIN_WAIT_SECONDS
        for tick in ticks:
            self._log(tick)
        return ticks

    def _log(self, tick: Tick) -> None:
        error = tick.stuck or tick.error
        if error is None:
            self._reported.pop(tick.schedule, None)
            log.info("ticked", extra={"schedule": tick.schedule, "list": tick.list, "added": tick.added})
        elif self._reported.get(tick.schedule) != error.code:
            self._reported[tick.schedule] = error.code
            log.warning("schedule %s added no item: %s", tick.schedule, error.what, extra={"code": error.code})
