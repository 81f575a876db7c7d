"""Rhythms: when a schedule ticks. By cron and a time zone, or every so often; all times are milliseconds since 1970."""

from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from typing import Any, Protocol

import msgspec

from rowlock.durations import Duration, format_duration, milliseconds
from rowlock.errors import ExtraMissing, InvalidSchedule
from rowlock.model import to_datetime
from rowlock.names import closest, short_repr

SECOND, MINUTE = 1_000, 60_000

SHORTHANDS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


class Recurrence(Protocol):
    """When a schedule ticks."""

    def after(self, at: int) -> int | None:
        """The first tick strictly after a moment; None if there is none for fifty years."""

    def explain(self) -> str:
        """The recurrence in English."""


class Cron(msgspec.Struct, frozen=True):
    """Ticks by the clock on the wall of a time zone.

    Where the clocks go back, fixed times tick once and `*` goes by time that passes; where they go forward, fixed times
    of the hour that is left out tick at its end, once.
    """

    expression: str
    zone: str = "UTC"

    def after(self, at: int) -> int | None:
        """The first tick strictly after a moment; None if there is none for fifty years."""
        # From a moment in the hour that comes twice, the first of the two may be given again: that one is over.
        return next((tick for tick in map(_at, self._from(at)) if tick > at), None)

    def explain(self) -> str:
        """The recurrence in English."""
        return f"{self._from(0).explain()} ({self.zone})"

    def _from(self, at: int) -> Any:
        cronsim = _cronsim()
        try:
            return cronsim.CronSim(_fields(self.expression), to_datetime(at).astimezone(zone(self.zone)))
        except (cronsim.CronSimError, AssertionError, ValueError) as wrong:
            why = str(wrong) if isinstance(wrong, cronsim.CronSimError) else "its parts do not fit together"
            raise _cannot_be(self.expression, f"{why[:1].lower()}{why[1:]}") from None


def _fields(expression: str) -> str:
    fields = SHORTHANDS.get(expression.strip().lower(), expression).split()
    if len(fields) != 5:
        raise _cannot_be(expression, f"it has {len(fields)} {'field' if len(fields) == 1 else 'fields'}, not 5")
    return " ".join(fields)


def _cannot_be(expression: str, why: str) -> InvalidSchedule:
    hint = f"its fields are minute, hour, day of month, month, day of week; or give one of {', '.join(SHORTHANDS)}"
    return InvalidSchedule(f"the cron expression {short_repr(expression)} cannot be: {why}", hint)


class Every(msgspec.Struct, frozen=True):
    """Ticks in equal steps from a start."""

    step: int
    start: int = 0

    def after(self, at: int) -> int:
        """The first tick strictly after a moment."""
        return self.start if at < self.start else self.start + ((at - self.start) // self.step + 1) * self.step

    def explain(self) -> str:
        """The recurrence in English."""
        return f"Every {format_duration(self.step)}"


def _cronsim() -> Any:
    try:
        import cronsim  # an extra, and only cron needs it
    except ImportError:
        raise ExtraMissing("cron needs the package cronsim", "run: pip install 'rowlock[schedules]'") from None
    return cronsim


def _at(tick: datetime) -> int:
    return round(tick.timestamp()) * SECOND


def zone(name: str) -> tzinfo:
    """The time zone of that name, as the IANA database has it."""
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
    """A step in milliseconds; whole seconds, for a tick is named by its second."""
    step = milliseconds(every)
    if step < SECOND or step % SECOND:
        raise InvalidSchedule(f"a schedule cannot tick every {every!r}", "give whole seconds, at least one")
    return step


def ticks(recurrence: Recurrence, start: int, *, end: int) -> Iterator[int]:
    """The ticks from start to end, both included."""
    tick = recurrence.after(start - 1)
    while tick is not None and tick <= end:
        yield tick
        tick = recurrence.after(tick)


def latest_tick(recurrence: Recurrence, first: int, *, now: int) -> int:
    """The last tick up to now, where one is known: found by halves, however many lie between."""
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


def last_ticks(recurrence: Recurrence, first: int, *, now: int, most: int) -> list[int]:
    """The last ticks from the first to now, at most so many; looks back only as far as it must."""
    end, reach = latest_tick(recurrence, first, now=now), most * MINUTE
    while True:
        start = max(first, end - reach)
        found = deque(ticks(recurrence, start, end=end), maxlen=most)
        if start == first or len(found) == most:
            return list(found)
        reach *= 2
