"""`rowlock status`, `ls`, `split` and `failures`: read lists and items, change nothing."""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.invocation import (
    ROWS_PER_PAGE,
    Invocation,
    command,
    every,
    json_option,
    list_argument,
    on_terminal,
)
from rowlock.cli.progress import watch
from rowlock.engine import List
from rowlock.failures import FailureGroup
from rowlock.model import Item, ListInfo, State
from rowlock.ranges import MAX_PARTS

HEADINGS = ("LIST", "STATE", "GATE", "READY", "DELAYED", "GATED", "CLAIMED", "FAILED", "DONE", "PROGRESS")
LIST_ICONS = {"open": "●", "paused": "‖", "complete": "✓"}
COLORS = {State.FAILED: "red", State.CLAIMED: "green", State.DELAYED: "yellow", State.GATED: "dim"}

WritePages = Callable[[Iterable[list[Item]]], None]


@command("status")
@list_argument(required=False)
@json_option
@click.option("--watch", "watching", is_flag=True, help="Repeat every second, until Ctrl-C.")
@click.pass_obj
def status(invocation: Invocation, *, name: str | None, as_json: bool, watching: bool) -> int:
    """Show each list, or one: its state, its counts, its progress."""
    with invocation.open() as engine:

        def draw() -> None:
            infos = [engine[name].info()] if name else list(every(engine.lists))
            if as_json:
                found = _list_document(infos[0]) if name else {"lists": [_list_document(info) for info in infos]}
                (output.json_line if watching else output.document)(found)
            else:
                _write_status(invocation, infos)

        if watching:
            return watch(draw)
        draw()
    return 0


def _write_status(invocation: Invocation, infos: list[ListInfo]) -> None:
    held = any(info.holder for info in infos)
    rows = [[*_status_cells(info), info.holder or ""] if held else _status_cells(info) for info in infos]
    output.rows(
        invocation,
        None,
        as_json=False,
        piped=((*_status_row(info), f"{output.done_share(info)}%") for info in infos),
        table=output.Table((*HEADINGS, "HOLDER") if held else HEADINGS, rows, numeric=range(2, 9)),
        empty="there are no lists yet; begin with: rowlock add LIST KEY",
    )


def _list_document(info: ListInfo) -> dict[str, Any]:
    settings = msgspec.structs.asdict(info.settings)
    return {**msgspec.structs.asdict(info), "settings": settings}


def _status_row(info: ListInfo) -> tuple[Any, ...]:
    counts = info.counts
    waiting = (counts.ready, counts.delayed, counts.gated, counts.claimed, counts.failed)
    return info.name, info.state, info.gate, *waiting, info.progress.done


def _status_cells(info: ListInfo) -> list[str]:
    name, state, gate, *numbers = _status_row(info)
    cells = [f"{number:,}" for number in numbers]
    return [name, f"{LIST_ICONS.get(state, '')} {state}", str(gate), *cells, output.bar(info)]


@command("ls")
@list_argument(required=False)
@click.option("--state", type=click.Choice([state.value for state in State]), help="Only items in this state.")
@click.option("--after", default="", metavar="KEY", help="Only keys that sort after this one.")
@click.option("--upto", metavar="KEY", help="Only keys up to and including this one.")
@click.option("-n", "--limit", type=click.IntRange(min=0), help="Maximum of items; all if left out.")
@click.option("-k", "--keys", "keys_only", is_flag=True, help="Keys only, one on each line.")
@click.option("-0", "--null", is_flag=True, help="Keys only, each followed by NUL, as for xargs -0.")
@json_option
@click.option("--ndjson", is_flag=True, help="One JSON object on each line.")
@click.pass_context
def ls(context: click.Context, /, *, name: str | None, state: str | None, after: str, **options: Any) -> None:
    """List a list's items, or all lists.

    Items come in the byte order of their keys. In a pipe each line is key, attempts and state, separated by tabs.
    """
    if name is None:
        context.invoke(status, name=None, as_json=options["as_json"], watching=False)
        return
    invocation: Invocation = context.obj
    with invocation.open() as engine:
        pages = _pages(engine[name], state, after=after, upto=options["upto"], limit=options["limit"])
        _writer(invocation, options)(pages)


def _pages(found: List, state: str | None, *, after: str, upto: str | None, limit: int | None) -> Iterator[list[Item]]:
    if upto is None and limit is not None and limit < ROWS_PER_PAGE:
        pages: Iterator[list[Item]] = iter([found.page(after=after, limit=limit, state=state)])
    else:
        items = islice(found.items(state=state, after=after, upto=upto, page=ROWS_PER_PAGE), limit)
        pages = iter(lambda: list(islice(items, ROWS_PER_PAGE)), [])
    first = next(pages, [])
    if not first:
        found.info()  # an empty list is no error, but a list that does not exist is
    yield first
    yield from pages


