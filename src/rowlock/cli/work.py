"""`rowlock work`: run a command, or send a request, for each item of a list; like xargs, but it remembers."""

import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rowlock.bounds import MOST_ATTEMPTS
from rowlock.cli import ways
from rowlock.cli.claiming import held_by_another
from rowlock.cli.exits import SOME_FAILED
from rowlock.cli.invocation import Invocation, command, list_argument
from rowlock.cli.logs import log_option, show_logs
from rowlock.cli.meter import Meter, spoken
from rowlock.cli.output import many
from rowlock.cli.screen import Screen
from rowlock.cli.stopping import Stopping
from rowlock.errors import Refused, RowlockError
from rowlock.model import Item, ListInfo
from rowlock.outcomes import Outcome, Verdict
from rowlock.worker import Worker
from rowlock.worker.worker import Until

if TYPE_CHECKING:
    from rowlock.client import Client
    from rowlock.engine import Engine

GRACE = 10


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
    type=click.IntRange(0, MOST_ATTEMPTS),
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
    screen = Screen(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=screen.write)
    ways.check(words, options)
    allow = invocation.allowed_hosts(options["allow_host"])
    with invocation.open() as engine:
        info = engine[name].info()
        _refuse_paused(info, wait=options["wait"])
        if held := held_by_another(info):
            screen.say(f"{held}; waiting until it is handed over")
        working = Working(engine, info, words, options=options, screen=screen, allow=allow)
        with Meter(engine[name], screen, wanted=not invocation.quiet):
            status = working.run(until="stopped" if options["wait"] else "done")
        return working.report(engine[name].info(), status)


def _refuse_paused(info: ListInfo, *, wait: bool) -> None:
    if info.state == "paused" and not wait:
        raise _paused(info.name)


def _paused(name: str) -> Refused:
    return Refused(f"the list {name!r} is paused", f"hand it out again with: rowlock resume {name}")


class Working:
    """One run over a list: what was done, and how it ended."""

    def __init__(
        self,
        engine: "Engine | Client",
        info: ListInfo,
        words: Sequence[str],
        *,
        options: dict[str, Any],
        screen: Screen,
        allow: Sequence[str],
    ) -> None:
        self._screen = screen
        self._trouble: OSError | None = None
        self._lock = threading.Lock()
        self._settled: Counter[Verdict] = Counter()
        self._since = time.monotonic()
        self._way = ways.chosen(info, words, options=options, show=screen.show, trouble=self._give_up, allow=allow)
        concurrency = options["concurrency"] or self._way.at_once
        try:
            self._worker = Worker(engine, concurrency=concurrency, expiry=options["expiry"], grace=GRACE)
            self._worker.after(self._count)
            self._way.register(self._worker, info.name)
        except RowlockError:
            self._way.close()
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
            self._way.close()
        if self._trouble is not None:
            raise self._trouble
        return stopping.status

    def _stop(self, now: bool) -> None:  # noqa: FBT001
        self._way.stop(now=now)
        if not now and self._way.running:
            running = f"{self._way.running} running finish or go back"
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
