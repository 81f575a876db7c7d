"""Progress of long commands on stderr: a status line that is redrawn, or a line now and then in a pipe."""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from rowlock.cli.invocation import every
from rowlock.cli.terminal import STDERR, Terminal
from rowlock.engine.session import this_process
from rowlock.errors import NotFound, RowlockError
from rowlock.model import Counts, Item, ListInfo, Progress, add_up
from rowlock.names import matches_pattern, plural
from rowlock.outcomes import Outcome, Verdict
from rowlock.progress import ProgressTracker
from rowlock.sessions import SessionInfo

if TYPE_CHECKING:
    from rowlock.client import Client
    from rowlock.engine import Engine
    from rowlock.worker import Worker

BAR_COLUMNS = 26
QUIET_SECONDS = 1.0
"""An add that takes less draws nothing."""
ADD_REDRAW_SECONDS = 0.2
REDRAW_SECONDS = 0.5
LOG_SECONDS = 10.0
"""Interval of progress lines where stderr is no terminal, and of looks at the due times of delayed items."""
MAX_DELAYED_READ = 100
"""Delayed items among which the one due next is searched."""
MAX_DUE_SECONDS = 100 * 24 * 3600
"""An item due later than this waits for another list, not for a time."""


def _can_redraw() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def format_seconds(seconds: float) -> str:
    """Return a duration for people, rounded: `2.5 s`, `3m 20s`, `1h 05m`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s" if minutes else f"{rest} s"


class VerdictCounts:
    """Numbers of the items that a worker has settled, by verdict; counted from any thread."""

    def __init__(self, worker: "Worker", *, fits: Callable[[Item], bool] = lambda _: True) -> None:
        self._fits = fits
        self._lock = threading.Lock()
        self._counts: Counter[Verdict] = Counter()
        worker.after(self._count)

    def _count(self, item: Item, _: Outcome, verdict: Verdict) -> None:
        if self._fits(item):
            with self._lock:
                self._counts[verdict] += 1

    def __getitem__(self, verdict: Verdict) -> int:
        return self._counts[verdict]

    def summary(self, done: str = "done") -> str:
        """Return the numbers in one line; `done` is the word for items that are done."""
        words = {Verdict.DONE: done, Verdict.FAILED: "failed", Verdict.RETRIED: "retried"}
        return " · ".join(f"{word} {self._counts[verdict]:,}" for verdict, word in words.items())


class AddProgress:
    """The progress of a long add: lines read, then items written. Draws nothing in a pipe or in the first second."""

    def __init__(self, terminal: Terminal, *, wanted: bool) -> None:
        self._terminal = terminal
        self._wanted = wanted and _can_redraw()
        self._next_draw = time.monotonic() + QUIET_SECONDS
        self._lines = 0

    def __enter__(self) -> "AddProgress":
        return self

    def __exit__(self, *_: object) -> None:
        self._terminal.draw("")

    def read(self, count: int) -> None:
        """Count more lines that were read."""
        self._lines += count
        self._draw(f"reading  {self._lines:,}")

    def wrote(self, count: int) -> None:
        """Show how many items have been written so far."""
        known = max(self._lines, count)
        self._draw(f"writing  {_bar(count * BAR_COLUMNS // max(known, 1))}  {count:,}/{known:,}")

    def _draw(self, line: str) -> None:
        if self._wanted and time.monotonic() >= self._next_draw:
            self._next_draw = time.monotonic() + ADD_REDRAW_SECONDS
            self._terminal.draw(_cut(line))


class Lists:
    """The list that a command works, or all whose names match a pattern with `*`."""

    def __init__(self, engine: "Engine | Client", pattern: str) -> None:
        self._engine = engine
        self.pattern = pattern
        self.names: list[str] = []

    def infos(self) -> list[ListInfo]:
        """Read the lists that exist now; NotFound if there are none."""
        if "*" not in self.pattern:
            found = [self._engine[self.pattern].info()]
        else:
            found = [each for each in every(self._engine.lists) if matches_pattern(self.pattern, each.name)]
        if not found:
            raise NotFound(f"no list matches {self.pattern!r}", "see the lists with: rowlock status")
        self.names = [each.name for each in found]
        return found

    def info(self) -> ListInfo:
        """Read the lists, and add up their counts and progress."""
        first, *others = found = self.infos()
        if not others:
            return first
        counts = add_up(Counts, (each.counts for each in found))
        progress = add_up(Progress, (each.progress for each in found))
        return msgspec.structs.replace(first, name=self.pattern, counts=counts, progress=progress)


class OtherHolders:
    """Says which items are held by other workers, and when they are free if these are dead."""

    def __init__(self, engine: "Engine | Client") -> None:
        self._engine = engine
        self._since = time.monotonic()

    def sentence(self, counts: Counts) -> str:
        """Return for whom a list without ready items waits; nothing if this process works on it."""
        if counts.ready or not counts.claimed:
            return ""
        holding = [each for each in self._engine.sessions() if each.items]
        if not holding or any(each.holder == this_process() for each in holding):
            return ""
        held = f"{plural(counts.claimed)} {'is' if counts.claimed == 1 else 'are'} held by"
        beating = [each for each in holding if each.beat_at is not None]
        who = "a worker" if len(holding) == 1 else f"{len(holding)} workers"
        if not beating:
            return f"{held} {who}"
        seen = _seconds_since(max(each.beat_at for each in beating if each.beat_at is not None))
        free = max(self._seconds_to_expiry(each) for each in beating)
        return f"{held} {who} last seen {max(0.0, seen):.0f} s ago; free in {free:.0f} s"

    def _seconds_to_expiry(self, session: SessionInfo) -> float:
        # A dead session is also watched for half of its expiry before it is expired.
        expiry = 0.0 if session.beat_at is None else (session.expires_at - session.beat_at).total_seconds()
        return max(0.0, -_seconds_since(session.expires_at), expiry / 2 - (time.monotonic() - self._since))


def _seconds_since(at: datetime) -> float:
    return time.time() - at.timestamp()


class ListProgress:
    """The progress of a list, read at most twice a second and drawn while a with block lasts."""

    def __init__(self, engine: "Engine | Client", lists: Lists, terminal: Terminal, *, wanted: bool) -> None:
        self._engine = engine
        self._lists = lists
        self._terminal = terminal
        self._wanted = wanted
        self._redraws = _can_redraw()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rowlock progress", daemon=True)
        self._tracker = ProgressTracker(lists.info().progress, time.monotonic)
        self._holders = OtherHolders(engine)
        self._next_due: float | None = None
        self._next_look = 0.0

    def __enter__(self) -> "ListProgress":
        if self._wanted:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        self._over.set()
        if self._wanted:
            self._thread.join()
            self._terminal.draw("")

    def _run(self) -> None:
        while not self._over.wait(REDRAW_SECONDS if self._redraws else LOG_SECONDS):
            try:
                line = self.line(self._lists.info(), bar=self._redraws)
            except RowlockError:  # the worker reports it
                continue
            if self._redraws:
                self._terminal.draw(_cut(line))
            else:
                self._terminal.say(line)

    def line(self, info: ListInfo, *, bar: bool) -> str:
        """Return a line with the list's name, what was done since this began, what is left, the rate and failures."""
        now, counts = self._tracker.snapshot(info), info.counts
        known = max(1, now.total)
        parts = [
            info.name,
            *([_bar(now.done * BAR_COLUMNS // known)] if bar else []),
            f"{now.done:,} done, {now.left:,} left",
            f"{now.done * 100 // known}%",
            f"{now.rate:,.{0 if now.rate >= 10 else 1}f}/s",
            f"eta {format_seconds(now.eta)}" if now.eta else "",
            "" if counts.ready else self._delayed(counts.delayed),
            self._holders.sentence(counts),
            f"↻ {now.retried:,}",
            f"✕ {now.failed:,}",
        ]
        return "  ".join(part for part in parts if part)

    def _delayed(self, count: int) -> str:
        """Return how many items are delayed and when the next is due; the items are read only every ten seconds."""
        if not count:
            return ""
        now = time.monotonic()
        if now >= self._next_look:
            self._next_look = now + LOG_SECONDS
            self._next_due = self._read_next_due() if count <= MAX_DELAYED_READ else None
        left = MAX_DUE_SECONDS if self._next_due is None else max(0.0, self._next_due - time.time())
        return f"{count:,} delayed" + (f", next in {format_seconds(left)}" if left < MAX_DUE_SECONDS else "")

    def _read_next_due(self) -> float | None:
        pages = (self._engine[name].page(state="delayed", limit=MAX_DELAYED_READ) for name in self._lists.names)
        return min((item.due.timestamp() for page in pages for item in page if item.due is not None), default=None)


def _bar(full: int) -> str:
    return "━" * full + ("╺" if full < BAR_COLUMNS else "") + "─" * (BAR_COLUMNS - full - 1)


def _cut(line: str) -> str:
    try:
        columns = os.get_terminal_size(STDERR).columns
    except OSError:
        columns = 80
    return line[: columns - 1]
