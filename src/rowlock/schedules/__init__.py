"""Schedules: recurring work. Each tick puts one item on a list, whoever is alive. Verbs of a transaction."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any

import msgspec

from rowlock import items, json_codec, lists
from rowlock.db import Database, Transaction
from rowlock.durations import format_duration
from rowlock.errors import ExtraMissing, Invalid, NameTaken, NoSuchSchedule, NotAllowed, Refused, RowlockError
from rowlock.model import NO_DATA, Added, Versions, check_version, to_datetime
from rowlock.names import check_limit, check_start, closest
from rowlock.roles import check_covered, covers, prefix_ranges
from rowlock.schedules.plans import CatchUp, Plan
from rowlock.schedules.recurrence import MINUTE, SECOND, ticks, zone

PAGE = 100


class Change(StrEnum):
    """What setting a schedule did."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class ScheduleRow(msgspec.Struct, frozen=True):
    """A schedule as it is stored: what it does, and how far it is."""

    name: str
    plan: Plan
    next_at: int | None
    last_at: int | None
    error: str | None
    version: int


class ScheduleInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule: what it does, when it ticks, and how far it is."""

    name: str
    list: str
    cron: str | None
    every: int | None
    """Seconds between two ticks."""
    zone: str | None
    """The time zone of cron."""
    start: datetime
    key: str
    raw: msgspec.Raw = msgspec.field(name="data")
    """The data that its items carry, as stored."""
    gate: int | None
    priority: int
    catch_up: CatchUp
    paused: bool
    """Whether it does not tick at present."""
    next_at: datetime | None
    last_at: datetime | None
    error: str | None
    """Why the last tick made no item."""
    version: int

    @property
    def data(self) -> Any:
        """The data that its items carry."""
        text = self.raw_data
        return None if text is None else json_codec.decode(text, f"the data of {self.name!r}")

    @property
    def raw_data(self) -> str | None:
        """The data that its items carry as JSON text; None if they carry none."""
        return None if self.raw == NO_DATA else bytes(self.raw).decode()

    @property
    def when(self) -> str:
        """When it ticks, on one line: `0 3 * * * Europe/Berlin` or `every 15m`."""
        return (
            f"every {format_duration((self.every or 0) * SECOND)}" if self.cron is None else f"{self.cron} {self.zone}"
        )


Defined = tuple[Change, ScheduleInfo]
"""Whether setting a schedule was new or a change, and the schedule."""


class Tick(msgspec.Struct, frozen=True):
    """What ticking a schedule did."""

    schedule: str
    list: str
    keys: tuple[str, ...] = ()
    added: int = 0
    error: RowlockError | None = None
    """Why there is no item: the list does not take it."""
    stuck: RowlockError | None = None
    """Why the schedule did not move on: this machine lacks what it takes to read it. Another may have that."""


def _row(columns: tuple[Any, ...]) -> ScheduleRow:
    name, *plan, next_at, last_at, error, version = columns
    return ScheduleRow(name, Plan(*plan), next_at, last_at, error, version)


def _info(row: ScheduleRow) -> ScheduleInfo:
    what = row.plan
    return ScheduleInfo(
        name=row.name,
        list=what.list,
        key=what.key,
        raw=NO_DATA if what.data is None else msgspec.Raw(what.data.encode()),
        gate=what.gate,
        priority=what.priority,
        cron=what.cron,
        every=None if what.every is None else what.every // SECOND,
        zone=None if what.cron is None else what.zone,
        catch_up=CatchUp(what.catch_up),
        paused=row.next_at is None,
        start=to_datetime(what.start_at or 0),
        next_at=None if row.next_at is None else to_datetime(row.next_at),
        last_at=None if row.last_at is None else to_datetime(row.last_at),
        error=row.error,
        version=row.version,
    )


def show(tx: Transaction, schedule: str, *, prefixes: Sequence[str] = ()) -> ScheduleInfo:
    """Return one schedule: what it does, when it ticks, how far it is."""
    return _info(_find(tx, schedule, prefixes))


def page(tx: Transaction, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[ScheduleInfo]:
    """Return schedules in the order of their names, strictly after one.

    With `prefixes`, only those that have one and whose list has one.
    """
    check_limit(limit, "schedules")
    check_start(after)
    if not prefixes:
        return [_info(_row(columns)) for columns in tx.rows("schedules/page", after=after, limit=limit)]
    found: list[ScheduleInfo] = []
    while wanted := limit - len(found):
        rows = [_row(columns) for columns in _with_prefix(tx, prefixes, after, wanted)]
        found += [_info(row) for row in rows if covers(prefixes, row.plan.list)]
        if len(rows) < wanted:
            break
        after = rows[-1].name
    return found


def _with_prefix(tx: Transaction, prefixes: Sequence[str], after: str, limit: int) -> list[Any]:
    found: list[Any] = []
    for span in prefix_ranges(prefixes):
        found += tx.rows("schedules/page_prefix", after=after, limit=limit - len(found), **span)
    return found


def _found(tx: Transaction, schedule: str, columns: tuple[Any, ...] | None) -> ScheduleRow:
    if columns is not None:
        return _row(columns)
    near = closest(schedule, [row[0] for row in tx.rows("schedules/names")])
    hint = f"did you mean {near!r}?" if near else "set it first"
    raise NoSuchSchedule(f"there is no schedule {schedule!r}", hint, schedule=schedule)


def _find(tx: Transaction, schedule: str, prefixes: Sequence[str]) -> ScheduleRow:
    return _covered(_found(tx, schedule, tx.row("schedules/find", name=schedule)), prefixes)


def _hold(tx: Transaction, schedule: str, version: Versions | None = None, prefixes: Sequence[str] = ()) -> ScheduleRow:
    row = _covered(_found(tx, schedule, tx.row("schedules/hold", name=schedule)), prefixes)
    check_version(f"the schedule {schedule!r}", row.version, version=version)
    return row


def _covered(row: ScheduleRow, prefixes: Sequence[str]) -> ScheduleRow:
    if not covers(prefixes, row.plan.list):
        # Nor is the list's name told.
        raise NotAllowed(f"the schedule {row.name!r} is for a list that this token is not for", "use another name")
    return row


def _now(tx: Transaction) -> int:
    now: int = tx.value("diagnostics/now")
    return now


def create(tx: Transaction, schedule: str, plan: Plan) -> bool:
    """Make the schedule if there is none of that name, whoever else is about to; whether it was made."""
    lists.ensure(tx, plan.list)  # whoever works it may begin before the first tick
    now = _now(tx)
    begin = plan.start_at if plan.start_at is not None else now - now % SECOND
    new = msgspec.structs.replace(plan, start_at=begin)
    first = new.first_after(now)
    return bool(tx.run("schedules/create", name=schedule, next_at=first, **msgspec.structs.asdict(new)))


def add(tx: Transaction, new: tuple[str, Plan], *, prefixes: Sequence[str] = ()) -> tuple[bool, Defined]:
    """Make a schedule; one that is the same already is left alone, another of that name refused.

    Returns whether it was made, and what was done.
    """
    schedule, plan = new
    check_covered(prefixes, schedule)
    with tx.savepoint():
        made, defined = put(tx, schedule, plan, prefixes=prefixes)
        if defined[0] is Change.CHANGED:
            what = f"there is a schedule {schedule!r} already, and it does something else"
            raise NameTaken(what, "change it by PUT, or take another name")
    return made, defined


def put(
    tx: Transaction,
    schedule: str,
    plan: Plan,
    *,
    version: Versions | None = None,
    absent: bool = False,
    prefixes: Sequence[str] = (),
) -> tuple[bool, Defined]:
    """Make a schedule, or make it what is given; what is left out is at its default.

    Returns whether it was made, and what was done.
    """
    check_covered(prefixes, plan.list)
    with tx.savepoint():
        conditions: dict[str, Any] = {"version": version, "absent": absent, "prefixes": prefixes}
        at = _version(tx, schedule, **conditions)
        if at is None:
            if create(tx, schedule, plan):
                return True, (Change.ADDED, show(tx, schedule))
            # Another caller was faster: the conditions must hold for theirs.
            at = _version(tx, schedule, **conditions)
        change = define(tx, schedule, plan, version=None if version is None else at)
        return False, (change, show(tx, schedule))


def _version(
    tx: Transaction, schedule: str, *, version: Versions | None, absent: bool, prefixes: Sequence[str]
) -> int | None:
    columns = tx.row("schedules/find", name=schedule)
    at = None if columns is None else _covered(_row(columns), prefixes).version
    check_version(f"the schedule {schedule!r}", at, version=version, absent=absent)
    return at


def define(tx: Transaction, schedule: str, plan: Plan, *, version: int | None = None) -> Change:
    """Make the schedule, or make it what is given; one that is the same already is left alone.

    A new recurrence begins now: what the old one missed is not caught up. A paused schedule stays paused.
    """
    if version is None and create(tx, schedule, plan):
        return Change.ADDED
    lists.ensure(tx, plan.list)
    now, row = _now(tx), _hold(tx, schedule, version)
    old = row.plan
    new = plan if plan.start_at is not None else msgspec.structs.replace(plan, start_at=old.start_at)
    if new == old:
        return Change.UNCHANGED
    same_recurrence = new.recurrence() == old.recurrence() and new.start_at == old.start_at
    next_at = row.next_at if same_recurrence or row.next_at is None else new.first_after(_since(row, now))
    tx.run("schedules/change", name=schedule, version=row.version, next_at=next_at, **msgspec.structs.asdict(new))
    return Change.CHANGED


def _since(row: ScheduleRow, now: int) -> int:
    # A clock that was set back a little must not bring a tick again; one that had been far ahead is believed.
    last = row.last_at or 0
    return last if now < last <= now + MINUTE else now


def remove(tx: Transaction, schedule: str, *, version: Versions | None = None, prefixes: Sequence[str] = ()) -> None:
    """Delete a schedule; the items it has made stay."""
    row = _hold(tx, schedule, version, prefixes)
    tx.run("schedules/remove", name=schedule, version=row.version)


def pause(tx: Transaction, schedule: str, *, version: Versions | None = None, prefixes: Sequence[str] = ()) -> bool:
    """Stop a schedule's ticks and return whether it ticked until now; those of the pause are not caught up."""
    row = _hold(tx, schedule, version, prefixes)
    return (
        row.next_at is not None and tx.run("schedules/set_next", name=schedule, version=row.version, next_at=None) == 1
    )


