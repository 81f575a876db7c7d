"""Signals: the first asks a worker to stop gently, the second at once."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class Stoppable(Protocol):
    """What signals stop."""

    def stop(self, *, now: bool = False) -> None:
        """Stop, gently or now."""


@contextmanager
def told_by_signals(worker: Stoppable, *, wanted: bool) -> Iterator[None]:
    """Pass SIGINT and SIGTERM on to the worker; only the main thread can."""
    if not wanted or threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = 0

    def hear(*_: Any) -> None:
        nonlocal heard
        heard += 1
        worker.stop(now=heard > 1)

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
