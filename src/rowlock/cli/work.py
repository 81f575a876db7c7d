"""`rowlock work` and `rowlock run`: work lists with commands, requests, or the handlers of a Python program."""

import importlib
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rowlock.cli import runners
from rowlock.cli.claims import held_by_another
from rowlock.cli.exits import SOME_FAILED, StopSignals
from rowlock.cli.invocation import Invocation, command, list_argument
from rowlock.cli.logs import log_option, show_logs
from rowlock.cli.output import plural
from rowlock.cli.progress import ListProgress, Terminal, format_seconds
from rowlock.config import VARIABLES
from rowlock.errors import Invalid, Refused, RowlockError
from rowlock.model import Item, ListInfo
from rowlock.names import closest
from rowlock.outcomes import Outcome, Verdict
from rowlock.settings import MAX_ATTEMPTS
from rowlock.worker import Worker
from rowlock.worker.worker import Until

if TYPE_CHECKING:
    from rowlock.client import Client
    from rowlock.engine import Engine

GRACE_SECONDS = 10
RELOAD_POLL_SECONDS = 0.3


@command("work")
@list_argument()
@click.argument("words", metavar="[-- COMMAND [WORD]...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-j",
    "--jobs",
    "concurrency",
    type=click.IntRange(1, 10_000),
    help="How many run at once; else one per core, or 16 requests.",
)
@click.option(
    "--attempts",
    type=click.IntRange(0, MAX_ATTEMPTS),
    help="How often an item may fail, 0 for no limit; else the list's setting.",
)
@click.option("--backoff", metavar="FROM..TO", help="Wait after a failure, from the first to the longest: 1s..10m.")
@click.option("--timeout", metavar="DURATION", help="How long a command or a request may take.")
@click.option("--later", metavar="DURATION", default="30s", show_default=True, help="Wait after exit code 75.")
@click.option("--batch", type=click.IntRange(1, 10_000), help="Items for each command.")
@click.option("--shell", is_flag=True, help="The command is a line for /bin/sh.")
@click.option("--keep-output", type=click.Path(file_okay=False, path_type=Path), help="Keep stdout and stderr here.")
@click.option("--http", metavar="URL", help="Send each item there, and read its outcome from the answer.")
@click.option("--header", metavar="NAME: VALUE", multiple=True, help="A header of every request; repeatable.")
@click.option("--secret-env", metavar="VARIABLE", multiple=True, help="The variable that holds the signing secret.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that requests may go to.")
@click.option("--wait", "--forever", "wait", is_flag=True, help="Wait for new items when all are done.")
@click.option(
    "--expiry", metavar="DURATION", default="15s", show_default=True, help="Items of a dead worker are free after this."
)
@log_option
@click.pass_obj
def work(invocation: Invocation, /, *, name: str, words: tuple[str, ...], log_format: str, **options: Any) -> int:
    """Run a command for each item of a list: like xargs, but it remembers.

    In the command {} is the key, {name} its last part, {stem} that without its suffix, {attempt} the number of this
    attempt, {list} the list; without the key in it, the command reads the key from stdin. Exit code 0 is done, 75 is
    tried later without counting, 65 has failed for good, any other is one failed attempt. Ctrl-C once lets running
    commands finish; the same command continues from there.

    Without a command each item is sent by HTTP: to --http URL, or to the processor of the list's settings.
    """
    terminal = Terminal(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=terminal.write)
    runners.check(words, options)
    allow = invocation.allowed_hosts(options["allow_host"])
    with invocation.open() as engine:
        info = engine[name].info()
        if info.state == "paused" and not options["wait"]:
            raise _paused(name)
        if held := held_by_another(info):
            terminal.say(f"{held}; waiting until it is handed over")
        run = WorkRun(engine, info, words, options=options, terminal=terminal, allow=allow)
        with ListProgress(engine[name], terminal, wanted=not invocation.quiet):
            status = run.run(until="stopped" if options["wait"] else "done")
        return run.report(engine[name].info(), status)


def _paused(name: str) -> Refused:
    return Refused(f"the list {name!r} is paused", f"resume it with: rowlock resume {name}")


