"""How often an item may fail, and how long to wait after each time."""

from collections.abc import Callable
from functools import lru_cache

import msgspec

from rowlock.durations import span
from rowlock.outcomes import Fail, Outcome, Retry

DEFAULT_ATTEMPTS = 5
DEFAULT_BACKOFF = "1s..10m"


class Policy(msgspec.Struct, frozen=True):
    """When to give up, and the waiting between: doubled each time, jittered in full, never above the longest."""

    attempts: int | None = DEFAULT_ATTEMPTS
    shortest: int = 1_000
    longest: int = 600_000

    def delay(self, attempts: int, random: Callable[[], float]) -> int:
        """Milliseconds to wait after that many failures: anywhere up to the doubled length, so that crowds disperse."""
        ceiling: int = min(self.longest, self.shortest * 2 ** min(attempts, 40))
        return round(ceiling * random())


@lru_cache(maxsize=1_000)
def policy(attempts: int | None = DEFAULT_ATTEMPTS, backoff: str | None = None) -> Policy:
    """A policy from how people write it: `attempts=5, backoff="1s..10m"`; no attempts means for ever."""
    low, high = span(backoff or DEFAULT_BACKOFF)
    return Policy(attempts, low, high)


def resolve(outcome: Outcome, attempts: int, rules: Policy, random: Callable[[], float]) -> Outcome:
    """The outcome as it will be written: a retry gets its delay, and the last one becomes a failure."""
    if not isinstance(outcome, Retry):
        return outcome
    if outcome.counted and rules.attempts is not None and attempts + 1 >= rules.attempts:
        return Fail(outcome.error, outcome.kind)
    if outcome.after is not None:
        return outcome
    return msgspec.structs.replace(outcome, after=rules.delay(attempts, random) / 1_000)
