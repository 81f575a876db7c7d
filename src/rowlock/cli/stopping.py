"""Being told to stop: Ctrl-C or SIGTERM once is gentle, twice is now."""

import signal
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

NUMBERS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """While a with block lasts, signals call `stop(now=…)`; afterwards `status` is how the command shall end."""

    def __init__(self, stop: Callable[[bool], None]) -> None:
        self._stop = stop
        self._before: dict[signal.Signals, Any] = {}
        self.status: int | None = None

    def __enter__(self) -> "Stopping":
        self._before = {number: signal.signal(number, self._hear) for number in NUMBERS}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, _: FrameType | None) -> None:
        again = self.status is not None
        self.status = self.status or 128 + number
        self._stop(again)
