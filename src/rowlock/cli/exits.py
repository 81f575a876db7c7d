"""The end of a command: exit codes, errors on stderr, and signals."""

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

# The hint of a server is about a header, which a user of the command line cannot set.
TOKEN_HINT = "set ROWLOCK_TOKEN to a token made there by `rowlock token create`"  # noqa: S105
COMPLETION_VARIABLE = "_ROWLOCK_COMPLETE"


def run(program: click.Group, arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; an error is one sentence and a hint, a traceback only with -v."""
    invocation = Invocation()
    try:
        _write_utf8()
        if COMPLETION_VARIABLE in os.environ:
            program.main(list(arguments), "rowlock", COMPLETION_VARIABLE)
        return _invoke(program, arguments, invocation)
    except RowlockError as error:
        return _print_error(
            error.what, TOKEN_HINT if isinstance(error, TokenRefused) else error.hint, error.exit_status
        )
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        if isinstance(error, click.UsageError) and "\n" in error.message:
            print(error.message, file=sys.stderr)  # the help of a group without a command  # noqa: T201
            return WRONG_USAGE
        return _print_error(_sentence(error), _usage(error), error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        return _print_error("interrupted", "", INTERRUPTED)
    except BrokenPipeError:
        return _discard_stdout()
    except OSError as error:
        _discard_stdout()
        reason = (error.strerror or "no reason given").lower()
        return _print_error(f"reading or writing failed: {reason}", "", OUTPUT_LOST)
    except Exception as error:
        return _print_bug(error, invocation)


def _invoke(program: click.Group, arguments: Sequence[str], invocation: Invocation) -> int:
    try:
        with program.make_context("rowlock", list(arguments), obj=invocation) as context:
            status = program.invoke(context)
    except click.exceptions.Exit as done:
        status = done.exit_code
    sys.stdout.flush()
    return status if isinstance(status, int) else 0


def _write_utf8() -> None:
    # Keys are UTF-8 everywhere; a terminal with another encoding shows the characters it lacks escaped.
    sys.stdout, sys.stderr = sys.stdout or _null_stream(), sys.stderr or _null_stream()
    for stream in (sys.stdout, sys.stderr):
        encoding = stream.encoding if stream.isatty() else "utf-8"
        stream.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]


def _null_stream() -> TextIO:
    """Open a stream in place of one that the caller has closed."""
    return Path(os.devnull).open("w")


def _print_error(what: str, hint: str, status: int) -> int:
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


def _discard_stdout() -> int:
    # The reader of the pipe has gone; the interpreter must not complain when it flushes at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return PIPE_CLOSED


def _print_bug(error: Exception, invocation: Invocation) -> int:
    if invocation.verbose:
        import traceback  # imported only to report a bug

        traceback.print_exception(error)
    hint = "this is a bug in rowlock; please report it" + ("" if invocation.verbose else ", with what -v prints")
    return _print_error(f"something unexpected went wrong ({type(error).__name__})", hint, BUG)


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
