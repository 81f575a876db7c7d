"""What is printed: tables on a terminal, tab-separated lines in a pipe, JSON where asked for."""

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock.cli.invocation import Invocation

if TYPE_CHECKING:
    from rowlock.cli.invocation import Invocation
    from rowlock.model import Item, ListInfo

# Characters that would move the cursor, colour the terminal or turn the direction of reading.
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_BAR = 12
_COLORS = {"red": "31", "green": "32", "yellow": "33", "dim": "2", "bold": "1"}


def visible(text: str) -> str:
    """Text that a terminal shows as it is: control characters escaped."""
    return _UNSEEN.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def write(text: str) -> None:
    """Data on stdout."""
    sys.stdout.write(text)


def lines(rows: Iterable[Sequence[Any]]) -> None:
    """Tab-separated lines, raw, for other programs."""
    write("".join("\t".join(map(_field, row)) + "\n" for row in rows))


def _field(value: Any) -> str:
    return "" if value is None else str(value)


def document(value: Any) -> None:
    """One JSON document: indented for a person, a line for a program."""
    text = msgspec.json.encode(value)
    if sys.stdout.isatty():
        with suppress(RecursionError):  # stored data may be nested too deeply to be laid out
            text = msgspec.json.format(text, indent=2)
    write(text.decode() + "\n")


def json_line(value: Any) -> None:
    """One JSON document on one line, whoever reads."""
    write(msgspec.json.encode(value).decode() + "\n")


def numbers(invocation: "Invocation", counted: Mapping[str, int], *, sentence: str, as_json: bool) -> None:
    """What a command did: a sentence on a terminal, name and number in a pipe."""
    if as_json:
        document(counted)
    elif invocation.quiet:
        return
    elif sys.stdout.isatty():
        write(f"{visible(sentence)}\n")
    else:
        lines(counted.items())


def plural(count: int, noun: str = "item") -> str:
    """A number with its noun: `1 item`, `2,000 items`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def colored(text: str, color: str, *, plain: bool) -> str:
    """Text in a colour, unless colours are not wanted."""
    return text if plain or not color else f"\x1b[{_COLORS[color]}m{text}\x1b[0m"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numeric: Iterable[int] = ()) -> None:
    """Columns as wide as they must be; the numeric ones stand to the right."""
    whole = [list(headings), *[[visible(cell) for cell in row] for row in rows]]
    widths = [max(width(row[column]) for row in whole) for column in range(len(headings))]
    right = set(numeric)
    for row in whole:
        cells = [_padded(cell, widths[at], right=at in right) for at, cell in enumerate(row)]
        write("  ".join(cells).rstrip() + "\n")


def _padded(cell: str, size: int, *, right: bool) -> str:
    blank = " " * (size - width(cell))
    return blank + cell if right else cell + blank


def width(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # only names beyond ASCII need it

    return sum(0 if combining(each) else 2 if east_asian_width(each) in "WF" else 1 for each in text)


def share(info: "ListInfo", of: int = 100) -> int:
    """How much of a list is done, in whole parts of so many: all of them only when nothing is left."""
    known = info.progress.done + info.counts.total
    if not known:
        return of if info.state == "complete" else 0
    return info.progress.done * of // known


def bar(info: "ListInfo") -> str:
    """How much of a list is done as a bar and a percentage."""
    full, part = divmod(share(info, _BAR * 8), 8)
    drawn = "█" * full + (" ▏▎▍▌▋▊▉"[part] if part else "")
    return f"{drawn:<{_BAR}} {share(info):>3}%"


def item_document(item: "Item") -> dict[str, Any]:
    """An item as JSON shows it."""
    return {
        "key": item.key,
        "state": item.state,
        "attempts": item.attempts,
        "gate": item.gate,
        "priority": item.priority,
        "position": item.position,
        "due": item.due,
        "failed_at": item.failed_at,
        "version": item.version,
        "trace": item.trace,
        "data": None if item.raw_data is None else msgspec.Raw(item.raw_data.encode()),
    }
