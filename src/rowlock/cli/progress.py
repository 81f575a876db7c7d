"""How far a command has come, on the terminal: outputs whole, a line that moves below them."""

import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import TracebackType
from typing import IO, Any, Protocol

from rowlock.cli import output
from rowlock.cli.exits import INTERRUPTED
from rowlock.cli.invocation import on_terminal
from rowlock.cli.output import share
from rowlock.engine import List
from rowlock.errors import RowlockError
from rowlock.item_input import Batch
from rowlock.model import ListInfo

CHUNK = 64 * 1024
_CLEARED = "\r\x1b[K"
ON_TERMINAL = 0.5
ELSEWHERE = 10.0
WINDOW = 10.0
BAR = 26
FEW = 100
"""Delayed items of which the soonest is looked for."""
FAR = 100 * 24 * 3600
"""Seconds after which nobody waits for an item: it waits for another list."""
PATIENCE = 1.0
EVERY = 0.2
EVERY = 1.0
_HOME_AND_CLEARED = "\x1b[H\x1b[J"


STDOUT, STDERR = 1, 2


class Terminal:
    """Writes from many threads, and from a signal's handler: straight to the streams, nothing is kept back."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._lock = threading.RLock()  # a signal may come while its own thread is writing
        self._line = ""
        self._unended: set[int] = set()

    def show(self, out: IO[bytes], error: IO[bytes]) -> None:
        """What one command wrote, whole: no other output comes between, nor on its last line."""
        with self._lock:
            self._clear()
            self._copy(out, STDOUT)
            self._copy(error, STDERR)
            self._redraw()

    def say(self, words: str) -> None:
        """Words for a person, on a line of their own; nothing when asked to be quiet."""
        if not self._quiet:
            self.write(words)

    def write(self, words: str) -> None:
        """The same, in any case."""
        with self._lock:
            self._clear()
            self._end_line(STDERR)
            _put(STDERR, f"{words}\n".encode(errors="backslashreplace"))
            self._redraw()

    def draw(self, line: str) -> None:
        """The line that moves, in place of the one before; an empty one takes it away."""
        with self._lock:
            self._clear()
            self._line = line
            self._redraw()

    def _clear(self) -> None:
        if self._line:
            _put(STDERR, _CLEARED.encode())

    def _redraw(self) -> None:
        if self._line:
            self._end_line(STDERR)
            _put(STDERR, self._line.encode())

    def _copy(self, file: IO[bytes], stream: int) -> None:
        while chunk := file.read(CHUNK):
            self._end_line(stream)
            _put(stream, chunk)
            last = chunk
        if file.tell() and not last.endswith(b"\n"):
            self._unended.add(stream)

    def _end_line(self, stream: int) -> None:
        if stream in self._unended:
            self._unended.remove(stream)
            _put(stream, b"\n")


def _put(stream: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(stream, rest) :]


def format_seconds(seconds: float) -> str:
    """A length of time as people say it, about right."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02}m" if hours else f"{minutes}m {rest:02}s" if minutes else f"{rest} s"


class ListProgress:
    """Asks for a list's counts at most twice a second, while a with block lasts, and draws them."""

    def __init__(self, of: List, terminal: Terminal, *, wanted: bool) -> None:
        self._list = of
        self._terminal = terminal
        self._wanted = wanted
        self._on_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._tell, name="rowlock meter", daemon=True)
        self._seen: deque[tuple[float, int]] = deque()
        self._retried_before = of.info().progress.retried
        self._soonest: float | None = None
        self._look_again = 0.0

    def __enter__(self) -> "ListProgress":
        if self._wanted:
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        self._over.set()
        if self._wanted:
            self._thread.join()
            self._terminal.draw("")

    def _tell(self) -> None:
        while not self._over.wait(ON_TERMINAL if self._on_terminal else ELSEWHERE):
            try:
                line = self.line(self._list.info(), bar=self._on_terminal)
            except RowlockError:  # the worker knows, and says so
                continue
            if self._on_terminal:
                self._terminal.draw(_cut(line))
            else:
                self._terminal.say(line)

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
            f"eta {format_seconds(left / rate)}" if rate and left else "",
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
        return f"{count:,} delayed" + (f", next in {format_seconds(left)}" if left < FAR else "")

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


class Drawing(Protocol):
    """A picture of progress, as grand as the terminal has it."""

    def draw(self, phase: str, count: int, *, total: int | None) -> None:
        """Show how far a phase has come."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class AddProgress:
    """Counts what is read and written, and draws it when it takes long."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._next = time.monotonic() + PATIENCE
        self._drawing: Drawing | None = None
        self._read = self._written = 0

    def __enter__(self) -> "AddProgress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawing:
            self._drawing.close()

    def read(self, count: int) -> None:
        """So many more lines have been read."""
        self._read += count
        self._draw("reading", self._read, None)

    def writing(self, batches: Iterable[Batch]) -> Iterable[Batch]:
        """The batches, counted as they are written; a transaction that is run again counts anew."""
        return _Watched(batches, self)

    def wrote(self, count: int) -> None:
        """So many items have been written."""
        self._written = count
        self._draw("writing", count, self._read)

    def _draw(self, phase: str, count: int, total: int | None) -> None:
        if not self._wanted or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + EVERY
        self._drawing = self._drawing or _drawing()
        self._drawing.draw(phase, count, total=total)


class _Watched:
    def __init__(self, batches: Iterable[Batch], progress: AddProgress) -> None:
        self._batches = batches
        self._progress = progress

    def __iter__(self) -> Iterator[Batch]:
        count = 0
        for batch in self._batches:
            yield batch
            count += batch.count
            self._progress.wrote(count)


def _drawing() -> Drawing:
    # Heavy, and optional: imported when there is something to draw.
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar
    except ImportError:
        return _PlainLines()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    return _Bars(Bar(*columns, console=Console(stderr=True), transient=True))


class _PlainLines:
    def draw(self, phase: str, count: int, *, total: int | None) -> None:
        of = f" of {total:,}" if total else ""
        print(f"{phase} {count:,}{of}", file=sys.stderr)  # noqa: T201

    def close(self) -> None:
        pass


class _Bars:
    def __init__(self, bars: Any) -> None:
        self._bars = bars
        self._tasks: dict[str, Any] = {}
        bars.start()

    def draw(self, phase: str, count: int, *, total: int | None) -> None:
        if phase not in self._tasks:
            self._tasks[phase] = self._bars.add_task(phase, total=total)
        self._bars.update(self._tasks[phase], completed=count)

    def close(self) -> None:
        self._bars.stop()


def watch(draw: Callable[[], None]) -> int:
    """Draw every second until Ctrl-C; on a terminal each picture takes the place of the one before."""
    try:
        while True:
            if on_terminal():
                output.write(_HOME_AND_CLEARED)
            draw()
            sys.stdout.flush()
            time.sleep(EVERY)
    except KeyboardInterrupt:  # the only way out, and no mistake
        return INTERRUPTED
