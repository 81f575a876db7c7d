"""Durations as users write them (`90`, `"90s"`, `"1h30m"`, `timedelta(...)`), in milliseconds."""

import re
from datetime import UTC, datetime, timedelta

from rowlock.errors import InvalidDuration

Duration = str | int | float | timedelta
DurationOrTime = Duration | datetime

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
MAX_MILLISECONDS = 100 * 365 * UNITS["d"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MIN_TIME = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
"""The first time that can be read again, in milliseconds since 1970."""
MAX_TIME = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)
"""The last time that can be read again, in milliseconds since 1970."""

_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d|w)")
_WHOLE = re.compile(rf"(?:{_PART.pattern})+")
_HINT = "write it like 90s, 5m, 1h30m or 2d"


def milliseconds(duration: Duration) -> int:
    """Return a duration in whole milliseconds; a bare number is seconds."""
    length = _to_milliseconds(duration)
    if not 0 <= length <= MAX_MILLISECONDS:
        raise InvalidDuration(f"a duration must be 0 to 100 years, got {duration!r}", _HINT)
    return round(length)


def _to_milliseconds(duration: Duration) -> float:
    if isinstance(duration, timedelta):
        return duration / timedelta(milliseconds=1)
    if isinstance(duration, bool) or not isinstance(duration, str | int | float):
        raise InvalidDuration(f"a duration must be a number, text or a timedelta, got {duration!r}", _HINT)
    if isinstance(duration, str):
        return _parse(duration.strip())
    return duration * 1_000 if duration == duration else -1


def _parse(text: str) -> float:
    if text.replace(".", "", 1).isdecimal() and text.isascii():
        return float(text) * 1_000
    if not _WHOLE.fullmatch(text):
        raise InvalidDuration(f"a duration must be a number with a unit, got {text!r}", _HINT)
    return sum(float(number) * UNITS[unit] for number, unit in _PART.findall(text))


def parse_range(text: str) -> tuple[int, int]:
    """Read a shortest and a longest duration such as `1s..10m`, in milliseconds; a single one is both."""
    shortest, dots, longest = text.partition("..")
    low = milliseconds(shortest)
    high = milliseconds(longest) if dots else low
    if high < low:
        raise InvalidDuration(f"a range must not end before it begins, got {text!r}", "write it like 1s..10m")
    return low, high


def format_duration(length: int) -> str:
    """Format milliseconds by their two largest units: `1h 30m`."""
    if length < UNITS["s"]:
        return f"{length}ms"
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, length = divmod(length, UNITS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts[:2])


def delay_or_time(due: DurationOrTime | None) -> tuple[int, int | None]:
    """Return a delay from the database's now, and a time if one was given instead, both in milliseconds.

    Text is a duration, or a date and time as ISO 8601 writes it.
    """
    if due is None:
        return 0, None
    if isinstance(due, str) and _is_date(due):
        due = _read_time(due)
    if not isinstance(due, datetime):
        return milliseconds(due), None
    if due.tzinfo is None:
        raise InvalidDuration(
            f"a time must have a time zone, got {due}", "give an aware datetime, such as datetime.now(UTC)"
        )
    at = (due - _EPOCH) // timedelta(milliseconds=1)
    if at < MIN_TIME:
        raise InvalidDuration(f"a time must not be before the year 1 in UTC, got {due}", "give a later time")
    if at > MAX_TIME:
        raise InvalidDuration(f"a time must be before the year 10000 in UTC, got {due}", "give an earlier time")
    return 0, at


def _is_date(text: str) -> bool:
    return len(text) >= 10 and text[4] == "-" and text[:4].isdecimal()


def _read_time(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        hint = "write it like 5m or 2030-01-31T12:00:00Z"
        raise InvalidDuration(f"{text[:50]!r} is not a date and time", hint) from None
