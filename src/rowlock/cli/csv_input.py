"""CSV input: one column holds the keys, the others become the data of the items."""

import csv
import os.path
import re
from collections.abc import Iterable, Iterator

import msgspec

from rowlock.errors import Invalid, InvalidData
from rowlock.item_input import Entry
from rowlock.json_codec import encode_json
from rowlock.model import MAX_DATA_BYTES
from rowlock.names import check_key, closest

MAX_CELL_BYTES = 1024 * 1024
"""A line is not longer; the size of an item's data is checked by itself."""
MAX_COLUMN_DIGITS = 9
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?")
"""Numbers that JSON reads, and that others read the same: an id of many digits stays text."""


def csv_entries(
    lines: Iterable[str], column: str, *, header: bool | None = None, numbers: bool = False
) -> Iterator[Entry]:
    """Yield an entry for each row: the key from one column, the other cells in its data, as text or as numbers.

    `column` is a heading, or a number from 1; the first column if it is empty. `header` says whether the first line
    has the headings; left out, it has unless the column is a number.
    """
    csv.field_size_limit(MAX_CELL_BYTES)
    reader = csv.reader(lines, strict=True)
    has_header = not column.isdecimal() if header is None else header
    if not has_header and column and not column.isdecimal():
        raise Invalid(f"--csv must be a number without headings, got {column!r}", "columns are counted from 1")
    try:
        rows = filter(None, reader)
        headings = _headings(next(rows, [])) if has_header else None
        at = None if headings is None else _key_column(headings, column)
        for row in rows:
            if headings is None:
                headings = [str(number) for number in range(1, len(row) + 1)]
            at = _key_column(headings, column) if at is None else at
            cells = dict(zip(headings, _checked(row, headings, reader.line_num), strict=True))
            yield _entry(cells, at, line=reader.line_num, numbers=numbers)
    except csv.Error:
        line = reader.line_num
        raise InvalidData(f"line {line} must be CSV", "check its quotes and commas", line=line) from None


def _headings(row: list[str]) -> list[str]:
    """Return the names of the columns; one without a heading is named by its number."""
    names = [heading or str(number) for number, heading in enumerate(row, 1)]
    for name in names:
        if names.count(name) > 1:
            raise Invalid(f"the CSV file has two columns {name!r}", "give each its own heading", line=1)
    return names


def _key_column(headings: list[str], column: str) -> str:
    if column in headings or not column:
        return column or next(iter(headings), "")
    if not column.isdecimal():
        near = closest(column, headings)
        hint = f"did you mean {near!r}?" if near else f"its columns are {', '.join(headings) or 'none: it is empty'}"
        hint = f"did you mean -f {column}?" if os.path.isfile(column) else hint  # noqa: PTH113 - Path refuses long names
        raise Invalid(f"the CSV file has no column {column[:100]!r}", hint)
    number = int(column) if len(column) <= MAX_COLUMN_DIGITS else 0
    if not 1 <= number <= len(headings):
        raise Invalid(f"column must be 1 to {len(headings)}, got {column[:100]}", "columns are counted from 1")
    return headings[number - 1]


def _checked(row: list[str], headings: list[str], line: int) -> list[str]:
    if len(row) != len(headings):
        what = f"line {line} must have {len(headings)} cells, as the first line has, got {len(row)}"
        raise InvalidData(what, "check its quotes and commas", line=line)
    return row


def _entry(cells: dict[str, str], column: str, *, line: int, numbers: bool) -> Entry:
    key = cells.pop(column)
    check_key(key, line)
    if not cells:
        return key
    data = {name: _value(cell) for name, cell in cells.items()} if numbers else cells
    size = len(encode_json(data).encode())
    if size > MAX_DATA_BYTES:
        what = f"the cells of line {line} must be at most {MAX_DATA_BYTES} bytes of JSON, got {size}"
        raise InvalidData(what, "store large values elsewhere, and their addresses in the file", line=line)
    return {"key": key, "data": data}


def _value(cell: str) -> str | int | float:
    """Return the number that a cell is in JSON; 007 and 1,5 stay text."""
    return msgspec.json.decode(cell, type=int | float) if _NUMBER.fullmatch(cell) else cell
