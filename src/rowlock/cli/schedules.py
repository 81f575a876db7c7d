"""`rowlock schedule`: set, show and tick recurring work."""

import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.exits import StopSignals
from rowlock.cli.input import json_value, time_value
from rowlock.cli.invocation import (
    HELP_OPTIONS,
    Invocation,
    command,
    every,
    json_option,
    list_argument,
    named_argument,
    on_terminal,
    version_option,
)
from rowlock.cli.logs import log_option, show_logs
from rowlock.durations import milliseconds
from rowlock.engine import Engine
from rowlock.errors import Invalid, InvalidSchedule, Unavailable
from rowlock.model import DEFAULT_PRIORITY
from rowlock.schedules import ScheduleInfo, Tick, plans
from rowlock.schedules.plans import DEFAULT_KEY, CatchUp, ticks, zone
from rowlock.worker.schedule_ticker import MAX_WAIT_SECONDS, ScheduleTicker

MAX_TICK_MILLISECONDS = 2**53
HEADINGS = ("SCHEDULE", "LIST", "WHEN", "STATE", "NEXT", "LAST")

cron_option = click.option(
    "--cron", metavar="EXPRESSION", help="Five fields, or @hourly, @daily, @weekly, @monthly, @yearly."
)
every_option = click.option("--every", metavar="DURATION", help="At equal intervals: 30s, 15m, 2h, 1d.")
zone_option = click.option("--zone", metavar="NAME", help="The time zone of --cron: Europe/Berlin. UTC if left out.")


