"""`rowlock status`, `ls`, `split` and `failures`: look, and change nothing."""

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.invocation import Invocation, command, list_argument, on_terminal
from rowlock.cli.progress import watch
from rowlock.engine import List
from rowlock.engine.handles import Handles
from rowlock.failures import FailureGroup
from rowlock.model import Item, ListInfo, State
from rowlock.ranges import MAX_PARTS

PAGE = 1_000
HEADINGS = ("LIST", "STATE", "GATE", "READY", "DELAYED", "GATED", "CLAIMED", "FAILED", "DONE", "PROGRESS")
LIST_ICONS = {"open": "●", "paused": "‖", "complete": "✓"}
COLORS = {State.FAILED: "red", State.CLAIMED: "green", State.DELAYED: "yellow", State.GATED: "dim"}
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document.")


@command("status")
@list_argument(required=False)
@json_option
@click.option("--watch", "watching", is_flag=True, help="Look again every second, until Ctrl-C.")
@click.pass_obj
def status(invocation: Invocation, *, name: str | None, as_json: bool, watching: bool) -> int:
    """Show each list, or one: its state, its counts, its progress."""
    with invocation.open() as engine:

        def draw() -> None:
            infos = [engine[name].info()] if name else list(every_list(engine))
            if as_json:
                found = _list_document(infos[0]) if name else {"lists": [_list_document(info) for info in infos]}
                (output.json_line if watching else output.document)(found)
            else:
                _tell_status(invocation, infos)

        if watching:
            return watch(draw)
        draw()
    return 0


def _tell_status(invocation: Invocation, infos: list[ListInfo]) -> None:
    if not on_terminal():
        output.lines((*_numbers(info), f"{output.share(info)}%") for info in infos)
    elif infos:
        held = any(info.holder for info in infos)
        rows = [[*_row(info), info.holder or ""] if held else _row(info) for info in infos]
        output.table((*HEADINGS, "HOLDER") if held else HEADINGS, rows, numeric=range(2, 9))
    else:
        invocation.say("there are no lists yet; begin with: rowlock add LIST KEY")


def every_list(engine: Handles) -> Iterator[ListInfo]:
    """All lists in the order of their names, page by page."""
    after = ""
    while page := engine.lists(after=after, limit=PAGE):
        yield from page
        after = page[-1].name


def _list_document(info: ListInfo) -> dict[str, Any]:
    settings = msgspec.structs.asdict(info.settings)
    return {**msgspec.structs.asdict(info), "settings": settings}


def _numbers(info: ListInfo) -> tuple[Any, ...]:
    counts = info.counts
    waiting = (counts.ready, counts.delayed, counts.gated, counts.claimed, counts.failed)
    return info.name, info.state, info.gate, *waiting, info.progress.done


def _row(info: ListInfo) -> list[str]:
    name, state, gate, *numbers = _numbers(info)
    shown = [f"{number:,}" for number in numbers]
    return [name, f"{LIST_ICONS.get(state, '')} {state}", str(gate), *shown, output.bar(info)]


@command("ls")
@list_argument(required=False)
@click.option("--state", type=click.Choice([state.value for state in State]), help="Only items in this state.")
@click.option("--after", default="", metavar="KEY", help="Only keys that sort strictly after this one.")
@click.option("--upto", metavar="KEY", help="No keys that sort after this one.")
@click.option("-n", "--limit", type=click.IntRange(min=0), help="At most so many items; all if left out.")
@click.option("-k", "--keys", "keys_only", is_flag=True, help="Keys alone, one to a line.")
@click.option("-0", "--null", is_flag=True, help="Keys alone, each ended with NUL, as for xargs -0.")
@json_option
@click.option("--ndjson", is_flag=True, help="One JSON object to a line.")
@click.pass_context
def ls(context: click.Context, /, *, name: str | None, state: str | None, after: str, **options: Any) -> None:
    """List a list's items, or all lists.

    Items come in the byte order of their keys, page by page. In a pipe each line is key, attempts and state,
    separated by tabs.
    """
    if name is None:
        context.invoke(status, name=None, as_json=options["as_json"], watching=False)
        return
    invocation: Invocation = context.obj
    with invocation.open() as engine:
        pages = _pages(engine[name], state, after=after, upto=options["upto"], limit=options["limit"])
        _writer(invocation, options)(pages)


