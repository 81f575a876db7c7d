"""Times as JSON says them."""

from datetime import datetime
from typing import Any

from rowlock.errors import InvalidDuration


def moment_of(due: str | float | None) -> Any:
    """When something becomes due, as JSON says it."""
    if not isinstance(due, str) or not _is_date(due):
        return due
    try:
        return datetime.fromisoformat(due)
    except ValueError:
        raise InvalidDuration(f"{due[:50]!r} is no time", "write it like 5m or 2030-01-31T12:00:00Z") from None


def _is_date(due: str) -> bool:
    return len(due) >= 10 and due[4] == "-" and due[:4].isdecimal()
