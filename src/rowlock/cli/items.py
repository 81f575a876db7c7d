"""`rowlock add`, `show` and `save`: items one by one, or from arguments, files and pipes."""

import os
from collections.abc import Callable
from datetime import datetime
from typing import Any

import click
import msgspec

from rowlock import tracing
from rowlock.cli import output
from rowlock.cli.input import (
    STDIN,
    InputFiles,
    InputFormat,
    batches,
    gate_value,
    json_value,
    nothing_to_read,
    time_value,
)
from rowlock.cli.invocation import Invocation, command, json_option, list_argument, on_terminal, version_option
from rowlock.cli.progress import AddProgress, Terminal
from rowlock.engine import List
from rowlock.errors import Invalid, RowlockError
from rowlock.model import DEFAULT_PRIORITY, Added, Failure, Item, ItemDetails

# Commands run by the program that sets this variable belong to its trace.
TRACE_VARIABLE = "TRACEPARENT"


@command("add")
@list_argument()
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("-f", "--file", "files", multiple=True, metavar="FILE", help="Read keys from a file; - is stdin.")
@click.option("--csv", metavar="COLUMN", help="Files are CSV: the column's name, or number if there are no headings.")
@click.option("--ndjson", is_flag=True, help="Each line is a JSON string or object: key, data, due, gate, priority.")
@click.option("-0", "--null", is_flag=True, help="Keys end with NUL, as from find -print0.")
@click.option("--data", metavar="JSON", help="The data of every item.")
@click.option("--due", metavar="TIME", help="Not ready before: 90s, 5m, 1h30m, or 2030-01-31T12:00Z.")
@click.option("--gate", metavar="N|NAME", help="The gate that the items wait at.")
@click.option("--priority", type=int, default=DEFAULT_PRIORITY, show_default=True, help="0 is handed out first.")
@click.option("--strict", is_flag=True, help="Add nothing if a key exists already, or is given twice.")
@click.option("--stream", is_flag=True, help="Commit as lines arrive: every 1,000, and every second.")
@json_option
@click.pass_context
def add(context: click.Context, /, *, name: str, keys: tuple[str, ...], **options: Any) -> int:
    """Add items to a list: all of them, or none if one is invalid.

    Keys come from the arguments, from files, or one on each line of standard input. Items that exist already stay as
    they are, and are counted as existing.
    """
    if nothing_to_read(keys, options["files"]):
        click.echo(context.get_help(), err=True)
        return 2
    invocation: Invocation = context.obj
    progress = AddProgress(Terminal(quiet=invocation.quiet), wanted=not invocation.quiet)
    with invocation.open(create=True) as engine, progress:
        shared = {
            "data": json_value(options["data"]),
            "due": time_value(options["due"]) if options["due"] else None,
            "gate": gate_value(options["gate"]),
            "priority": options["priority"],
            "strict": options["strict"],
            "trace": tracing.parse_traceparent(os.environ.get(TRACE_VARIABLE)),
        }
        into, files = engine[name], _files(keys, options, progress)
        if files is None:
            added = into.add(keys, **shared)
        elif options["stream"]:
            added = _add_stream(into, files, shared)
        else:
            added = _add_files(into, files, shared, progress)
    _report_added(invocation, name, added, as_json=options["as_json"])
    return 0


def _files(keys: tuple[str, ...], options: dict[str, Any], progress: AddProgress) -> InputFiles | None:
    form = InputFormat(options["csv"], options["ndjson"], options["null"])
    if sum((form.csv is not None, form.ndjson, form.null)) > 1:
        raise Invalid("--csv, --ndjson and -0 exclude each other", "give one of them")
    stdin = not keys or keys == (STDIN,)
    if not stdin and options["files"]:
        raise Invalid("keys must be given as arguments or by -f, got both", "give them one way")
    return InputFiles(options["files"], form, report=progress.read) if stdin else None


def _add_files(to: List, files: InputFiles, shared: dict[str, Any], progress: AddProgress) -> Added:
    try:
        return to.add(files.entries(), **shared, report=progress.wrote)
    except Invalid as error:
        raise files.with_line_in_file(error) from None