def _writer(invocation: Invocation, options: dict[str, Any]) -> WritePages:
    if options["null"]:
        return _write_each(lambda item: f"{item.key}\0")
    if options["ndjson"]:
        return _write_each(lambda item: output.format_json(item) + "\n")
    if options["as_json"]:
        return _write_document
    if options["keys_only"]:
        return _write_each(lambda item: f"{output.visible(item.key) if on_terminal() else item.key}\n")
    if not on_terminal():
        return _write_each(lambda item: f"{item.key}\t{item.attempts}\t{item.state}\n")
    return _table_writer(plain=invocation.no_color)


def _write_each(text: Callable[[Item], str]) -> WritePages:
    def write(pages: Iterable[list[Item]]) -> None:
        for page in pages:
            output.write("".join(map(text, page)))
            sys.stdout.flush()  # a closed pipe is noticed before the next page is read

    return write


def _write_document(pages: Iterable[list[Item]]) -> None:
    output.write('{"items":[')
    between = ""
    for page in pages:
        for item in page:
            output.write(between + output.format_json(item))
            between = ",\n"
    output.write("]}\n")


def _table_writer(*, plain: bool) -> WritePages:
    def text(item: Item) -> str:
        # The key is the last column, so that its width need not be known before the next page is read.
        state = output.colored(f"{item.state.icon} {item.state:<8}", COLORS.get(item.state, ""), plain=plain)
        return f"{state}  {item.attempts:>8}  {output.visible(item.key)}\n"

    def write(pages: Iterable[list[Item]]) -> None:
        output.write(f"{'STATE':<10}  ATTEMPTS  KEY\n")
        _write_each(text)(pages)

    return write


@command("split")
@list_argument()
@click.argument("parts", metavar="N", type=click.IntRange(1, MAX_PARTS))
@json_option
@click.pass_obj
def split(invocation: Invocation, *, name: str, parts: int, as_json: bool) -> None:
    """Split a list's keys into N ranges of equal size.

    Each range holds the keys after one key, up to and including another; the first starts at the beginning. In a pipe
    each line is after, upto and count, separated by tabs. With fewer keys than N there is one range for each key.
    """
    with invocation.open() as engine:
        ranges = engine[name].ranges(parts)
    cells = [[each.after, each.upto, f"{each.count:,}"] for each in ranges]
    output.rows(
        invocation,
        {"list": name, "ranges": ranges},
        as_json=as_json,
        piped=((each.after, each.upto, each.count) for each in ranges),
        table=output.Table(("AFTER", "UPTO", "COUNT"), cells, numeric=(2,)),
        empty=f"{name} has no keys to split",
    )


@command("failures")
@list_argument(required=False)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Groups per list.")
@json_option
@click.pass_obj
def failures(invocation: Invocation, *, name: str | None, limit: int, as_json: bool) -> None:
    """Show failed items grouped by their last error, the most frequent first.

    Numbers, quoted words and addresses in messages are masked, so that one cause is one group. In a pipe each line is
    list, count, kind, message and one key as an example.
    """
    with invocation.open() as engine:
        infos = [engine[name].info()] if name else [info for info in every(engine.lists) if info.counts.failed]
        groups = [(info.name, group) for info in infos for group in engine[info.name].failure_groups(limit=limit)]
    if as_json:
        output.document({"failures": [{"list": of, **msgspec.structs.asdict(group)} for of, group in groups]})
    elif not on_terminal():
        output.lines((of, group.count, group.kind, group.shape, group.example) for of, group in groups)
    else:
        _show_groups(invocation, infos, groups, with_names=name is None)


def _show_groups(
    invocation: Invocation, infos: list[ListInfo], groups: list[tuple[str, FailureGroup]], *, with_names: bool
) -> None:
    rows = [[of, f"{group.count:,}", group.kind, group.shape, group.example] for of, group in groups]
    headings = ("LIST", "ITEMS", "KIND", "ERROR", "FOR EXAMPLE")
    if rows:
        first = 0 if with_names else 1
        output.write_table(output.Table(headings[first:], [row[first:] for row in rows], numeric=(1 - first,)))
    more = sum(info.counts.failed for info in infos) - sum(group.count for _, group in groups)
    if more > 0:
        invocation.say(f"{output.plural(more, 'more item')} failed, without a stored error or past the limit")
    elif not rows:
        invocation.say("nothing has failed")
