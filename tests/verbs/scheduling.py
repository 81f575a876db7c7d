"""What the tests of schedules share: where the clock stands, a schedule, and the keys that it made."""

from datetime import UTC, datetime
from typing import Any

from tests.conftest import Clock

from rowlock import Engine, Schedule
from rowlock.durations import milliseconds

START = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)  # where the clock stands at first


def keys(engine: Engine, name: str = "work") -> list[str]:
    """The keys on a list."""
    return [item.key for item in engine[name]]


def advance(clock: Clock, duration: str) -> None:
    """Let time pass."""
    clock.advance(milliseconds(duration) / 1000)


def every(engine: Engine, duration: str = "15m", **more: Any) -> Schedule:
    """A schedule that ticks so often."""
    schedule = engine.schedule("poll")
    schedule.set("work", every=duration, **more)
    return schedule
