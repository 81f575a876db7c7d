"""`rowlock schedule`: recurring work, set, looked at and ticked."""

import sys
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.exits import StopSignals
from rowlock.cli.input import json_value, moment
from rowlock.cli.invocation import HELP, Invocation, command, list_argument, on_terminal, version_option
from rowlock.cli.logs import log_option, show_logs
from rowlock.durations import milliseconds
from rowlock.engine import Engine
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid, InvalidSchedule, RowlockError, Unavailable
from rowlock.model import DEFAULT_PRIORITY
from rowlock.schedules import ScheduleInfo, Tick, plans
from rowlock.schedules.plans import DEFAULT_KEY, CatchUp
from rowlock.schedules.recurrence import ticks, zone
from rowlock.worker.schedule_ticker import LONGEST_WAIT, ScheduleTicker

PAGE = 1_000
FAR = 2**53
HEADINGS = ("SCHEDULE", "LIST", "WHEN", "STATE", "NEXT", "LAST")
json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
cron_option = click.option(
    "--cron", metavar="EXPRESSION", help="Five fields, or @hourly, @daily, @weekly, @monthly, @yearly."
)
every_option = click.option("--every", metavar="WHILE", help="In equal steps: 30s, 15m, 2h, 1d.")
zone_option = click.option("--zone", metavar="NAME", help="The time zone of --cron: Europe/Berlin. UTC if left out.")


@click.group("schedule", context_settings=HELP)
def schedule() -> None:
    """Recurring work: each tick of a schedule puts one item on a list.

    Whoever is alive ticks: every worker, and `rowlock schedule run`.
    """


