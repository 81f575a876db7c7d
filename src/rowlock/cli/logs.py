"""Logs of rowlock on stderr, as text with name=value fields or as JSON, without tracebacks."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from rowlock.cli.invocation import Invocation
from rowlock.cli.output import visible

_STANDARD_FIELDS = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message"}

log_option = click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The format of logs."
)


def show_logs(
    invocation: Invocation, *, form: str, write: Callable[[str], object] = lambda line: click.echo(line, err=True)
) -> None:
    """Write rowlock's logs: warnings, everything with -v, only errors with -q."""
    ours = logging.getLogger("rowlock")
    ours.setLevel(logging.ERROR if invocation.quiet else logging.INFO if invocation.verbose else logging.WARNING)
    ours.handlers = [_LineHandler(as_json if form == "json" else as_text, write)]
    ours.propagate = False


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
    fields = "".join(f" {name}={_quoted(value)}" for name, value in _fields(record).items())
    return f"{_time(record):%H:%M:%S} {record.levelname.lower()} {record.getMessage()}{fields}"


def as_json(record: logging.LogRecord) -> str:
    """Format a record as one JSON object."""
    known = {"at": _time(record), "level": record.levelname.lower(), "message": record.getMessage()}
    return msgspec.json.encode({**known, **_fields(record)}, enc_hook=str).decode()


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    given = {name: value for name, value in vars(record).items() if name not in _STANDARD_FIELDS}
    if record.exc_info and record.exc_info[1] is not None:
        given["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
    return given


def _quoted(value: Any) -> str:
    text = visible(str(value))
    return f'"{text}"' if " " in text or not text else text
