"""Throughput: how many items were added, done and failed in each minute, hour or day, of one list or of all."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from rowlock import lists
from rowlock.db import Tx
from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid
from rowlock.model import Progress, to_datetime
from rowlock.tallies import ALL_LISTS, DAY_MILLISECONDS, HOUR_MILLISECONDS, MINUTE_MILLISECONDS, PERIODS

MIN_SPAN_MILLISECONDS = MINUTE_MILLISECONDS
MAX_SPAN_MILLISECONDS = 366 * DAY_MILLISECONDS
STEPS = (
    (2 * HOUR_MILLISECONDS, MINUTE_MILLISECONDS),
    (12 * HOUR_MILLISECONDS, 5 * MINUTE_MILLISECONDS),
    (DAY_MILLISECONDS, 10 * MINUTE_MILLISECONDS),
    (8 * DAY_MILLISECONDS, HOUR_MILLISECONDS),
    (MAX_SPAN_MILLISECONDS, DAY_MILLISECONDS),
)
"""The longest span of each step: a series has 200 steps at most, or a year of days."""
EVENTS = len(Progress.__struct_fields__)
NOTHING = (0,) * EVENTS + (0.0,)
"""The numbers of a step in which nothing happened."""


class ThroughputStep(Progress, frozen=True, kw_only=True):
    """What happened in one step, in numbers of items."""

    at: datetime
    """When the step begins."""
    seconds: float = 0.0
    """How long the claims were held that ended in it, in total."""


class Throughput(msgspec.Struct, frozen=True):
    """What happened in a span of time, step by step; the last step is not over."""

    step: int
    """The length of a step in seconds."""
    steps: list[ThroughputStep]

    def text(self) -> str:
        """Return a line for each step: its start, and the numbers added, done, retried, moved, failed and abandoned."""
        rows = ((each.at.isoformat(), *msgspec.structs.astuple(each)[:EVENTS]) for each in self.steps)
        return "".join("\t".join(map(str, row)) + "\n" for row in rows)


class _StoredStep(msgspec.Struct, frozen=True):
    now: int
    at: int | None
    added: int | None
    done: int | None
    retried: int | None
    moved: int | None
    failed: int | None
    abandoned: int | None
    seconds: float | None


def total(tx: Tx, *, span: Duration = "1h") -> Throughput:
    """Return what happened to all lists in the last `span`, from one minute to a year, in steps of a fitting length."""
    return of_row(tx, ALL_LISTS, span=span)


def of_list(tx: Tx, name: str, *, span: Duration = "1h") -> Throughput:
    """Return what happened to a list in the last `span`, from one minute to a year, in steps of a fitting length."""
    return of_row(tx, lists.get(tx, name).id, span=span)


def of_row(tx: Tx, list_id: int, *, span: Duration) -> Throughput:
    """Return what happened to the list of that number in the last `span`."""
    length = milliseconds(span)
    if not MIN_SPAN_MILLISECONDS <= length <= MAX_SPAN_MILLISECONDS:
        raise Invalid(f"span must be 1m to 366d, got {span!r}", "give 15m, 1h, 24h or 7d")
    step = next(step for longest, step in STEPS if length <= longest)
    period = max(each for each in PERIODS if step % each == 0)
    rows = tx.structs(_StoredStep, "periods/series", list=list_id, length=period, step=step, span=length)
    known = {row.at: msgspec.structs.astuple(row)[2:] for row in rows if row.at is not None}
    now = rows[0].now
    first, last = (now - length) // step * step, now // step * step
    return Throughput(step // 1_000, [_step(at, known.get(at, NOTHING)) for at in range(first, last + 1, step)])


def _step(at: int, numbers: Sequence[Any]) -> ThroughputStep:
    *events, seconds = numbers
    return ThroughputStep(*events, at=to_datetime(at), seconds=seconds)
