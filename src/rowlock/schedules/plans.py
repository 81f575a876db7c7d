"""Plans of schedules: when a schedule ticks, and which items its ticks add. Times are milliseconds since 1970."""

import re
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Any

import msgspec

from rowlock import item_input
from rowlock.durations import Duration, delay_or_time, format_duration, milliseconds
from rowlock.errors import ExtraMissing, InvalidSchedule
from rowlock.item_input import Batch, ItemDefaults, batch_of_keys
from rowlock.model import DEFAULT_PRIORITY, NO_PAYLOAD, to_datetime
from rowlock.names import check_name, closest, short_repr

SECOND, MINUTE = 1_000, 60_000
DEFAULT_KEY = "{name}@{tick}"
MISSED_AFTER_MS = 10_000
"""Age at which a tick counts as missed; a younger one gets its item whatever `catch_up` says."""
MAX_MISSED_ITEMS = 1_000
"""Items that are added for missed ticks at most, the latest of them."""
SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PLACEHOLDERS = ("name", "tick", "date")


class Cron(msgspec.Struct, frozen=True):
    """Ticks at the local time of a time zone.

    Where the clocks go back, fixed times tick once, and `*` ticks in both hours. Where they go forward, all fixed times
    in the missing hour are one tick at its end.
    """

    expression: str
    zone: str = "UTC"

    def after(self, at: int) -> int | None:
        """Return the first tick strictly after a time; None if no tick follows within fifty years."""
        # From a time in the hour that comes twice, cronsim may return a tick of the first time again.
        ticks = (round(tick.timestamp()) * SECOND for tick in self._from(at))
        return next((tick for tick in ticks if tick > at), None)

    def explain(self) -> str:
        """Describe the recurrence in English."""
        return f"{self._from(0).explain()} ({self.zone})"

    def _from(self, at: int) -> Any:
        try:
            import cronsim  # an extra, and only cron needs it
        except ImportError:
            raise ExtraMissing("cron needs the package cronsim", "run: pip install 'rowlock[schedules]'") from None
        fields = SHORTHANDS.get(self.expression.strip().lower(), self.expression).split()
        if len(fields) != 5:
            raise self._invalid(f"it has {len(fields)} {'field' if len(fields) == 1 else 'fields'}, not 5")
        try:
            return cronsim.CronSim(" ".join(fields), to_datetime(at).astimezone(zone(self.zone)))
        except cronsim.CronSimError as error:
            why = str(error)
            raise self._invalid(f"{why[:1].lower()}{why[1:]}") from None
        except (AssertionError, ValueError):
            raise self._invalid("its parts do not fit together") from None

    def _invalid(self, why: str) -> InvalidSchedule:
        hint = f"its fields are minute, hour, day of month, month, day of week; or give one of {', '.join(SHORTHANDS)}"
        return InvalidSchedule(f"invalid cron expression {short_repr(self.expression)}: {why}", hint)


