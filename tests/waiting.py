"""Waiting for what other threads and processes do: for a condition, never for a while.

Only a defect makes a wait end at its bound, so the bound is generous: a test must pass on a machine that has four times
as many busy processes as cores.
"""

import time
from collections.abc import Callable

WAIT_SECONDS = 240.0
"""How long a test waits for anything; shorter than pytest's own timeout, so that the test says what it waited for."""
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.001, 0.02


def eventually(condition: Callable[[], object], seconds: float = WAIT_SECONDS) -> bool:
    """Wait until a condition holds; False if it does not hold in time."""
    deadline, pause = time.monotonic() + seconds, MIN_POLL_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(pause)
        pause = min(pause * 1.5, MAX_POLL_SECONDS)
    return True


def until(condition: Callable[[], object], seconds: float = WAIT_SECONDS) -> None:
    """Wait until a condition holds; fail if it does not hold in time."""
    assert eventually(condition, seconds), f"the condition did not hold within {seconds:g} s"
