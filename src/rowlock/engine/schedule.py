"""A schedule in a user's hands: each method asks the database, nothing is remembered."""

from datetime import datetime
from typing import Any

from rowlock import schedules
from rowlock.durations import Duration
from rowlock.engine.runner import Runner
from rowlock.model import DEFAULT_PRIORITY, Added
from rowlock.schedules import Change, ScheduleInfo, plans
from rowlock.schedules.plans import DEFAULT_KEY


class Schedule:
    """A schedule by its name; it need not exist yet. Each tick puts one item on a list, whoever is alive."""

    def __init__(self, runner: Runner, name: str) -> None:
        self._runner = runner
        self.name = name

    def __repr__(self) -> str:
        return f"Schedule({self.name!r})"

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
        """Tick by cron or every so often, each time with an item for the list `to`; whether that is new or a change.

        Setting what is set already changes nothing. What is left out goes back to its default.
        """
        when: dict[str, Any] = {"cron": cron, "every": every, "zone": zone, "start": start, "catch_up": catch_up}
        what: dict[str, Any] = {"key": key, "data": data, "gate": gate, "priority": priority}
        plan = plans.planned(self.name, to, **when, **what)
        return self._runner.run(schedules.define, self.name, plan, version=version)

    def info(self) -> ScheduleInfo:
        """What it does, when it ticks, how far it is; NoSuchSchedule if it is not there."""
        return self._runner.read(schedules.show, self.name)

    def ticks(self, limit: int = 5) -> list[datetime]:
        """The next ticks, in the schedule's time zone; of a paused one, those it would have if it were resumed now."""
        return self._runner.read(schedules.upcoming, self.name, limit=limit)

    def trigger(self) -> Added:
        """Put an item on the list at once, as if this second were a tick; the ticks themselves stay as they are."""
        return self._runner.run(schedules.trigger, self.name)

    def pause(self, *, version: int | None = None) -> bool:
        """Stop ticking; whether that changed anything."""
        return self._runner.run(schedules.pause, self.name, version=version)

    def resume(self, *, version: int | None = None) -> bool:
        """Tick again, from the next tick on; whether that changed anything."""
        return self._runner.run(schedules.resume, self.name, version=version)

    def remove(self, *, version: int | None = None) -> None:
        """Forget the schedule; the items it has made stay."""
        self._runner.run(schedules.remove, self.name, version=version)