def resume(tx: Transaction, schedule: str, *, version: Versions | None = None, prefixes: Sequence[str] = ()) -> bool:
    """Let a schedule tick again, from its next tick on, and return whether it was paused."""
    row = _hold(tx, schedule, version, prefixes)
    if row.next_at is not None:
        return False
    next_at = row.plan.first_after(_since(row, _now(tx)))
    return tx.run("schedules/set_next", name=schedule, version=row.version, next_at=next_at) == 1


def upcoming(tx: Transaction, schedule: str, *, limit: int = 5, prefixes: Sequence[str] = ()) -> list[datetime]:
    """Return the next ticks, in the schedule's time zone; of a paused one, those it would have if resumed now."""
    check_limit(limit, "ticks")
    row = _find(tx, schedule, prefixes)
    what = row.plan
    first = row.next_at if row.next_at is not None else what.first_after(_now(tx))
    if first is None:
        return []
    coming = islice(ticks(what.recurrence(), first, end=first + 2**53), limit)
    return [to_datetime(tick).astimezone(zone(what.zone)) for tick in coming]


def trigger(tx: Transaction, schedule: str, *, prefixes: Sequence[str] = ()) -> Added:
    """Put an item on the list at once, as if this second were a tick; the ticks themselves stay as they are."""
    row = _find(tx, schedule, prefixes)
    now = _now(tx)
    key = row.plan.key_at(schedule, now - now % SECOND)
    return items.add(tx, row.plan.list, [row.plan.batch([key])])


