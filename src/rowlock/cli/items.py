"""`rowlock add`, `show`, `save`, and `done`, `increment`, `retry`, `abandon`: items by their keys."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import click

from rowlock import tracing
from rowlock.cli import output
from rowlock.cli.input import (
    STDIN,
    InputFormat,
    batches,
    checked_arguments,
    confirm,
    due_value,
    first_of,
    gate_value,
    json_value,
    keys_from,
    nothing_to_read,
    read_entries,
)
from rowlock.cli.invocation import (
    Invocation,
    command,
    json_option,
    list_argument,
    show_help,
    version_option,
    yes_option,
)
from rowlock.cli.output import FAILURE_COLUMNS
from rowlock.cli.progress import AddProgress
from rowlock.cli.terminal import Terminal
from rowlock.engine import List
from rowlock.errors import Invalid, NotFound, RowlockError
from rowlock.item_input import Entry
from rowlock.model import DEFAULT_PRIORITY, Added, Item, ItemDetails, State
from rowlock.names import plural

# Commands run by the program that sets this variable belong to its trace.
TRACE_VARIABLE = "TRACEPARENT"
# Changes that the audit records; done and increment are the daily work of workers.
AUDITED_VERBS = ("retry", "abandon")

ONCE_HELP = "Turn on the list's setting once: from now on no add takes a key that was done."

keys_argument = click.argument("keys", metavar="[KEY]...|-", nargs=-1)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print what would happen, and change nothing.")


@command("add")
@list_argument()
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("-f", "--file", "files", multiple=True, metavar="FILE", help="Read keys from a file; - is stdin.")
@click.option(
    "--csv",
    metavar="[COLUMN]",
    is_flag=False,
    flag_value="",
    help="Files are CSV; the keys are in COLUMN, or the first.",
)
@click.option(
    "--header/--no-header", default=None, help="Whether CSV has headings; by default unless COLUMN is a number."
)
@click.option("--numbers", is_flag=True, help="Cells of CSV that are numbers become numbers; all are text otherwise.")
@click.option("--ndjson", is_flag=True, help="Each line is a JSON string or object: key, data, due, gate, priority.")
@click.option("-0", "--null", is_flag=True, help="Keys end with NUL, as from find -print0.")
@click.option("--data", metavar="JSON", help="The data of every item.")
@click.option("--due", metavar="TIME", help="Not ready before: 90s, 5m, 1h30m, or 2030-01-31T12:00Z.")
@click.option("--gate", metavar="N|NAME", show_default="the open one", help="The gate that the items wait at.")
@click.option("--priority", type=int, default=DEFAULT_PRIORITY, show_default=True, help="0 is handed out first.")
@click.option("--once", is_flag=True, help=ONCE_HELP)
@click.option("--strict", is_flag=True, help="Add nothing if a key exists already, or is given twice.")
@click.option("--stream", is_flag=True, help="Commit as lines arrive: every 1,000, and every second.")
@json_option
def add(invocation: Invocation, /, *, name: str, keys: tuple[str, ...], **options: Any) -> int:
    """Add items to a list: all of them, or none if one is invalid.

    Keys come from the arguments, from files, or one on each line of standard input. Items that exist already stay as
    they are, and are counted as existing.
    """
    if nothing_to_read(keys, options["files"]):
        return show_help()
    progress = AddProgress(Terminal(quiet=invocation.quiet), wanted=not invocation.quiet)
    with invocation.open(create=True) as engine, progress:
        added = _add_given(engine[name], keys, options, progress)
    if added is None:
        invocation.say("no keys were given: nothing was added")
        added = Added(0, 0)
    sentence = f"added {plural(added.added)} to {name}"
    for count, what in ((added.existing, "there already"), (added.done_before, "done already")):
        sentence += f"; {count:,} {'was' if count == 1 else 'were'} {what}" if count else ""
    output.result(invocation, added, sentence=sentence)
    return 0


def _add_given(to: List, keys: tuple[str, ...], options: dict[str, Any], progress: AddProgress) -> Added | None:
    """Add the keys of the arguments, or the entries of files; None, and no list is made, if there are none."""
    shared = _shared_fields(options)
    form = InputFormat(**{name: options[name] for name in ("csv", "header", "ndjson", "null", "numbers")})
    if keys and keys != (STDIN,):
        if options["files"]:
            raise Invalid("keys must be given as arguments or by -f, got both", "give them one way")
        entries: Iterator[Entry] | None = iter(checked_arguments(keys))
    else:
        entries = first_of(read_entries(options["files"], form, report=progress.read))
    if entries is None:
        return None
    if options["once"]:
        _remember_done(to)
    return _add_stream(to, entries, shared) if options["stream"] else to.add(entries, **shared, report=progress.wrote)


def _remember_done(of: List) -> None:
    try:
        remembers = of.settings().once
    except NotFound:
        remembers = False
    if not remembers:
        of.settings(once=True)


def _shared_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Return what all items of one add have in common, as arguments of `List.add`."""
    return {
        "data": json_value(options["data"]),
        "due": due_value(options["due"]) if options["due"] else None,
        "gate": gate_value(options["gate"]),
        "priority": options["priority"],
        "strict": options["strict"],
        "trace": tracing.parse_traceparent(os.environ.get(TRACE_VARIABLE)),
    }


