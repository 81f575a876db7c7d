"""What a worker logs, on stderr: as words with name=value behind them, or as JSON; never a traceback."""

import logging
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from rowlock.cli.invocation import Invocation
from rowlock.cli.output import visible

_KNOWN = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {"message"}

log_option = click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="How -v writes logs."
)


def show_logs(invocation: Invocation, *, form: str, write: Callable[[str], None]) -> None:
    """Show what rowlock logs: warnings always, all of it with -v, errors alone with -q."""
    ours = logging.getLogger("rowlock")
    ours.setLevel(logging.ERROR if invocation.quiet else logging.INFO if invocation.verbose else logging.WARNING)
    ours.handlers = [_LogHandler(as_json if form == "json" else as_text, write)]
    ours.propagate = False


class _LogHandler(logging.Handler):
    def __init__(self, told: Callable[[logging.LogRecord], str], write: Callable[[str], None]) -> None:
        super().__init__()
        self._told = told
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._write(self._told(record))
        except OSError:  # nobody reads what we say; the work goes on
            return


def as_text(record: logging.LogRecord) -> str:
    """`12:00:01 warning claim lost list=downloads code=stale-claim`."""
    fields = "".join(f" {name}={_value(value)}" for name, value in _fields(record).items())
    return f"{_at(record):%H:%M:%S} {record.levelname.lower()} {record.getMessage()}{fields}"


def as_json(record: logging.LogRecord) -> str:
    """The same as one JSON object."""
    known = {"at": _at(record), "level": record.levelname.lower(), "message": record.getMessage()}
    return msgspec.json.encode({**known, **_fields(record)}, enc_hook=str).decode()


def _at(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    given = {name: value for name, value in vars(record).items() if name not in _KNOWN}
    if record.exc_info and record.exc_info[1] is not None:
        given["error"] = f"{type(record.exc_info[1]).__name__}: {record.exc_info[1]}"
    return given


def _value(value: Any) -> str:
    text = visible(str(value))
    return f'"{text}"' if " " in text or not text else text
