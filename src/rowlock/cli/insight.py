"""`rowlock sessions`, `failures` and `upkeep`: who is at work, what went wrong, and housekeeping by hand."""

from collections.abc import Iterator, Sequence
from datetime import datetime

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, list_argument, on_terminal
from rowlock.cli.look import every_list
from rowlock.engine.handles import Handles
from rowlock.failures import Group
from rowlock.model import ListInfo
from rowlock.sessions import SessionInfo

SHOWN = 5
WATCH_SECONDS = 60
"""How long sessions whose deadline has passed may be watched until it is certain that they are dead."""

json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


@command("sessions")
@json_option
@click.pass_obj
def sessions(invocation: Invocation, *, as_json: bool) -> None:
    """Show who is at work: each session, since when, until when, and how much it has in hand.

    Last come the exclusive lists that it has, in a pipe separated by commas.
    """
    with invocation.open() as engine:
        found = engine.sessions()
    if as_json:
        output.document({"sessions": [_session_document(each) for each in found]})
    elif not on_terminal():
        output.lines((each.id, *_session_row(each), ",".join(each.leases)) for each in found)
    elif found:
        headings = ("HOLDER", "SINCE", "EXPIRES", "CLAIMS", "ITEMS", "LISTS")
        rows = [[*map(str, _session_row(each)), _some(each.leases)] for each in found]
        output.table(headings, rows, numeric=(3, 4))
    else:
        invocation.say("nobody is at work")


def _session_row(info: SessionInfo) -> tuple[object, ...]:
    return info.holder, _spoken(info.opened_at), _spoken(info.expires_at), info.claims, info.items


def _some(names: Sequence[str]) -> str:
    more = len(names) - SHOWN
    return ", ".join(names[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def _session_document(info: SessionInfo) -> dict[str, object]:
    # What scripts were handed is kept in the details: no news for a reader.
    return {name: value for name, value in msgspec.structs.asdict(info).items() if name != "details"}


def _spoken(at: datetime) -> str:
    return at.isoformat(timespec="seconds")


@command("failures")
@list_argument(required=False)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Groups per list.")
@json_option
@click.pass_obj
def failures(invocation: Invocation, *, name: str | None, limit: int, as_json: bool) -> None:
    """Show what went wrong: failed items by what was said last, the most frequent first.

    Numbers, quoted words and addresses in a message are masked, so that one mistake is one group. In a pipe each line
    is list, count, kind, message and the key of one of them.
    """
    with invocation.open() as engine:
        infos = [engine[name].info()] if name else [info for info in every_list(engine) if info.counts.failed]
        groups = list(_groups(engine, infos, limit))
    if as_json:
        output.document({"failures": [{"list": of, **msgspec.structs.asdict(group)} for of, group in groups]})
    elif not on_terminal():
        output.lines((of, group.count, group.kind, group.shape, group.example) for of, group in groups)
    else:
        _tell(invocation, infos, groups, with_names=name is None)


def _groups(engine: Handles, infos: list[ListInfo], limit: int) -> Iterator[tuple[str, Group]]:
    for info in infos:
        yield from ((info.name, group) for group in engine[info.name].failure_groups(limit=limit))


def _tell(invocation: Invocation, infos: list[ListInfo], groups: list[tuple[str, Group]], *, with_names: bool) -> None:
    rows = [[of, f"{group.count:,}", group.kind, group.shape, group.example] for of, group in groups]
    headings = ("LIST", "ITEMS", "KIND", "ERROR", "FOR EXAMPLE")
    if rows:
        first = 0 if with_names else 1
        output.table(headings[first:], [row[first:] for row in rows], numeric=(1 - first,))
    more = sum(info.counts.failed for info in infos) - sum(group.count for _, group in groups)
    if more > 0:
        invocation.say(f"{output.many(more, 'more item')} failed, of which nothing is shown or kept")
    elif not rows:
        invocation.say("nothing has failed")


@command("upkeep")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
@click.pass_obj
def upkeep(invocation: Invocation, *, as_json: bool) -> None:
    """Do one bounded pass of housekeeping, as every worker does now and then.

    Ends dead sessions, puts due items in line, opens gates where no worker looks, adds up old tallies, forgets old
    errors and results. Sessions whose deadline has passed are watched for half of their expiry first, up to a minute.
    """
    with invocation.open_database(why="it keeps house by itself") as engine:
        report = engine.upkeep(wait=WATCH_SECONDS)
    counted: dict[str, int] = msgspec.structs.asdict(report)
    sentence = ", ".join(f"{word} {count:,}" for word, count in counted.items())
    output.numbers(invocation, counted, sentence=sentence, as_json=as_json)
