"""Schedules: recurring work. Each tick adds one item to a list. Functions that take a transaction."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from itertools import islice
from typing import Any

import msgspec

from rowlock import items, json_codec, lists
from rowlock.db import Database, Tx
from rowlock.durations import format_duration
from rowlock.errors import ExtraMissing, Invalid, NameTaken, NoSuchSchedule, NotAllowed, Refused, RowlockError
from rowlock.model import NO_DATA, Added, Versions, check_version, to_datetime
from rowlock.names import check_limit, check_start, closest
from rowlock.roles import check_covered, covers, prefix_ranges
from rowlock.schedules import history as past
from rowlock.schedules.history import PastTick
from rowlock.schedules.plans import MINUTE, SECOND, CatchUp, Plan, ticks, zone

PAGE = 100


class Change(StrEnum):
    """What setting a schedule did."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class ScheduleRow(msgspec.Struct, frozen=True):
    """A schedule as it is stored: its plan, its last and its next tick."""

    name: str
    plan: Plan
    next_at: int | None
    last_at: int | None
    error: str | None
    version: int


class ScheduleInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule: what it adds, when it ticks, its last and its next tick."""

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
    """The data of its items, as stored."""
    gate: int | None
    priority: int
    catch_up: CatchUp
    paused: bool
    """Whether it has no next tick until it is resumed."""
    next_at: datetime | None
    last_at: datetime | None
    error: str | None
    """Why the last tick added no item."""
    version: int

    @property
    def data(self) -> Any:
        """The data of its items."""
        text = self.raw_data
        return None if text is None else json_codec.decode(text, f"the data of {self.name!r}")

    @property
    def raw_data(self) -> str | None:
        """The data of its items as JSON text; None if they have none."""
        return None if self.raw == NO_DATA else bytes(self.raw).decode()

    @property
    def when(self) -> str:
        """When it ticks, on one line: `0 3 * * * Europe/Berlin` or `every 15m`."""
        if self.cron is not None:
            return f"{self.cron} {self.zone}"
        return f"every {format_duration((self.every or 0) * SECOND)}"


Defined = tuple[Change, ScheduleInfo]
"""What setting a schedule did, and the schedule."""


class Tick(msgspec.Struct, frozen=True):
    """What ticking a schedule did."""

    schedule: str
    list: str
    keys: tuple[str, ...] = ()
    added: int = 0
    error: RowlockError | None = None
    """Why no item was added: the list refused it."""
    stuck: RowlockError | None = None
    """Why the next tick cannot be computed here: a package or a time zone is missing. Another machine may have it."""


def _row(columns: Sequence[Any]) -> ScheduleRow:
    name, *plan, next_at, last_at, error, version = columns
    return ScheduleRow(name, Plan(*plan), next_at, last_at, error, version)


def _info(row: ScheduleRow) -> ScheduleInfo:
    plan = row.plan
    return ScheduleInfo(
        name=row.name,
        list=plan.list,
        key=plan.key,
        raw=NO_DATA if plan.data is None else msgspec.Raw(plan.data.encode()),
        gate=plan.gate,
        priority=plan.priority,
        cron=plan.cron,
        every=None if plan.every is None else plan.every // SECOND,
        zone=None if plan.cron is None else plan.zone,
        catch_up=CatchUp(plan.catch_up),
        paused=row.next_at is None,
        start=to_datetime(plan.start_at or 0),
        next_at=None if row.next_at is None else to_datetime(row.next_at),
        last_at=None if row.last_at is None else to_datetime(row.last_at),
        error=row.error,
        version=row.version,
    )


def show(tx: Tx, schedule: str, *, prefixes: Sequence[str] = ()) -> ScheduleInfo:
    """Return one schedule: what it adds, when it ticks, its last and its next tick."""
    return _info(_checked(tx, schedule, tx.row("schedules/find", name=schedule), prefixes))


def page(tx: Tx, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[ScheduleInfo]:
    """Return schedules in the order of their names, strictly after one.

    With `prefixes`, only those that have one and whose list has one.
    """
    check_limit(limit, "schedules")
    check_start(after)
    found: list[ScheduleInfo] = []
    while wanted := limit - len(found):
        rows = [_row(columns) for columns in _page(tx, prefixes, after, wanted)]
        found += [_info(row) for row in rows if covers(prefixes, row.plan.list)]
        if len(rows) < wanted:
            break
        after = rows[-1].name
    return found


def _page(tx: Tx, prefixes: Sequence[str], after: str, limit: int) -> list[Any]:
    found: list[Any] = []
    for span in prefix_ranges(prefixes):
        found += tx.rows("schedules/page", after=after, limit=limit - len(found), **span)
    return found


def _checked(tx: Tx, schedule: str, columns: tuple[Any, ...] | None, prefixes: Sequence[str] = ()) -> ScheduleRow:
    if columns is None:
        near = closest(schedule, [row[0] for row in tx.rows("schedules/names_to_suggest")])
        hint = f"did you mean {near!r}?" if near else "set it first"
        raise NoSuchSchedule(f"there is no schedule {schedule!r}", hint, schedule=schedule)
    row = _row(columns)
    if not covers(prefixes, row.plan.list):
        # The error does not name the list.
        raise NotAllowed(f"the schedule {row.name!r} is for a list that this token is not for", "use another name")
    return row


def _lock(tx: Tx, schedule: str, version: Versions | None = None, prefixes: Sequence[str] = ()) -> ScheduleRow:
    row = _checked(tx, schedule, tx.row("schedules/lock", name=schedule), prefixes)
    check_version(f"the schedule {schedule!r}", row.version, version=version)
    return row


def _now(tx: Tx) -> int:
    now: int = tx.value("diagnostics/now")
    return now


def _create(tx: Tx, schedule: str, plan: Plan) -> bool:
    lists.create(tx, plan.list)  # workers may look for the list before the first tick
    now = _now(tx)
    new = plan if plan.start_at is not None else msgspec.structs.replace(plan, start_at=now - now % SECOND)
    next_at = new.first_after(now)
    return bool(tx.run("schedules/create", name=schedule, next_at=next_at, **msgspec.structs.asdict(new)))


def add(tx: Tx, new: tuple[str, Plan], *, prefixes: Sequence[str] = ()) -> tuple[bool, Defined]:
    """Create a schedule. An equal one is left alone; a different one of that name is refused.

    Returns whether it was created, and what was done.
    """
    schedule, plan = new
    check_covered(prefixes, schedule)
    with tx.savepoint():
        created, defined = put(tx, schedule, plan, prefixes=prefixes)
        if defined[0] is Change.CHANGED:
            what = f"there is a different schedule {schedule!r} already"
            raise NameTaken(what, "change it by PUT, or take another name")
    return created, defined


def put(
    tx: Tx,
    schedule: str,
    plan: Plan,
    *,
    version: Versions | None = None,
    absent: bool = False,
    prefixes: Sequence[str] = (),
) -> tuple[bool, Defined]:
    """Create a schedule, or replace its plan; what is left out gets its default.

    Returns whether it was created, and what was done.
    """
    check_covered(prefixes, plan.list)
    with tx.savepoint():
        conditions: dict[str, Any] = {"version": version, "absent": absent, "prefixes": prefixes}
        current = _check_conditions(tx, schedule, **conditions)
        if current is None:
            if _create(tx, schedule, plan):
                return True, (Change.ADDED, show(tx, schedule))
            # Another caller was faster: the conditions must hold for that schedule.
            current = _check_conditions(tx, schedule, **conditions)
        change = define(tx, schedule, plan, version=None if version is None else current)
        return False, (change, show(tx, schedule))


def _check_conditions(
    tx: Tx, schedule: str, *, version: Versions | None, absent: bool, prefixes: Sequence[str]
) -> int | None:
    columns = tx.row("schedules/find", name=schedule)
    current = None if columns is None else _checked(tx, schedule, columns, prefixes).version
    check_version(f"the schedule {schedule!r}", current, version=version, absent=absent)
    return current


def define(tx: Tx, schedule: str, plan: Plan, *, version: int | None = None) -> Change:
    """Create a schedule, or replace its plan. An equal one is left alone.

    A new recurrence begins now: what the old one missed is not caught up. A paused schedule stays paused.
    """
    if version is None and _create(tx, schedule, plan):
        return Change.ADDED
    lists.create(tx, plan.list)
    now, row = _now(tx), _lock(tx, schedule, version)
    old = row.plan
    new = plan if plan.start_at is not None else msgspec.structs.replace(plan, start_at=old.start_at)
    if new == old:
        return Change.UNCHANGED
    same_recurrence = new.recurrence() == old.recurrence() and new.start_at == old.start_at
    next_at = row.next_at if same_recurrence or row.next_at is None else new.first_after(_since(row, now))
    tx.run("schedules/change", name=schedule, version=row.version, next_at=next_at, **msgspec.structs.asdict(new))
    return Change.CHANGED


def _since(row: ScheduleRow, now: int) -> int:
    # A clock that was set back a little must not repeat a tick; if it had been far ahead, the new time counts.
    last = row.last_at or 0
    return last if now < last <= now + MINUTE else now


def remove(tx: Tx, schedule: str, *, version: Versions | None = None, prefixes: Sequence[str] = ()) -> None:
    """Delete a schedule; the items that it added stay."""
    row = _lock(tx, schedule, version, prefixes)
    tx.run("schedules/remove", name=schedule, version=row.version)
    tx.run("ticks/delete_of_schedule", schedule=schedule)


def pause(tx: Tx, schedule: str, *, version: Versions | None = None, prefixes: Sequence[str] = ()) -> bool:
    """Stop a schedule's ticks and return whether it ticked until now; those of the pause are not caught up."""
    row = _lock(tx, schedule, version, prefixes)
    if row.next_at is None:
        return False
    return tx.run("schedules/set_next", name=schedule, version=row.version, next_at=None) == 1


