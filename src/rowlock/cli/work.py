"""`rowlock work`: work a list with a command or an HTTP request for each item."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rowlock.cli import work_handlers
from rowlock.cli.claims import held_by_another
from rowlock.cli.invocation import SOME_FAILED, Invocation, command, list_argument
from rowlock.cli.output import plural
from rowlock.cli.progress import ListProgress, VerdictCounts, format_seconds
from rowlock.cli.terminal import StopSignals, Terminal, log_option, show_logs
from rowlock.cli.work_handlers import WorkOptions
from rowlock.errors import Refused, RowlockError
from rowlock.model import ListInfo
from rowlock.retry_policy import DEFAULT_ATTEMPTS, DEFAULT_BACKOFF
from rowlock.settings import MAX_ATTEMPTS
from rowlock.worker import Worker
from rowlock.worker.worker import Until

if TYPE_CHECKING:
    from rowlock.client import Client
    from rowlock.engine import Engine

GRACE_SECONDS = 10
CONCURRENCY_DEFAULT = "one per core, or 16 requests"
ATTEMPTS_HELP = "How often an item may fail, 0 for no limit."
ATTEMPTS_DEFAULT = f"the list's setting, or {DEFAULT_ATTEMPTS}"
BACKOFF_DEFAULT = f"the list's setting, or {DEFAULT_BACKOFF}"
EXPIRY_HELP = "Items of a dead worker are free after this."


@command("work")
@list_argument()
@click.argument("words", metavar="[-- COMMAND [WORD]...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-j",
    "--jobs",
    "concurrency",
    type=click.IntRange(1, 10_000),
    show_default=CONCURRENCY_DEFAULT,
    help="How many run at once.",
)
@click.option("--attempts", type=click.IntRange(0, MAX_ATTEMPTS), show_default=ATTEMPTS_DEFAULT, help=ATTEMPTS_HELP)
@click.option(
    "--backoff",
    metavar="FROM..TO",
    show_default=BACKOFF_DEFAULT,
    help="The first and longest wait after a failure.",
)
@click.option(
    "--timeout", metavar="DURATION", show_default="none; 30s for a request", help="How long one item may take."
)
@click.option("--later", metavar="DURATION", default="30s", show_default=True, help="Wait after exit code 75.")
@click.option("--batch", type=click.IntRange(1, 10_000), help="Items for each command.")
@click.option("--shell", is_flag=True, help="The command is a line for /bin/sh.")
@click.option("--keep-output", type=click.Path(file_okay=False, path_type=Path), help="Keep stdout and stderr here.")
@click.option("--http", metavar="URL", help="Send each item there, and read its outcome from the answer.")
@click.option("--header", metavar="NAME: VALUE", multiple=True, help="A header of every request; repeatable.")
@click.option("--secret-env", metavar="VARIABLE", multiple=True, help="The variable that holds the signing secret.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that requests may go to.")
@click.option("--wait", "--forever", "wait", is_flag=True, help="Wait for new items when all are done.")
@click.option("--expiry", metavar="DURATION", default="15s", show_default=True, help=EXPIRY_HELP)
@log_option
def work(invocation: Invocation, /, *, name: str, log_format: str, **given: Any) -> int:
    """Run a command for each item of a list: like xargs, but it remembers.

    In the command {} is the key, {name} its last part, {stem} that without its suffix, {attempt} the number of this
    attempt, {list} the list; without the key in it, the command reads the key from stdin. Exit code 0 is done, 75 is
    tried later without counting, 65 has failed for good, any other is one failed attempt. Ctrl-C once lets running
    commands finish; the same command continues from there.

    Without a command each item is sent by HTTP: to --http URL, or to the processor of the list's settings.
    """
    options = WorkOptions(**given)
    terminal = Terminal(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=terminal.write)
    options.check()
    allow = invocation.allowed_hosts(options.allow_host)
    with invocation.open() as engine:
        info = engine[name].info()
        if info.state == "paused" and not options.wait:
            raise _paused(name)
        if held := held_by_another(info):
            terminal.say(f"{held}; waiting until it is handed over")
        run = WorkRun(engine, info, options, terminal=terminal, allow=allow)
        with ListProgress(engine[name], terminal, wanted=not invocation.quiet):
            status = run.run(until="stopped" if options.wait else "done")
        return run.report(engine[name].info(), status)


def _paused(name: str) -> Refused:
    return Refused(f"the list {name!r} is paused", f"resume it with: rowlock resume {name}")


class WorkRun:
    """One run of `rowlock work` over a list, with the numbers of its outcomes."""

    def __init__(
        self,
        engine: "Engine | Client",
        info: ListInfo,
        options: WorkOptions,
        *,
        terminal: Terminal,
        allow: Sequence[str],
    ) -> None:
        self._terminal = terminal
        self._output_error: OSError | None = None
        self._started = time.monotonic()
        self._runner = work_handlers.choose(
            info, options, show=terminal.show, on_error=self._stop_for_output, allow=allow
        )
        concurrency = options.concurrency or self._runner.default_concurrency
        try:
            self._worker = Worker(engine, concurrency=concurrency, expiry=options.expiry, grace=GRACE_SECONDS)
            self._counts = VerdictCounts(self._worker)
            self._runner.register(self._worker, info.name)
        except RowlockError:
            self._runner.close()
            raise

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
        self._terminal.say(f"{self._counts.summary()} in {format_seconds(time.monotonic() - self._started)}")
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
