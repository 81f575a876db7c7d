"""`rowlock add`: put items on a list, from arguments, files, a pipe."""

import os
from collections.abc import Iterable
from typing import Any

import click
import msgspec

from rowlock import entries, items, lists, traces
from rowlock.cli import output, streaming
from rowlock.cli.invocation import Invocation, command, list_argument
from rowlock.cli.progress import Progress
from rowlock.cli.reading import STDIN, Files, Format, gate_given, json_value, moment, nothing_to_read
from rowlock.engine.handles import Handles
from rowlock.entries import Entry, Shared
from rowlock.errors import Invalid
from rowlock.model import DEFAULT_PRIORITY, Added


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
    with invocation.open(make=True) as engine, Progress(wanted=not invocation.quiet) as progress:
        shared = Shared(
            json_value(options["data"]),
            due,
            gate_given(options["gate"]),
            options["priority"],
            lambda gate: engine.read(lists.gate_number, name, gate),
            traces.read(os.environ.get("TRACEPARENT")),
        )
        files = _files(keys, options, progress)
        if options["stream"] and files:
            added = streaming.add(engine[name], files, shared=shared, strict=options["strict"])
        else:
            added = _add(engine, name, files or keys, shared, progress, strict=options["strict"])
    _report(invocation, name, added, as_json=options["as_json"])
    return 0


def _files(keys: tuple[str, ...], options: dict[str, Any], progress: Progress) -> Files | None:
    form = Format(options["csv"], options["ndjson"], options["null"])
    if sum((form.csv is not None, form.ndjson, form.null)) > 1:
        raise Invalid("--csv, --ndjson and -0 exclude each other", "give one of them")
    stdin = not keys or keys == (STDIN,)
    if not stdin and options["files"]:
        raise Invalid("keys were given both as arguments and by -f", "give them one way")
    return Files(options["files"], form, report=progress.read) if stdin else None


def _add(
    engine: Handles, name: str, source: Files | Iterable[Entry], shared: Shared, progress: Progress, *, strict: bool
) -> Added:
    engine[name]  # a wrong name is refused before anything is read
    try:
        given = source.entries() if isinstance(source, Files) else source
        ready = entries.read_through(entries.batches(given, shared))
    except Invalid as error:
        raise source.placed(error) if isinstance(source, Files) else error from None
    return engine.run(items.add, name, progress.writing(ready), strict=strict)


def _report(invocation: Invocation, name: str, added: Added, *, as_json: bool) -> None:
    sentence = f"added {output.many(added.added)} to {name}"
    if added.existing:
        sentence += f"; {added.existing:,} {'was' if added.existing == 1 else 'were'} there already"
    output.numbers(invocation, msgspec.structs.asdict(added), sentence=sentence, as_json=as_json)
