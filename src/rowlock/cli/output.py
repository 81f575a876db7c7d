"""Output on stdout: tables and sentences on a terminal, tab-separated lines in a pipe, JSON on request."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock.names import visible as visible

if TYPE_CHECKING:
    from rowlock.cli.invocation import Invocation
    from rowlock.model import ListInfo

_BAR_COLUMNS = 12
_COLORS = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


def on_terminal() -> bool:
    """Return whether stdout is a terminal."""
    return sys.stdout.isatty()


def escaped(text: str) -> str:
    """Return text as a cell of a line: a backslash is doubled and a tab is `\\t`, so that no cell can be mistaken."""
    return text.replace("\\", "\\\\").replace("\t", "\\t") if "\\" in text or "\t" in text else text


def write(text: str) -> None:
    """Write data to stdout."""
    sys.stdout.write(text)


def write_csv(headings: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV with headings."""
    import csv  # imported only to write CSV

    csv.writer(sys.stdout, lineterminator="\n").writerows([headings, *rows])


def lines(rows: Iterable[Iterable[Any]]) -> None:
    """Write rows as tab-separated lines, unescaped, for other programs."""
    write("".join("\t".join(map(format_value, row)) + "\n" for row in rows))


def format_value(value: Any) -> str:
    """Return a value as text: a time in ISO 8601, structures as JSON, nothing for None."""
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, dict | list | tuple):
        return format_json(value)
    return "" if value is None else str(value)


def document(value: Any) -> None:
    """Write one JSON document: indented on a terminal, one line in a pipe."""
    text = msgspec.json.encode(value)
    if on_terminal():
        with suppress(RecursionError):  # stored data may be nested too deeply to be indented
            text = msgspec.json.format(text, indent=2)
    write(text.decode() + "\n")


def result(
    invocation: "Invocation", counts: Mapping[str, Any] | msgspec.Struct, *, sentence: str, value: Any = None
) -> None:
    """Write what a command did: JSON on request, a sentence on a terminal, names and numbers in a pipe.

    `value` is the JSON document where it is more than the numbers.
    """
    if invocation.as_json:
        document(counts if value is None else value)
    elif invocation.quiet:
        return
    elif on_terminal():
        write(f"{visible(sentence)}\n")
    else:
        lines(msgspec.to_builtins(counts).items())


class Column(msgspec.Struct, frozen=True):
    """A column of a table. Without a heading it is written in a pipe only."""

    heading: str
    value: str | Callable[[Any], Any]
    """The attribute of a row, or a function of it. Whole numbers are aligned to the right; identifiers are text."""
    shown: Callable[[Any], str] | None = None
    """The text of a row on a terminal, where it differs from the value."""

    def of(self, row: Any) -> Any:
        """Return the value of a row."""
        return attrgetter(self.value)(row) if isinstance(self.value, str) else self.value(row)

    def cells(self, rows: Sequence[Any], blank: str) -> list[str]:
        """Return the column as a terminal shows it: the heading and the text of each row, padded to one width."""
        values = [(self.shown or self.of)(row) for row in rows]
        texts = [f"{value:,}" if isinstance(value, int) else format_value(value) for value in values]
        cells = [self.heading, *(visible(text or blank) for text in texts)]
        size = max(map(width, cells))
        numeric = any(isinstance(value, int) for value in values)
        return [padded(cell, size, right=numeric) for cell in cells]


FAILURE_COLUMNS = (
    Column("ATTEMPT", "attempt"),
    Column("AT", "at"),
    Column("KIND", "kind"),
    Column("HOLDER", "holder"),
    Column("ERROR", lambda failure: " ".join(failure.message.split())),
)


def table(
    invocation: "Invocation",
    value: Any,
    *,
    rows: Sequence[Any],
    columns: Sequence[Column],
    empty: str = "",
    blank: str = "",
) -> None:
    """Write `value` as JSON on request, tab-separated rows in a pipe, and a table on a terminal.

    `empty` is said instead of a table without rows; `blank` stands in cells without text.
    """
    if invocation.as_json:
        document(value)
    elif not on_terminal():
        lines([column.of(row) for column in columns] for row in rows)
    elif rows or not empty:
        write_table(rows, columns, blank=blank)
    else:
        invocation.say(empty)


def write_table(rows: Sequence[Any], columns: Sequence[Column], *, blank: str = "") -> None:
    """Write a table whose columns are as wide as their widest cell."""
    for cells in zip(*(column.cells(rows, blank) for column in columns if column.heading), strict=True):
        write("  ".join(cells).rstrip() + "\n")


def write_traceback(what: str, traceback: str | None) -> None:
    """Write where something was raised, indented, if that is stored."""
    if traceback:
        indented = "".join(f"  {visible(line)}\n" for line in traceback.split("\n"))
        write(f"\n{visible(what)} was raised at:\n{indented}")


def padded(cell: str, size: int, *, right: bool = False) -> str:
    """Return a cell with blanks up to a number of columns."""
    padding = " " * (size - width(cell))
    return padding + cell if right else cell + padding


def width(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # imported only for names beyond ASCII

    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def format_time(at: datetime | None) -> str:
    """Return a time in ISO 8601 to the second; nothing for None."""
    return "" if at is None else at.isoformat(timespec="seconds")


def format_json(value: Any) -> str:
    """Return a value as JSON on one line."""
    return msgspec.json.encode(value).decode()


def as_text(value: object) -> str:
    """Return a value for people: text as it is, others as JSON."""
    return value if isinstance(value, str) else format_json(value)


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