class Every(msgspec.Struct, frozen=True):
    """Ticks in equal steps from a start."""

    step: int
    start: int = 0

    def after(self, at: int) -> int:
        """Return the first tick strictly after a time."""
        return self.start if at < self.start else self.start + ((at - self.start) // self.step + 1) * self.step

    def explain(self) -> str:
        """Describe the recurrence in English."""
        return f"Every {format_duration(self.step)}"


Recurrence = Cron | Every


def zone(name: str) -> tzinfo:
    """Return the time zone of a name in the IANA database."""
    if name == "UTC":
        return UTC
    import zoneinfo  # heavy, and only other zones than UTC need it

    try:
        return zoneinfo.ZoneInfo(name)
    except (KeyError, ValueError, TypeError, OSError):
        pass
    known = zoneinfo.available_timezones()
    if not known:
        raise ExtraMissing("this machine has no time zones", "run: pip install 'rowlock[schedules]'")
    near = closest(str(name), known)
    hint = f"did you mean {near!r}?" if near else "name it as in Europe/Berlin, America/New_York or UTC"
    raise InvalidSchedule(f"there is no time zone {short_repr(name)}", hint)


def seconds(every: Duration) -> int:
    """Return the milliseconds of an interval. Only whole seconds are allowed, because a tick is named by its second."""
    step = milliseconds(every)
    if step < SECOND or step % SECOND:
        raise InvalidSchedule(f"every must be whole seconds, at least one, got {every!r}", "give one such as 15m")
    return step


def ticks(recurrence: Recurrence, start: int, *, end: int) -> Iterator[int]:
    """Yield the ticks from start to end, both included."""
    tick = recurrence.after(start - 1)
    while tick is not None and tick <= end:
        yield tick
        tick = recurrence.after(tick)


def latest_tick(recurrence: Recurrence, first: int, *, now: int) -> int:
    """Return the last tick up to now, given an earlier one. A binary search, however many ticks lie between."""
    low, high = first, now
    while high - low > SECOND:
        middle = (low + high) // 2
        tick = recurrence.after(middle)
        if tick is None or tick > now:
            high = middle
        else:
            low = tick
    following = recurrence.after(low)
    return low if following is None or following > now else following


def last_ticks(recurrence: Recurrence, first: int, *, now: int, limit: int) -> list[int]:
    """Return the last ticks from the first to now, at most `limit`; looks back only as far as it must."""
    end, reach = latest_tick(recurrence, first, now=now), limit * MINUTE
    while True:
        start = max(first, end - reach)
        found = deque(ticks(recurrence, start, end=end), maxlen=limit)
        if start == first or len(found) == limit:
            return list(found)
        reach *= 2


class CatchUp(StrEnum):
    """What happens to ticks that were missed because no process was alive."""

    SKIP = "skip"
    LAST = "last"
    ALL = "all"


class Plan(msgspec.Struct, frozen=True):
    """When a schedule ticks, and the items that its ticks add."""

    list: str
    key: str
    data: str | None
    gate: int | None
    priority: int
    cron: str | None
    every: int | None
    zone: str
    catch_up: str
    start_at: int | None

    def recurrence(self) -> Recurrence:
        """Return when it ticks."""
        if self.cron is not None:
            return Cron(self.cron, self.zone)
        return Every(self.every or SECOND, self.start_at or 0)

    def first_after(self, now: int) -> int | None:
        """Return the first tick after now, and not before the start."""
        return self.recurrence().after(max(now, (self.start_at or 0) - 1))

    def key_at(self, name: str, tick: int) -> str:
        """Return the key of a tick's item."""
        at = to_datetime(tick)

        def fill(placeholder: re.Match[str]) -> str:
            match placeholder[1]:
                case "tick":
                    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
                case "date":
                    return at.astimezone(zone(self.zone)).strftime("%Y-%m-%d")
            return name

        return _PLACEHOLDER.sub(fill, self.key)

    def due(self, *, first: int, now: int) -> Sequence[int]:
        """Return the ticks that get an item, of those from the first up to now."""
        recurrence = self.recurrence()
        if self.catch_up == CatchUp.ALL:
            return last_ticks(recurrence, first, now=now, limit=MAX_MISSED_ITEMS)
        fresh = list(ticks(recurrence, max(first, now - MISSED_AFTER_MS), end=now))
        if fresh or self.catch_up == CatchUp.SKIP:
            return fresh
        return [latest_tick(recurrence, first, now=now)]

    def batch(self, keys: Sequence[str]) -> Batch:
        """Return items with these keys, ready to be added."""
        columns = {"gate": self.gate, "priority": self.priority, "delay": 0, **NO_PAYLOAD, "data": self.data}
        return batch_of_keys(keys, columns)


def planned(
    name: str,
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
    catch_up: str = CatchUp.LAST,
) -> Plan:
    """Check what a schedule shall do, and return its plan. Needs no database."""
    check_name(name, "schedule")
    check_name(to)
    _check_recurrence(cron, every, zone)
    _check_key(key)
    if catch_up not in tuple(CatchUp):
        raise InvalidSchedule(f"catch_up must be one of {', '.join(CatchUp)}, got {catch_up!r}")
    step = None if every is None else seconds(every)
    begin = None if start is None else _whole_second(start)
    plan = Plan(to, key, None, gate, priority, cron, step, "UTC" if zone is None else zone, str(catch_up), begin)
    if plan.first_after(0) is None:
        raise InvalidSchedule(f"the cron expression {cron!r} matches no date", "check day and month")
    # Read as the item of any tick would be, so that a wrong key, data, gate or priority is refused now.
    [batch] = item_input.batches(plan.key_at(name, 0), ItemDefaults(data, None, gate, priority))
    return msgspec.structs.replace(plan, data=(batch.same or {})["data"])


def _check_recurrence(cron: str | None, every: Duration | None, zone: str | None) -> None:
    if (cron is None) == (every is None):
        what = f"a schedule must have cron or every, got {'neither' if cron is None else 'both'}"
        raise InvalidSchedule(what, "give cron (0 3 * * *) or every (15m)")
    if every is not None and zone is not None:
        raise InvalidSchedule("zone is only for cron, got it with every", "leave the zone out, or give cron instead")
    if cron is not None and not isinstance(cron, str):
        raise InvalidSchedule(f"cron must be text, got {type(cron).__name__}", "write it like 0 3 * * *")


def _check_key(key: str) -> None:
    if not isinstance(key, str) or not set(_PLACEHOLDER.findall(key)) <= set(_PLACEHOLDERS):
        known = ", ".join(f"{{{each}}}" for each in _PLACEHOLDERS)
        raise InvalidSchedule(f"the key {short_repr(key)} has an unknown placeholder", f"the placeholders are {known}")


def _whole_second(start: datetime) -> int:
    if not isinstance(start, datetime):
        raise InvalidSchedule(f"start must be an aware datetime, got {short_repr(start)}")
    at = delay_or_time(start)[1] or 0
    return at - at % SECOND