def resume(tx: Tx, schedule: str, *, version: Versions | None = None, prefixes: Sequence[str] = ()) -> bool:
    """Let a schedule tick again, from its next tick on, and return whether it was paused."""
    row = _lock(tx, schedule, version, prefixes)
    if row.next_at is not None:
        return False
    next_at = row.plan.first_after(_since(row, _now(tx)))
    return tx.run("schedules/set_next", name=schedule, version=row.version, next_at=next_at) == 1


def upcoming(tx: Tx, schedule: str, *, limit: int = 5, prefixes: Sequence[str] = ()) -> list[datetime]:
    """Return the next ticks, in the schedule's time zone; of a paused one, those it would have if resumed now."""
    check_limit(limit, "ticks")
    row = _checked(tx, schedule, tx.row("schedules/find", name=schedule), prefixes)
    plan = row.plan
    first = row.next_at if row.next_at is not None else plan.first_after(_now(tx))
    if first is None:
        return []
    coming = islice(ticks(plan.recurrence(), first, end=first + 2**53), limit)
    return [to_datetime(tick).astimezone(zone(plan.zone)) for tick in coming]


def trigger(tx: Tx, schedule: str, *, prefixes: Sequence[str] = ()) -> Added:
    """Add an item to the list now, as if this second were a tick; the ticks themselves do not change."""
    row = _checked(tx, schedule, tx.row("schedules/find", name=schedule), prefixes)
    now = _now(tx)
    key = row.plan.key_at(schedule, now - now % SECOND)
    added = items.add(tx, row.plan.list, [row.plan.batch([key])])
    past.record(tx, schedule, items=1, added=added.added, triggered=True)
    return added


