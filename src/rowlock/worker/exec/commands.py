"""Commands as handlers: run a program for each item or batch, and read its exit status as an outcome."""

import errno
import logging
import os
import re
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import IO

from rowlock import tracing
from rowlock.durations import Duration, milliseconds
from rowlock.errors import Invalid
from rowlock.model import Item
from rowlock.outcomes import Done, Fail, Outcome, Retry
from rowlock.worker.exec.process_groups import Overdue, ProcessGroups
from rowlock.worker.exec.templates import CommandTemplate
from rowlock.worker.handlers import Turn, timeout_seconds

log = logging.getLogger("rowlock.worker")

RETRY_LATER_STATUS = os.EX_TEMPFAIL
FAIL_STATUS = os.EX_DATAERR
NOT_FOUND, NOT_EXECUTABLE = 127, 126
SCARCITY_RETRY_SECONDS = 5.0
TOO_LONG = "too long"

_SCARCE = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_STATUS_TEXTS = {NOT_FOUND: "exit status 127: command not found", NOT_EXECUTABLE: "exit status 126: cannot be executed"}
_OF_ONE_ITEM = ("ROWLOCK_KEY", "ROWLOCK_ATTEMPT", "ROWLOCK_DATA")

Show = Callable[[IO[bytes], IO[bytes]], None]
Trouble = Callable[[OSError], None]


STDERR_TAIL_BYTES = 4096
_MAX_NAME_BYTES = 180
_UNSAFE = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|%+]|^\.')

Written = tuple[IO[bytes], IO[bytes]]


def safe_name(key: str) -> str:
    """Return a file name for a key: readable, never a path, and different for each key."""
    name = _UNSAFE.sub(lambda found: f"%{ord(found[0]):02X}", key)
    if len(name.encode()) <= _MAX_NAME_BYTES:
        return name
    digest = blake2b(key.encode(), digest_size=8).hexdigest()
    return f"{name.encode()[:_MAX_NAME_BYTES].decode(errors='ignore')}%-{digest}"


def tail(file: IO[bytes]) -> str:
    """Return the last few kilobytes of a file as text."""
    file.seek(max(0, file.seek(0, 2) - STDERR_TAIL_BYTES))
    return file.read().decode(errors="replace").strip()


