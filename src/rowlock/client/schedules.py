"""Ways of schedules: each is a verb of `rowlock.schedules`, asked of a server."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rowlock.client.items import stored
from rowlock.client.link import Link
from rowlock.client.lists import Changed
from rowlock.errors import StaleVersion
from rowlock.model import Added, to_datetime
from rowlock.names import check_limit, check_start
from rowlock.schedules import Change, ScheduleInfo
from rowlock.schedules.plans import CatchUp, Plan
from rowlock.schedules.recurrence import zone


class ScheduleShown(msgspec.Struct, frozen=True):
    """A schedule as a server shows it."""

    name: str
    list: str
    key: str
    data: msgspec.Raw
    gate: int | None
    priority: int
    cron: str | None
    every: int | None
    zone: str | None
    catch_up: CatchUp
    start: datetime
    next_at: datetime | None
    last_at: datetime | None
    error: str | None
    version: int
    change: Change = Change.UNCHANGED

    @property
    def info(self) -> ScheduleInfo:
        """The same as the engine has it."""
        told = {
            name: getattr(self, name) for name in ScheduleInfo.__struct_fields__ if name not in ("raw_data", "zone")
        }
        return ScheduleInfo(**told, raw_data=stored(self.data), zone=self.zone or "UTC")


class SchedulePage(msgspec.Struct, frozen=True):
    """A page of schedules."""

    schedules: list[ScheduleShown]


class TickPage(msgspec.Struct, frozen=True):
    """Ticks to come."""

    ticks: list[datetime]


class Removed(msgspec.Struct, frozen=True):
    """What was forgotten."""

    removed: str


def define(link: Link, schedule: str, plan: Plan, *, version: int | None = None) -> Change:
    """Make the schedule, or make it what is given."""
    wanted = {
        "list": plan.list,
        "cron": plan.cron,
        "every": None if plan.every is None else f"{plan.every}ms",
        "zone": None if plan.cron is None else plan.zone,
        "start": None if plan.start_at is None else to_datetime(plan.start_at).isoformat(),
        "key": plan.key,
        "data": None if plan.data is None else msgspec.Raw(plan.data.encode()),
        "gate": plan.gate,
        "priority": plan.priority,
        "catch_up": plan.catch_up,
    }
    try:
        return link.ask("PUT", "schedules", schedule, gives=ScheduleShown, body=wanted, version=version).change
    except StaleVersion as stale:
        if stale.fields.get("version") is None:
            show(link, schedule)  # that there is none is what is wrong, and this says so
        raise


def show(link: Link, schedule: str) -> ScheduleInfo:
    """The schedule of that name."""
    return link.ask("GET", "schedules", schedule, gives=ScheduleShown).info


def page(link: Link, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[ScheduleInfo]:  # noqa: ARG001
    """Schedules in the order of their names; a token's prefixes are the server's to heed."""
    check_limit(limit, "schedules")
    check_start(after)
    query = {"count": limit, "after": after or None}
    return [each.info for each in link.ask("GET", "schedules", gives=SchedulePage, query=query).schedules]


def upcoming(link: Link, schedule: str, *, limit: int = 5) -> list[datetime]:
    """The next ticks, in the schedule's time zone."""
    check_limit(limit, "ticks")
    ticks = link.ask("GET", "schedules", schedule, "ticks", gives=TickPage, query={"count": limit}).ticks
    # What travels is an hour's difference to UTC, not the name of a place.
    here = zone(show(link, schedule).zone) if ticks else None
    return [tick.astimezone(here) for tick in ticks]


def trigger(link: Link, schedule: str) -> Added:
    """Put an item on the list at once."""
    return link.ask("POST", "schedules", schedule, "trigger", gives=Added, keyed=True)


def pause(link: Link, schedule: str, *, version: int | None = None) -> bool:
    """Stop ticking."""
    return link.ask("POST", "schedules", schedule, "pause", gives=Changed, version=version).changed


def resume(link: Link, schedule: str, *, version: int | None = None) -> bool:
    """Tick again, from the next tick on."""
    return link.ask("POST", "schedules", schedule, "resume", gives=Changed, version=version).changed


def remove(link: Link, schedule: str, *, version: int | None = None) -> None:
    """Forget the schedule."""
    link.ask("DELETE", "schedules", schedule, gives=Removed, version=version)
