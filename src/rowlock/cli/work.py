"""`rowlock work`: work a list with a command or an HTTP request for each item."""

import shlex
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rowlock.cli import work_handlers
from rowlock.cli.claims import held_by_another
from rowlock.cli.command_output import CommandOutput
from rowlock.cli.invocation import SOME_FAILED, Command, Invocation, every, list_argument, long_options
from rowlock.cli.job_log import JobLog
from rowlock.cli.output import visible, write
from rowlock.cli.progress import ListProgress, Lists, OtherHolders, VerdictCounts, format_seconds
from rowlock.cli.terminal import StopSignals, Terminal, log_option, show_logs
from rowlock.cli.work_handlers import WorkOptions, parse_halt
from rowlock.errors import Refused, RowlockError
from rowlock.model import ListInfo
from rowlock.names import plural
from rowlock.outcomes import Outcome, Verdict
from rowlock.retry_policy import DEFAULT_ATTEMPTS, DEFAULT_BACKOFF
from rowlock.settings import MAX_ATTEMPTS
from rowlock.worker import Worker
from rowlock.worker.exec.placeholders import MissingField, refuse_unknown
from rowlock.worker.worker import Until

if TYPE_CHECKING:
    from rowlock.client import Client
    from rowlock.engine import Engine

GRACE_SECONDS = 10
CONCURRENCY_DEFAULT = "one per core, or 16 requests"
ATTEMPTS_HELP = "How often an item may fail, 0 for no limit."
ATTEMPTS_DEFAULT = f"the list's setting, or {DEFAULT_ATTEMPTS}"
BACKOFF_DEFAULT = f"the list's setting, or {DEFAULT_BACKOFF}"
PATIENT_GRACE = "365d"
"""How long running commands may take after `--halt soon`."""
MAX_EXAMPLES = 100
"""Items in which a field that a placeholder names is looked for before the first command runs."""
EXPIRY_HELP = "Items of a dead worker are free after this."
ORDER_HELP = "Print outputs in the order in which commands began."
HALT_HELP = "End after failures: now,fail=1, soon,fail=20%."
_FOLDER = click.Path(file_okay=False, path_type=Path)
_FILE = click.Path(dir_okay=False, path_type=Path)


class WorkCommand(Command):
    """A command that ends with another program's command: options after that program's name belong to it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `--` before the program's name if it is missing."""
        place = self._program_at(args)
        if place is None:
            return super().parse_args(ctx, args)
        rest = super().parse_args(ctx, [*args[:place], "--", *args[place:]])
        if not ctx.resilient_parsing and not ctx.params["shell"]:
            self._warn_of_option(ctx, args[place:])
        return rest

    def _warn_of_option(self, ctx: click.Context, words: Sequence[str]) -> None:
        """Say that an option after the program's name belongs to the program, if `work` has one of that name."""
        if (option := next((word for word in words if word in long_options(self)), None)) is not None:
            passed = f"{option} is passed to {words[0]}"
            ctx.ensure_object(Invocation).say(
                f"warning: {passed}; put options of work before the command, or -- before it if this is meant"
            )

    def _program_at(self, args: Sequence[str]) -> int | None:
        """Return where the second argument that is no option stands; None after `--`."""
        found, at = 0, 0
        while at < len(args) and args[at] != "--":
            if args[at].startswith("-") and len(args[at]) > 1:
                at += self._takes_next(args[at])
            else:
                found += 1
                if found == 2:
                    return at
            at += 1
        return None

    def _takes_next(self, option: str) -> bool:
        """Return whether the argument after an option is the option's value."""
        valued = {
            name for each in self.params if isinstance(each, click.Option) and not each.is_flag for name in each.opts
        }
        if option.startswith("--"):
            return option in valued
        first = next((at for at, letter in enumerate(option[1:], 1) if f"-{letter}" in valued), None)
        return first == len(option) - 1


