"""A throttle: when the next command may start, by a delay, the machine's load and its free memory."""

import os
import re
import time
from pathlib import Path

from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid

_SIZE = re.compile(r"(\d+(?:\.\d+)?)([kKMGT]?)")
_UNITS = {"": 1, "k": 1_000, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
MAX_SIZE_BYTES = 1 << 50
_AVAILABLE = re.compile(r"MemAvailable:\s+(\d+) kB")


class Throttle:
    """Holds commands back while the last began too recently, the load is too high, or memory is short."""

    def __init__(
        self,
        *,
        delay: Duration | None = None,
        load: str | None = None,
        memory: str | None = None,
        proc: Path = Path("/proc"),
    ) -> None:
        self._delay = milliseconds(delay or 0) / 1_000
        self._load = None if load is None else parse_load(load)
        self._memory = None if memory is None else parse_size(memory)
        self._proc = proc
        if memory is not None and not (proc / "meminfo").exists():
            what = f"memory must be left out, because this system does not tell how much is free, got {memory!r}"
            raise Invalid(what, "only Linux does; use a load instead")
        self._next_start = 0.0

    @property
    def is_needed(self) -> bool:
        """Whether anything is ever held back."""
        return bool(self._delay) or self._load is not None or self._memory is not None

    def admits(self, running: int) -> bool:
        """Return whether a command may start now; one that may counts as started.

        Load and memory do not hold back a command when none runs: else nothing would ever change.
        """
        now = time.monotonic()
        if now < self._next_start or (running and self._is_short()):
            return False
        self._next_start = now + self._delay
        return True

    def _is_short(self) -> bool:
        if self._load is not None and self._load_average() >= self._load:
            return True
        if self._memory is None:
            return False
        found = _AVAILABLE.search((self._proc / "meminfo").read_text())
        return found is not None and int(found[1]) * 1024 < self._memory

    def _load_average(self) -> float:
        # macOS has no /proc.
        try:
            return float((self._proc / "loadavg").read_text().split()[0])
        except FileNotFoundError:
            return os.getloadavg()[0]


def parse_load(text: str) -> float:
    """Return a load average: `4`, or `80%` of this machine's cores; Invalid if it is neither."""
    number, percent = text.removesuffix("%"), text.endswith("%")
    if not re.fullmatch(r"\d+(?:\.\d+)?", number):
        raise Invalid(f"load must be a number or a share of the cores such as 80%, got {text!r}", "for example 4")
    return float(number) * (os.cpu_count() or 1) / 100 if percent else float(number)


def parse_size(text: str) -> int:
    """Return a number of bytes: `500M`, `1.5G`; Invalid if it is no size."""
    found = _SIZE.fullmatch(text)
    if found is None:
        raise Invalid(f"memory must be a size such as 500M or 2G, got {text!r}", "the units are k, K, M, G and T")
    size = float(found[1]) * _UNITS[found[2]]
    if size > MAX_SIZE_BYTES:
        raise Invalid(f"memory must be at most 1024T, got {text[:100]!r}", "the units are k, K, M, G and T")
    return int(size)