def seconds_to_next(tx: Transaction) -> float | None:
    """Seconds until the next tick of any schedule, if one is to come; less than nothing if it is due."""
    left = tx.value("schedules/next")
    return None if left is None else left / SECOND


def due(tx: Transaction, *, after: ScheduleRow | None = None, limit: int = PAGE) -> list[tuple[int, ScheduleRow]]:
    """Schedules whose next tick has come, each with the database's now; those that waited longest first."""
    at, name = (after.next_at, after.name) if after else (0, "")
    rows = tx.rows("schedules/due", next_at=at, after=name, limit=limit)
    return [(now, _row(tuple(columns))) for now, *columns in rows]


def tick_due(database: Database) -> list[Tick]:
    """Make the items of all ticks that have come; what was done. However many do it at once, a tick has one item."""
    done: list[Tick] = []
    last: ScheduleRow | None = None
    while page := database.read(due, after=last):
        done += [each for now, row in page if (each := _tick_one(database, row, now)) is not None]
        last = page[-1][1]
        if len(page) < PAGE:
            break
    return done


def set_right(database: Database) -> int:
    """Let schedules tick again that have ticked at times still to come, while the clock was ahead; how many."""
    count = 0
    for now, row in database.read(ahead):
        try:
            next_at = row.plan.first_after(now)
        except (Invalid, ExtraMissing):
            continue  # as for a tick: another machine may know the calendar
        count += database.run(_move, row, last_at=now, next_at=next_at)
    return count