def _add_stream(to: List, entries: Iterator[Entry], shared: dict[str, Any]) -> Added:
    """Add entries in batches as they arrive; an invalid line ends it, and the batches before it stay added."""
    total = Added(0, 0)
    try:
        for batch in batches(entries):
            total = total.plus(to.add(batch, **shared))
    except RowlockError as error:
        so_far = f"{total.added + total.existing:,} before it are on the list"
        raise type(error)(error.what, f"{error.hint}; {so_far}" if error.hint else so_far, **error.fields) from None
    return total


@command("show")
@list_argument()
@click.argument("key")
@json_option
def show(invocation: Invocation, *, name: str, key: str) -> None:
    """Show one item: its state, its data, its failures, and the traceback of the last one."""
    with invocation.open() as engine:
        item, failures = engine[name].show(key), engine[name].failures(key)
    if invocation.as_json:
        output.document(ItemDetails.of(item, failures))
        return
    if not output.on_terminal():
        rows = [[column.of(failure) for column in FAILURE_COLUMNS] for failure in failures]
        raised = [("traceback", output.format_json(each.traceback)) for each in failures if each.traceback]
        output.lines([*_fields(item).items(), *(("failure", *row) for row in rows), *raised])
        return
    for field, value in (_fields(item) | {"state": f"{item.state.icon} {item.state}"}).items():
        if value is not None:
            output.write(f"{field.replace('_', ' '):<10} {output.visible(output.format_value(value))}\n")
    if failures:
        output.write("\n")
        output.write_table(failures, FAILURE_COLUMNS)
    for failure in failures:
        output.write_traceback(f"attempt {failure.attempt}", failure.traceback)


def _fields(item: Item) -> dict[str, Any]:
    always = {name: getattr(item, name) for name in ("key", "list", "state", "attempts")}
    optional = {name: getattr(item, name) for name in ("gate", "priority", "due", "failed_at", "version", "trace")}
    known = {name: value for name, value in optional.items() if value is not None}
    return {**always, **known, "data": item.raw_data}


@command("save")
@list_argument()
@click.argument("key")
@click.option("--data", metavar="JSON", help="The new data; null removes it.")
@click.option("--due", metavar="TIME", help="Not ready before: 90s, 1h30m, 2030-01-31T12:00Z; 0s is at once.")
@click.option("--priority", type=int, metavar="N", help="0 is handed out first.")
@version_option
@json_option
def save(invocation: Invocation, /, *, name: str, key: str, version: int | None, **given: Any) -> None:
    """Change an item's data, due time or priority, and leave the rest.

    With --version only if nobody has changed it since `rowlock show` printed that version. An item that a worker holds
    is refused; one that is gone is not added again.
    """
    read: dict[str, Callable[[Any], Any]] = {"data": json_value, "due": due_value, "priority": int}
    changes = {option: read[option](value) for option, value in given.items() if value is not None}
    with invocation.open() as engine, invocation.acting():
        item = engine[name].save(key, version=version, **changes)
    sentence = f"saved {key} of {name}: version {item.version}"
    output.result(invocation, {"version": item.version}, sentence=sentence, value=item)


