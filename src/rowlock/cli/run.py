"""`rowlock run`: run the handlers of a Python program's worker, restarted on changes if wanted."""

import importlib
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import click

from rowlock.cli.invocation import Invocation, command
from rowlock.cli.terminal import StopSignals, Terminal, log_option, show_logs
from rowlock.config import VARIABLES
from rowlock.errors import Invalid
from rowlock.names import closest
from rowlock.worker import Worker

RELOAD_POLL_SECONDS = 0.3


@command("run")
@click.argument("place", metavar="MODULE:WORKER")
@click.option("--reload", "reloads", is_flag=True, help="Restart when a .py file below the current folder changes.")
@log_option
def run(invocation: Invocation, /, *, place: str, reloads: bool, log_format: str) -> int:
    """Run the handlers of a Python program's worker.

    The module is imported from the current folder; in it `Engine()` uses the database that is configured here, and
    `Client()` the server. Runs until it is stopped: Ctrl-C once lets running handlers finish, twice stops now.
    """
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise Invalid(f"the worker must be MODULE:WORKER, got {place!r}", "write it like: rowlock run app:worker")
    if module.endswith(".py") or "/" in module:
        dotted = module.removesuffix(".py").removeprefix("./").replace("/", ".")
        raise Invalid(f"{module!r} is a file, not a module", f"write it like: rowlock run {dotted}:{name}")
    _configure_program(invocation)
    terminal = Terminal(quiet=invocation.quiet)
    if reloads:
        return Reloader(sys.argv, Path.cwd(), say=terminal.say).run()
    show_logs(invocation, form=log_format, write=terminal.write)
    worker = _imported_worker(module, name)
    terminal.say(f"working with {place}; Ctrl-C stops")

    def stop(now: bool) -> None:  # noqa: FBT001
        if not now:
            terminal.say("stopping: running handlers finish or their items go back (Ctrl-C again stops now)")
        worker.stop(now=now)

    with StopSignals(stop) as signals:
        worker.run(signals=False)
    return signals.status or 0


def _configure_program(invocation: Invocation) -> None:
    """Pass the configuration to the program by environment variables."""
    values = invocation.values()
    for each in ("database", "server", "token"):
        if each in values:
            os.environ[VARIABLES[each]] = values[each].value
    os.environ["ROWLOCK_LISTEN_URL"] = invocation.listen_url() or ""
    os.environ["ROWLOCK_SCHEMA"] = ""  # the address names it, if it belongs to that database
    os.environ["ROWLOCK_ALLOW_HOSTS"] = " ".join(invocation.allowed_hosts())


def _imported_worker(module: str, name: str) -> Worker:
    sys.path.insert(0, str(Path.cwd()))
    value = _imported(module)
    for part in name.split("."):
        if not hasattr(value, part):
            near = closest(part, vars(value))
            hint = f"did you mean {near!r}?" if near else "name the variable that holds your Worker"
            raise Invalid(f"the module {module!r} has no {part!r}", hint)
        value = getattr(value, part)
    if not isinstance(value, Worker):
        what = f"{module}:{name} must be a Worker, got {type(value).__name__}"
        raise Invalid(what, "name the variable that holds your Worker")
    return value


def _imported(module: str) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise Invalid(f"there is no module {module!r} here", "run it from the folder that holds it") from None
        raise Invalid(f"{module!r} needs a module {error.name!r}, which is not installed", _location(error)) from None
    except Exception as error:
        what = f"{module!r} cannot be imported: {type(error).__name__}: {error}".splitlines()[0]
        raise Invalid(what, _location(error)) from None


def _location(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"in {error.filename}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f"in {frames[-1].filename}, line {frames[-1].lineno}" if len(frames) > 1 else ""


class Reloader:
    """A command without its `--reload` in a child process, restarted when a .py file below a folder changes."""

    def __init__(self, arguments: Sequence[str], folder: Path, *, say: Callable[[str], None]) -> None:
        words = [word for word in arguments[1:] if word != "--reload"]
        self._command = [sys.executable, "-m", "rowlock", *words]
        self._folder = folder
        self._say = say
        self._child: subprocess.Popen[bytes] | None = None
        self._stopped = False

    def run(self) -> int:
        """Run until a signal arrives, and return the exit code."""
        with StopSignals(self._stop) as signals:
            while not self._stopped:
                before = _modification_times(self._folder)
                self._child = subprocess.Popen(self._command, start_new_session=True)  # noqa: S603
                self._wait_for_change(self._child, before)
        return signals.status or 0

    def _stop(self, _: bool) -> None:  # noqa: FBT001
        # The child counts its signals itself: the second one stops it at once.
        self._stopped = True
        if self._child is not None:
            self._child.send_signal(signal.SIGINT)

    def _wait_for_change(self, child: "subprocess.Popen[bytes]", before: dict[str, int]) -> None:
        ended = False
        while not self._stopped and _modification_times(self._folder) == before:
            if not ended and child.poll() is not None:
                ended = True
                self._say("the program has ended; waiting for a change")
            time.sleep(RELOAD_POLL_SECONDS)
        if not self._stopped:
            self._say("a file has changed: restarting")
            child.send_signal(signal.SIGTERM)
        child.wait()


def _modification_times(folder: Path) -> dict[str, int]:
    """Return when each .py file below the folder was changed last; skips hidden folders and virtual environments."""
    return {str(path): time_ns for path in _sources(folder) if (time_ns := _modification_time(path))}


def _sources(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "__")) and each != "node_modules"]
        yield from (Path(here, file) for file in files if file.endswith(".py"))


def _modification_time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # deleted meanwhile
        return 0
