"""A clock for tests, which stands still until it is advanced."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowlock.durations import Duration

START = 1_700_000_000_000


class MovableClock:
    """Milliseconds that stand still until they are advanced: `Engine(url, clock=MovableClock())`."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        """Return the time, in milliseconds."""
        return self.now

    def __repr__(self) -> str:
        return f"MovableClock({self.now})"

    def advance(self, duration: "Duration") -> None:
        """Advance by a duration: `"5m"`, a number of seconds, or a timedelta."""
        from rowlock.durations import milliseconds  # an unused pytest plugin must cost nothing

        self.now += milliseconds(duration)