def history(tx: Tx, schedule: str, *, limit: int = 20, prefixes: Sequence[str] = ()) -> list[PastTick]:
    """Return the last ticks of a schedule, the newest first: when, how many items, and why none; 100 are kept."""
    check_limit(limit, "ticks")
    _checked(tx, schedule, tx.row("schedules/find", name=schedule), prefixes)
    return past.page(tx, schedule, limit=limit)


def seconds_to_next(tx: Tx) -> float | None:
    """Return the seconds until the next tick of any schedule, negative if it is overdue; None without any."""
    left = tx.value("schedules/time_to_next_tick")
    return None if left is None else left / SECOND


def due(tx: Tx, *, after: ScheduleRow | None = None, limit: int = PAGE) -> list[tuple[int, ScheduleRow]]:
    """Return schedules whose next tick is due, each with the database's time; the longest overdue first."""
    at, name = (after.next_at, after.name) if after else (0, "")
    return [(now, _row(row)) for now, *row in tx.rows("schedules/due", next_at=at, after=name, limit=limit)]


def tick_due(database: Database) -> list[Tick]:
    """Add the items of all ticks that are due, and return what was done. Concurrent calls add one item per tick."""
    done: list[Tick] = []
    last: ScheduleRow | None = None
    while page := database.read(due, after=last):
        done += [each for now, row in page if (each := _tick_one(database, row, now)) is not None]
        last = page[-1][1]
        if len(page) < PAGE:
            break
    return done


