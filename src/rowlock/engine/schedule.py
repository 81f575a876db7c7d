"""The handle of a schedule: each method calls the database, nothing is cached."""

from datetime import datetime
from typing import Any

from rowlock import schedules
from rowlock.durations import Duration
from rowlock.engine.protocols import NamedHandle
from rowlock.model import DEFAULT_PRIORITY, Added
from rowlock.schedules import Change, ScheduleInfo, plans
from rowlock.schedules.history import PastTick
from rowlock.schedules.plans import DEFAULT_KEY


class Schedule(NamedHandle):
    """A schedule by its name; it need not exist yet. Each tick adds one item to a list, once over all workers."""

    _noun = "schedule"

    def set(
        self,
        to: str,
        *,
        cron: str | None = None,
        every: Duration | None = None,
        zone: str | None = None,
        start: datetime | None = None,
        key: str = DEFAULT_KEY,
        data: Any = None,
        gate: int | None = None,
        priority: int = DEFAULT_PRIORITY,
        catch_up: str = "last",
        version: int | None = None,
    ) -> Change:
        """Tick by `cron` or at an interval, each time with an item for the list `to`; return whether that is a change.

        Setting the same again changes nothing. A parameter that is left out goes back to its default.
        """
        when: dict[str, Any] = {"cron": cron, "every": every, "zone": zone, "start": start, "catch_up": catch_up}
        what: dict[str, Any] = {"key": key, "data": data, "gate": gate, "priority": priority}
        plan = plans.planned(self.name, to, **when, **what)
        return self._runner.run(schedules.define, self.name, plan, version=version)

    def info(self) -> ScheduleInfo:
        """Return what it does and when it ticks; NoSuchSchedule if it does not exist."""
        return self._runner.read(schedules.show, self.name)

    def ticks(self, limit: int = 5) -> list[datetime]:
        """Return the next ticks, in the schedule's time zone; of a paused one, those it would have if resumed now."""
        return self._runner.read(schedules.upcoming, self.name, limit=limit)

    def history(self, *, limit: int = 20) -> list[PastTick]:
        """Return the last ticks, the newest first: when each was, and what came of it; 100 are kept."""
        return self._runner.read(schedules.history, self.name, limit=limit)

    def trigger(self) -> Added:
        """Add an item to the list now, as if this second were a tick; the ticks themselves do not change."""
        return self._runner.run(schedules.trigger, self.name)

    def pause(self, *, version: int | None = None) -> bool:
        """Stop ticking; return whether that changed anything."""
        return self._runner.run(schedules.pause, self.name, version=version)

    def resume(self, *, version: int | None = None) -> bool:
        """Tick again, from the next tick on; return whether that changed anything."""
        return self._runner.run(schedules.resume, self.name, version=version)

    def remove(self, *, version: int | None = None) -> None:
        """Delete the schedule; the items that it has added stay."""
        self._runner.run(schedules.remove, self.name, version=version)