def filter_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Declare the options that name all items that match, instead of keys."""
    for option in (
        click.option("--gate", type=int, metavar="N", help="Items of this gate."),
        click.option("--attempts", type=int, metavar="N", help="Items with at least N failed attempts."),
        click.option("--prefix", metavar="TEXT", help="Items whose key begins with TEXT."),
        click.option(
            "--error", metavar="TEXT", help="Items whose last error contains TEXT; failed ones, if no --state."
        ),
        click.option("--state", type=click.Choice([state.value for state in State]), help="Items in this state."),
        click.option("--failed", is_flag=True, help="An alias of --state failed."),
    ):
        function = option(function)
    return function


@command("done")
@list_argument()
@keys_argument
@filter_options
@dry_run_option
@json_option
def done(invocation: Invocation, /, *, name: str, keys: tuple[str, ...], dry_run: bool, **given: Any) -> int:
    """Take items that are done off their list."""
    if where := _where(keys, **given):
        return _change_matching(invocation, name, where, List.done_matching, "done", dry_run=dry_run)
    return _change(invocation, name, keys, List.done, "done", dry_run=dry_run)


@command("forget")
@list_argument()
@keys_argument
@click.option("--older", metavar="DURATION", help="All keys that were done at least so long ago; 0s is all.")
@json_option
def forget(invocation: Invocation, *, name: str, keys: tuple[str, ...], older: str | None) -> int:
    """Forget that keys were done, so that they can be added again.

    A list with the setting `once` remembers them; `rowlock status` tells how many.
    """
    if older is None and nothing_to_read(keys):
        return show_help()
    if older is not None and keys:
        raise Invalid("keys cannot be combined with --older", "give one of them")
    with invocation.open() as engine, invocation.acting():
        given = None if older is not None else list(dict.fromkeys(keys_from(keys)))
        forgotten = engine[name].forget(given, older=older)
    sentence = f"forgot {plural(forgotten, 'key')} of {name}"
    output.result(invocation, {"forgotten": forgotten}, sentence=sentence)
    return 0


@command("increment")
@list_argument()
@keys_argument
@click.option("--error", metavar="TEXT", help="The error message to store with each item.")
@json_option
def increment(invocation: Invocation, *, name: str, keys: tuple[str, ...], error: str | None) -> int:
    """Count one failed attempt for each item."""
    return _change(invocation, name, keys, partial(List.increment, error=error), "incremented")


@command("retry")
@list_argument()
@keys_argument
@filter_options
@dry_run_option
@json_option
def retry(invocation: Invocation, /, *, name: str, keys: tuple[str, ...], dry_run: bool, **given: Any) -> int:
    """Make failed and delayed items ready at once.

    Their count of attempts starts at 0 again.
    """
    if where := _where(keys, **given):
        return _change_matching(invocation, name, where, List.retry_matching, "retried", dry_run=dry_run)
    return _change(invocation, name, keys, List.retry, "retried", dry_run=dry_run)


@command("abandon")
@list_argument()
@keys_argument
@filter_options
@dry_run_option
@yes_option
@json_option
def abandon(
    invocation: Invocation, /, *, name: str, keys: tuple[str, ...], dry_run: bool, yes: bool, **given: Any
) -> int:
    """Take items off their list undone."""
    where = _where(keys, **given)
    if where is None:
        return _change(invocation, name, keys, List.abandon, "abandoned", dry_run=dry_run)
    if not yes and not dry_run:
        conditions = ", ".join(f"{condition} {value!r}" for condition, value in where.items())
        confirm(f"Abandon all items of {name!r} that match: {conditions}?")
    return _change_matching(invocation, name, where, List.abandon_matching, "abandoned", dry_run=dry_run)


def _where(keys: tuple[str, ...], *, failed: bool, **given: Any) -> dict[str, Any] | None:
    """Return the conditions of a filter; None if there are none."""
    where = {condition: value for condition, value in given.items() if value is not None}
    if failed or "error" in where:
        where.setdefault("state", "failed")
    if where and keys:
        raise Invalid("keys cannot be combined with options that name all items that match", "give one of them")
    if where.get("error") == "":
        raise Invalid("--error must not be empty", "give a part of the message, or --failed for all")
    return where or None


def _change(
    invocation: Invocation,
    name: str,
    arguments: Sequence[str],
    change: Callable[..., int],
    word: str,
    *,
    dry_run: bool = False,
) -> int:
    if nothing_to_read(arguments):
        return show_help()
    with invocation.open() as engine:
        keys = list(dict.fromkeys(keys_from(arguments)))
        if not keys:
            invocation.say("no keys were given on standard input")
        with _audited(invocation, dry_run=dry_run):
            changed = change(engine[name], keys, **({"dry_run": True} if dry_run else {}))
        if not changed:
            engine[name].info()  # keys that are absent are no error, but a list that does not exist is
    missing = len(keys) - changed
    unchanged = "missing or ready already" if word == "retried" else "missing"
    more = f"; {missing:,} {unchanged}" if missing else ""
    return _report(invocation, name, {word: changed, "missing": missing}, more, dry_run=dry_run)


def _change_matching(
    invocation: Invocation, name: str, where: dict[str, Any], change: Callable[..., int], word: str, *, dry_run: bool
) -> int:
    with invocation.open() as engine, _audited(invocation, dry_run=dry_run):
        changed = change(engine[name], **where, dry_run=dry_run)
    return _report(invocation, name, {word: changed}, dry_run=dry_run)


def _audited(invocation: Invocation, *, dry_run: bool) -> AbstractContextManager[None]:
    verb = click.get_current_context().command.name
    return invocation.acting(f"items.{verb}", wanted=verb in AUDITED_VERBS and not dry_run)


def _report(invocation: Invocation, name: str, counts: dict[str, int], more: str = "", *, dry_run: bool) -> int:
    word, count = next(iter(counts.items()))
    sentence = f"{'would be ' if dry_run else ''}{word}: {plural(count)} of {name}{more}"
    output.result(invocation, {**counts, **({"dry_run": 1} if dry_run else {})}, sentence=sentence)
    return 0
