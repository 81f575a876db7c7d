"""Routes of schedules: recurring work, set, looked at and triggered."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import schedules
from rowlock.db import Transaction
from rowlock.errors import InvalidSchedule, NameTaken, NoSuchSchedule, NotAllowed
from rowlock.http.call import Answer, Call
from rowlock.http.forms import moment_of
from rowlock.http.lists import Changed
from rowlock.http.once import once
from rowlock.http.pages import Page, link
from rowlock.http.texts import form, row
from rowlock.http.versions import Condition, condition
from rowlock.model import DEFAULT_PRIORITY, Added
from rowlock.roles import covers
from rowlock.schedules import Change, ScheduleInfo, plans
from rowlock.schedules.plans import DEFAULT_KEY, CatchUp, Plan

PAGE = 1_000
TICKS = 1_000

Scope = Sequence[str]


class SchedulePlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a schedule shall do, and when: by `cron` or `every` so often."""

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


class NewSchedule(SchedulePlan, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A schedule to be made."""

    name: str


class ScheduleShown(msgspec.Struct, frozen=True):
    """A schedule: what it does, when it ticks, and how far it is."""

    name: str
    list: str
    cron: str | None
    every: int | None
    """Seconds between two ticks."""
    zone: str | None
    start: datetime
    key: str
    data: Any
    gate: int | None
    priority: int
    catch_up: CatchUp
    paused: bool
    next_at: datetime | None
    last_at: datetime | None
    error: str | None
    """Why the last tick made no item."""
    version: int


class ScheduleSet(ScheduleShown, frozen=True):
    """A schedule that was set."""

    change: Change
    """Whether that was new, or a change."""


class SchedulePage(Page, frozen=True):
    """A page of schedules."""

    schedules: list[ScheduleShown]
    next: str | None
    """What to give as `after` for the next page; none if this is the last."""


class ScheduleQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which schedules."""

    count: Annotated[int, Meta(description="At most so many.")] = PAGE
    after: Annotated[str, Meta(description="Strictly after this name, in byte order.")] = ""


class TickQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many ticks."""

    count: Annotated[int, Meta(ge=0, le=TICKS, description="At most so many.")] = 5


class TickPage(Page, frozen=True):
    """Ticks to come, in the time zone of the schedule."""

    ticks: list[datetime]


class Removed(msgspec.Struct, frozen=True):
    """What was forgotten; it was there."""

    removed: str


def shown(info: ScheduleInfo) -> ScheduleShown:
    """A schedule as it is told: what was set can be sent back."""
    told = {name: getattr(info, name) for name in ScheduleShown.__struct_fields__ if name != "data"}
    data = None if info.raw_data is None else msgspec.Raw(info.raw_data.encode())
    return ScheduleShown(**{**told, "data": data, "zone": None if info.cron is None else info.zone})


async def page(call: Call) -> Answer:
    """The schedules in the order of their names."""
    query: ScheduleQuery = call.query
    mine = call.principal.lists
    found = await call.service.executor.read(schedules.page, after=query.after, limit=query.count, prefixes=mine)
    after = found[-1].name if found and len(found) == query.count else None
    theirs = [shown(info) for info in found if covers(mine, info.list)]
    return Answer(SchedulePage(theirs, after), headers=link(call, after, count=query.count))


async def show(call: Call) -> Answer:
    """One schedule: what it does, when it ticks, how far it is."""
    info = await call.service.executor.read(_mine, call.path["schedule"], scope=call.principal.lists)
    return Answer(shown(info), version=info.version)


def _mine(tx: Transaction, schedule: str, *, scope: Scope) -> ScheduleInfo:
    info = schedules.show(tx, schedule)
    if not covers(scope, info.list):
        # Nor is the list's name told.
        raise NotAllowed(f"the schedule {schedule!r} is for a list that this token is not for", "use another name")
    return info


async def create(call: Call) -> Answer:
    """Make a schedule; one that is the same already is left alone, another of that name refused."""
    wanted: NewSchedule = await call.document()
    call.principal.check(wanted.name)
    plan = await _planned(call, wanted.name, wanted)
    change, info = await call.service.executor.write(_create, wanted.name, plan, scope=call.principal.lists)
    return _told(change, info)


def _create(tx: Transaction, schedule: str, plan: Plan, *, scope: Scope) -> tuple[Change, ScheduleInfo]:
    with tx.savepoint():
        change, info = _set(tx, schedule, plan, Condition(), scope=scope)
        if change is Change.CHANGED:
            what = f"there is a schedule {schedule!r} already, and it does something else"
            raise NameTaken(what, "change it by PUT, or take another name")
    return change, info


async def put(call: Call) -> Answer:
    """Make a schedule, or make it this; what is left out is at its default.

    A new rhythm begins now: what the old one missed is not caught up. A paused schedule stays paused.
    """
    wanted: SchedulePlan = await call.document()
    name = call.path["schedule"]
    plan, holds = await _planned(call, name, wanted), condition(call)
    return _told(*await call.service.executor.write(_set, name, plan, holds, scope=call.principal.lists))


def _told(change: Change, info: ScheduleInfo) -> Answer:
    told = msgspec.structs.asdict(shown(info))
    return Answer(ScheduleSet(**told, change=change), 201 if change is Change.ADDED else 200, version=info.version)


async def _planned(call: Call, name: str, wanted: SchedulePlan) -> Plan:
    call.principal.check(wanted.list)
    given = {each: getattr(wanted, each) for each in SchedulePlan.__struct_fields__ if each not in ("list", "start")}
    start = moment_of(wanted.start)
    if start is not None and not isinstance(start, datetime):
        raise InvalidSchedule(f"{wanted.start!r} is no date and time", "write it like 2030-01-31T12:00Z")
    # Somebody's calendar may take long to read: not on the event loop.
    return await call.service.executor.run_in_thread(lambda: plans.planned(name, wanted.list, **given, start=start))


def _set(tx: Transaction, schedule: str, plan: Plan, holds: Condition, *, scope: Scope) -> tuple[Change, ScheduleInfo]:
    with tx.savepoint():
        there = _there(tx, schedule, holds, scope=scope)
        if there is None:
            if schedules.create(tx, schedule, plan):
                return Change.ADDED, schedules.show(tx, schedule)
            # Somebody was faster: what must hold must hold for theirs.
            there = _there(tx, schedule, holds, scope=scope)
        version = there.version if there and holds.versions else None
        return schedules.define(tx, schedule, plan, version=version), schedules.show(tx, schedule)


def _there(tx: Transaction, schedule: str, holds: Condition, *, scope: Scope) -> ScheduleInfo | None:
    try:
        there = _mine(tx, schedule, scope=scope)
    except NoSuchSchedule:
        there = None
    holds.check(there.version if there else None, f"the schedule {schedule!r}")
    return there


async def remove(call: Call) -> Removed:
    """Forget a schedule; the items it has made stay."""
    name, holds = call.path["schedule"], condition(call)
    await call.service.executor.write(_remove, name, holds, scope=call.principal.lists)
    return Removed(name)


def _remove(tx: Transaction, schedule: str, holds: Condition, *, scope: Scope) -> None:
    schedules.remove(tx, schedule, version=_version(tx, schedule, holds, scope=scope))


async def pause(call: Call) -> Changed:
    """Stop a schedule's ticks; those of the pause are not caught up."""
    name, holds = call.path["schedule"], condition(call)
    return Changed(await call.service.executor.write(_pause, name, holds, scope=call.principal.lists))


def _pause(tx: Transaction, schedule: str, holds: Condition, *, scope: Scope) -> bool:
    version = _version(tx, schedule, holds, scope=scope)
    return schedules.pause(tx, schedule, version=version if holds.versions else None)


def _version(tx: Transaction, schedule: str, holds: Condition, *, scope: Scope) -> int:
    info = _mine(tx, schedule, scope=scope)
    holds.check(info.version, f"the schedule {schedule!r}")
    return info.version


async def resume(call: Call) -> Changed:
    """Let a schedule tick again, from its next tick on."""
    name, holds = call.path["schedule"], condition(call)
    return Changed(await call.service.executor.write(_resume, name, holds, scope=call.principal.lists))


def _resume(tx: Transaction, schedule: str, holds: Condition, *, scope: Scope) -> bool:
    version = _version(tx, schedule, holds, scope=scope)
    return schedules.resume(tx, schedule, version=version if holds.versions else None)


async def trigger(call: Call) -> Answer:
    """Put an item on the list now, as if this second were a tick; the ticks themselves stay as they are.

    Asked again in another second it adds another; under an Idempotency-Key it does not.
    """
    name, mine = call.path["schedule"], call.principal.lists
    if not call.header(b"idempotency-key"):
        return Answer(await call.service.executor.write(_trigger, name, scope=mine))
    found, headers = await once(call, partial(_trigger, schedule=name, scope=mine), asked=[name])
    return Answer(msgspec.convert(found, Added) if isinstance(found, dict) else found, headers=headers)


def _trigger(tx: Transaction, schedule: str, *, scope: Scope) -> Added:
    _mine(tx, schedule, scope=scope)
    return schedules.trigger(tx, schedule)


async def ticks(call: Call) -> TickPage:
    """The next ticks of a schedule; of a paused one, those it would have if it were resumed now."""
    query: TickQuery = call.query
    name, mine = call.path["schedule"], call.principal.lists
    return TickPage(await call.service.executor.read(_ticks, name, limit=query.count, scope=mine))


def _ticks(tx: Transaction, schedule: str, *, limit: int, scope: Scope) -> list[datetime]:
    _mine(tx, schedule, scope=scope)
    return schedules.upcoming(tx, schedule, limit=limit)


@form(SchedulePage)
def _rows(page: SchedulePage) -> str:
    return "".join(row(_columns(each)) for each in page.schedules)


def _columns(each: ScheduleShown) -> tuple[Any, ...]:
    when = f"every {each.every}s" if each.cron is None else f"{each.cron} {each.zone}"
    state = "paused" if each.paused else "open"
    return each.name, each.list, when, state, each.next_at, each.last_at, each.error


@form(TickPage)
def _times(page: TickPage) -> str:
    return "".join(row((at,)) for at in page.ticks)
