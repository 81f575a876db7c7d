"""`rowlock work` and `rowlock run`: work lists by commands, requests, or Python handlers."""

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
from rowlock.config import ENVIRONMENT
from rowlock.errors import Invalid, Refused, RowlockError
from rowlock.list_limits import MAX_ATTEMPTS
from rowlock.model import Item, ListInfo
from rowlock.names import closest
from rowlock.outcomes import Outcome, Verdict
from rowlock.worker import Worker
from rowlock.worker.worker import Until

if TYPE_CHECKING:
    from rowlock.client import Client
    from rowlock.engine import Engine

GRACE = 10
LOOK = 0.3


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
@click.option("--backoff", metavar="WHILE", help="How long to wait after a failure, from first to longest: 1s..10m.")
@click.option("--timeout", metavar="WHILE", help="How long a command may take before it is ended, or a request.")
@click.option("--later", metavar="WHILE", default="30s", show_default=True, help="When exit 75 is tried again.")
@click.option("--batch", type=click.IntRange(1, 10_000), help="So many items to one command.")
@click.option("--shell", is_flag=True, help="The command is a line for /bin/sh.")
@click.option("--keep-output", type=click.Path(file_okay=False, path_type=Path), help="Keep stdout and stderr here.")
@click.option("--http", metavar="URL", help="Send each item there, and read its outcome from the answer.")
@click.option("--header", metavar="NAME: VALUE", multiple=True, help="A header of every request; may be repeated.")
@click.option("--secret-env", metavar="VARIABLE", multiple=True, help="The variable that holds the signing secret.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that requests may go to.")
@click.option("--wait", "--forever", "wait", is_flag=True, help="Go on waiting for new items when all is done.")
@click.option(
    "--expiry", metavar="WHILE", default="15s", show_default=True, help="When others get what a dead one had."
)
@log_option
@click.pass_obj
def work(invocation: Invocation, /, *, name: str, words: tuple[str, ...], log_format: str, **options: Any) -> int:
    """Run a command for each item of a list: like xargs, but it remembers.

    In the command {} is the key, {name} its last part, {stem} that without its ending, {attempt} the number of this
    try, {list} the list; if the key is not named it comes on stdin. Exit 0 is done, 75 is tried later without counting,
    65 has failed at once, any other is one failed attempt. Ctrl-C once lets running commands finish; the same command
    goes on from there.

    Without a command each item is sent by HTTP: to --http URL, or to the processor of the list's settings.
    """
    terminal = Terminal(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=terminal.write)
    runners.check(words, options)
    allow = invocation.allowed_hosts(options["allow_host"])
    with invocation.open() as engine:
        info = engine[name].info()
        _refuse_paused(info, wait=options["wait"])
        if held := held_by_another(info):
            terminal.say(f"{held}; waiting until it is handed over")
        working = WorkRun(engine, info, words, options=options, terminal=terminal, allow=allow)
        with ListProgress(engine[name], terminal, wanted=not invocation.quiet):
            status = working.run(until="stopped" if options["wait"] else "done")
        return working.report(engine[name].info(), status)


def _refuse_paused(info: ListInfo, *, wait: bool) -> None:
    if info.state == "paused" and not wait:
        raise _paused(info.name)


def _paused(name: str) -> Refused:
    return Refused(f"the list {name!r} is paused", f"hand it out again with: rowlock resume {name}")


class WorkRun:
    """One run over a list: what was done, and how it ended."""

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
        self._trouble: OSError | None = None
        self._lock = threading.Lock()
        self._settled: Counter[Verdict] = Counter()
        self._since = time.monotonic()
        self._runner = runners.chosen(
            info, words, options=options, show=terminal.show, trouble=self._give_up, allow=allow
        )
        concurrency = options["concurrency"] or self._runner.at_once
        try:
            self._worker = Worker(engine, concurrency=concurrency, expiry=options["expiry"], grace=GRACE)
            self._worker.after(self._count)
            self._runner.register(self._worker, info.name)
        except RowlockError:
            self._runner.close()
            raise

    def _count(self, _: Item, __: Outcome, verdict: Verdict) -> None:
        with self._lock:
            self._settled[verdict] += 1

    def _give_up(self, error: OSError) -> None:
        # Nobody reads what commands write, or there is no room for it: to go on would lose it.
        self._trouble = self._trouble or error
        self._worker.stop()

    def run(self, *, until: Until) -> int | None:
        """Work; the exit code if a signal ended it."""
        try:
            with StopSignals(self._stop) as stopping:
                self._worker.run(until=until, signals=False)
        finally:
            self._runner.close()
        if self._trouble is not None:
            raise self._trouble
        return stopping.status

    def _stop(self, now: bool) -> None:  # noqa: FBT001
        self._runner.stop(now=now)
        if not now and self._runner.running:
            running = f"{self._runner.running} running finish or go back"
            self._terminal.say(f"stopping: {running} ({GRACE} s; Ctrl-C again stops now)")
        self._worker.stop(now=now)

    def report(self, info: ListInfo, status: int | None) -> int:
        """Say what was done, and what is left to do; the exit code."""
        done, failed, retried = (self._settled[each] for each in (Verdict.DONE, Verdict.FAILED, Verdict.RETRIED))
        took = format_seconds(time.monotonic() - self._since)
        self._terminal.say(f"done {done:,} · failed {failed:,} · retried {retried:,} in {took}")
        if info.counts.failed:
            self._terminal.say(f"{plural(info.counts.failed)} of {info.name} failed; see: rowlock failures {info.name}")
        left = info.counts.total - info.counts.failed
        if status is not None:
            self._terminal.say(f"{plural(left)} left; the same command goes on from here")
            return status
        if left and info.state == "paused":
            raise _paused(info.name)
        if info.counts.gated:
            self._terminal.say(f"{plural(info.counts.gated)} of {info.name} left at a gate that is not open")
        return SOME_FAILED if info.counts.failed else 0


