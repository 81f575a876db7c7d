"""How a command ends: every exit code, what is said on stderr, and signals, in one place."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, TextIO

import click

from rowlock.cli.invocation import Invocation
from rowlock.cli.output import visible
from rowlock.errors import RowlockError, TokenRefused

AT_RISK = 1
SOME_FAILED = 1
WRONG_USAGE = 2
OUT_OF_REACH = 5
NOTHING_TO_DO = 6
BUG = 70
OUTPUT_LOST = 74
INTERRUPTED = 130
PIPE_CLOSED = 141
# A server's own hint speaks of a header.
SHOW_ONE = "set ROWLOCK_TOKEN to one that `rowlock token create` has made there"
COMPLETION = "_ROWLOCK_COMPLETE"
NUMBERS = (signal.SIGINT, signal.SIGTERM)


def run(program: click.Group, arguments: Sequence[str]) -> int:
    """Run a command; its exit code. An error is one sentence and a hint, never a traceback unless asked for."""
    invocation = Invocation()
    try:
        _write_utf8()
        if COMPLETION in os.environ:
            program.main(list(arguments), "rowlock", COMPLETION)
        return _invoke(program, arguments, invocation)
    except RowlockError as error:
        return _told(error.what, SHOW_ONE if isinstance(error, TokenRefused) else error.hint, error.exit_status)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and "\n" in error.message:
            print(error.message, file=sys.stderr)  # a group alone: its help  # noqa: T201
            return WRONG_USAGE
        return _told(_sentence(error), _usage(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _told("interrupted", "", INTERRUPTED)
    except BrokenPipeError:
        return _hushed()
    except OSError as error:
        _hushed()
        return _told(f"reading or writing failed: {(error.strerror or 'no reason given').lower()}", "", OUTPUT_LOST)
    except Exception as error:
        return _bug(error, invocation)


def _invoke(program: click.Group, arguments: Sequence[str], invocation: Invocation) -> int:
    try:
        with program.make_context("rowlock", list(arguments), obj=invocation) as context:
            status = program.invoke(context)
    except click.exceptions.Exit as done:
        status = done.exit_code
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _write_utf8() -> None:
    # Keys are UTF-8 everywhere; only a terminal may know less, and shows what it lacks escaped.
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        encoding = stream.encoding if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]


def _nowhere() -> TextIO:
    """A stream for who has closed theirs."""
    return Path(os.devnull).open("w")


def _told(what: str, hint: str, status: int) -> int:
    print(f"rowlock: {visible(what)}", file=sys.stderr)  # noqa: T201
    for line in hint.splitlines():
        print(f"  {visible(line)}", file=sys.stderr)  # noqa: T201
    return status


def _sentence(error: click.ClickException) -> str:
    message = error.format_message().rstrip(".")
    return f"{message[:1].lower()}{message[1:]}"


def _usage(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return f"see: {context.command_path} --help" if context else ""


def _hushed() -> int:
    # Nobody reads any more; the interpreter must not complain of it when it flushes at the end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _bug(error: Exception, invocation: Invocation) -> int:
    if invocation.verbose:
        import traceback  # only a bug needs it

        traceback.print_exception(error)
    hint = "this is a bug in rowlock; please report it" + ("" if invocation.verbose else ", with what -v prints")
    return _told(f"something unexpected went wrong ({type(error).__name__})", hint, BUG)


class StopSignals:
    """While a with block lasts, signals call `stop(now=…)`; afterwards `status` is how the command shall end."""

    def __init__(self, stop: Callable[[bool], None]) -> None:
        self._stop = stop
        self._before: dict[signal.Signals, Any] = {}
        self.status: int | None = None

    def __enter__(self) -> "StopSignals":
        self._before = {number: signal.signal(number, self._hear) for number in NUMBERS}
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _hear(self, number: int, _: FrameType | None) -> None:
        again = self.status is not None
        self.status = self.status or 128 + number
        self._stop(again)
