"""The output of the commands of `rowlock work`: grouped by command, in order, or line by line, tagged with keys."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from rowlock.cli.job_log import JobLog
from rowlock.cli.output import visible
from rowlock.cli.terminal import Terminal
from rowlock.outcomes import Outcome, is_failure
from rowlock.worker.exec.commands import CommandRun

COPY_BYTES = 64 * 1024


class CommandOutput:
    """Shows what commands write, logs them to the job log, and reports each outcome to `count`.

    With `tag` the key stands before each line. With `keep_order` outputs come in the order in which commands began,
    with `line_buffer` lines are shown as they are written.
    """

    def __init__(
        self,
        terminal: Terminal,
        *,
        count: Callable[[Outcome], None],
        job_log: JobLog | None = None,
        tag: bool = False,
        keep_order: bool = False,
        line_buffer: bool = False,
    ) -> None:
        self.needs_ticks = line_buffer
        self._terminal = terminal
        self._is_tagged = tag
        self._keeps_order = keep_order
        self._count = count
        self._job_log = job_log
        self._next = 1
        self._held: dict[int, tuple[CommandRun, Outcome | None]] = {}
        self._followed: dict[int, tuple[CommandRun, tuple[_Follower, _Follower]]] = {}

    def began(self, run: CommandRun) -> None:
        """Follow what a command writes, if lines are shown at once."""
        if self.needs_ticks:
            self._followed[run.number] = run, (_Follower(run.output[0]), _Follower(run.output[1]))

    def ended(self, run: CommandRun, outcome: Outcome | None) -> None:
        """Show what a command wrote, or hold it until all that began before it are shown."""
        if outcome is not None:
            if self._job_log is not None:
                self._job_log.ended(run)
            self._count(outcome)
        if not self._keeps_order:
            self._show(run, outcome)
            return
        self._held[run.number] = run, outcome
        while self._next in self._held:
            self._show(*self._held.pop(self._next))
            self._next += 1

    def tick(self) -> None:
        """Show the lines that running commands have finished."""
        for run, (out, error) in self._followed.values():
            self._write(run, out.lines(), error.lines())

    def _show(self, run: CommandRun, outcome: Outcome | None) -> None:
        try:
            if run.number in self._followed:
                _, (out, error) = self._followed.pop(run.number)
                self._write(run, out.rest(), error.rest())
            elif outcome is not None and any(map(_size, run.output)):
                self._copy(run, outcome)
        finally:
            run.discard()

    def _copy(self, run: CommandRun, outcome: Outcome) -> None:
        with ExitStack() as stack:
            out, error = (stack.enter_context(Path(path).open("rb")) for path in run.output)
            # The reader of an error must know which item it belongs to.
            label = self._tag(run) or (f"{_name(run)}: ".encode() if is_failure(outcome) else b"")
            self._terminal.show(_prefixed(out, self._tag(run)), _prefixed(error, label))

    def _write(self, run: CommandRun, out: bytes, error: bytes) -> None:
        if out or error:
            tag = self._tag(run)
            self._terminal.show(*(_tagged(new.splitlines(keepends=True), tag) for new in (out, error)))

    def _tag(self, run: CommandRun) -> bytes:
        return f"{_name(run)}\t".encode() if self._is_tagged else b""


class _Follower:
    """Reads what is appended to a file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._at = 0

    def lines(self) -> bytes:
        """Return whole lines that were appended since the last call."""
        new = self._read(COPY_BYTES)
        whole = new.rfind(b"\n") + 1 or (len(new) if len(new) == COPY_BYTES else 0)
        self._at += whole
        return new[:whole]

    def rest(self) -> bytes:
        """Return all that was appended since the last call."""
        return self._read(-1)

    def _read(self, size: int) -> bytes:
        if _size(self._path) <= self._at:
            return b""
        with Path(self._path).open("rb") as file:
            file.seek(self._at)
            return file.read(size)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - twice for each command
    except OSError:
        return 0


def _name(run: CommandRun) -> str:
    more = f" and {len(run.items) - 1} more" if len(run.items) > 1 else ""
    return visible(run.items[0].key) + more


def _prefixed(file: IO[bytes], prefix: bytes) -> Iterator[bytes]:
    if not prefix:
        yield from iter(lambda: file.read(COPY_BYTES), b"")
    while lines := file.readlines(COPY_BYTES) if prefix else []:
        yield b"".join(_tagged(lines, prefix))


def _tagged(lines: Iterable[bytes], prefix: bytes) -> list[bytes]:
    return [prefix + line for line in lines]
