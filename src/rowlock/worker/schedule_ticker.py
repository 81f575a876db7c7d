"""Ticking: making the items of schedules when their time has come, for as long as a process lives."""

import logging

from rowlock import schedules
from rowlock.engine import Engine
from rowlock.schedules import Tick

log = logging.getLogger("rowlock.schedules")

LONGEST_WAIT = 1.0
SHORTEST_WAIT = 0.005
SPREAD = 0.05
"""Of many that wait for one tick most come when it is over: they find nothing to do, and cost nothing."""


class ScheduleTicker:
    """Looks when the next tick is; while there are no schedules that is one small question a second."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._told: dict[str, str] = {}
        self.wait = 0.0
        """Seconds until the next look."""

    def tick_due(self) -> list[Tick]:
        """Make the items of ticks that have come; what was done."""
        left = self._engine.read(schedules.seconds_to_next)
        if left is None or left > 0:
            self.wait = (
                LONGEST_WAIT if left is None else min(left + self._engine.environment.random() * SPREAD, LONGEST_WAIT)
            )
            return []
        ticks = self._engine.tick()
        # What this machine cannot read stays due: it is not asked for again and again.
        self.wait = LONGEST_WAIT if any(tick.stuck for tick in ticks) else SHORTEST_WAIT
        for tick in ticks:
            self._tell(tick)
        return ticks

    def _tell(self, tick: Tick) -> None:
        trouble = tick.stuck or tick.error
        if trouble is None:
            self._told.pop(tick.schedule, None)
            log.info("ticked", extra={"schedule": tick.schedule, "list": tick.list, "added": tick.added})
        elif self._told.get(tick.schedule) != trouble.code:
            self._told[tick.schedule] = trouble.code
            log.warning("the schedule %s made no item: %s", tick.schedule, trouble.what, extra={"code": trouble.code})
