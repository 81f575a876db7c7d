"""`rowlock add`, `show` and `save`: single items."""

import os
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import click
import msgspec

from rowlock import item_input, items, lists, tracing
from rowlock.cli import output
from rowlock.cli.input import STDIN, InputFiles, InputFormat, batches, gate_given, json_value, moment, nothing_to_read
from rowlock.cli.invocation import Invocation, command, list_argument, on_terminal, version_option
from rowlock.cli.progress import AddProgress
from rowlock.engine import List
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, RowlockError
from rowlock.item_input import Entry, ItemDefaults
from rowlock.model import DEFAULT_PRIORITY, Added, Failure, Item

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


@command("add")
@list_argument()
@click.argument("keys", metavar="[KEY]...", nargs=-1)
@click.option("-f", "--file", "files", multiple=True, metavar="FILE", help="Read keys from a file; - is stdin.")
@click.option("--csv", metavar="COLUMN", help="Files are CSV: the column's name, or number if there are no headings.")
@click.option("--ndjson", is_flag=True, help="Each line is a JSON string or object: key, data, due, gate, priority.")
@click.option("-0", "--null", is_flag=True, help="Keys end with NUL, as from find -print0.")
@click.option("--data", metavar="JSON", help="Data that every item carries.")
@click.option("--due", metavar="WHEN", help="Not ready before: 90s, 5m, 1h30m, or 2030-01-31T12:00Z.")
@click.option("--gate", metavar="N|NAME", help="The gate that the items wait at.")
@click.option("--priority", type=int, default=DEFAULT_PRIORITY, show_default=True, help="0 is handed out first.")
@click.option("--strict", is_flag=True, help="Refuse all if one is there already, or comes twice.")
@click.option("--stream", is_flag=True, help="Commit as lines arrive: every 1,000, and every second.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_context
def add(context: click.Context, /, *, name: str, keys: tuple[str, ...], **options: Any) -> int:
    """Add items to a list: all of them, or none if one is wrong.

    Keys come from the arguments, from files, or one to a line from standard input. What is on the list already stays
    as it is and is counted as existing.
    """
    if nothing_to_read(keys, options["files"]):
        click.echo(context.get_help(), err=True)
        return 2
    invocation: Invocation = context.obj
    due = moment(options["due"]) if options["due"] else None
    with invocation.open(make=True) as engine, AddProgress(wanted=not invocation.quiet) as progress:
        shared = ItemDefaults(
            json_value(options["data"]),
            due,
            gate_given(options["gate"]),
            options["priority"],
            lambda gate: engine.read(lists.gate_number, name, gate),
            tracing.parse_traceparent(os.environ.get("TRACEPARENT")),
        )
        files = _files(keys, options, progress)
        if options["stream"] and files:
            added = _add_stream(engine[name], files, shared=shared, strict=options["strict"])
        else:
            added = _add(engine, name, files or keys, shared, progress, strict=options["strict"])
    _report(invocation, name, added, as_json=options["as_json"])
    return 0


def _files(keys: tuple[str, ...], options: dict[str, Any], progress: AddProgress) -> InputFiles | None:
    form = InputFormat(options["csv"], options["ndjson"], options["null"])
    if sum((form.csv is not None, form.ndjson, form.null)) > 1:
        raise Invalid("--csv, --ndjson and -0 exclude each other", "give one of them")
    stdin = not keys or keys == (STDIN,)
    if not stdin and options["files"]:
        raise Invalid("keys were given both as arguments and by -f", "give them one way")
    return InputFiles(options["files"], form, report=progress.read) if stdin else None


def _add(
    engine: Handles,
    name: str,
    source: InputFiles | Iterable[Entry],
    shared: ItemDefaults,
    progress: AddProgress,
    *,
    strict: bool,
) -> Added:
    engine[name]  # a wrong name is refused before anything is read
    try:
        given = source.entries() if isinstance(source, InputFiles) else source
        ready = item_input.check_all(item_input.batches(given, shared))
    except Invalid as error:
        raise source.placed(error) if isinstance(source, InputFiles) else error from None
    return engine.run(items.add, name, progress.writing(ready), strict=strict)


def _report(invocation: Invocation, name: str, added: Added, *, as_json: bool) -> None:
    sentence = f"added {output.plural(added.added)} to {name}"
    if added.existing:
        sentence += f"; {added.existing:,} {'was' if added.existing == 1 else 'were'} there already"
    output.numbers(invocation, msgspec.structs.asdict(added), sentence=sentence, as_json=as_json)


def _add_stream(to: List, files: InputFiles, *, shared: ItemDefaults, strict: bool) -> Added:
    """Add what arrives, batch by batch; a wrong line ends it, and what came before stays added."""
    added = existing = 0
    try:
        for batch in batches(files):
            landed = to.add(
                batch,
                data=shared.data,
                due=shared.due,
                gate=shared.gate,
                priority=shared.priority,
                trace=shared.trace,
                strict=strict,
            )
            added, existing = added + landed.added, existing + landed.existing
    except RowlockError as error:
        so_far = f"{added + existing:,} before it are on the list"
        raise type(error)(error.what, f"{error.hint}; {so_far}" if error.hint else so_far, **error.fields) from None
    return Added(added, existing)


@command("show")
@list_argument()
@click.argument("key")
@json_option
@click.pass_obj
def show(invocation: Invocation, *, name: str, key: str, as_json: bool) -> None:
    """Show one item: its state, its data, how it has failed."""
    with invocation.open() as engine:
        item, failures = engine[name].show(key), engine[name].failures(key)
    if as_json:
        output.document({"list": item.list, **output.item_document(item), "failures": failures})
    elif on_terminal():
        _show_to_person(item, failures)
    else:
        output.lines([*_facts(item), *[("failure", *_failure(each)) for each in failures]])


def _facts(item: Item) -> list[tuple[str, Any]]:
    known = [("key", item.key), ("list", item.list), ("state", item.state), ("attempts", item.attempts)]
    more = [("gate", item.gate), ("priority", item.priority), ("due", item.due), ("failed_at", item.failed_at)]
    later = [("version", item.version), ("trace", item.trace)]
    there = [(name, _spoken(value)) for name, value in [*more, *later] if value is not None]
    return [*known, *there, ("data", item.raw_data)]


def _spoken(value: Any) -> str:
    return value.isoformat(timespec="seconds") if isinstance(value, datetime) else str(value)


def _failure(failure: Failure) -> tuple[Any, ...]:
    message = " ".join(failure.message.split())
    return failure.attempt, _spoken(failure.at), failure.kind, failure.holder, message


def _show_to_person(item: Item, failures: list[Failure]) -> None:
    facts = dict(_facts(item)) | {"state": f"{item.state.icon} {item.state}"}
    for name, value in facts.items():
        if value is not None:
            output.write(f"{name.replace('_', ' '):<10} {output.visible(str(value))}\n")
    if failures:
        output.write("\n")
        output.table(
            ("ATTEMPT", "AT", "KIND", "HOLDER", "ERROR"), [list(map(str, _failure(each))) for each in failures]
        )


@command("save")
@list_argument()
@click.argument("key")
@click.option("--data", metavar="JSON", help="What it carries from now on; null for nothing.")
@click.option("--due", metavar="WHEN", help="Not ready before: 90s, 1h30m, 2030-01-31T12:00Z; 0s is at once.")
@click.option("--priority", type=int, metavar="N", help="0 is handed out first.")
@version_option
@click.option("--json", "as_json", is_flag=True, help="The item as it stands then.")
@click.pass_obj
def save(invocation: Invocation, /, *, name: str, key: str, version: int | None, as_json: bool, **given: Any) -> None:
    """Change an item's data, due time or priority; what is left out stays.

    With --version only if nobody has changed it since `rowlock show` told that version. What a worker has in hand is
    refused; what is gone is not made again.
    """
    read: dict[str, Callable[[Any], Any]] = {"data": json_value, "due": moment, "priority": int}
    changes = {option: read[option](value) for option, value in given.items() if value is not None}
    with invocation.open() as engine, invocation.acting():
        item = engine[name].save(key, version=version, **changes)
    if as_json:
        output.document({"list": item.list, **output.item_document(item)})
    else:
        sentence = f"saved {key} of {name}: version {item.version}"
        output.numbers(invocation, {"version": item.version}, sentence=sentence, as_json=False)
