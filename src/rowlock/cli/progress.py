"""How a long add goes, told to a person on stderr; silent in its first second, and in a pipe."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from rowlock.entries import Batch

PATIENCE = 1.0
EVERY = 0.2


class Drawing(Protocol):
    """A picture of progress, as grand as the terminal has it."""

    def draw(self, phase: str, count: int, *, total: int | None) -> None:
        """Show how far a phase has come."""

    def close(self) -> None:
        """Leave the terminal as it was."""


class Progress:
    """Counts what is read and written, and draws it when it takes long."""

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted and sys.stderr.isatty()
        self._next = time.monotonic() + PATIENCE
        self._drawing: Drawing | None = None
        self._read = self._written = 0

    def __enter__(self) -> "Progress":
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
    def __init__(self, batches: Iterable[Batch], progress: Progress) -> None:
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
