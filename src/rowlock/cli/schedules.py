"""`rowlock schedule`: set, show and tick recurring work."""

import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.input import json_value, time_value
from rowlock.cli.invocation import Invocation, every, group, json_option, list_argument, named_argument, version_option
from rowlock.cli.output import Column
from rowlock.cli.terminal import StopSignals, log_option, show_logs
from rowlock.durations import milliseconds
from rowlock.engine import Engine
from rowlock.errors import Invalid, InvalidSchedule, Unavailable
from rowlock.model import DEFAULT_PRIORITY
from rowlock.schedules import ScheduleInfo, Tick, plans
from rowlock.schedules.plans import DEFAULT_KEY, CatchUp, ticks, zone
from rowlock.worker.schedule_ticker import MAX_WAIT_SECONDS, ScheduleTicker

MAX_TICK_MILLISECONDS = 2**53
HISTORY_COLUMNS = (
    Column("AT", "at"),
    Column("ITEMS", "items"),
    Column("ADDED", "added"),
    Column("TRIGGERED", "triggered"),
    Column("ERROR", "error"),
)
SCHEDULE_COLUMNS = (
    Column("SCHEDULE", "name"),
    Column("LIST", "list"),
    Column("WHEN", "when"),
    Column(
        "STATE",
        lambda info: "paused" if info.paused else "open",
        lambda info: "‖ paused" if info.paused else "● open",
    ),
    Column("NEXT", "next_at", lambda info: _local_time(info, info.next_at)),
    Column("LAST", "last_at", lambda info: _local_time(info, info.last_at)),
    Column("", "error"),
)

cron_option = click.option(
    "--cron", metavar="EXPRESSION", help="Five fields, or @hourly, @daily, @weekly, @monthly, @yearly."
)
every_option = click.option("--every", metavar="DURATION", help="At equal intervals: 30s, 15m, 2h, 1d.")
zone_option = click.option("--zone", metavar="NAME", help="The time zone of --cron: Europe/Berlin. UTC if left out.")


def name_argument(*, required: bool = True) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare the NAME of a schedule, passed to the command as `schedule_name`."""
    return named_argument("schedule_name", "NAME", names=lambda engine: engine.schedules(), required=required)


@group("schedule")
def schedule() -> None:
    """Recurring work: each tick of a schedule adds one item to a list.

    Every worker ticks, and so does `rowlock schedule run`.
    """


@schedule.command("add")
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
def add(invocation: Invocation, /, *, schedule_name: str, name: str, **options: Any) -> None:
    """Set a schedule: items for LIST, by --cron or --every.

    Setting the same again changes nothing, so that every deployment may do it.
    """
    wanted = {**options, "data": json_value(options["data"]), "start": _datetime(options["start"])}
    with invocation.open(create=True) as engine, invocation.acting():
        change = engine.schedule(schedule_name).set(name, **wanted)
        info = engine.schedule(schedule_name).info()
    if invocation.as_json:
        document = dict(zip(info.__struct_encode_fields__, msgspec.structs.astuple(info), strict=True))
        output.document({"change": change, **document})
    elif output.on_terminal():
        output.write(output.visible(f"{schedule_name} is {change}; {_next_tick(info)}") + "\n")
    elif not invocation.quiet:
        output.lines([(schedule_name, change, output.format_time(info.next_at))])


def _datetime(text: str | None) -> datetime | None:
    value = None if text is None else time_value(text)
    if value is not None and not isinstance(value, datetime):
        raise InvalidSchedule(f"a time must be a date and time, got {text!r}", "write it like 2030-01-31T12:00Z")
    return value


def _next_tick(info: ScheduleInfo) -> str:
    return "it is paused" if info.next_at is None else f"the next tick is {_local_time(info, info.next_at)}"


def _local_time(info: ScheduleInfo, at: datetime | None) -> str:
    return "" if at is None else output.format_time(at.astimezone(zone(info.zone or "UTC")))


@schedule.command("ls")
@json_option
def ls(invocation: Invocation) -> None:
    """Show all schedules: their lists, when they tick, the next tick and the last.

    In a pipe each line is name, list, rhythm, state, next tick, last tick and the error of the last tick, if there was
    one; times are in UTC.
    """
    with invocation.open() as engine:
        schedules = list(every(engine.schedules))
    empty = "there are no schedules yet; begin with: rowlock schedule add NAME LIST --every 15m"
    output.table(invocation, {"schedules": schedules}, rows=schedules, columns=SCHEDULE_COLUMNS, empty=empty)
    if output.on_terminal() and not invocation.as_json:
        for info in schedules:
            if info.error:
                invocation.say(f"the last tick of {info.name} added no item: {info.error}")


@schedule.command("rm")
@name_argument()
@version_option
def rm(invocation: Invocation, *, schedule_name: str, version: int | None) -> None:
    """Remove a schedule; the items it has added stay."""
    with invocation.open() as engine, invocation.acting():
        engine.schedule(schedule_name).remove(version=version)
    invocation.say(f"{schedule_name} is removed")


@schedule.command("pause")
@name_argument()
@version_option
def pause(invocation: Invocation, *, schedule_name: str, version: int | None) -> None:
    """Stop a schedule's ticks; those of the pause are not caught up."""
    with invocation.open() as engine, invocation.acting():
        changed = engine.schedule(schedule_name).pause(version=version)
    invocation.say(f"{schedule_name} is paused" if changed else f"{schedule_name} was paused already")


