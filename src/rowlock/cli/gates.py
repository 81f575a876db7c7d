"""`rowlock gate`, `seal`, `complete` and `reopen`: how a list goes on, and how it ends."""

from collections.abc import Iterable

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, list_argument, on_terminal
from rowlock.cli.reading import gate_given, json_value
from rowlock.model import GateInfo, Then

ICONS = {"passed": "✓", "open": "○", "shut": "⧗"}


@command("gate")
@list_argument()
@click.argument("gate", metavar="[N|NAME]", required=False)
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def gate(invocation: Invocation, *, name: str, gate: str | None, as_json: bool) -> None:
    """Show a list's gates, or go on to one by hand.

    A gate opens by itself when nothing unfinished is left before it, unless the list is manual. By hand it never goes
    past items, and back only when the list is empty.
    """
    number = gate_given(gate)
    with invocation.open() as engine, invocation.acting(wanted=number is not None):
        changed = number is not None and engine[name].open_gate(number)
        found = engine[name].gates()
    if number is not None:
        invocation.say(f"{name} is at gate {gate}" if changed else f"{name} was at gate {gate} already")
    elif as_json:
        output.document([msgspec.to_builtins(each) for each in found])
    elif on_terminal():
        output.table(("GATE", "STATE", "ITEMS", "FAILED", "DONE", "MOVED"), _rows(found))
    else:
        output.lines((each.number, each.name, each.state, *_numbers(each)) for each in found)


def _numbers(each: GateInfo) -> tuple[int, ...]:
    return each.counts.total, each.counts.failed, each.progress.done, each.progress.moved


def _rows(found: Iterable[GateInfo]) -> list[list[str]]:
    return [
        [
            f"{each.number} {each.name or ''}".strip(),
            f"{ICONS[each.state]} {each.state}",
            *(f"{number:,}" for number in _numbers(each)),
        ]
        for each in found
    ]


@command("seal")
@list_argument()
@click.option("--then", "then_list", metavar="LIST", help="Add an item to this list when the sealed one is complete.")
@click.option("--key", help="The key of that item; else the sealed list's name.")
@click.option("--data", metavar="JSON", help="The data of that item.")
@click.pass_obj
def seal(invocation: Invocation, /, *, name: str, then_list: str | None, key: str | None, data: str | None) -> None:
    """Take no more items; when none is left the list is complete."""
    if then_list is None and (key is not None or data is not None):
        raise click.UsageError("--key and --data are for the item that --then adds")
    then = None if then_list is None else Then(then_list, key, json_value(data))
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].seal(then=then)
        state = engine[name].info().state
    told = f"{name} is complete" if state == "complete" else f"{name} is sealed: complete when nothing is left on it"
    invocation.say(told if changed else f"{name} was sealed already")


@command("complete")
@list_argument()
@click.pass_obj
def complete(invocation: Invocation, *, name: str) -> None:
    """End a list by hand, whatever is left on it.

    What is left stays there and is not handed out; reopen the list to go on.
    """
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].complete()
        left = engine[name].counts().total
    what = f", with {output.many(left)} left on it" if left else ""
    invocation.say(f"{name} is complete{what}" if changed else f"{name} was complete already")


@command("reopen")
@list_argument()
@click.pass_obj
def reopen(invocation: Invocation, *, name: str) -> None:
    """Take and hand out items again, after a seal or the end."""
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].reopen()
    invocation.say(f"{name} is open" if changed else f"{name} was open already")
