"""How far a list has come, told while it is worked: a moving bar on a terminal, a line now and then elsewhere."""

import os
import sys
import threading
import time
from collections import deque
from types import TracebackType

from rowlock.cli.output import share
from rowlock.cli.screen import STDERR, Screen
from rowlock.engine import List
from rowlock.errors import RowlockError
from rowlock.model import ListInfo

ON_TERMINAL = 0.5
ELSEWHERE = 10.0
WINDOW = 10.0
BAR = 26
FEW = 100
"""Delayed items of which the soonest is looked for."""
FAR = 100 * 24 * 3600
"""Seconds after which nobody waits for an item: it waits for another list."""


def spoken(seconds: float) -> str:
    """A length of time as people say it, about right."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s" if minutes else f"{rest} s"


class Meter:
    """Asks for a list's counts at most twice a second, while a with block lasts, and draws them."""

    def __init__(self, of: List, screen: Screen, *, wanted: bool) -> None:
        self._list = of
        self._screen = screen
        self._wanted = wanted
        self._on_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="rowlock meter", daemon=True)
        self._seen: deque[tuple[float, int]] = deque()
        self._retried_before = of.info().progress.retried
        self._soonest: float | None = None
        self._look_again = 0.0

    def __enter__(self) -> "Meter":
        if self._wanted:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        self._over.set()
        if self._wanted:
            self._thread.join()
            self._screen.draw("")

    def _tell(self) -> None:
        while not self._over.wait(ON_TERMINAL if self._on_terminal else ELSEWHERE):
            try:
                line = self.line(self._list.info(), bar=self._on_terminal)
            except RowlockError:  # the worker knows, and says so
                continue
            if self._on_terminal:
                self._screen.draw(_cut(line))
            else:
                self._screen.say(line)

    def line(self, info: ListInfo, *, bar: bool) -> str:
        """The list's name, how much is done of how much, how fast, how long yet, and what went wrong."""
        done, counts = info.progress.done, info.counts
        known = done + counts.total
        rate = self._rate(done)
        left = counts.total - counts.failed
        parts = [
            info.name,
            *([_bar(share(info, BAR))] if bar else []),
            f"{done:,}/{known:,}",
            f"{share(info)}%",
            f"{rate:,.{0 if rate >= 10 else 1}f}/s",
            f"eta {spoken(left / rate)}" if rate and left else "",
            "" if counts.ready else self._delayed(counts.delayed),
            f"↻ {info.progress.retried - self._retried_before:,}",
            f"✕ {counts.failed:,}",
        ]
        return "  ".join(part for part in parts if part)

    def _delayed(self, count: int) -> str:
        """How many are delayed and when the next is due; the items themselves are looked at now and then."""
        if not count:
            return ""
        now = time.monotonic()
        if now >= self._look_again:
            self._look_again = now + ELSEWHERE
            self._soonest = self._next_due() if count <= FEW else None
        left = FAR if self._soonest is None else max(0.0, self._soonest - time.time())
        return f"{count:,} delayed" + (f", next in {spoken(left)}" if left < FAR else "")

    def _next_due(self) -> float | None:
        due = [item.due_at for item in self._list.page(state="delayed", limit=FEW) if item.due_at is not None]
        return min(due) / 1_000 if due else None

    def _rate(self, done: int) -> float:
        now = time.monotonic()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > WINDOW:
            self._seen.popleft()
        since, before = self._seen[0]
        return max(0, done - before) / (now - since) if now > since else 0.0


def _bar(full: int) -> str:
    return "━" * full + ("╺" if full < BAR else "") + "─" * (BAR - full - 1)


def _cut(line: str) -> str:
    try:
        columns = os.get_terminal_size(STDERR).columns
    except OSError:
        columns = 80
    return line[: columns - 1]