@schedule.command("resume")
@name_argument()
@version_option
def resume(invocation: Invocation, *, schedule_name: str, version: int | None) -> None:
    """Let a schedule tick again, from its next tick on."""
    with invocation.open() as engine, invocation.acting():
        changed = engine.schedule(schedule_name).resume(version=version)
        info = engine.schedule(schedule_name).info()
    invocation.say(f"{schedule_name} {'ticks again' if changed else 'was not paused'}; {_next_tick(info)}")


@schedule.command("trigger")
@name_argument()
@json_option
def trigger(invocation: Invocation, *, schedule_name: str) -> None:
    """Add an item now, as if this second were a tick."""
    with invocation.open() as engine, invocation.acting():
        added = engine.schedule(schedule_name).trigger()
    sentence = "added 1 item" if added.added else "the item is there already"
    output.result(invocation, added, sentence=sentence)


@schedule.command("history")
@name_argument()
@click.option("-n", "--limit", type=click.IntRange(1, 100), default=20, show_default=True, help="Number of ticks.")
@json_option
def history(invocation: Invocation, *, schedule_name: str, limit: int) -> None:
    """Show the last ticks of a schedule, the newest first.

    In a pipe each line is the time, how many items the tick was for, how many were added, whether it was triggered, and
    the error if the list refused them.
    """
    with invocation.open() as engine:
        past = engine.schedule(schedule_name).history(limit=limit)
    output.table(
        invocation, {"ticks": past}, rows=past, columns=HISTORY_COLUMNS, empty=f"{schedule_name} has not ticked"
    )


@schedule.command("next")
@name_argument(required=False)
@cron_option
@every_option
@zone_option
@click.option("--start", metavar="TIME", help="The time from which --every is counted.")
@click.option("--after", metavar="TIME", help="The first ticks after this time instead of after now.")
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of ticks.")
@json_option
def show_next(invocation: Invocation, /, *, schedule_name: str | None, limit: int, **options: Any) -> None:
    """Show the next ticks of a schedule, or of --cron or --every.

    Each line is the time in the schedule's zone and in UTC. Without NAME no database is needed.
    """
    explanation = ""
    if schedule_name is None:
        start, after = _datetime(options.pop("start")), _datetime(options.pop("after"))
        plan = plans.planned("next", "next", **options, start=start)
        explanation = plan.recurrence().explain()
        times = _ticks(plan, after, limit)
    elif any(options.values()):
        what = "NAME cannot be combined with --cron, --every, --zone, --start or --after"
        raise Invalid(what, "give one of them")
    else:
        with invocation.open() as engine:
            times = engine.schedule(schedule_name).ticks(limit)
    if invocation.as_json:
        output.document({"ticks": times})
        return
    if explanation and output.on_terminal():
        invocation.say(explanation)
    output.lines((at, at.astimezone(UTC)) for at in times)


def _ticks(plan: plans.Plan, after: datetime | None, limit: int) -> list[datetime]:
    # This machine's clock is good enough: nothing is written.
    begin = int((after or datetime.now(UTC)).timestamp() * 1000)
    local, recurrence = zone(plan.zone), ticks(plan.recurrence(), begin + 1, end=MAX_TICK_MILLISECONDS)
    return [datetime.fromtimestamp(tick / 1000, local) for tick, _ in zip(recurrence, range(limit), strict=False)]


@schedule.command("run")
@click.option("--for", "length", metavar="DURATION", help="Stop after this time; run for ever if left out.")
@log_option
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
