"""`rowlock split`: a list's keys in ranges of equal size, to be handed out by hand."""

import click

from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, list_argument, on_terminal
from rowlock.ranges import MOST


@command("split")
@list_argument()
@click.argument("parts", metavar="K", type=click.IntRange(1, MOST))
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def split(invocation: Invocation, *, name: str, parts: int, as_json: bool) -> None:
    """Cut a list's keys into K ranges of equal size.

    Each range holds the keys strictly after one, up to and with another; the first begins after nothing. In a pipe
    each line is after, upto and count, separated by tabs. Fewer keys than K: one range for each key.
    """
    with invocation.open() as engine:
        ranges = engine[name].ranges(parts)
    if as_json:
        output.document({"list": name, "ranges": ranges})
    elif not on_terminal():
        output.lines((each.after, each.upto, each.count) for each in ranges)
    elif ranges:
        rows = [[each.after, each.upto, f"{each.count:,}"] for each in ranges]
        output.table(("AFTER", "UPTO", "COUNT"), rows, numeric=[2])
    else:
        invocation.say(f"{name} has no keys to split")
