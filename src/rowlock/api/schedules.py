"""Schedules over HTTP."""

from datetime import datetime
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import schedules
from rowlock.api.documents import Page, Value, page
from rowlock.api.lists import Changed
from rowlock.api.operation import Operation
from rowlock.errors import InvalidSchedule
from rowlock.model import DEFAULT_PRIORITY, Added, to_datetime
from rowlock.roles import Role
from rowlock.schedules import Change, Defined, ScheduleInfo, plans
from rowlock.schedules.history import PastTick
from rowlock.schedules.plans import DEFAULT_KEY, CatchUp, Plan, zone

SCHEDULES_PATH = "/v1/schedules"
SCHEDULE_PATH = f"{SCHEDULES_PATH}/{{schedule}}"
MAX_TICKS = 1_000


class SchedulePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a schedule adds to its list, and when: by `cron` or at an interval, `every`."""

    list: str
    cron: str | None = None
    every: str | float | None = None
    """A length of time such as `15m`, or seconds."""
    zone: str | None = None
    """The time zone of cron: UTC if left out."""
    start: str | None = None
    """No tick before that time, as ISO 8601 writes it."""
    key: str = DEFAULT_KEY
    data: Any = None
    gate: int | None = None
    priority: int = DEFAULT_PRIORITY
    catch_up: CatchUp = CatchUp.LAST

    def to_argument(self, name: str) -> Plan:
        """Return the plan as the verb takes it."""
        names = ("cron", "every", "zone", "key", "data", "gate", "priority", "catch_up")
        return plans.planned(name, self.list, start=_start(self.start), **{each: getattr(self, each) for each in names})

    @classmethod
    def from_argument(cls, plan: Plan) -> "SchedulePlan":
        """Return a plan as it is sent."""
        return SchedulePlan(
            list=plan.list,
            cron=plan.cron,
            every=None if plan.every is None else f"{plan.every}ms",
            zone=None if plan.cron is None else plan.zone,
            start=None if plan.start_at is None else to_datetime(plan.start_at).isoformat(),
            key=plan.key,
            data=None if plan.data is None else msgspec.Raw(plan.data.encode()),
            gate=plan.gate,
            priority=plan.priority,
            catch_up=CatchUp(plan.catch_up),
        )


class NamedPlan(SchedulePlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A schedule to create: its name and its plan."""

    name: str

    def to_argument(self) -> tuple[str, Plan]:  # type: ignore[override]
        """Return the name and the plan as the verb takes them."""
        return self.name, SchedulePlan.to_argument(self, self.name)


class DefinedSchedule(ScheduleInfo, frozen=True, kw_only=True):
    """A schedule that was set."""

    change: Change
    """Whether that was new, or a change."""

    @classmethod
    def from_result(cls, defined: Defined, *_: str) -> "DefinedSchedule":
        """Return what setting a schedule did, as it is sent."""
        change, info = defined
        return DefinedSchedule(**msgspec.structs.asdict(info), change=change)


class ScheduleChange(Value, frozen=True):
    """What setting a schedule did."""

    change: Change


class TickQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many ticks."""

    limit: Annotated[int, Meta(ge=0, le=MAX_TICKS, description="At most so many.")] = msgspec.field(
        default=5, name="count"
    )


class TickPage(Page, frozen=True):
    """Ticks to come, in the time zone of the schedule."""

    ticks: list[datetime]
    zone: str | None = None
    """The name of that zone."""

    @classmethod
    def from_result(cls, ticks: list[datetime], *_: str) -> "TickPage":
        """Return ticks as they are sent."""
        return TickPage(ticks, getattr(ticks[0].tzinfo, "key", None) if ticks else None)

    def to_result(self) -> list[datetime]:
        """Return the ticks in their zone: what is sent of each is its difference to UTC."""
        return [tick.astimezone(zone(self.zone or "UTC")) for tick in self.ticks]


class Removed(msgspec.Struct, frozen=True):
    """The name of what was deleted."""

    removed: str

    @classmethod
    def from_result(cls, _: None, name: str) -> "Removed":
        """Return the name of what was deleted."""
        return Removed(name)

    def to_result(self) -> None:
        """Return nothing: it is gone."""


def _start(text: str | None) -> datetime | None:
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        what = f"start must be a date and time, got {text!r}"
        raise InvalidSchedule(what, "write it like 2030-01-31T12:00Z") from None


def _cells(info: ScheduleInfo) -> tuple[Any, ...]:
    when = f"every {info.every}s" if info.cron is None else f"{info.cron} {info.zone}"
    state = "paused" if info.paused else "open"
    return info.name, info.list, when, state, info.next_at, info.last_at, info.error


SchedulePage = page("SchedulePage", "schedules", of=ScheduleInfo, cells=_cells, cursor="name")

HistoryPage = page(
    "HistoryPage", "ticks", of=PastTick, cells=("at", "items", "added", "triggered", "error"), doc="Past ticks."
)

PUT_SCHEDULE = Operation(
    schedules.put,
    "PUT",
    SCHEDULE_PATH,
    Role.OPERATOR,
    DefinedSchedule,
    body=SchedulePlan,
    whole="plan",
    also={schedules.define: ScheduleChange},
    threaded=True,
    name="schedules.define",
    description="A new recurrence begins now: what the old one missed is not caught up. A paused schedule stays so.",
)
OPERATIONS = (
    Operation(schedules.page, "GET", SCHEDULES_PATH, Role.VIEWER, SchedulePage),
    Operation(
        schedules.add,
        "POST",
        SCHEDULES_PATH,
        Role.OPERATOR,
        DefinedSchedule,
        body=NamedPlan,
        whole="new",
        threaded=True,
    ),
    Operation(schedules.show, "GET", SCHEDULE_PATH, Role.VIEWER, ScheduleInfo),
    PUT_SCHEDULE,
    Operation(schedules.remove, "DELETE", SCHEDULE_PATH, Role.OPERATOR, Removed),
    Operation(schedules.pause, "POST", f"{SCHEDULE_PATH}/pause", Role.OPERATOR, Changed),
    Operation(schedules.resume, "POST", f"{SCHEDULE_PATH}/resume", Role.OPERATOR, Changed),
    Operation(
        schedules.trigger,
        "POST",
        f"{SCHEDULE_PATH}/trigger",
        Role.OPERATOR,
        Added,
        keyed=True,
        description="A repeated request in another second adds another item; under an Idempotency-Key it does not.",
    ),
    Operation(schedules.history, "GET", f"{SCHEDULE_PATH}/history", Role.VIEWER, HistoryPage),
    Operation(schedules.upcoming, "GET", f"{SCHEDULE_PATH}/ticks", Role.VIEWER, TickPage, query=TickQuery),
)
