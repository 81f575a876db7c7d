"""`rowlock status`, `ls`, `split`, `failures` and `results`: read lists and items, change nothing."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any

import click
import msgspec

from rowlock.cli import output
from rowlock.cli.invocation import INTERRUPTED, ROWS_PER_PAGE, Invocation, command, every, json_option, list_argument
from rowlock.cli.output import Column
from rowlock.engine import List
from rowlock.engine.handles import Handles
from rowlock.errors import Invalid
from rowlock.item_search import FoundItem
from rowlock.key_ranges import MAX_PARTS
from rowlock.model import Item, ListInfo, State
from rowlock.names import plural

WATCH_SECONDS = 1.0
CLEAR_SCREEN = "\x1b[H\x1b[J"
FILTERS = ("prefix", "error", "attempts", "gate")
LIST_ICONS = {"open": "●", "paused": "‖", "complete": "✓"}
COLORS = {State.FAILED: "red", State.CLAIMED: "green", State.DELAYED: "yellow", State.GATED: "dim"}
STATUS_COLUMNS = (
    Column("LIST", "name"),
    Column("STATE", "state", lambda info: f"{LIST_ICONS.get(info.state, '')} {info.state}"),
    Column("GATE", "gate"),
    Column("READY", "counts.ready"),
    Column("DELAYED", "counts.delayed"),
    Column("GATED", "counts.gated"),
    Column("CLAIMED", "counts.claimed"),
    Column("FAILED", "counts.failed"),
    Column("DONE", "progress.done"),
    Column("PROGRESS", lambda info: f"{output.done_share(info)}%", output.bar),
)
HOLDER_COLUMN = Column("HOLDER", "holder")
MAX_KEY_COLUMNS = 60
"""A longer key moves the rest of its line to the right."""
RESULT_COLUMNS = (
    Column("KEY", lambda result: output.escaped(result.key), lambda result: result.key),
    Column("ATTEMPTS", "attempts"),
    Column("DONE AT", "settled_at"),
    Column("RESULT", lambda result: output.format_json(result.result), lambda result: output.as_text(result.result)),
)
RANGE_COLUMNS = (
    Column("AFTER", lambda part: output.escaped(part.after), lambda part: part.after),
    Column("UPTO", lambda part: output.escaped(part.upto), lambda part: part.upto),
    Column("COUNT", "count"),
)
THROUGHPUT_COLUMNS = (
    Column("FROM", "at"),
    *(Column(name.upper(), name) for name in ("added", "done", "retried", "moved", "failed", "abandoned")),
)
FAILURE_GROUP_COLUMNS = (
    Column("LIST", lambda group: group["list"]),
    Column("ITEMS", lambda group: group["count"]),
    Column("KIND", lambda group: group["kind"]),
    Column("ERROR", lambda group: group["shape"]),
    Column("FOR EXAMPLE", lambda group: output.escaped(group["example"]), lambda group: group["example"]),
)


@command("status")
@list_argument(required=False)
@json_option
@click.option("--watch", "watching", is_flag=True, help="Repeat every second, until Ctrl-C.")
def status(invocation: Invocation, *, name: str | None, watching: bool) -> int:
    """Show each list, or one: its state, its counts, its progress."""
    with invocation.open() as engine:

        def draw() -> None:
            infos = [engine[name].info()] if name else list(every(engine.lists))
            known = {info.name: engine[info.name].remembered() for info in infos if info.settings.once}
            documents = [msgspec.structs.asdict(info) | _more(info, known) for info in infos]
            value = documents[0] if name else {"lists": documents}
            if watching and invocation.as_json:
                output.write(output.format_json(value) + "\n")
            else:
                columns = [*STATUS_COLUMNS]
                if known:
                    columns.append(Column("REMEMBERED", lambda info: known.get(info.name)))
                if output.on_terminal() and any(info.holder for info in infos):
                    columns.append(HOLDER_COLUMN)
                empty = "there are no lists yet; begin with: rowlock add LIST KEY"
                output.table(invocation, value, rows=infos, columns=columns, empty=empty)

        if watching:
            return _watch(draw)
        draw()
    return 0


def _more(info: ListInfo, remembered: dict[str, int]) -> dict[str, Any]:
    """Return settings with their defaults, which a struct leaves out, and how many keys are remembered as done."""
    known = {"remembered": remembered[info.name]} if info.name in remembered else {}
    return {"settings": msgspec.structs.asdict(info.settings), **known}


def _watch(draw: Callable[[], None]) -> int:
    try:
        while True:
            if output.on_terminal():
                output.write(CLEAR_SCREEN)
            draw()
            sys.stdout.flush()
            time.sleep(WATCH_SECONDS)
    except KeyboardInterrupt:  # the only way to end it, so no error
        return INTERRUPTED


@command("ls")
@list_argument(required=False)
@click.option("--state", type=click.Choice([state.value for state in State]), help="Only items in this state.")
@click.option("--prefix", metavar="TEXT", help="Only keys that begin with TEXT.")
@click.option("--error", metavar="TEXT", help="Only items whose last error contains TEXT.")
@click.option("--attempts", type=int, metavar="N", help="Only items with at least N failed attempts.")
@click.option("--gate", type=int, metavar="N", help="Only items of this gate.")
@click.option("--after", default="", metavar="KEY", help="Only keys that sort after this one.")
@click.option("--upto", metavar="KEY", help="Only keys up to and including this one.")
@click.option("-n", "--limit", type=click.IntRange(min=0), help="Maximum of items; all if left out.")
@click.option("-k", "--keys", "keys_only", is_flag=True, help="Keys only, one on each line.")
@click.option("-0", "--null", is_flag=True, help="Keys only, each followed by NUL, as for xargs -0.")
@json_option
@click.option("--ndjson", is_flag=True, help="One JSON object on each line.")
def ls(invocation: Invocation, /, *, name: str | None, state: str | None, after: str, **options: Any) -> None:
    """List a list's items, or all lists.

    Items come in the byte order of their keys. In a pipe each line is key, attempts and state, separated by tabs. A tab
    in a key is written \\t there, and a backslash \\\\; with -k, -0 and in JSON keys are as they are.
    With --prefix, --error, --attempts or --gate, JSON holds their last error and not their data.
    """
    if name is None:
        click.get_current_context().invoke(status, name=None, watching=False)
        return
    with invocation.open() as engine:
        bounds = {"after": after, "upto": options["upto"], "limit": options["limit"]}
        where = {option: options[option] for option in FILTERS if options[option] is not None}
        items = engine[name]
        pages: Iterator[Sequence[Item | FoundItem]] = (
            _found(items, where | {"state": state}, **bounds) if where else _pages(items, state, **bounds)
        )
        first = next(pages, [])  # a list that does not exist is refused before anything is written
        before, between, text, end = _layout(invocation, options, first)
        output.write(before)
        separator = ""
        for page in chain([first], pages):
            if page:
                output.write(separator + between.join(map(text, page)))
                separator = between
            sys.stdout.flush()  # a closed pipe is noticed before the next page is read
        output.write(end)


def _pages(items: List, state: str | None, *, after: str, upto: str | None, limit: int | None) -> Iterator[list[Item]]:
    if upto is None and limit is not None and limit < ROWS_PER_PAGE:
        pages: Iterator[list[Item]] = iter([items.page(after=after, limit=limit, state=state)])
    else:
        each = islice(items.items(state=state, after=after, upto=upto, page=ROWS_PER_PAGE), limit)
        pages = iter(lambda: list(islice(each, ROWS_PER_PAGE)), [])
    return pages


def _found(
    items: List, where: dict[str, Any], *, after: str, upto: str | None, limit: int | None
) -> Iterator[list[FoundItem]]:
    """Yield what matches a filter, in pages of any size."""
    begin: str | None = after
    while begin is not None and limit != 0:
        found = items.search(**where, after=begin, limit=min(limit or ROWS_PER_PAGE, ROWS_PER_PAGE))
        page = found.items if upto is None else [item for item in found.items if item.key <= upto]
        yield page
        limit = None if limit is None else limit - len(page)
        begin = found.next if upto is None or (found.next or "") < upto else None


def _layout(
    invocation: Invocation, options: dict[str, Any], first: Sequence[Item | FoundItem]
) -> tuple[str, str, Callable[[Any], str], str]:
    """Return what is written before, between, for each, and after the items; `first` are those of the first page."""
    if options["null"]:
        return "", "", lambda item: f"{item.key}\0", ""
    if options["ndjson"]:
        return "", "", lambda item: output.format_json(item) + "\n", ""
    if invocation.as_json:
        return '{"items":[', ",\n", output.format_json, "]}\n"
    if options["keys_only"]:
        return "", "", lambda item: f"{output.visible(item.key) if output.on_terminal() else item.key}\n", ""
    if not output.on_terminal():
        return "", "", lambda item: f"{output.escaped(item.key)}\t{item.attempts}\t{item.state}\n", ""
    # The widest key of the first page is the width of the column: later pages are not read before it is written.
    width = min(max((output.width(output.visible(item.key)) for item in first), default=3), MAX_KEY_COLUMNS)
    text = partial(_row_text, width=max(width, 3), plain=invocation.no_color)
    return f"{'KEY':<{max(width, 3)}}  ATTEMPTS  STATE\n", "", text, ""


def _row_text(item: Item | FoundItem, *, width: int, plain: bool) -> str:
    state = output.colored(f"{item.state.icon} {item.state}", COLORS.get(item.state, ""), plain=plain)
    return f"{output.padded(output.visible(item.key), width)}  {item.attempts:>8}  {state}\n"


@command("split")
@list_argument()
@click.argument("parts", metavar="N", type=click.IntRange(1, MAX_PARTS))
@json_option
def split(invocation: Invocation, *, name: str, parts: int) -> None:
    """Split a list's keys into N ranges of equal size.

    Each range holds the keys after one key, up to and including another; the first starts at the beginning. In a pipe
    each line is after, upto and count, separated by tabs. With fewer keys than N there is one range for each key.
    """
    with invocation.open() as engine:
        ranges = engine[name].ranges(parts)
    empty = f"{name} has no keys to split"
    output.table(invocation, {"list": name, "ranges": ranges}, rows=ranges, columns=RANGE_COLUMNS, empty=empty)


@command("failures")
@list_argument(required=False)
@click.argument("key", required=False)
@click.option(
    "-n", "--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="Groups per list, or failures."
)
@json_option
def failures(invocation: Invocation, *, name: str | None, key: str | None, limit: int) -> None:
    """Show failed items grouped by their last error, the most frequent first, or the failures of one item.

    Ids, quoted words and addresses in messages are masked, so that one cause is one group; a status or error number of
    up to three digits is not. In a pipe each line is list, count, kind, message and one key as an example; of one item,
    attempt, time, kind, holder and message. With -v each group has the traceback of its example.
    """
    if name is not None and key is not None:
        with invocation.open() as engine:
            found = engine[name].failures(key, limit=limit)
        empty = f"no failures of {key} are kept"
        output.table(invocation, {"failures": found}, rows=found, columns=output.FAILURE_COLUMNS, empty=empty)
        return
    with invocation.open() as engine:
        infos = [engine[name].info()] if name else [info for info in every(engine.lists) if info.counts.failed]
        groups = [
            {"list": info.name, **msgspec.structs.asdict(group)}
            for info in infos
            for group in engine[info.name].failure_groups(limit=limit)
        ]
        if invocation.verbose:
            _add_tracebacks(engine, groups)
    with_list = name is None or not output.on_terminal()
    columns = FAILURE_GROUP_COLUMNS if with_list else FAILURE_GROUP_COLUMNS[1:]
    more = sum(info.counts.failed for info in infos) - sum(group["count"] for group in groups)
    others = f"{plural(more, 'more item')} failed, without a stored error or past the limit" if more > 0 else ""
    output.table(invocation, {"failures": groups}, rows=groups, columns=columns, empty=others or "nothing has failed")
    if invocation.as_json:
        return
    for group in groups:
        output.write_traceback(f"{group['list']} {group['example']}", group.get("traceback"))
    if groups and others and output.on_terminal():
        invocation.say(others)


def _add_tracebacks(engine: Handles, groups: list[dict[str, Any]]) -> None:
    for group in groups:
        last = engine[group["list"]].failures(group["example"], limit=1)
        group["traceback"] = last[0].traceback if last else None


@command("results")
@list_argument()
@click.argument("key", required=False)
@click.option("--after", default="", metavar="KEY", help="Only keys that sort after this one.")
@click.option("-n", "--limit", type=click.IntRange(min=0), help="Maximum of results; all if left out.")
@json_option
@click.option("--ndjson", is_flag=True, help="One JSON object on each line.")
@click.option("--csv", "as_csv", is_flag=True, help="CSV with headings.")
def results(
    invocation: Invocation, /, *, name: str, key: str | None, after: str, limit: int | None, **form: bool
) -> None:
    """Show the newest result of each done item, or all results of one.

    A list keeps results with the setting keep_results. In a pipe each line is key, attempts, time and result as JSON.
    """
    if form["ndjson"] + form["as_csv"] + invocation.as_json > 1:
        raise Invalid("--json, --ndjson and --csv exclude each other", "give one of them")
    with invocation.open() as engine:
        if key is not None:
            found = engine[name].results(key, limit=limit or ROWS_PER_PAGE)
        else:
            found = list(islice(every(engine[name].newest_results, by="key", after=after), limit))
        keeps = bool(found) or engine[name].settings().keep_results
    if form["ndjson"]:
        output.write("".join(output.format_json(each) + "\n" for each in found))
    elif form["as_csv"]:
        cells = (
            [each.key, each.attempts, each.settled_at.isoformat(), output.format_json(each.result)] for each in found
        )
        output.write_csv(["key", "attempts", "settled_at", "result"], cells)
    else:
        empty = f"{name} has no results" if keeps else f"{name} keeps no results; set keep_results=true for later ones"
        output.table(invocation, {"results": found}, rows=found, columns=RESULT_COLUMNS, empty=empty)


@command("throughput")
@list_argument(required=False)
@click.option("--span", default="1h", show_default=True, metavar="DURATION", help="How far back: 15m, 24h, 7d.")
@json_option
def throughput(invocation: Invocation, *, name: str | None, span: str) -> None:
    """Show how many items were added, done and failed in each step of a span.

    In a pipe each line is the start of a step and the numbers of items added, done, retried, moved, failed, abandoned.
    """
    with invocation.open() as engine:
        series = engine[name].throughput(span=span) if name else engine.throughput(span=span)
    output.table(invocation, series, rows=series.steps, columns=THROUGHPUT_COLUMNS, empty="")
