"""`rowlock settings`, `gate`, `seal`, `pause`, `drop` and their like: lists as a whole."""

from collections.abc import Iterable
from typing import Any

import click
import msgspec

from rowlock import validation_errors
from rowlock.cli import output
from rowlock.cli.input import confirm, gate_given, json_value
from rowlock.cli.invocation import Invocation, command, list_argument, on_terminal, version_option
from rowlock.errors import InvalidSetting
from rowlock.model import ConcurrencyBy, GateInfo, Processor, Settings, Then
from rowlock.names import closest

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
WRITTEN: dict[object, tuple[str, str]] = {
    bool: ("true or false", "true"),
    tuple[str, ...]: ("names with commas between them", "match,notify"),
    tuple[Then, ...]: ("JSON", """'{"list": "reports"}'"""),
    ConcurrencyBy | None: ("JSON", """'{"separator": "/", "limit": 1}'"""),
}
"""What a setting of each kind is, and how somebody would write one."""
ICONS = {"passed": "✓", "open": "○", "shut": "⧗"}


@command("pause")
@list_argument()
@version_option
@click.pass_obj
def pause(invocation: Invocation, *, name: str, version: int | None) -> None:
    """Stop handing out a list's items.

    What is claimed may still be settled.
    """
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].pause(version=version)
    invocation.say(f"{name} is paused" if changed else f"{name} was paused already")


@command("resume")
@list_argument()
@version_option
@click.pass_obj
def resume(invocation: Invocation, *, name: str, version: int | None) -> None:
    """Hand out a list's items again."""
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].resume(version=version)
    invocation.say(f"{name} is open" if changed else f"{name} was open already")


@command("rename")
@list_argument()
@click.argument("to", metavar="NEW")
@version_option
@click.pass_obj
def rename(invocation: Invocation, *, name: str, to: str, version: int | None) -> None:
    """Give a list another name.

    Its items, counts and history stay with it.
    """
    with invocation.open() as engine, invocation.acting():
        engine[name].rename(to, version=version)
    invocation.say(f"{name} is now {to}")


@command("drop")
@list_argument()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Say what would be forgotten, and do nothing.")
@version_option
@json_option
@click.pass_obj
def drop(invocation: Invocation, *, name: str, yes: bool, dry_run: bool, version: int | None, as_json: bool) -> None:
    """Forget a list with all its items and history; asks first."""
    with invocation.open() as engine:
        count = engine[name].counts().total
        if not yes and not dry_run:
            confirm(f"Forget {name!r} with {output.plural(count)} and its history?")
        if not dry_run:
            with invocation.acting():
                count = engine[name].drop(version=version)
    sentence = f"{'would drop' if dry_run else 'dropped'} {name} with {output.plural(count)}"
    counted = {"dropped": count, **({"dry_run": 1} if dry_run else {})}
    output.numbers(invocation, counted, sentence=sentence, as_json=as_json)


@command("settings")
@list_argument()
@click.argument("changes", metavar="[NAME=VALUE]...", nargs=-1)
@version_option
@json_option
@click.pass_obj
def settings(
    invocation: Invocation, *, name: str, changes: tuple[str, ...], version: int | None, as_json: bool
) -> None:
    """Show a list's settings, or set some.

    The names are attempts, backoff, concurrency, concurrency_by (JSON), exclusive, gates, keep_for, keep_results,
    manual, processor (an address, or JSON), rate and then; NAME= alone goes back to the default. A list that is not
    there is made.
    """
    wanted: dict[str, Any] = dict(map(_assignment, changes))
    with invocation.open(make=bool(wanted)) as engine, invocation.acting(wanted=bool(wanted)):
        found = engine[name].settings(version=version, **wanted)
    values = msgspec.structs.asdict(found)
    if as_json:
        output.document(values)
    elif on_terminal():
        output.table(("SETTING", "VALUE"), [[each, _spoken(value)] for each, value in values.items()])
    else:
        output.lines((each, _spoken(value)) for each, value in values.items())


def _assignment(text: str) -> tuple[str, object]:
    name, separator, value = text.partition("=")
    known = {field.name: field for field in msgspec.structs.fields(Settings)}
    if not separator:
        raise InvalidSetting(f"{text!r} is not NAME=VALUE", "write it like attempts=5")
    if name not in known:
        near = closest(name, known)
        hint = f"did you mean {near!r}?" if near else f"the settings are {', '.join(sorted(known))}"
        raise InvalidSetting(f"there is no setting {name!r}", hint)
    if not value:
        return name, known[name].default
    return name, _typed(name, value, known[name].type)


def _typed(name: str, value: str, kind: object) -> object:
    if name == "processor":
        return _processor(value)
    try:
        return msgspec.convert(_read(value, kind), kind, strict=False)
    except (msgspec.ValidationError, msgspec.DecodeError):
        what, example = WRITTEN.get(kind, ("a whole number", "5"))
        raise InvalidSetting(f"{name}={value} cannot be: it is {what}", f"write it like {name}={example}") from None


def _read(value: str, kind: object) -> object:
    if kind == tuple[str, ...]:
        return [each.strip() for each in value.split(",")]
    if value[0] in "[{":
        decoded = msgspec.json.decode(value)
        return [decoded] if isinstance(decoded, dict) and kind == tuple[Then, ...] else decoded
    return {"true": True, "false": False}.get(value, value)


def _spoken(value: object) -> str:
    if value is None or value == ():
        return ""
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _processor(value: str) -> Processor:
    if not value.lstrip().startswith("{"):
        return Processor(value)
    try:
        return msgspec.json.decode(value, type=Processor)
    except msgspec.DecodeError as error:
        shaped = isinstance(error, msgspec.ValidationError)
        wrong = validation_errors.describe(error) if shaped else validation_errors.describe_syntax_error(error)
        what = f"processor cannot be that: {wrong}"
        raise InvalidSetting(what, """write it like processor='{"url": "https://example.org/work"}'""") from None


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
    what = f", with {output.plural(left)} left on it" if left else ""
    invocation.say(f"{name} is complete{what}" if changed else f"{name} was complete already")


@command("reopen")
@list_argument()
@click.pass_obj
def reopen(invocation: Invocation, *, name: str) -> None:
    """Take and hand out items again, after a seal or the end."""
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].reopen()
    invocation.say(f"{name} is open" if changed else f"{name} was open already")
