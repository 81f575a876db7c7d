"""`rowlock work`: run a command for each item of a list; like xargs, but it remembers."""

import os
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import click

from rowlock.cli.exits import SOME_FAILED
from rowlock.cli.invocation import Invocation, command, list_argument
from rowlock.cli.logs import log_option, show_logs
from rowlock.cli.meter import Meter, spoken
from rowlock.cli.output import many
from rowlock.cli.screen import Screen
from rowlock.cli.stopping import Stopping
from rowlock.engine import Engine
from rowlock.errors import Invalid, Refused, RowlockError
from rowlock.model import Item, ListInfo
from rowlock.outcomes import Outcome, Verdict
from rowlock.worker import Worker
from rowlock.worker.commands import Commands, check_program
from rowlock.worker.outputs import Outputs
from rowlock.worker.templates import Template
from rowlock.worker.worker import Until

GRACE = 10


@command("work")
@list_argument()
@click.argument("words", metavar="-- COMMAND [WORD]...", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-j", "--jobs", "concurrency", type=click.IntRange(1, 10_000), help="How many run at once; else one per core."
)
@click.option("--attempts", type=click.IntRange(min=1), help="How often an item may fail; else the list's setting.")
@click.option("--backoff", metavar="WHILE", help="How long to wait after a failure, from first to longest: 1s..10m.")
@click.option("--timeout", metavar="WHILE", help="How long a command may take before it is ended with all it started.")
@click.option("--later", metavar="WHILE", default="30s", show_default=True, help="When exit 75 is tried again.")
@click.option("--batch", type=click.IntRange(1, 10_000), help="So many items to one command.")
@click.option("--shell", is_flag=True, help="The command is a line for /bin/sh.")
@click.option("--keep-output", type=click.Path(file_okay=False, path_type=Path), help="Keep stdout and stderr here.")
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
    """
    screen = Screen(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=screen.write)
    template = Template(words, shell=options["shell"], batch=options["batch"] is not None)
    check_program(template)
    with invocation.open() as engine:
        _refuse_paused(engine[name].info(), wait=options["wait"])
        working = Working(engine, name, template, options=options, screen=screen)
        with Meter(engine[name], screen, wanted=not invocation.quiet):
            status = working.run(until="stopped" if options["wait"] else "done")
        return working.report(engine[name].info(), status)


def _refuse_paused(info: ListInfo, *, wait: bool) -> None:
    if info.state == "paused" and not wait:
        raise _paused(info.name)


def _paused(name: str) -> Refused:
    return Refused(f"the list {name!r} is paused", f"hand it out again with: rowlock resume {name}")


class Working:
    """One run of a command over a list: what was done, and how it ended."""

    def __init__(
        self, engine: Engine, name: str, template: Template, *, options: dict[str, Any], screen: Screen
    ) -> None:
        self._screen = screen
        self._trouble: OSError | None = None
        self._lock = threading.Lock()
        self._settled: Counter[Verdict] = Counter()
        self._since = time.monotonic()
        concurrency = options["concurrency"] or len(os.sched_getaffinity(0))
        self._worker = Worker(engine, concurrency=concurrency, expiry=options["expiry"], grace=GRACE)
        self._worker.after(self._count)
        self._commands = Commands(
            template,
            show=screen.show,
            trouble=self._give_up,
            timeout=options["timeout"],
            later=options["later"],
            outputs=Outputs(_folder(options["keep_output"])),
        )
        handle = self._commands.handle_batch if template.batch else self._commands.handle
        terms = {term: options[term] for term in ("attempts", "backoff", "batch")}
        try:
            self._worker.on(name, handle, **terms)
        except RowlockError:
            self._commands.close()
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
            with Stopping(self._stop) as stopping:
                self._worker.run(until=until, signals=False)
        finally:
            self._commands.close()
        if self._trouble is not None:
            raise self._trouble
        return stopping.status

    def _stop(self, now: bool) -> None:  # noqa: FBT001
        self._commands.expect_interrupts()
        if now:
            self._commands.stop()
        elif self._commands.running:
            running = f"{self._commands.running} running finish or go back"
            self._screen.say(f"stopping: {running} ({GRACE} s; Ctrl-C again stops now)")
        self._worker.stop(now=now)

    def report(self, info: ListInfo, status: int | None) -> int:
        """Say what was done, and what is left to do; the exit code."""
        done, failed, retried = (self._settled[each] for each in (Verdict.DONE, Verdict.FAILED, Verdict.RETRIED))
        took = spoken(time.monotonic() - self._since)
        self._screen.say(f"done {done:,} · failed {failed:,} · retried {retried:,} in {took}")
        if info.counts.failed:
            self._screen.say(f"{many(info.counts.failed)} of {info.name} failed; see: rowlock failures {info.name}")
        left = info.counts.total - info.counts.failed
        if status is not None:
            self._screen.say(f"{many(left)} left; the same command goes on from here")
            return status
        if left and info.state == "paused":
            raise _paused(info.name)
        if info.counts.gated:
            self._screen.say(f"{many(info.counts.gated)} of {info.name} left at a gate that is not open")
        return SOME_FAILED if info.counts.failed else 0


def _folder(path: Path | None) -> Path | None:
    if path is not None:
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Invalid(f"outputs cannot be kept in {str(path)!r}: {(error.strerror or '').lower()}") from None
    return path