def _add_stream(to: List, files: InputFiles, shared: dict[str, Any]) -> Added:
    """Add lines in batches as they arrive; an invalid line ends it, and the batches before it stay added."""
    added = existing = 0
    try:
        for batch in batches(files):
            landed = to.add(batch, **shared)
            added, existing = added + landed.added, existing + landed.existing
    except RowlockError as error:
        so_far = f"{added + existing:,} before it are on the list"
        raise type(error)(error.what, f"{error.hint}; {so_far}" if error.hint else so_far, **error.fields) from None
    return Added(added, existing)


def _report_added(invocation: Invocation, name: str, added: Added, *, as_json: bool) -> None:
    sentence = f"added {output.plural(added.added)} to {name}"
    if added.existing:
        sentence += f"; {added.existing:,} {'was' if added.existing == 1 else 'were'} there already"
    output.result(invocation, msgspec.structs.asdict(added), sentence=sentence, as_json=as_json)


@command("show")
@list_argument()
@click.argument("key")
@json_option
@click.pass_obj
def show(invocation: Invocation, *, name: str, key: str, as_json: bool) -> None:
    """Show one item: its state, its data and its failures."""
    with invocation.open() as engine:
        item, failures = engine[name].show(key), engine[name].failures(key)
    if as_json:
        output.document(ItemDetails.of(item, failures))
    elif on_terminal():
        _show_item(item, failures)
    else:
        output.lines([*_fields(item), *[("failure", *_failure_row(each)) for each in failures]])


def _fields(item: Item) -> list[tuple[str, Any]]:
    always = [("key", item.key), ("list", item.list), ("state", item.state), ("attempts", item.attempts)]
    optional = [
        ("gate", item.gate),
        ("priority", item.priority),
        ("due", item.due),
        ("failed_at", item.failed_at),
        ("version", item.version),
        ("trace", item.trace),
    ]
    known = [(name, _text(value)) for name, value in optional if value is not None]
    return [*always, *known, ("data", item.raw_data)]


def _text(value: Any) -> str:
    return output.format_time(value) if isinstance(value, datetime) else str(value)


def _failure_row(failure: Failure) -> tuple[Any, ...]:
    message = " ".join(failure.message.split())
    return failure.attempt, output.format_time(failure.at), failure.kind, failure.holder, message


def _show_item(item: Item, failures: list[Failure]) -> None:
    fields = dict(_fields(item)) | {"state": f"{item.state.icon} {item.state}"}
    for name, value in fields.items():
        if value is not None:
            output.write(f"{name.replace('_', ' '):<10} {output.visible(str(value))}\n")
    if failures:
        output.write("\n")
        rows = [list(map(str, _failure_row(each))) for each in failures]
        output.write_table(output.Table(("ATTEMPT", "AT", "KIND", "HOLDER", "ERROR"), rows))


@command("save")
@list_argument()
@click.argument("key")
@click.option("--data", metavar="JSON", help="The new data; null removes it.")
@click.option("--due", metavar="TIME", help="Not ready before: 90s, 1h30m, 2030-01-31T12:00Z; 0s is at once.")
@click.option("--priority", type=int, metavar="N", help="0 is handed out first.")
@version_option
@json_option
@click.pass_obj
def save(invocation: Invocation, /, *, name: str, key: str, version: int | None, as_json: bool, **given: Any) -> None:
    """Change an item's data, due time or priority, and leave the rest.

    With --version only if nobody has changed it since `rowlock show` printed that version. An item that a worker holds
    is refused; one that is gone is not added again.
    """
    read: dict[str, Callable[[Any], Any]] = {"data": json_value, "due": time_value, "priority": int}
    changes = {option: read[option](value) for option, value in given.items() if value is not None}
    with invocation.open() as engine, invocation.acting():
        item = engine[name].save(key, version=version, **changes)
    if as_json:
        output.document(item)
    else:
        sentence = f"saved {key} of {name}: version {item.version}"
        output.result(invocation, {"version": item.version}, sentence=sentence, as_json=False)
