"""The environment of an engine: clock, randomness, sleep. A simulator can replace it and repeat a run from its seed."""

import os
import time
from collections.abc import Callable

import msgspec


def _token() -> str:
    return os.urandom(16).hex()


def _random() -> float:
    # The modules random and secrets would add a tenth to the time it takes to import rowlock.
    return int.from_bytes(os.urandom(7), "big") / 2**56


class Environment(msgspec.Struct, frozen=True):
    """Clock, randomness and sleep; pass another one to run an engine under a seed."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds that only grow: for local timeouts, never for a decision that other processes share."""
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = _random
    """A number in [0, 1): jitter."""
    token: Callable[[], str] = _token
    """A unique name for a session or a claim."""

    def jittered(self, seconds: float) -> float:
        """Return between half and all of `seconds`, so that callers that failed together do not retry together."""
        return seconds * (0.5 + self.random() / 2)

    def deadline(self, seconds: float) -> "Deadline":
        """Return the deadline that is so many seconds away."""
        return Deadline(self.monotonic() + seconds, self.monotonic)


class Deadline(msgspec.Struct, frozen=True):
    """When a call must have ended: made once where it begins, and respected by every wait in it."""

    at: float
    monotonic: Callable[[], float]

    def passed(self) -> bool:
        """Return whether it has passed."""
        return self.monotonic() >= self.at


REAL_ENVIRONMENT = Environment()