class WorkRun:
    """One run of `rowlock work` over a list, with the numbers of its outcomes."""

    def __init__(
        self,
        engine: "Engine | Client",
        info: ListInfo,
        words: Sequence[str],
        *,
        options: dict[str, Any],
        terminal: Terminal,
        allow: Sequence[str],
    ) -> None:
        self._terminal = terminal
        self._output_error: OSError | None = None
        self._lock = threading.Lock()
        self._settled: Counter[Verdict] = Counter()
        self._started = time.monotonic()
        self._runner = runners.choose(
            info, words, options=options, show=terminal.show, on_error=self._stop_for_output, allow=allow
        )
        concurrency = options["concurrency"] or self._runner.default_concurrency
        try:
            self._worker = Worker(engine, concurrency=concurrency, expiry=options["expiry"], grace=GRACE_SECONDS)
            self._worker.after(self._count)
            self._runner.register(self._worker, info.name)
        except RowlockError:
            self._runner.close()
            raise

    def _count(self, _: Item, __: Outcome, verdict: Verdict) -> None:
        with self._lock:
            self._settled[verdict] += 1

    def _stop_for_output(self, error: OSError) -> None:
        # The output of commands cannot be written: to go on would lose it.
        self._output_error = self._output_error or error
        self._worker.stop()

    def run(self, *, until: Until) -> int | None:
        """Work, and return the exit code if a signal ended it."""
        try:
            with StopSignals(self._stop) as signals:
                self._worker.run(until=until, signals=False)
        finally:
            self._runner.close()
        if self._output_error is not None:
            raise self._output_error
        return signals.status

    def _stop(self, now: bool) -> None:  # noqa: FBT001
        self._runner.stop(now=now)
        if not now and self._runner.running:
            running = f"{self._runner.running} running finish or go back"
            self._terminal.say(f"stopping: {running} ({GRACE_SECONDS} s; Ctrl-C again stops now)")
        self._worker.stop(now=now)

    def report(self, info: ListInfo, status: int | None) -> int:
        """Print what was done and what is left, and return the exit code."""
        done, failed, retried = (self._settled[each] for each in (Verdict.DONE, Verdict.FAILED, Verdict.RETRIED))
        took = format_seconds(time.monotonic() - self._started)
        self._terminal.say(f"done {done:,} · failed {failed:,} · retried {retried:,} in {took}")
        if info.counts.failed:
            self._terminal.say(f"{plural(info.counts.failed)} of {info.name} failed; see: rowlock failures {info.name}")
        left = info.counts.total - info.counts.failed
        if status is not None:
            self._terminal.say(
                f"{plural(left)} left; the same command continues from here" if left else "nothing is left"
            )
            return status
        if left and info.state == "paused":
            raise _paused(info.name)
        if left and info.state == "complete":
            reopen = f"reopen it with: rowlock reopen {info.name}"
            self._terminal.say(f"{plural(left)} of {info.name} left: the list is complete; {reopen}")
        elif info.counts.gated:
            self._terminal.say(f"{plural(info.counts.gated)} of {info.name} left at a gate that is not open")
        return SOME_FAILED if info.counts.failed else 0


@command("run")
@click.argument("place", metavar="MODULE:WORKER")
@click.option("--reload", "reloads", is_flag=True, help="Restart when a .py file below the current folder changes.")
@log_option
@click.pass_obj
def run(invocation: Invocation, /, *, place: str, reloads: bool, log_format: str) -> int:
    """Run the handlers of a Python program's worker.

    The module is imported from the current folder; in it `Engine()` uses the database that is configured here, and
    `Client()` the server. Runs until it is stopped: Ctrl-C once lets running handlers finish, twice stops now.
    """
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise Invalid(f"the worker must be MODULE:WORKER, got {place!r}", "write it like: rowlock run app:worker")
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
    os.environ["ROWLOCK_ALLOW_HOSTS"] = " ".join(invocation.allowed_hosts())


def _imported_worker(module: str, name: str) -> Worker:
    sys.path.insert(0, str(Path.cwd()))
    found = _imported(module)
    for part in name.split("."):
        if not hasattr(found, part):
            near = closest(part, vars(found))
            hint = f"did you mean {near!r}?" if near else "name the variable that holds your Worker"
            raise Invalid(f"the module {module!r} has no {part!r}", hint)
        found = getattr(found, part)
    if not isinstance(found, Worker):
        what = f"{module}:{name} must be a Worker, got {type(found).__name__}"
        raise Invalid(what, "name the variable that holds your Worker")
    return found


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
