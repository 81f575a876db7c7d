"""Progress of long commands on stderr: whole outputs of commands, and below them a status line that is redrawn."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import IO

from rowlock.cli import output
from rowlock.cli.exits import INTERRUPTED
from rowlock.cli.invocation import on_terminal
from rowlock.engine import List
from rowlock.errors import RowlockError
from rowlock.model import ListInfo

STDOUT, STDERR = 1, 2
COPY_BYTES = 64 * 1024
BAR_COLUMNS = 26
QUIET_SECONDS = 1.0
"""An add that takes less draws nothing."""
ADD_REDRAW_SECONDS = 0.2
REDRAW_SECONDS = 0.5
LOG_SECONDS = 10.0
"""Interval of progress lines where stderr is no terminal, and of looks at the due times of delayed items."""
RATE_WINDOW_SECONDS = 10.0
MAX_DELAYED_READ = 100
"""Delayed items among which the one due next is searched."""
MAX_DUE_SECONDS = 100 * 24 * 3600
"""An item due later than this waits for another list, not for a time."""
WATCH_SECONDS = 1.0
_CLEAR_LINE = "\r\x1b[K"
_CLEAR_SCREEN = "\x1b[H\x1b[J"


class Terminal:
    """The output of a command that works in many threads; unbuffered, and safe to use in a signal handler."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._lock = threading.RLock()  # a signal may arrive while its own thread is writing
        self._line = ""
        self._unended: set[int] = set()

    def show(self, out: IO[bytes], error: IO[bytes]) -> None:
        """Write the whole output of one command, separate from that of others."""
        with self._lock:
            self._clear()
            self._copy(out, STDOUT)
            self._copy(error, STDERR)
            self._redraw()

    def say(self, sentence: str) -> None:
        """Write a sentence on a line of its own, unless --quiet was given."""
        if not self._quiet:
            self.write(sentence)

    def write(self, text: str) -> None:
        """Write text on a line of its own, also with --quiet."""
        with self._lock:
            self._clear()
            self._end_line(STDERR)
            _write_all(STDERR, f"{text}\n".encode(errors="backslashreplace"))
            self._redraw()

    def draw(self, line: str) -> None:
        """Replace the status line; an empty one removes it."""
        with self._lock:
            self._clear()
            self._line = line
            self._redraw()

    def _clear(self) -> None:
        if self._line:
            _write_all(STDERR, _CLEAR_LINE.encode())

    def _redraw(self) -> None:
        if self._line:
            self._end_line(STDERR)
            _write_all(STDERR, self._line.encode())

    def _copy(self, file: IO[bytes], stream: int) -> None:
        while chunk := file.read(COPY_BYTES):
            self._end_line(stream)
            _write_all(stream, chunk)
            last = chunk
        if file.tell() and not last.endswith(b"\n"):
            self._unended.add(stream)

    def _end_line(self, stream: int) -> None:
        if stream in self._unended:
            self._unended.remove(stream)
            _write_all(stream, b"\n")


def _write_all(stream: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(stream, rest) :]


def _can_redraw() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


def format_seconds(seconds: float) -> str:
    """Return a duration for people, rounded: `2.5 s`, `3m 20s`, `1h 05m`."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s" if minutes else f"{rest} s"


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


class ListProgress:
    """The progress of a list, read at most twice a second and drawn while a with block lasts."""

    def __init__(self, of: List, terminal: Terminal, *, wanted: bool) -> None:
        self._list = of
        self._terminal = terminal
        self._wanted = wanted
        self._redraws = _can_redraw()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rowlock progress", daemon=True)
        self._done_at: deque[tuple[float, int]] = deque()
        self._retried_before = of.info().progress.retried
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
                line = self.line(self._list.info(), bar=self._redraws)
            except RowlockError:  # the worker reports it
                continue
            if self._redraws:
                self._terminal.draw(_cut(line))
            else:
                self._terminal.say(line)

    def line(self, info: ListInfo, *, bar: bool) -> str:
        """Return a line with the list's name, what is done, the rate, the time left, retries and failures."""
        done, counts = info.progress.done, info.counts
        known = done + counts.total
        rate = self._rate(done)
        left = counts.total - counts.failed
        parts = [
            info.name,
            *([_bar(output.done_share(info, BAR_COLUMNS))] if bar else []),
            f"{done:,}/{known:,}",
            f"{output.done_share(info)}%",
            f"{rate:,.{0 if rate >= 10 else 1}f}/s",
            f"eta {format_seconds(left / rate)}" if rate and left else "",
            "" if counts.ready else self._delayed(counts.delayed),
            f"↻ {info.progress.retried - self._retried_before:,}",
            f"✕ {counts.failed:,}",
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
        delayed = self._list.page(state="delayed", limit=MAX_DELAYED_READ)
        return min((item.due.timestamp() for item in delayed if item.due is not None), default=None)

    def _rate(self, done: int) -> float:
        now = time.monotonic()
        self._done_at.append((now, done))
        while len(self._done_at) > 2 and now - self._done_at[0][0] > RATE_WINDOW_SECONDS:
            self._done_at.popleft()
        since, before = self._done_at[0]
        return max(0, done - before) / (now - since) if now > since else 0.0


def _bar(full: int) -> str:
    return "━" * full + ("╺" if full < BAR_COLUMNS else "") + "─" * (BAR_COLUMNS - full - 1)


def _cut(line: str) -> str:
    try:
        columns = os.get_terminal_size(STDERR).columns
    except OSError:
        columns = 80
    return line[: columns - 1]


def watch(draw: Callable[[], None]) -> int:
    """Call `draw` every second until Ctrl-C, on a terminal over a cleared screen, and return the exit code."""
    try:
        while True:
            if on_terminal():
                output.write(_CLEAR_SCREEN)
            draw()
            sys.stdout.flush()
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:  # the only way to end it, so no error
        return INTERRUPTED
