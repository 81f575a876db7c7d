"""`rowlock counter`: numbers that never come twice."""

import click

from rowlock.cli import output
from rowlock.cli.invocation import HELP, SHARED_OPTIONS, Invocation, command, on_terminal
from rowlock.counters import MAX_NUMBER, MAX_NUMBERS_PER_TAKE
from rowlock.engine.handles import Handles
from rowlock.errors import RowlockError

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")
PAGE = 1000


def _names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of counters that begin so; none if the database does not answer."""
    try:
        with context.ensure_object(Invocation).open() as engine:
            return [each.name for each in engine.counters() if each.name.startswith(incomplete)]
    except RowlockError:  # completion has nobody to tell
        return []


name_argument = click.argument("name", metavar="NAME", shell_complete=_names)


class CounterGroup(click.Group):
    """Commands, and any other word is the name of a counter whose next number is wanted."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name, or `next`."""
        known = args[0] in self.commands
        return super().resolve_command(ctx, args if known else ["next", *args])


@click.group("counter", cls=CounterGroup, context_settings=HELP, subcommand_metavar="NAME [--take N] | COMMAND …")
def counter() -> None:
    """Take the next number of a counter, 1, 2, 3 …: none comes twice.

    `rowlock counter NAME` prints one; a counter is made when it is first asked. One that is called as one of the
    commands below: rowlock counter next NAME.
    """


counter.params.extend(SHARED_OPTIONS)


@command("next")
@name_argument
@click.option(
    "--take",
    "count",
    type=click.IntRange(1, MAX_NUMBERS_PER_TAKE),
    help="So many in a row: prints the first and the last.",
)
@json_option
@click.pass_obj
def take_next(invocation: Invocation, *, name: str, count: int | None, as_json: bool) -> None:
    """Take the next number, or several in a row."""
    with invocation.open(make=True) as engine:
        numbers = engine.counter(name).take(count or 1)
    if as_json:
        output.document({"counter": name, "first": numbers[0], "last": numbers[-1]})
    else:
        output.lines([(numbers[0],) if count is None else (numbers[0], numbers[-1])])


@command("show")
@name_argument
@json_option
@click.pass_obj
def show(invocation: Invocation, *, name: str, as_json: bool) -> None:
    """Print the last number that was taken; 0 if none was."""
    with invocation.open() as engine:
        value = engine.counter(name).show()
    if as_json:
        output.document({"counter": name, "value": value})
    else:
        output.lines([(value,)])


@command("ls")
@json_option
@click.pass_obj
def ls(invocation: Invocation, *, as_json: bool) -> None:
    """List all counters with the last number of each, by name."""
    with invocation.open() as engine:
        found = _all(engine)
    if as_json:
        output.document({"counters": [{"counter": name, "value": value} for name, value in found]})
    elif not on_terminal():
        output.lines(found)
    elif found:
        output.table(("COUNTER", "LAST"), [[name, f"{value:,}"] for name, value in found], numeric=[1])
    else:
        invocation.say("no number was ever taken")


def _all(engine: Handles) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    while page := engine.counters(after=found[-1][0] if found else "", limit=PAGE):
        found += [(each.name, each.value) for each in page]
    return found


@command("raise")
@name_argument
@click.argument("to", metavar="N", type=click.IntRange(0, MAX_NUMBER))
@json_option
@click.pass_obj
def raise_to(invocation: Invocation, *, name: str, to: int, as_json: bool) -> None:
    """Go on above N, if the counter is not there yet.

    For numbers that were given away before there was this counter. It is never lowered, and cannot be removed: a
    number would come twice.
    """
    with invocation.open(make=True) as engine, invocation.acting():
        value = engine.counter(name).raise_to(to)
    sentence = f"{name} goes on with {value + 1:,}" if value < MAX_NUMBER else f"{name} has no number left"
    output.numbers(invocation, {"value": value}, sentence=sentence, as_json=as_json)


for each in (take_next, show, ls, raise_to):
    counter.add_command(each)
