"""Output on stdout: tables and sentences on a terminal, tab-separated lines in a pipe, JSON on request."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from rowlock.cli.invocation import Invocation
    from rowlock.model import ListInfo

# Characters that move the cursor, change colours or turn the direction of reading.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_BAR_COLUMNS = 12
_COLORS = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


class Table(msgspec.Struct, frozen=True):
    """Rows under headings; the columns in `numeric` are aligned to the right."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    numeric: Sequence[int] = ()


def visible(text: str) -> str:
    """Return text with its control characters escaped, so that a terminal shows them."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def write(text: str) -> None:
    """Write data to stdout."""
    sys.stdout.write(text)


def lines(rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as tab-separated lines, unescaped, for other programs."""
    write("".join("\t".join(map(_field, row)) + "\n" for row in rows))


def _field(value: Any) -> str:
    return "" if value is None else str(value)


def document(value: Any) -> None:
    """Write one JSON document: indented on a terminal, one line in a pipe."""
    text = msgspec.json.encode(value)
    if sys.stdout.isatty():
        with suppress(RecursionError):  # stored data may be nested too deeply to be indented
            text = msgspec.json.format(text, indent=2)
    write(text.decode() + "\n")


def json_line(value: Any) -> None:
    """Write one JSON document on one line, also on a terminal."""
    write(msgspec.json.encode(value).decode() + "\n")


def result(invocation: "Invocation", counts: Mapping[str, int], *, sentence: str, as_json: bool) -> None:
    """Write what a command did: JSON on request, a sentence on a terminal, names and numbers in a pipe."""
    if as_json:
        document(counts)
    elif invocation.quiet:
        return
    elif sys.stdout.isatty():
        write(f"{visible(sentence)}\n")
    else:
        lines(counts.items())


def rows(
    invocation: "Invocation",
    value: Any,
    *,
    as_json: bool,
    table: Table,
    piped: Iterable[Sequence[Any]] | None = None,
    empty: str = "",
) -> None:
    """Write `value` as JSON on request, `piped` or the table's rows in a pipe, and the table on a terminal.

    `empty` is said instead of a table without rows.
    """
    if as_json:
        document(value)
    elif not sys.stdout.isatty():
        lines(table.rows if piped is None else piped)
    elif table.rows or not empty:
        write_table(table)
    else:
        invocation.say(empty)


def write_table(table: Table) -> None:
    """Write a table whose columns are as wide as their widest cell."""
    whole = [list(table.headings), *[[visible(cell) for cell in row] for row in table.rows]]
    widths = [max(_width(row[column]) for row in whole) for column in range(len(table.headings))]
    for row in whole:
        cells = [_padded(cell, widths[at], right=at in table.numeric) for at, cell in enumerate(row)]
        write("  ".join(cells).rstrip() + "\n")


def _padded(cell: str, size: int, *, right: bool) -> str:
    blank = " " * (size - _width(cell))
    return blank + cell if right else cell + blank


def _width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # imported only for names beyond ASCII

    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def plural(count: int, noun: str = "item") -> str:
    """Return a number with its noun: `1 item`, `2,000 items`, `3 deliveries`."""
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {noun[:-1]}ies" if noun.endswith("y") else f"{count:,} {noun}s"


def format_time(at: datetime | None) -> str:
    """Return a time in ISO 8601 to the second; nothing for None."""
    return "" if at is None else at.isoformat(timespec="seconds")


def format_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()


def colored(text: str, color: str, *, plain: bool) -> str:
    """Return text in a colour, or as it is if `plain`."""
    return text if plain or not color else f"\x1b[{_COLORS[color]}m{text}\x1b[0m"


def done_share(info: "ListInfo", of: int = 100) -> int:
    """Return how much of a list is done in parts of `of`, rounded down: `of` only when nothing is left."""
    known = info.progress.done + info.counts.total
    if not known:
        return of if info.state == "complete" else 0
    return info.progress.done * of // known


def bar(info: "ListInfo") -> str:
    """Return a bar and a percentage of how much of a list is done."""
    full, part = divmod(done_share(info, _BAR_COLUMNS * 8), 8)
    drawn = "█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")
    return f"{drawn:<{_BAR_COLUMNS}} {done_share(info):>3}%"
