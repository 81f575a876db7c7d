"""`rowlock settings`, `gate`, `seal`, `complete`, `reopen`, `pause`, `resume`, `rename` and `drop`: whole lists."""

from operator import itemgetter
from typing import Any

import click
import msgspec

from rowlock import json_codec
from rowlock.cli import output
from rowlock.cli.input import confirm, gate_value, json_value
from rowlock.cli.invocation import Invocation, command, json_option, list_argument, version_option, yes_option
from rowlock.cli.output import Column
from rowlock.errors import InvalidSetting
from rowlock.model import ConcurrencyBy, Processor, Settings, Then
from rowlock.names import closest, plural
from rowlock.retry_policy import DEFAULT_ATTEMPTS, DEFAULT_BACKOFF

GATE_ICONS = {"passed": "✓", "open": "○", "shut": "⧗"}
SETTING_SYNTAX: dict[object, tuple[str, str]] = {
    bool: ("true or false", "true"),
    tuple[str, ...]: ("names separated by commas", "match,notify"),
    tuple[Then, ...]: ("JSON", """'{"list": "reports"}'"""),
    ConcurrencyBy | None: ("JSON", """'{"separator": "/", "limit": 1}'"""),
}
"""For each type of setting, what a value must be and an example."""
EFFECTIVE_DEFAULTS = {"attempts": DEFAULT_ATTEMPTS, "backoff": DEFAULT_BACKOFF}
"""What a worker uses where neither the list nor its handler says anything."""
SETTING_COLUMNS = (
    Column("SETTING", itemgetter(0)),
    Column("VALUE", lambda setting: _setting_text(setting[1])),
    Column("ORIGIN", itemgetter(2)),
)
GATE_COLUMNS = (
    Column("GATE", "number", lambda gate: f"{gate.number} {gate.name or ''}".strip()),
    Column("", "name"),
    Column("STATE", "state", lambda gate: f"{GATE_ICONS[gate.state]} {gate.state}"),
    Column("ITEMS", "counts.total"),
    Column("FAILED", "counts.failed"),
    Column("DONE", "progress.done"),
    Column("MOVED", "progress.moved"),
)


@command("settings")
@list_argument()
@click.argument("changes", metavar="[NAME=VALUE]...", nargs=-1)
@version_option
@json_option
def settings(invocation: Invocation, *, name: str, changes: tuple[str, ...], version: int | None) -> None:
    """Show a list's settings with their origin, or set some.

    The origin of a value is the list or a default. A handler or an option of `rowlock work` may use another one.

    The names are attempts, backoff, concurrency, concurrency_by (JSON), exclusive, gates, keep_for, keep_results,
    manual, processor (an address, or JSON), rate and then; NAME= alone restores the default. A list that does not exist
    is created.
    """
    wanted: dict[str, Any] = dict(map(_assignment, changes))
    with invocation.open(create=bool(wanted)) as engine, invocation.acting(wanted=bool(wanted)):
        values = msgspec.structs.asdict(engine[name].settings(version=version, **wanted))
    output.table(invocation, values, rows=_with_origin(values), columns=SETTING_COLUMNS)


def _with_origin(values: dict[str, Any]) -> list[tuple[str, object, str]]:
    """Return each setting with its effective value and where that comes from: the list, or a default."""
    defaults = msgspec.structs.asdict(Settings())
    return [
        (name, EFFECTIVE_DEFAULTS.get(name, value), "default") if value == defaults[name] else (name, value, "list")
        for name, value in values.items()
    ]


def _assignment(text: str) -> tuple[str, object]:
    name, separator, value = text.partition("=")
    known = {field.name: field for field in msgspec.structs.fields(Settings)}
    if not separator:
        raise InvalidSetting(f"a setting must be NAME=VALUE, got {text!r}", "write it like attempts=5")
    if name not in known:
        near = closest(name, known)
        hint = f"did you mean {near!r}?" if near else f"the settings are {', '.join(sorted(known))}"
        raise InvalidSetting(f"unknown setting {name!r}", hint)
    if not value:
        return name, known[name].default
    return name, _typed(name, value, known[name].type)


def _typed(name: str, value: str, kind: object) -> object:
    if name == "processor":
        return _processor(value)
    try:
        return msgspec.convert(_decoded(value, kind), kind, strict=False)
    except (msgspec.ValidationError, msgspec.DecodeError):
        what, example = SETTING_SYNTAX.get(kind, ("a whole number", "5"))
        raise InvalidSetting(f"{name} must be {what}, got {value}", f"write it like {name}={example}") from None


def _decoded(value: str, kind: object) -> object:
    if kind == tuple[str, ...]:
        return [each.strip() for each in value.split(",")]
    if value[0] in "[{":
        decoded = msgspec.json.decode(value)
        return [decoded] if isinstance(decoded, dict) and kind == tuple[Then, ...] else decoded
    return {"true": True, "false": False}.get(value, value)