def _names(context: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    try:
        with context.ensure_object(Invocation).open() as engine:
            return [info.name for info in engine.schedules() if info.name.startswith(incomplete)]
    except RowlockError:  # completion has nobody to tell
        return []


def name_argument(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The NAME of a schedule; the shell completes it from the database."""
    metavar = "NAME" if required else "[NAME]"
    return click.argument("schedule_name", metavar=metavar, required=required, shell_complete=_names)


@command("add")
@name_argument()
@list_argument()
@cron_option
@every_option
@zone_option
@click.option("--start", metavar="WHEN", help="No tick before: 2030-01-31T12:00Z. Intervals are counted from it.")
@click.option("--key", default=DEFAULT_KEY, show_default=True, help="The key of each item: {name}, {tick}, {date}.")
@click.option("--data", metavar="JSON", help="Data that every item carries.")
@click.option("--gate", type=int, help="The gate that the items wait at.")
@click.option("--priority", type=int, default=DEFAULT_PRIORITY, show_default=True, help="0 is handed out first.")
@click.option(
    "--catch-up",
    type=click.Choice([policy.value for policy in CatchUp]),
    default=CatchUp.LAST.value,
    show_default=True,
    help="Ticks that were missed get no item, one for the last, or one each.",
)
@version_option
@json_option
@click.pass_obj
def add(invocation: Invocation, /, *, schedule_name: str, name: str, as_json: bool, **options: Any) -> None:
    """Set a schedule: items for LIST, by --cron or --every.

    Setting what is set already changes nothing, so that a deployment may say it each time.
    """
    wanted = {**options, "data": json_value(options["data"]), "start": _datetime(options["start"])}
    with invocation.open(make=True) as engine, invocation.acting():
        change = engine.schedule(schedule_name).set(name, **wanted)
        info = engine.schedule(schedule_name).info()
    if as_json:
        output.document({"change": change, **_document(info)})
    elif on_terminal():
        output.write(output.visible(f"{schedule_name} is {change}; {_coming(info)}") + "\n")
    elif not invocation.quiet:
        output.lines([(schedule_name, change, _spoken(info.next_at))])


def _datetime(text: str | None) -> datetime | None:
    found = None if text is None else moment(text)
    if found is not None and not isinstance(found, datetime):
        raise InvalidSchedule(f"{text!r} is no date and time", "write it like 2030-01-31T12:00Z")
    return found


def _coming(info: ScheduleInfo) -> str:
    return "it is paused" if info.next_at is None else f"the next tick is {_local(info, info.next_at)}"


def _local(info: ScheduleInfo, at: datetime) -> str:
    """A moment as the clock of the schedule shows it."""
    return at.astimezone(zone(info.zone)).isoformat(timespec="seconds")


def _spoken(at: datetime | None) -> str:
    return "" if at is None else at.isoformat(timespec="seconds")


def _document(info: ScheduleInfo) -> dict[str, Any]:
    fields = msgspec.structs.asdict(info)
    raw = fields.pop("raw_data")
    return {**fields, "paused": info.paused, "data": None if raw is None else msgspec.Raw(raw.encode())}


@command("ls")
@json_option
@click.pass_obj
def ls(invocation: Invocation, *, as_json: bool) -> None:
    """Show all schedules: what they add to, when, the next tick and the last.

    In a pipe each line is name, list, rhythm, state, next tick, last tick and the error of the last tick, if it had
    one; times are in UTC.
    """
    with invocation.open() as engine:
        found = list(_every_schedule(engine))
    if as_json:
        output.document({"schedules": [_document(info) for info in found]})
    elif not on_terminal():
        output.lines((*_row(info), _spoken(info.next_at), _spoken(info.last_at), info.error) for info in found)
    elif found:
        _table(invocation, found)
    else:
        invocation.say("there are no schedules yet; begin with: rowlock schedule add NAME LIST --every 15m")


def _every_schedule(engine: Handles) -> Iterator[ScheduleInfo]:
    after = ""
    while page := engine.schedules(after=after, limit=PAGE):
        yield from page
        after = page[-1].name


def _row(info: ScheduleInfo) -> tuple[str, ...]:
    return info.name, info.list, info.when, "paused" if info.paused else "open"


def _table(invocation: Invocation, found: list[ScheduleInfo]) -> None:
    icons = {"open": "●", "paused": "‖"}
    rows = []
    for info in found:
        *first, state = _row(info)
        times = [_local(info, at) if at else "" for at in (info.next_at, info.last_at)]
        rows.append([*first, f"{icons[state]} {state}", *times])
    output.table(HEADINGS, rows)
    for info in found:
        if info.error:
            invocation.say(f"the last tick of {info.name} made no item: {info.error}")


@command("rm")
@name_argument()
@version_option
@click.pass_obj
def rm(invocation: Invocation, *, schedule_name: str, version: int | None) -> None:
    """Forget a schedule; the items it has made stay."""
    with invocation.open() as engine, invocation.acting():
        engine.schedule(schedule_name).remove(version=version)
    invocation.say(f"{schedule_name} is no more")


@command("pause")
@name_argument()
@version_option
@click.pass_obj
def pause(invocation: Invocation, *, schedule_name: str, version: int | None) -> None:
    """Stop a schedule's ticks; those of the pause are not caught up."""
    with invocation.open() as engine, invocation.acting():
        changed = engine.schedule(schedule_name).pause(version=version)
    invocation.say(f"{schedule_name} is paused" if changed else f"{schedule_name} was paused already")


@command("resume")
@name_argument()
@version_option
@click.pass_obj
def resume(invocation: Invocation, *, schedule_name: str, version: int | None) -> None:
    """Let a schedule tick again, from its next tick on."""
    with invocation.open() as engine, invocation.acting():
        changed = engine.schedule(schedule_name).resume(version=version)
        info = engine.schedule(schedule_name).info()
    invocation.say(f"{schedule_name} {'ticks again' if changed else 'was not paused'}; {_coming(info)}")


@command("trigger")
@name_argument()
@json_option
@click.pass_obj
def trigger(invocation: Invocation, *, schedule_name: str, as_json: bool) -> None:
    """Put an item on the list now, as if this second were a tick."""
    with invocation.open() as engine, invocation.acting():
        added = engine.schedule(schedule_name).trigger()
    sentence = "added 1 item" if added.added else "the item is there already"
    output.numbers(invocation, msgspec.structs.asdict(added), sentence=sentence, as_json=as_json)


@command("next")
@name_argument(required=False)
@cron_option
@every_option
@zone_option
@click.option("--start", metavar="WHEN", help="What --every is counted from.")
@click.option("--after", metavar="WHEN", help="The first ticks after that moment instead of after now.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=5, show_default=True, help="How many.")
@json_option
@click.pass_obj
def coming(invocation: Invocation, /, *, schedule_name: str | None, limit: int, as_json: bool, **options: Any) -> None:
    """Show the next ticks of a schedule, or those that --cron or --every would have.

    Each line is the time in the schedule's zone and the same in UTC. Without NAME nothing is asked of a database.
    """
    given = {name: options[name] for name in ("cron", "every", "zone")}
    if schedule_name is not None:
        if any(given.values()) or options["start"] or options["after"]:
            raise Invalid("a schedule's name and a rhythm were given", "give one of them")
        with invocation.open() as engine:
            found = engine.schedule(schedule_name).ticks(limit)
        explained = ""
    else:
        plan = plans.planned("next", "next", **given, start=_datetime(options["start"]))
        explained = plan.recurrence().explain()
        found = _ticks(plan, _datetime(options["after"]), limit)
    _tell_ticks(invocation, found, explained, as_json=as_json)


def _ticks(plan: plans.Plan, after: datetime | None, limit: int) -> list[datetime]:
    # Nothing hangs on it: a look at this machine's clock will do.
    begin = int((after or datetime.now(UTC)).timestamp() * 1000)
    here, recurrence = zone(plan.zone), ticks(plan.recurrence(), begin + 1, end=FAR)
    return [datetime.fromtimestamp(tick / 1000, here) for tick, _ in zip(recurrence, range(limit), strict=False)]


def _tell_ticks(invocation: Invocation, found: list[datetime], explained: str, *, as_json: bool) -> None:
    if as_json:
        output.document({"ticks": found})
        return
    if explained and on_terminal():
        invocation.say(explained)
    output.lines((_spoken(at), _spoken(at.astimezone(UTC))) for at in found)


@command("run")
@click.option("--for", "length", metavar="WHILE", help="Stop after that long; go on for ever if left out.")
@log_option
@click.pass_obj
def run(invocation: Invocation, *, length: str | None, log_format: str) -> int:
    """Tick, and nothing else, until told to stop.

    Only needed where no worker runs: each worker ticks by itself. Each line is the schedule, its list and the key of an
    item that was made.
    """
    stopped = threading.Event()
    with invocation.open_database(why="it ticks by itself") as engine, StopSignals(lambda _: stopped.set()) as stopping:
        until = None if length is None else engine.environment.monotonic() + milliseconds(length) / 1000
        show_logs(invocation, form=log_format, write=lambda line: click.echo(line, err=True))
        invocation.say("ticking; Ctrl-C stops")
        _keep_ticking(invocation, engine, stopped, until)
    return stopping.status or 0


def _keep_ticking(invocation: Invocation, engine: Engine, stopped: threading.Event, until: float | None) -> None:
    ticking, trouble = ScheduleTicker(engine), ""
    while not stopped.is_set() and (until is None or engine.environment.monotonic() < until):
        try:
            for tick in ticking.look():
                _tell_tick(tick)
            wait, trouble = ticking.wait, ""
        except Unavailable as error:
            if error.what != trouble:
                invocation.say(f"waiting for the database: {error.what}")
            wait, trouble = LONGEST_WAIT, error.what
        stopped.wait(wait)


def _tell_tick(tick: Tick) -> None:
    if tick.added:
        output.lines((tick.schedule, tick.list, key) for key in tick.keys)
        sys.stdout.flush()


schedule.add_command(add)


schedule.add_command(ls)


schedule.add_command(rm)


schedule.add_command(pause)


schedule.add_command(resume)


schedule.add_command(trigger)


schedule.add_command(coming)


schedule.add_command(run)