@click.command("work", cls=WorkCommand)
@list_argument()
@click.argument("words", metavar="[COMMAND [WORD]...]", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "-j",
    "-P",
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
@click.option("-n", "--batch", type=click.IntRange(1, 10_000), help="Items for each command.")
@click.option("--shell", is_flag=True, help="The command is one word: a line for /bin/sh.")
@click.option("--stdin", is_flag=True, help="The command reads its keys from stdin, one to a line.")
@click.option("--tag", is_flag=True, help="Put the key before each line of output.")
@click.option("-k", "--keep-order", is_flag=True, help=ORDER_HELP)
@click.option("--line-buffer", is_flag=True, help="Print lines as commands write them.")
@click.option("--keep-output", type=_FOLDER, help="Keep stdout and stderr here.")
@click.option("--joblog", type=_FILE, help="Append a line for each command to this file.")
@click.option("--halt", metavar="WHEN,fail=N", help=HALT_HELP)
@click.option("--delay", metavar="DURATION", help="Time between the starts of two commands.")
@click.option("--load", metavar="N|N%", help="Start none while the load average is that high.")
@click.option("--memfree", metavar="SIZE", help="Start none while less memory is free: 500M, 2G.")
@click.option("--nice", type=click.IntRange(0, 19), default=0, help="Run commands with this niceness.")
@click.option("--dry-run", is_flag=True, help="Print the commands for the ready items, and run none.")
@click.option("--http", metavar="URL", help="Send each item there, and read its outcome from the answer.")
@click.option("--header", metavar="NAME: VALUE", multiple=True, help="A header of every request; repeatable.")
@click.option("--secret-env", metavar="VARIABLE", multiple=True, help="The variable that holds the signing secret.")
@click.option("--allow-host", metavar="HOST", multiple=True, help="A private host that requests may go to.")
@click.option("--wait", "--forever", "wait", is_flag=True, help="Wait for new items when all are done.")
@click.option("--expiry", metavar="DURATION", default="15s", show_default=True, help=EXPIRY_HELP)
@log_option
def work(invocation: Invocation, /, *, name: str, log_format: str, **given: Any) -> int:
    """Run a command for each item of a list: like xargs, but it remembers.

    LIST may be a pattern with *, for all lists whose names match. The key is the command's last word, or stands where
    {} is. {name} is its last part, {stem} that without its suffix; {.} {/} {//} {/.} {#} {%} are as in GNU parallel;
    {attempt} is the number of this attempt, {list} the list, {data.FIELD} or {FIELD} a field of the item's data; {{}}
    is {} itself. Exit code 0 is done, 75 is tried later without counting, 65 has failed for good, any other is one
    failed attempt. Ctrl-C once lets running commands finish; the same command continues from there.

    Options stand before the command: what follows its first word belongs to it.

    Without a command each item is sent by HTTP: to --http URL, or to the processor of the list's settings.
    """
    options = WorkOptions(**given)
    terminal = Terminal(quiet=invocation.quiet)
    show_logs(invocation, form=log_format, write=terminal.write)
    options.check()
    allow = invocation.allowed_hosts(options.allow_host)
    with invocation.open() as engine:
        lists = Lists(engine, name)
        _check_lists(engine, lists, options, terminal)
        if options.dry_run:
            return _print_commands(engine, lists.names, options)
        run = WorkRun(engine, lists, options, terminal=terminal, allow=allow)
        with ListProgress(engine, lists, terminal, wanted=not invocation.quiet):
            status = run.run(until="stopped" if options.wait else "done")
        return run.report(lists.infos(), status)


def _check_lists(engine: "Engine | Client", lists: Lists, options: WorkOptions, terminal: Terminal) -> None:
    """Refuse paused lists and unknown placeholders, and say for whom the lists wait."""
    infos = lists.infos()
    if not options.wait and all(info.state == "paused" for info in infos):
        raise _paused(infos[0].name)
    for held in filter(None, map(held_by_another, infos)):
        terminal.say(f"{held}; waiting until it is handed over")
    fields = options.template().fields if options.words else set()
    if fields:
        refuse_unknown(fields, [item for name in lists.names for item in engine[name].page(limit=MAX_EXAMPLES)])
    try:
        waits = OtherHolders(engine).sentence(lists.info().counts)
    except RowlockError:  # a token may read its list alone
        waits = ""
    if waits:
        terminal.say(waits)


def _paused(name: str) -> Refused:
    return Refused(f"the list {name!r} is paused", f"resume it with: rowlock resume {name}")


def _print_commands(engine: "Engine | Client", names: Sequence[str], options: WorkOptions) -> int:
    template, number = options.template(), 0
    for name in names:
        ready = every(lambda name=name, **where: engine[name].page(state="ready", **where), by="key")
        while items := list(islice(ready, options.batch or 1)):
            number += 1
            try:
                words = shlex.join(template.filled(items, number=number))
            except MissingField as error:
                words = f"# {error}"
            write(f"{visible(items[0].key)}\t{words}\n" if options.tag else f"{words}\n")
    return 0


class WorkRun:
    """One run of `rowlock work` over lists, with the numbers of its outcomes."""

    def __init__(
        self,
        engine: "Engine | Client",
        lists: Lists,
        options: WorkOptions,
        *,
        terminal: Terminal,
        allow: Sequence[str],
    ) -> None:
        self._terminal = terminal
        self._output_error: OSError | None = None
        self._started = time.monotonic()
        self._halt, self._halted = parse_halt(options.halt), False
        self._job_log = None if options.joblog is None else JobLog(options.joblog)
        style = {"tag": options.tag, "keep_order": options.keep_order, "line_buffer": options.line_buffer}
        listener = CommandOutput(terminal, count=self._count, job_log=self._job_log, **style)
        self._runner = work_handlers.choose(
            lists.infos(), options, listener=listener, on_error=self._stop_for_output, allow=allow
        )
        concurrency = options.concurrency or self._runner.default_concurrency
        self._worker = Worker(engine, concurrency=concurrency, expiry=options.expiry, grace=GRACE_SECONDS)
        self._counts = VerdictCounts(self._worker)
        if (job_log := self._job_log) is not None:
            self._worker.after(lambda item, _, verdict: job_log.settled(item, verdict))
        self._runner.register(self._worker, lists.pattern)

    def _count(self, outcome: Outcome) -> None:
        if not self._halt.reached(outcome):
            return
        self._halted = True
        self._terminal.say(f"halted: {self._halt}")
        self._runner.stop()
        self._worker.stop(now=self._halt.at_once, grace=PATIENT_GRACE)

    def _stop_for_output(self, error: OSError) -> None:
        # The output of commands cannot be written: to go on would lose it.
        self._output_error = self._output_error or error
        self._runner.stop()
        self._worker.stop()

    def run(self, *, until: Until) -> int | None:
        """Work, and return the exit code if a signal ended it."""
        try:
            with StopSignals(self._stop) as signals:
                self._worker.run(until=until, signals=False)
        finally:
            if self._job_log is not None:
                self._job_log.close()
        if self._output_error is not None:
            raise self._output_error
        return signals.status or (SOME_FAILED if self._halted else None)

    def _stop(self, now: bool) -> None:  # noqa: FBT001
        self._runner.stop()
        if not now and self._runner.running:
            running = f"{self._runner.running} running finish or go back"
            self._terminal.say(f"stopping: {running} ({GRACE_SECONDS} s; Ctrl-C again stops now)")
        self._worker.stop(now=now)

    def report(self, infos: Sequence[ListInfo], status: int | None) -> int:
        """Print what was done and what is left, and return the exit code."""
        self._terminal.say(f"{self._counts.summary()} in {format_seconds(time.monotonic() - self._started)}")
        for info in infos:
            if info.counts.failed:
                count = plural(info.counts.failed)
                is_new = self._counts[Verdict.FAILED]
                failed = f"{count} of {info.name} failed" if is_new else f"{info.name} still has {count} that failed"
                self._terminal.say(f"{failed}; see: rowlock failures {info.name}")
        if status is not None:
            left = sum(info.counts.total - info.counts.failed for info in infos)
            self._terminal.say(
                f"{plural(left)} left; the same command continues from here" if left else "nothing is left"
            )
            return status
        for info in infos:
            self._report_left(info)
        return SOME_FAILED if any(info.counts.failed for info in infos) else 0

    def _report_left(self, info: ListInfo) -> None:
        left = info.counts.total - info.counts.failed
        if left and info.state == "paused":
            raise _paused(info.name)
        if left and info.state == "complete":
            reopen = f"reopen it with: rowlock reopen {info.name}"
            self._terminal.say(f"{plural(left)} of {info.name} left: the list is complete; {reopen}")
        elif info.counts.gated:
            self._terminal.say(f"{plural(info.counts.gated)} of {info.name} left at a gate that is not open")