def _setting_text(value: object) -> str:
    if value is None or value == ():
        return ""
    if isinstance(value, tuple) and all(isinstance(each, str) for each in value):
        return ",".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) else output.format_json(value)


def _processor(value: str) -> Processor:
    if not value.lstrip().startswith("{"):
        return Processor(value)
    try:
        return msgspec.json.decode(value, type=Processor)
    except msgspec.DecodeError as error:
        shaped = isinstance(error, msgspec.ValidationError)
        wrong = json_codec.describe_validation_error(error) if shaped else json_codec.describe_syntax_error(error)
        what = f"invalid processor: {wrong}"
        raise InvalidSetting(what, """write it like processor='{"url": "https://example.org/work"}'""") from None


@command("pause")
@list_argument()
@version_option
def pause(invocation: Invocation, *, name: str, version: int | None) -> None:
    """Stop handing out a list's items.

    Claimed items can still be settled.
    """
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].pause(version=version)
    invocation.say(f"{name} is paused" if changed else f"{name} was paused already")


@command("resume")
@list_argument()
@version_option
def resume(invocation: Invocation, *, name: str, version: int | None) -> None:
    """Hand out a list's items again."""
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].resume(version=version)
    invocation.say(f"{name} is open" if changed else f"{name} was open already")


@command("rename")
@list_argument()
@click.argument("to", metavar="NEW")
@version_option
def rename(invocation: Invocation, *, name: str, to: str, version: int | None) -> None:
    """Give a list another name.

    Its items, counts and history stay with it.
    """
    with invocation.open() as engine, invocation.acting():
        engine[name].rename(to, version=version)
    invocation.say(f"{name} is now {to}")


@command("drop")
@list_argument()
@yes_option
@click.option("--dry-run", is_flag=True, help="Print what would be deleted, and change nothing.")
@version_option
@json_option
def drop(invocation: Invocation, *, name: str, yes: bool, dry_run: bool, version: int | None) -> None:
    """Delete a list with all its items and history, after confirmation."""
    with invocation.open() as engine:
        count = engine[name].counts().total
        if not yes and not dry_run:
            confirm(f"Delete {name!r} with {plural(count)} and its history?")
        if not dry_run:
            with invocation.acting():
                count = engine[name].drop(version=version)
    sentence = f"{'would drop' if dry_run else 'dropped'} {name} with {plural(count)}"
    counts = {"dropped": count, **({"dry_run": 1} if dry_run else {})}
    output.result(invocation, counts, sentence=sentence)


@command("gate")
@list_argument()
@click.argument("gate", metavar="[N|NAME]", required=False)
@json_option
def gate(invocation: Invocation, *, name: str, gate: str | None) -> None:
    """Show a list's gates, or open one by hand.

    A gate opens by itself when nothing unfinished is left before it, unless the list is manual. Opened by hand it never
    passes items, and goes back only when the list is empty.
    """
    number = gate_value(gate)
    with invocation.open() as engine, invocation.acting(wanted=number is not None):
        changed = number is not None and engine[name].open_gate(number)
        gates = engine[name].gates()
    if number is None:
        output.table(invocation, gates, rows=gates, columns=GATE_COLUMNS)
    else:
        invocation.say(f"{name} is at gate {gate}" if changed else f"{name} was at gate {gate} already")


@command("seal")
@list_argument()
@click.option("--then", "then_list", metavar="LIST", help="Add an item to this list when the sealed one is complete.")
@click.option("--key", help="The key of that item; else the sealed list's name.")
@click.option("--data", metavar="JSON", help="The data of that item.")
def seal(invocation: Invocation, /, *, name: str, then_list: str | None, key: str | None, data: str | None) -> None:
    """Take no more items; the list is complete when none is left."""
    if then_list is None and (key is not None or data is not None):
        raise click.UsageError("--key and --data need --then")
    then = None if then_list is None else Then(then_list, key, json_value(data))
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].seal(then=then)
        state = engine[name].info().state
    sealed = f"{name} is complete" if state == "complete" else f"{name} is sealed: complete when nothing is left on it"
    invocation.say(sealed if changed else f"{name} was sealed already")


@command("complete")
@list_argument()
def complete(invocation: Invocation, *, name: str) -> None:
    """End a list by hand, whatever is left on it.

    Its items stay on it and are not handed out; reopen the list to go on.
    """
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].complete()
        left = engine[name].counts().total
    what = f", with {plural(left)} left on it" if left else ""
    invocation.say(f"{name} is complete{what}" if changed else f"{name} was complete already")


@command("reopen")
@list_argument()
def reopen(invocation: Invocation, *, name: str) -> None:
    """Take and hand out items again after seal or complete."""
    with invocation.open() as engine, invocation.acting():
        changed = engine[name].reopen()
    invocation.say(f"{name} is open" if changed else f"{name} was open already")
