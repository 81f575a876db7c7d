"""`rowlock counter`: take and show the numbers of counters."""

import click

from rowlock.cli import output
from rowlock.cli.invocation import SHARED_OPTIONS, CommandGroup, Invocation, every, json_option, named_argument
from rowlock.cli.output import Column
from rowlock.counters import MAX_NUMBER, MAX_NUMBERS_PER_TAKE

COUNTER_COLUMNS = (
    Column("COUNTER", lambda counter: counter["counter"]),
    Column("LAST", lambda counter: counter["value"]),
)

name_argument = named_argument("name", "NAME", names=lambda engine: engine.counters())


class CounterGroup(CommandGroup):
    """Commands of counters; any other word is the name of a counter, and takes its next number."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, or `next`."""
        known = args[0] in self.commands
        return super().resolve_command(ctx, args if known else ["next", *args])


@click.group("counter", cls=CounterGroup, subcommand_metavar="NAME [--take N] | COMMAND …")
def counter() -> None:
    """Take the next number of a counter, 1, 2, 3 …, each once.

    `rowlock counter NAME` prints one; a counter is created by its first number. For a counter that has the name of a
    command below: rowlock counter next NAME.
    """


counter.params.extend(SHARED_OPTIONS)


@counter.command("next")
@name_argument
@click.option(
    "--take",
    "count",
    type=click.IntRange(1, MAX_NUMBERS_PER_TAKE),
    help="Take N in a row: prints the first and the last.",
)
@json_option
def take_next(invocation: Invocation, *, name: str, count: int | None) -> None:
    """Take the next number, or several in a row."""
    with invocation.open(create=True) as engine:
        numbers = engine.counter(name).take(count or 1)
    if invocation.as_json:
        output.document({"counter": name, "first": numbers[0], "last": numbers[-1]})
    else:
        output.lines([(numbers[0],) if count is None else (numbers[0], numbers[-1])])


@counter.command("show")
@name_argument
@json_option
def show(invocation: Invocation, *, name: str) -> None:
    """Print the last number that was taken; 0 if none was."""
    with invocation.open() as engine:
        value = engine.counter(name).show()
    if invocation.as_json:
        output.document({"counter": name, "value": value})
    else:
        output.lines([(value,)])


@counter.command("ls")
@json_option
def ls(invocation: Invocation) -> None:
    """List all counters with the last number of each, by name."""
    with invocation.open() as engine:
        counters = [{"counter": each.name, "value": each.value} for each in every(engine.counters)]
    empty = "there are no counters yet; begin with: rowlock counter NAME"
    output.table(invocation, {"counters": counters}, rows=counters, columns=COUNTER_COLUMNS, empty=empty)


@counter.command("raise")
@name_argument
@click.argument("to", metavar="N", type=click.IntRange(0, MAX_NUMBER))
@json_option
def raise_to(invocation: Invocation, *, name: str, to: int) -> None:
    """Continue above N, if the counter is lower.

    For numbers that were used before the counter existed. A counter cannot be lowered or removed, so that no number is
    taken twice.
    """
    with invocation.open(create=True) as engine, invocation.acting():
        value = engine.counter(name).raise_to(to)
    sentence = f"{name} continues with {value + 1:,}" if value < MAX_NUMBER else f"{name} has no number left"
    output.result(invocation, {"value": value}, sentence=sentence)