def name_argument(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the NAME of a schedule, passed to the command as `schedule_name`."""
    return named_argument("schedule_name", "NAME", names=lambda engine: engine.schedules(), required=required)


@click.group("schedule", context_settings=HELP_OPTIONS)
def schedule() -> None:
    """Recurring work: each tick of a schedule adds one item to a list.

    Every worker ticks, and so does `rowlock schedule run`.
    """


@command("add")
@name_argument()
@list_argument()
@cron_option
@every_option
@zone_option
@click.option("--start", metavar="TIME", help="No tick before: 2030-01-31T12:00Z. Intervals are counted from it.")
@click.option("--key", default=DEFAULT_KEY, show_default=True, help="The key of each item: {name}, {tick}, {date}.")
@click.option("--data", metavar="JSON", help="The data of every item.")
@click.option("--gate", type=int, help="The gate that the items wait at.")
@click.option("--priority", type=int, default=DEFAULT_PRIORITY, show_default=True, help="0 is handed out first.")
@click.option(
    "--catch-up",
    type=click.Choice([policy.value for policy in CatchUp]),
    default=CatchUp.LAST.value,
    show_default=True,
    help="Missed ticks get no item, one for the last, or one each.",
)
@version_option
@json_option
@click.pass_obj
def add(invocation: Invocation, /, *, schedule_name: str, name: str, as_json: bool, **options: Any) -> None:
    """Set a schedule: items for LIST, by --cron or --every.

    Setting the same again changes nothing, so that every deployment may do it.
    """
    wanted = {**options, "data": json_value(options["data"]), "start": _datetime(options["start"])}
    with invocation.open(create=True) as engine, invocation.acting():
        change = engine.schedule(schedule_name).set(name, **wanted)
        info = engine.schedule(schedule_name).info()
    if as_json:
        output.document({"change": change, **_document(info)})
    elif on_terminal():
        output.write(output.visible(f"{schedule_name} is {change}; {_next_tick(info)}") + "\n")
    elif not invocation.quiet:
        output.lines([(schedule_name, change, output.format_time(info.next_at))])


def _datetime(text: str | None) -> datetime | None:
    found = None if text is None else time_value(text)
    if found is not None and not isinstance(found, datetime):
        raise InvalidSchedule(f"a time must be a date and time, got {text!r}", "write it like 2030-01-31T12:00Z")
    return found


def _next_tick(info: ScheduleInfo) -> str:
    return "it is paused" if info.next_at is None else f"the next tick is {_local_time(info, info.next_at)}"


def _local_time(info: ScheduleInfo, at: datetime | None) -> str:
    return "" if at is None else output.format_time(at.astimezone(zone(info.zone or "UTC")))


def _document(info: ScheduleInfo) -> dict[str, Any]:
    return dict(zip(info.__struct_encode_fields__, msgspec.structs.astuple(info), strict=True))


@command("ls")
@json_option
@click.pass_obj
def ls(invocation: Invocation, *, as_json: bool) -> None:
    """Show all schedules: their lists, when they tick, the next tick and the last.

    In a pipe each line is name, list, rhythm, state, next tick, last tick and the error of the last tick, if there was
    one; times are in UTC.
    """
    with invocation.open() as engine:
        found = list(every(engine.schedules))
    output.rows(
        invocation,
        {"schedules": found},
        as_json=as_json,
        piped=map(_row, found),
        table=output.Table(HEADINGS, [_cells(info) for info in found]),
        empty="there are no schedules yet; begin with: rowlock schedule add NAME LIST --every 15m",
    )
    if on_terminal() and not as_json:
        for info in found:
            if info.error:
                invocation.say(f"the last tick of {info.name} added no item: {info.error}")


def _row(info: ScheduleInfo) -> tuple[str | None, ...]:
    times = output.format_time(info.next_at), output.format_time(info.last_at)
    return info.name, info.list, info.when, "paused" if info.paused else "open", *times, info.error


def _cells(info: ScheduleInfo) -> list[str]:
    state = "‖ paused" if info.paused else "● open"
    return [info.name, info.list, info.when, state, _local_time(info, info.next_at), _local_time(info, info.last_at)]


@command("rm")
@name_argument()
@version_option
@click.pass_obj
def rm(invocation: Invocation, *, schedule_name: str, version: int | None) -> None:
    """Remove a schedule; the items it has added stay."""
    with invocation.open() as engine, invocation.acting():
        engine.schedule(schedule_name).remove(version=version)
    invocation.say(f"{schedule_name} is removed")


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
    invocation.say(f"{schedule_name} {'ticks again' if changed else 'was not paused'}; {_next_tick(info)}")


@command("trigger")
@name_argument()
@json_option
@click.pass_obj
def trigger(invocation: Invocation, *, schedule_name: str, as_json: bool) -> None:
    """Add an item now, as if this second were a tick."""
    with invocation.open() as engine, invocation.acting():
        added = engine.schedule(schedule_name).trigger()
    sentence = "added 1 item" if added.added else "the item is there already"
    output.result(invocation, msgspec.structs.asdict(added), sentence=sentence, as_json=as_json)


@command("next")
@name_argument(required=False)
@cron_option
@every_option
@zone_option
@click.option("--start", metavar="TIME", help="The time from which --every is counted.")
@click.option("--after", metavar="TIME", help="The first ticks after this time instead of after now.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of ticks.")
@json_option
@click.pass_obj
def show_next(
    invocation: Invocation, /, *, schedule_name: str | None, limit: int, as_json: bool, **options: Any
) -> None:
    """Show the next ticks of a schedule, or of --cron or --every.

    Each line is the time in the schedule's zone and in UTC. Without NAME no database is needed.
    """
    given = {name: options[name] for name in ("cron", "every", "zone")}
    if schedule_name is not None:
        if any(given.values()) or options["start"] or options["after"]:
            raise Invalid(
                "NAME cannot be combined with --cron, --every, --zone, --start or --after", "give one of them"
            )
        with invocation.open() as engine:
            found = engine.schedule(schedule_name).ticks(limit)
        explanation = ""
    else:
        plan = plans.planned("next", "next", **given, start=_datetime(options["start"]))
        explanation = plan.recurrence().explain()
        found = _ticks(plan, _datetime(options["after"]), limit)
    if as_json:
        output.document({"ticks": found})
        return
    if explanation and on_terminal():
        invocation.say(explanation)
    output.lines((output.format_time(at), output.format_time(at.astimezone(UTC))) for at in found)


def _ticks(plan: plans.Plan, after: datetime | None, limit: int) -> list[datetime]:
    # This machine's clock is good enough: nothing is written.
    begin = int((after or datetime.now(UTC)).timestamp() * 1000)
    local, recurrence = zone(plan.zone), ticks(plan.recurrence(), begin + 1, end=MAX_TICK_MILLISECONDS)
    return [datetime.fromtimestamp(tick / 1000, local) for tick, _ in zip(recurrence, range(limit), strict=False)]


@command("run")
@click.option("--for", "length", metavar="DURATION", help="Stop after this time; run for ever if left out.")
@log_option
@click.pass_obj
def run(invocation: Invocation, *, length: str | None, log_format: str) -> int:
    """Tick, and do nothing else, until stopped.

    Needed only where no worker runs: every worker ticks. Each line is the schedule, its list and the key of an item
    that was added.
    """
    stopped = threading.Event()
    why = "a server does its own ticks"
    with invocation.open_database(why=why) as engine, StopSignals(lambda _: stopped.set()) as signals:
        until = None if length is None else engine.environment.monotonic() + milliseconds(length) / 1000
        show_logs(invocation, form=log_format)
        invocation.say("ticking; Ctrl-C stops")
        _keep_ticking(invocation, engine, stopped, until)
    return signals.status or 0


def _keep_ticking(invocation: Invocation, engine: Engine, stopped: threading.Event, until: float | None) -> None:
    ticking, last_error = ScheduleTicker(engine), ""
    while not stopped.is_set() and (until is None or engine.environment.monotonic() < until):
        try:
            for tick in ticking.tick_due():
                _print_tick(tick)
            wait, last_error = ticking.wait, ""
        except Unavailable as error:
            if error.what != last_error:
                invocation.say(f"waiting for the database: {error.what}")
            wait, last_error = MAX_WAIT_SECONDS, error.what
        stopped.wait(wait)


def _print_tick(tick: Tick) -> None:
    if tick.added:
        output.lines((tick.schedule, tick.list, key) for key in tick.keys)
        sys.stdout.flush()


for each in (add, ls, rm, pause, resume, trigger, show_next, run):
    schedule.add_command(each)
