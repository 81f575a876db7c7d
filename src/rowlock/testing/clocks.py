"""A clock for tests: it stands still until somebody moves it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rowlock.durations import Duration

START = 1_700_000_000_000


class MovableClock:
    """Milliseconds that stand still until they are advanced: `Engine(url, clock=MovableClock())`."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        """The time, in milliseconds."""
        return self.now

    def __repr__(self) -> str:
        return f"MovableClock({self.now})"

    def advance(self, duration: "Duration") -> None:
        """Let that much time pass: `"5m"`, a number of seconds, or a timedelta."""
        from rowlock.durations import milliseconds  # a plugin that nobody uses must cost nothing

        self.now += milliseconds(duration)