class OutputCapture:
    """Files for the stdout and stderr of each command: kept in a folder, or deleted when they are closed."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    @contextmanager
    def files(self, items: Sequence[Item]) -> Iterator[Written]:
        """Yield the two files for a command that runs for these items; a batch is named by its first."""
        with ExitStack() as stack:
            if self._folder is None:
                yield stack.enter_context(tempfile.TemporaryFile()), stack.enter_context(tempfile.TemporaryFile())
                return
            name = safe_name(items[0].key) + (f"+{len(items) - 1}" if len(items) > 1 else "")
            out, error = (stack.enter_context((self._folder / f"{name}.{end}").open("w+b")) for end in ("out", "err"))
            yield out, error


def check_program(template: CommandTemplate) -> None:
    """Refuse a command whose program does not exist, before anything is claimed."""
    program = template.program
    whole = "" if template.shell else template.words[0]
    first, _, rest = whole.partition(" ")
    if rest and not os.path.lexists(whole) and shutil.which(first) is not None:
        raise Invalid(f"there is no program {whole!r}", "leave the quotes out, or give the line with --shell")
    if program is None or shutil.which(program) is not None:
        return
    if os.path.lexists(program) and "/" in program:
        wrong = "is a folder" if os.path.isdir(program) else "is not executable"  # noqa: PTH112
        raise Invalid(f"{program!r} {wrong}", f"make it so: chmod +x {program}" if wrong.endswith("executable") else "")
    raise Invalid(f"there is no program {program!r}", "check its name and PATH; a line for a shell needs --shell")


class CommandHandler:
    """Runs a command per item or batch, each in its own process group, and shows its output when it has ended."""

    def __init__(
        self,
        template: CommandTemplate,
        *,
        show: Show,
        trouble: Trouble,
        timeout: Duration | None = None,
        later: Duration = "30s",
        outputs: OutputCapture | None = None,
    ) -> None:
        check_program(template)
        self._template = template
        self._show = show
        self._trouble = trouble
        self._timeout = timeout_seconds(timeout)
        self._later = milliseconds(later) / 1_000
        self._outputs = outputs or OutputCapture()
        self._environment = {name: value for name, value in os.environ.items() if name not in _OF_ONE_ITEM}
        self._stopped = threading.Event()
        self._interrupted = threading.Event()
        self._groups = ProcessGroups()

    @property
    def running(self) -> int:
        """How many commands run."""
        return self._groups.count

    def expect_interrupts(self) -> None:
        """Give back, uncounted, commands that Ctrl-C ends from now on: they were just being started."""
        self._interrupted.set()

    def stop(self) -> None:
        """Ask all commands to end now; their outcomes do not count any more."""
        self._stopped.set()
        self._groups.terminate()

    def close(self) -> None:
        """End all commands that still run."""
        self._stopped.set()
        self._groups.end()

    def handle(self, item: Item, turn: Turn) -> Outcome:
        """Run the command for one item."""
        return self._run([item], turn.cancelled)

    def handle_batch(self, items: Sequence[Item]) -> list[Outcome]:
        """Run the command for many items, with one outcome for all; a batch that is too long for it is halved."""
        outcome = self._run(items, threading.Event())
        if _is_too_long(outcome) and len(items) > 1:
            middle = len(items) // 2
            return [*self.handle_batch(items[:middle]), *self.handle_batch(items[middle:])]
        return [outcome] * len(items)

    def _run(self, items: Sequence[Item], cancelled: threading.Event) -> Outcome:
        since = time.monotonic()
        try:
            with self._outputs.files(items) as written, self._input(items) as given:
                outcome = self._outcome(items, cancelled, given, written)
                if outcome is not None:
                    self._show_output(written)
        except OSError as error:  # no room for its files
            self._trouble(error)
            outcome = None
        if outcome is None:
            cancelled.wait(1)  # the turn is over, and nothing of it will be settled
            return Retry(after=0, counted=False)
        if len(items) == 1 or not _is_too_long(outcome):
            _note(items, outcome, time.monotonic() - since)
        return outcome

    def _show_output(self, written: Written) -> None:
        for file in written:
            file.seek(0)
        try:
            self._show(*written)
        except OSError as error:  # the reader has gone; the command has done its work
            self._trouble(error)

    def _outcome(
        self, items: Sequence[Item], cancelled: threading.Event, given: str, written: Written
    ) -> Outcome | None:
        def is_over() -> bool:
            return cancelled.is_set() or self._stopped.is_set()

        try:
            status = self._groups.run(
                self._template.filled(items),
                self._environment_of(items),
                given=given,
                written=written,
                is_over=is_over,
                timeout=self._timeout,
            )
        except Overdue:
            return Retry(f"timed out after {self._timeout:g}s", kind="timeout")
        except OSError as error:
            return _not_run(error, self._template.words[0])
        return None if status is None else self._of_status(status, written[1])

    def _of_status(self, status: int, stderr: IO[bytes]) -> Outcome:
        if status == 0:
            return Done()
        if status == -signal.SIGINT and self._interrupted.is_set():
            return Retry(after=0, counted=False)
        if status == RETRY_LATER_STATUS:
            return Retry(after=self._later, counted=False)
        said = tail(stderr) or _status_text(status)
        kind = f"exit {status}" if status > 0 else f"signal {-status}"
        return Fail(said, kind) if status == FAIL_STATUS else Retry(said, kind=kind)

    @contextmanager
    def _input(self, items: Sequence[Item]) -> Iterator[str]:
        # A file instead of a pipe: a command that never reads cannot block.
        if not self._template.on_stdin:
            yield os.devnull
            return
        with tempfile.NamedTemporaryFile(prefix="rowlock-") as file:
            file.write("".join(f"{item.key}\n" for item in items).encode())
            file.flush()
            yield file.name

    def _environment_of(self, items: Sequence[Item]) -> dict[str, str]:
        known = {"ROWLOCK_LIST": items[0].list, "ROWLOCK_CLAIM": items[0].token or ""}
        if not self._template.batch:
            [item] = items
            values = (item.key, str(item.attempts + 1), item.raw_data or "null")
            known.update(zip(_OF_ONE_ITEM, values, strict=True))
        if (traceparent := tracing.outgoing_traceparent(items)) is not None:
            known["TRACEPARENT"] = traceparent
        return {**self._environment, **known}


def _is_too_long(outcome: Outcome) -> bool:
    return isinstance(outcome, Fail) and outcome.kind == TOO_LONG


def _status_text(status: int) -> str:
    if status >= 0:
        return _STATUS_TEXTS.get(status, f"exit status {status}")
    names = {each.value: each.name for each in signal.Signals}
    return f"killed by signal {-status}" + (f" ({names[-status]})" if -status in names else "")


def _not_run(error: OSError, program: str) -> Outcome:
    reason = (error.strerror or "no reason given").lower()
    said = f"{program!r} cannot be run: {reason}"
    if error.errno in _SCARCE:
        return Retry(said, after=SCARCITY_RETRY_SECONDS, counted=False, kind="scarcity")
    if error.errno == errno.E2BIG:
        return Fail(f"{said}; give fewer keys at once, or less data", kind=TOO_LONG)
    return Retry(said, kind=f"exit {NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE}")


def _note(items: Sequence[Item], outcome: Outcome, seconds: float) -> None:
    first = items[0]
    about = {"list": first.list, "key": first.key, "attempt": first.attempts + 1, "items": len(items)}
    ended = type(outcome).__name__.lower()
    log.info("command ended", extra={**about, "outcome": ended, "seconds": round(seconds, 3)})
