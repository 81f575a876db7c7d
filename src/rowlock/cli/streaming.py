"""An add that commits as lines arrive: for pipes that never end."""

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

from rowlock.cli.reading import Files
from rowlock.engine import List
from rowlock.entries import Shared
from rowlock.errors import RowlockError
from rowlock.model import Added

BATCH = 1_000
SECONDS = 1.0


class _End:
    """The end of the pipe, with what ended it if it was an error."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def add(to: List, files: Files, *, shared: Shared, strict: bool) -> Added:
    """Add what arrives, batch by batch; a wrong line ends it, and what came before stays added."""
    added = existing = 0
    try:
        for batch in batches(files):
            landed = to.add(
                batch,
                data=shared.data,
                due=shared.due,
                gate=shared.gate,
                priority=shared.priority,
                trace=shared.trace,
                strict=strict,
            )
            added, existing = added + landed.added, existing + landed.existing
    except RowlockError as error:
        so_far = f"{added + existing:,} before it are on the list"
        raise type(error)(error.what, f"{error.hint}; {so_far}" if error.hint else so_far, **error.fields) from None
    return Added(added, existing)


def batches(files: Files) -> Iterator[list[Any]]:
    """Entries in lists of a thousand at most, none kept back for longer than a second."""
    arriving: queue.Queue[Any] = queue.Queue(2 * BATCH)
    threading.Thread(target=_read, args=(files, arriving), daemon=True).start()
    end = None
    while end is None:
        batch, end = _gathered(arriving)
        if batch:
            yield batch
    if end.error:
        raise end.error


def _read(files: Files, arriving: "queue.Queue[Any]") -> None:
    try:
        for _, entry in files.numbered():
            arriving.put(entry)
    except Exception as error:  # told by the thread that writes
        arriving.put(_End(error))
    else:
        arriving.put(_End())


def _gathered(arriving: "queue.Queue[Any]") -> tuple[list[Any], _End | None]:
    batch: list[Any] = []
    try:
        _fill(batch, arriving)
    except KeyboardInterrupt as interrupt:  # what has been read is still written
        return batch, _End(interrupt)
    if batch and isinstance(batch[-1], _End):
        return batch[:-1], batch[-1]
    return batch, None


def _fill(batch: list[Any], arriving: "queue.Queue[Any]") -> None:
    batch.append(arriving.get())
    until = time.monotonic() + SECONDS
    while len(batch) < BATCH and not isinstance(batch[-1], _End):
        try:
            batch.append(arriving.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            return