def _pages(found: List, state: str | None, *, after: str, upto: str | None, limit: int | None) -> Iterator[list[Item]]:
    if upto is None and limit is not None and limit < PAGE:
        pages: Iterator[list[Item]] = iter([found.page(after=after, limit=limit, state=state)])
    else:
        items = islice(found.items(state=state, after=after, upto=upto, page=PAGE), limit)
        pages = iter(lambda: list(islice(items, PAGE)), [])
    first = next(pages, [])
    if not first:
        found.info()  # an empty list is no error, one that is not there is
    yield first
    yield from pages


def _writer(invocation: Invocation, options: dict[str, Any]) -> Callable[[Iterable[list[Item]]], None]:
    if options["null"]:
        return _each(lambda item: f"{item.key}\0")
    if options["ndjson"]:
        return _each(lambda item: msgspec.json.encode(output.item_document(item)).decode() + "\n")
    if options["as_json"]:
        return _one_document
    if options["keys_only"]:
        return _each(lambda item: f"{_shown(item.key)}\n")
    if not on_terminal():
        return _each(lambda item: f"{item.key}\t{item.attempts}\t{item.state}\n")
    return _table(plain=invocation.no_color)


def _shown(key: str) -> str:
    return output.visible(key) if on_terminal() else key


def _each(text: Callable[[Item], str]) -> Callable[[Iterable[list[Item]]], None]:
    def write(pages: Iterable[list[Item]]) -> None:
        for page in pages:
            output.write("".join(map(text, page)))
            sys.stdout.flush()  # a reader who has gone is noticed before the next page is fetched

    return write


def _one_document(pages: Iterable[list[Item]]) -> None:
    output.write('{"items":[')
    between = ""
    for page in pages:
        for item in page:
            output.write(between + msgspec.json.encode(output.item_document(item)).decode())
            between = ",\n"
    output.write("]}\n")


def _table(*, plain: bool) -> Callable[[Iterable[list[Item]]], None]:
    def text(item: Item) -> str:
        # The key stands last, so that any length fits and nothing must be known of the next page.
        state = output.colored(f"{item.state.icon} {item.state:<8}", COLORS.get(item.state, ""), plain=plain)
        return f"{state}  {item.attempts:>8}  {output.visible(item.key)}\n"

    def write(pages: Iterable[list[Item]]) -> None:
        output.write(f"{'STATE':<10}  ATTEMPTS  KEY\n")
        _each(text)(pages)

    return write


@command("split")
@list_argument()
@click.argument("parts", metavar="K", type=click.IntRange(1, MAX_PARTS))
@click.option("--json", "as_json", is_flag=True, help="One JSON document.")
@click.pass_obj
def split(invocation: Invocation, *, name: str, parts: int, as_json: bool) -> None:
    """Cut a list's keys into K ranges of equal size.

    Each range holds the keys strictly after one, up to and with another; the first begins after nothing. In a pipe
    each line is after, upto and count, separated by tabs. Fewer keys than K: one range for each key.
    """
    with invocation.open() as engine:
        ranges = engine[name].ranges(parts)
    if as_json:
        output.document({"list": name, "ranges": ranges})
    elif not on_terminal():
        output.lines((each.after, each.upto, each.count) for each in ranges)
    elif ranges:
        rows = [[each.after, each.upto, f"{each.count:,}"] for each in ranges]
        output.table(("AFTER", "UPTO", "COUNT"), rows, numeric=[2])
    else:
        invocation.say(f"{name} has no keys to split")


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


def _groups(engine: Handles, infos: list[ListInfo], limit: int) -> Iterator[tuple[str, FailureGroup]]:
    for info in infos:
        yield from ((info.name, group) for group in engine[info.name].failure_groups(limit=limit))


def _tell(
    invocation: Invocation, infos: list[ListInfo], groups: list[tuple[str, FailureGroup]], *, with_names: bool
) -> None:
    rows = [[of, f"{group.count:,}", group.kind, group.shape, group.example] for of, group in groups]
    headings = ("LIST", "ITEMS", "KIND", "ERROR", "FOR EXAMPLE")
    if rows:
        first = 0 if with_names else 1
        output.table(headings[first:], [row[first:] for row in rows], numeric=(1 - first,))
    more = sum(info.counts.failed for info in infos) - sum(group.count for _, group in groups)
    if more > 0:
        invocation.say(f"{output.plural(more, 'more item')} failed, of which nothing is shown or kept")
    elif not rows:
        invocation.say("nothing has failed")
