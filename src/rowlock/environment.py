"""What the engine takes from outside itself besides the database: time that passes, chance, sleep.

Everything that waits, rolls dice or opens a connection does so through a `Environment`, so that a simulator can
own all of it and repeat a run from its seed.
"""

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
    """The outside: pass another one to run the engine under a seed."""

    monotonic: Callable[[], float] = time.monotonic
    """Seconds that only ever grow: for local patience, never for a decision that others must share."""
    sleep: Callable[[float], None] = time.sleep
    random: Callable[[], float] = _random
    """A number in [0, 1): jitter."""
    token: Callable[[], str] = _token
    """A name that never comes twice: sessions and claims."""

    def jittered(self, seconds: float) -> float:
        """Between half and all of that long, so that those who failed together do not come back together."""
        return seconds * (0.5 + self.random() / 2)

    def deadline(self, seconds: float) -> "Deadline":
        """The moment that is so many seconds away."""
        return Deadline(self.monotonic() + seconds, self.monotonic)


class Deadline(msgspec.Struct, frozen=True):
    """When a call must have ended: made once where it begins, and heeded by everything in it that waits."""

    at: float
    monotonic: Callable[[], float]

    def passed(self) -> bool:
        """Whether it is time to give up."""
        return self.monotonic() >= self.at


REAL_ENVIRONMENT = Environment()