def ahead(tx: Transaction, *, limit: int = PAGE) -> list[tuple[int, ScheduleRow]]:
    """Schedules whose last tick is still to come, each with the database's now."""
    rows = tx.rows("schedules/ahead", tolerance=MINUTE, limit=limit)
    return [(now, _row(tuple(columns))) for now, *columns in rows]


def _tick_one(database: Database, row: ScheduleRow, now: int) -> Tick | None:
    # The calendar is read outside of any transaction: nobody waits for it.
    try:
        coming = row.plan.due(first=row.next_at or 0, now=now)
        keys = [row.plan.key_at(row.name, tick) for tick in coming]
        next_at = row.plan.first_after(now)
    except (Invalid, ExtraMissing) as error:
        return Tick(row.name, row.plan.list, stuck=error)
    return database.run(move_on, row, keys, last_at=coming[-1] if coming else row.last_at, next_at=next_at)


def _move(tx: Transaction, row: ScheduleRow, *, last_at: int | None, next_at: int | None) -> bool:
    seen = {"seen": row.next_at, "version": row.version}
    return tx.run("schedules/move_on", name=row.name, last_at=last_at, next_at=next_at, **seen) == 1


def move_on(
    tx: Transaction, row: ScheduleRow, keys: list[str], *, last_at: int | None, next_at: int | None
) -> Tick | None:
    """Move a schedule on and put its items on their list, at once; None if it is not where it was seen."""
    if not _move(tx, row, last_at=last_at, next_at=next_at):
        return None
    if not keys:
        return Tick(row.name, row.plan.list)
    try:
        with tx.savepoint():
            added = items.add(tx, row.plan.list, [row.plan.batch(keys)])
    except Refused as error:
        # One list that takes nothing must not hold up the others, nor be tried again every second.
        tx.run("schedules/note", name=row.name, error=error.what)
        return Tick(row.name, row.plan.list, tuple(keys), error=error)
    return Tick(row.name, row.plan.list, tuple(keys), added.added)
