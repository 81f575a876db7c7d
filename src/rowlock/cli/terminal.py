"""The terminal of a command that runs for long: its output from many threads, its logs, and signals to stop."""

import logging
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from types import FrameType, TracebackType
from typing import Any

import click
import msgspec

from rowlock.cli.invocation import Invocation
from rowlock.cli.output import visible

STDOUT, STDERR = 1, 2
TRACEBACK = "traceback"
"""The field of a record that has many lines."""
_CLEAR_LINE = "\r\x1b[K"
_STANDARD_FIELDS = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message"}

log_option = click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The format of logs."
)


class Terminal:
    """The output of a command that works in many threads; unbuffered, and safe to use in a signal handler."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self._lock = threading.RLock()  # a signal may arrive while its own thread is writing
        self._line = ""
        self._unended: set[int] = set()

    def show(self, out: Iterable[bytes], error: Iterable[bytes]) -> None:
        """Write what one command wrote, piece by piece, separate from the output of others."""
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
        """Replace the status line, by one write; an empty one removes it."""
        with self._lock:
            if line:
                self._end_line(STDERR)
            before, self._line = _CLEAR_LINE if self._line else "", line
            _write_all(STDERR, f"{before}{line}".encode())

    def _clear(self) -> None:
        if self._line:
            _write_all(STDERR, _CLEAR_LINE.encode())

    def _redraw(self) -> None:
        if self._line:
            self._end_line(STDERR)
            _write_all(STDERR, self._line.encode())

    def _copy(self, chunks: Iterable[bytes], stream: int) -> None:
        last = b"\n"
        for chunk in chunks:
            self._end_line(stream)
            _write_all(stream, chunk)
            last = chunk
        if not last.endswith(b"\n"):
            self._unended.add(stream)

    def _end_line(self, stream: int) -> None:
        if stream in self._unended:
            self._unended.remove(stream)
            _write_all(stream, b"\n")


def _write_all(stream: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(stream, rest) :]


class StopSignals:
    """A with block in which SIGINT and SIGTERM call `stop(now)`: the first time with False, then with True.

    Afterwards `status` is the exit code of the signal, or None if there was none.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, stop: Callable[[bool], None]) -> None:
        self._stop = stop
        self._before: dict[signal.Signals, Any] = {}
        self.status: int | None = None

    def __enter__(self) -> "StopSignals":
        self._before = {number: signal.signal(number, self._handle) for number in self._SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, _: FrameType | None) -> None:
        again = self.status is not None
        self.status = self.status or 128 + number
        self._stop(again)


def show_logs(
    invocation: Invocation, *, form: str, write: Callable[[str], object] = lambda line: click.echo(line, err=True)
) -> None:
    """Write rowlock's logs: warnings, everything with -v, only errors with -q."""
    logger = logging.getLogger("rowlock")
    logger.setLevel(logging.ERROR if invocation.quiet else logging.INFO if invocation.verbose else logging.WARNING)
    text = with_traceback if invocation.verbose else as_text
    logger.handlers = [_LineHandler(as_json if form == "json" else text, write)]
    logger.propagate = False


class _LineHandler(logging.Handler):
    def __init__(self, format_record: Callable[[logging.LogRecord], str], write: Callable[[str], object]) -> None:
        super().__init__()
        self._format_record = format_record
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(self._format_record(record))
        except OSError:  # stderr is closed; the work goes on
            return


def as_text(record: logging.LogRecord) -> str:
    """Format a record as text: `12:00:01 warning claim lost list=downloads code=stale-claim`."""
    told = {TRACEBACK, *(record.args if isinstance(record.args, Mapping) else ())}
    fields = "".join(f" {name}={_quoted(value)}" for name, value in _fields(record).items() if name not in told)
    return f"{_time(record):%H:%M:%S} {record.levelname.lower()} {record.getMessage()}{fields}"


def with_traceback(record: logging.LogRecord) -> str:
    """Format a record as text, with the traceback of what a handler raised below it."""
    traceback = getattr(record, TRACEBACK, "")
    return f"{as_text(record)}\n{traceback}" if traceback else as_text(record)


def as_json(record: logging.LogRecord) -> str:
    """Format a record as one JSON object."""
    known = {"at": _time(record), "level": record.levelname.lower(), "message": record.getMessage()}
    return msgspec.json.encode({**known, **_fields(record)}, enc_hook=str).decode()


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    fields = {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}
    if record.exc_info and record.exc_info[1] is not None:
        fields["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
    return fields


def _quoted(value: Any) -> str:
    text = visible(str(value))
    return f'"{text}"' if " " in text or not text else text
