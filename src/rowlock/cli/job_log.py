"""The job log of `rowlock work`: a line for each command, in the columns of GNU parallel and three more."""

import os
import shlex
import threading
from contextlib import suppress
from pathlib import Path

from rowlock.cli.output import visible
from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.outcomes import Verdict
from rowlock.worker.exec.commands import NOT_EXECUTABLE, NOT_FOUND, CommandRun

COLUMNS = (
    *("Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command"),
    *("Key", "Attempt", "Outcome"),
)
THIS_HOST = ":"
ENOENT = 2
TIMED_OUT = (-1, 15)
"""The exit status and the signal of a command that took too long, as parallel writes them."""


class JobLog:
    """A file of tab-separated lines that grows with each run."""

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("a", encoding="utf-8", errors="surrogateescape", buffering=1)
        except OSError as error:
            reason = (error.strerror or "no reason given").lower()
            raise Invalid(f"--joblog {str(path)!r} cannot be written: {reason}", "name another file") from None
        self._lock = threading.Lock()
        self._unsettled: dict[tuple[str, str], tuple[CommandRun, int]] = {}
        if not self._file.tell():
            self._file.write("\t".join(COLUMNS) + "\n")

    def ended(self, run: CommandRun) -> None:
        """Remember a command until its item is settled; a batch is named by its first item."""
        received = 0
        with suppress(OSError):
            received = os.stat(run.output[0]).st_size  # noqa: PTH116 - once for each command
        self._unsettled[run.items[0].list, run.items[0].key] = run, received

    def settled(self, item: Item, verdict: Verdict) -> None:
        """Write the line of a command whose outcome is known."""
        ended = self._unsettled.pop((item.list, item.key), None)
        if ended is not None:
            self._write(*ended, verdict)

    def close(self) -> None:
        """Write the lines of commands whose outcome was not settled."""
        for ended in self._unsettled.values():
            self._write(*ended, "lost")
        self._file.close()

    def _write(self, run: CommandRun, received: int, outcome: str) -> None:
        end = run.end
        if end is None:
            return
        first = run.items[0]
        start, seconds, command = f"{end.started_at:.3f}", f"{end.seconds:10.3f}", visible(shlex.join(run.words))
        places = (run.number, THIS_HOST, start, seconds, 0, received, *_exit_value(end.word, end.status), command)
        with self._lock:
            line = "\t".join(map(str, (*places, visible(first.key), first.attempts + 1, outcome)))
            self._file.write(f"{line}\n")


def _exit_value(word: str, status: int) -> tuple[int, int]:
    """Return the exit status and the signal of a command."""
    if word == "late":
        return TIMED_OUT
    if word == "error":
        return (NOT_FOUND if status == ENOENT else NOT_EXECUTABLE), 0
    return (status, 0) if status >= 0 else (0, -status)
