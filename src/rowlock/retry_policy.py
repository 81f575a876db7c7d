"""How often an item may fail, and how long to wait after each time."""

from collections.abc import Callable
from functools import lru_cache

import msgspec

from rowlock.durations import parse_range
from rowlock.outcomes import Fail, Outcome, Retry

DEFAULT_ATTEMPTS = 5
UNLIMITED = 0
"""As a number of attempts: an item may fail any number of times."""
DEFAULT_BACKOFF = "1s..10m"


class Policy(msgspec.Struct, frozen=True):
    """When to give up, and the back-off: doubled each time, with full jitter, never above the longest."""

    attempts: int = DEFAULT_ATTEMPTS
    """How often an item may fail; UNLIMITED for any number of times."""
    shortest: int = 1_000
    longest: int = 600_000

    def delay(self, attempts: int, random: Callable[[], float]) -> int:
        """Return the milliseconds to wait after that many failures: anywhere up to the doubled delay."""
        ceiling: int = min(self.longest, self.shortest * 2 ** min(attempts, 40))
        return round(ceiling * random())


@lru_cache(maxsize=1_000)
def policy(attempts: int | None = None, backoff: str | None = None) -> Policy:
    """Return the policy of `attempts=5, backoff="1s..10m"`; what is left out is the default."""
    low, high = parse_range(backoff or DEFAULT_BACKOFF)
    return Policy(DEFAULT_ATTEMPTS if attempts is None else attempts, low, high)


def resolve(outcome: Outcome, attempts: int, rules: Policy, random: Callable[[], float]) -> Outcome:
    """Return the outcome with its delay: a retry without one waits by the policy."""
    if not isinstance(outcome, Retry) or outcome.after is not None:
        return outcome
    return msgspec.structs.replace(outcome, after=rules.delay(attempts, random) / 1_000)


def limited(outcome: Outcome, attempts: int, *, allowed: int | None) -> Outcome:
    """Return the outcome as it is written: the last retry that is allowed is a failure; None allows the default."""
    most = DEFAULT_ATTEMPTS if allowed is None else allowed
    if isinstance(outcome, Retry) and outcome.counted and most != UNLIMITED and attempts + 1 >= most:
        return Fail(outcome.error, outcome.kind, outcome.traceback)
    return outcome
