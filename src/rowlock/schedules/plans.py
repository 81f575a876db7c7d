"""Plans: what a schedule does at each tick, when it ticks, and what becomes of ticks that nobody came for."""

import re
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

import msgspec

from rowlock import item_input
from rowlock.durations import Duration, delay_or_time
from rowlock.errors import InvalidSchedule
from rowlock.item_input import Batch, ItemDefaults, batch_of_keys
from rowlock.model import DEFAULT_PRIORITY, NO_PAYLOAD, to_datetime
from rowlock.names import check_name, short_repr
from rowlock.schedules.recurrence import SECOND, Cron, Every, Recurrence, last_ticks, latest_tick, seconds, ticks, zone

DEFAULT_KEY = "{name}@{tick}"
MISSED = 10_000
"""Milliseconds after which a tick that nobody came for counts as missed; earlier it gets its item in any case."""
MOST_MISSED = 1_000
"""How many items are made for missed ticks at the most: the latest."""

_PART = re.compile(r"\{(\w*)\}")
_PARTS = ("name", "tick", "date")


class CatchUp(StrEnum):
    """What becomes of ticks that were missed because nobody was alive."""

    SKIP = "skip"
    LAST = "last"
    ALL = "all"


class Plan(msgspec.Struct, frozen=True):
    """What a schedule does and when: everything but how far it is."""

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
        """When it ticks."""
        if self.cron is not None:
            return Cron(self.cron, self.zone)
        return Every(self.every or SECOND, self.start_at or 0)

    def first_after(self, now: int) -> int | None:
        """The first tick to come."""
        return self.recurrence().after(max(now, (self.start_at or 0) - 1))

    def key_at(self, name: str, tick: int) -> str:
        """The key of a tick's item."""
        at = to_datetime(tick)

        def part(found: re.Match[str]) -> str:
            match found[1]:
                case "tick":
                    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
                case "date":
                    return at.astimezone(zone(self.zone)).strftime("%Y-%m-%d")
            return name

        return _PART.sub(part, self.key)

    def due(self, *, first: int, now: int) -> Sequence[int]:
        """The ticks that get an item, of those from the first up to now."""
        recurrence = self.recurrence()
        if self.catch_up == CatchUp.ALL:
            return last_ticks(recurrence, first, now=now, most=MOST_MISSED)
        fresh = list(ticks(recurrence, max(first, now - MISSED), end=now))
        if fresh or self.catch_up == CatchUp.SKIP:
            return fresh
        return [latest_tick(recurrence, first, now=now)]

    def batch(self, keys: Sequence[str]) -> Batch:
        """Items of these keys, ready to be added."""
        return batch_of_keys(keys, {**NO_PAYLOAD, "data": self.data}, gate=self.gate, priority=self.priority)


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
    """Read what a schedule is to do; what cannot be is refused before anything is asked or written."""
    check_name(name, "schedule")
    check_name(to)
    _check_recurrence(cron, every, zone)
    step = None if every is None else seconds(every)
    begin = None if start is None else _whole_second(start)
    plan = Plan(
        to, _template(key), None, gate, priority, cron, step, "UTC" if zone is None else zone, _policy(catch_up), begin
    )
    if plan.first_after(0) is None:
        raise InvalidSchedule(f"the cron expression {cron!r} never comes true", "check day and month")
    return msgspec.structs.replace(plan, data=_checked_data(plan, name, data))


def _check_recurrence(cron: str | None, every: Duration | None, zone: str | None) -> None:
    if (cron is None) == (every is None):
        what = "a schedule ticks by cron or every so often" + (", not both" if cron is not None else "")
        raise InvalidSchedule(what, "give cron (0 3 * * *) or every (15m)")
    if every is not None and zone is not None:
        raise InvalidSchedule("an interval knows no time zone", "leave the zone out, or give cron instead")
    if cron is not None and not isinstance(cron, str):
        raise InvalidSchedule(f"a cron expression is text, not {type(cron).__name__}", "write it like 0 3 * * *")


def _whole_second(start: datetime) -> int:
    if not isinstance(start, datetime):
        raise InvalidSchedule(f"a schedule cannot start at {short_repr(start)}", "give an aware datetime")
    at = delay_or_time(start)[1] or 0
    return at - at % SECOND


def _template(key: str) -> str:
    wrong = next((part for part in _PART.findall(key) if part not in _PARTS), None) if isinstance(key, str) else ""
    if wrong is not None:
        known = ", ".join(f"{{{part}}}" for part in _PARTS)
        raise InvalidSchedule(f"the key {short_repr(key)} has a part that nobody fills", f"its parts are {known}")
    return key


def _policy(catch_up: str) -> str:
    try:
        return CatchUp(catch_up).value
    except ValueError:
        raise InvalidSchedule(
            f"missed ticks cannot be caught up by {catch_up!r}", f"say {', '.join(CatchUp)}"
        ) from None


def _checked_data(plan: Plan, name: str, data: Any) -> str | None:
    # Read as the item of any tick would be: what is wrong with key, data, gate or priority is told now.
    shared = ItemDefaults(data, None, plan.gate, plan.priority)
    [batch] = item_input.batches(plan.key_at(name, 0), shared)
    text: str | None = (batch.same or {})["data"]
    return text