@command("run")
@click.argument("place", metavar="MODULE:WORKER")
@click.option("--reload", "reloads", is_flag=True, help="Begin anew when a .py file below the current folder changes.")
@log_option
@click.pass_obj
def run(invocation: Invocation, /, *, place: str, reloads: bool, log_format: str) -> int:
    """Run the handlers of a worker of yours.

    The module is imported from the current folder; `Engine()` in it uses the database that is configured here,
    `Client()` the server. Goes on until it is told to stop: Ctrl-C once lets running handlers finish, twice stops now.
    """
    values = invocation.values()
    module, colon, name = place.partition(":")
    if not colon or not module or not name:
        raise Invalid(f"{place!r} is not MODULE:WORKER", "write it like: rowlock run app:worker")
    for each in ("database", "server", "token"):
        if each in values:
            os.environ[ENVIRONMENT[each]] = values[each].value
    os.environ["ROWLOCK_LISTEN_URL"] = invocation.listen_url() or ""
    os.environ["ROWLOCK_ALLOW_HOSTS"] = " ".join(invocation.allowed_hosts())
    terminal = Terminal(quiet=invocation.quiet)
    if reloads:
        return Reloader(sys.argv, Path.cwd(), say=terminal.say).run()
    show_logs(invocation, form=log_format, write=terminal.write)
    worker = _worker(module, name)
    terminal.say(f"working with {place}; Ctrl-C stops")

    def stop(now: bool) -> None:  # noqa: FBT001
        if not now:
            terminal.say("stopping: what runs finishes or goes back (Ctrl-C again stops now)")
        worker.stop(now=now)

    with StopSignals(stop) as stopping:
        worker.run(signals=False)
    return stopping.status or 0


def _worker(module: str, name: str) -> Worker:
    sys.path.insert(0, str(Path.cwd()))
    found = _imported(module)
    for part in name.split("."):
        if not hasattr(found, part):
            near = closest(part, vars(found))
            hint = f"did you mean {near!r}?" if near else "name the variable that holds your Worker"
            raise Invalid(f"{module!r} has no {part!r}", hint)
        found = getattr(found, part)
    if not isinstance(found, Worker):
        raise Invalid(f"{module}:{name} is {type(found).__name__}, not a Worker", "name the variable that holds it")
    return found


def _imported(module: str) -> object:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise Invalid(f"there is no module {module!r} here", "run it from the folder that holds it") from None
        raise Invalid(f"{module!r} needs a module {error.name!r}, which is not installed", _where(error)) from None
    except Exception as error:
        raise Invalid(
            f"{module!r} cannot be imported: {type(error).__name__}: {error}".splitlines()[0], _where(error)
        ) from None


def _where(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"in {error.filename}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    return f"in {frames[-1].filename}, line {frames[-1].lineno}" if len(frames) > 1 else ""


class Reloader:
    """Runs a command without its `--reload`, and again whenever a .py file below a folder changes."""

    def __init__(self, arguments: Sequence[str], folder: Path, *, say: Callable[[str], None]) -> None:
        words = [word for word in arguments[1:] if word != "--reload"]
        self._command = [sys.executable, "-m", "rowlock", *words]
        self._folder = folder
        self._say = say
        self._child: subprocess.Popen[bytes] | None = None
        self._told = False

    def run(self) -> int:
        """Until a signal comes; the exit code."""
        with StopSignals(self._stop) as stopping:
            while not self._told:
                seen = stamps(self._folder)
                self._child = subprocess.Popen(self._command, start_new_session=True)  # noqa: S603
                self._watch(self._child, seen)
        return stopping.status or 0

    def _stop(self, _: bool) -> None:  # noqa: FBT001
        # The child counts its signals itself: the second one stops now.
        self._told = True
        if self._child is not None:
            self._child.send_signal(signal.SIGINT)

    def _watch(self, child: "subprocess.Popen[bytes]", seen: dict[str, int]) -> None:
        ended = False
        while not self._told and stamps(self._folder) == seen:
            if not ended and child.poll() is not None:
                ended = True
                self._say("it has ended; waiting for a change")
            time.sleep(LOOK)
        if not self._told:
            self._say("a file has changed: beginning anew")
            child.send_signal(signal.SIGTERM)
        child.wait()


def stamps(folder: Path) -> dict[str, int]:
    """When each .py file below the folder was changed last; hidden folders and virtual environments are left out."""
    return {str(path): time_ns for path in _sources(folder) if (time_ns := _changed(path))}


def _sources(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "__")) and each != "node_modules"]
        yield from (Path(here, file) for file in files if file.endswith(".py"))


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # it went while we looked
        return 0