def _tick_one(database: Database, row: ScheduleRow, now: int) -> Tick | None:
    # The calendar is computed outside of any transaction, so that nothing waits for it.
    try:
        coming = row.plan.due(first=row.next_at or 0, now=now)
        keys = [row.plan.key_at(row.name, tick) for tick in coming]
        next_at = row.plan.first_after(now)
    except (Invalid, ExtraMissing) as error:
        return Tick(row.name, row.plan.list, stuck=error)
    return database.run(move_on, row, keys, last_at=coming[-1] if coming else row.last_at, next_at=next_at)


def move_on(tx: Tx, row: ScheduleRow, keys: list[str], *, last_at: int | None, next_at: int | None) -> Tick | None:
    """Set the next tick of a schedule and add its items, in one transaction; None if another process was faster."""
    if not _move(tx, row, last_at=last_at, next_at=next_at):
        return None
    if not keys:
        past.record(tx, row.name, items=0)
        return Tick(row.name, row.plan.list)
    try:
        with tx.savepoint():
            added = items.add(tx, row.plan.list, [row.plan.batch(keys)])
    except Refused as error:
        # A list that refuses items must not delay other schedules, nor be tried again every second.
        tx.run("schedules/set_error", name=row.name, error=error.what)
        past.record(tx, row.name, items=len(keys), error=error.what)
        return Tick(row.name, row.plan.list, tuple(keys), error=error)
    past.record(tx, row.name, items=len(keys), added=added.added)
    return Tick(row.name, row.plan.list, tuple(keys), added.added)


def _move(tx: Tx, row: ScheduleRow, *, last_at: int | None, next_at: int | None) -> bool:
    seen = {"seen": row.next_at, "version": row.version}
    return tx.run("schedules/advance", name=row.name, last_at=last_at, next_at=next_at, **seen) == 1


def set_right(database: Database) -> int:
    """Repair schedules whose last tick lies in the future because the clock was ahead; return how many."""
    count = 0
    for now, row in database.read(ahead):
        try:
            next_at = row.plan.first_after(now)
        except (Invalid, ExtraMissing):
            continue  # another machine may have the package or the time zone
        count += database.run(_move, row, last_at=now, next_at=next_at)
    return count


def ahead(tx: Tx, *, limit: int = PAGE) -> list[tuple[int, ScheduleRow]]:
    """Return schedules whose last tick lies in the future, each with the database's time."""
    return [(now, _row(row)) for now, *row in tx.rows("schedules/ahead", tolerance=MINUTE, limit=limit)]
