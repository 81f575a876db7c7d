"""`rowlock export` and `rowlock import`: whole lists as NDJSON, CSV or Parquet, from one database to another."""

import csv
import io
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO, Any

import click
import msgspec

from rowlock import json_codec, transfers
from rowlock.cli import output
from rowlock.cli.input import STDIN
from rowlock.cli.invocation import Invocation, command, every, json_option
from rowlock.engine import Engine
from rowlock.errors import ExtraMissing, Invalid, InvalidData
from rowlock.model import PAYLOAD_COLUMNS
from rowlock.names import plural
from rowlock.transfers import ItemRecord, ListRecord, Record, ResultRecord

FORMATS = ("ndjson", "csv", "parquet")
TABLE_KINDS = (ListRecord, ItemRecord, ResultRecord)
COLUMNS = ["record", *dict.fromkeys(name for kind in TABLE_KINDS for name in kind.__struct_encode_fields__)]
JSON_COLUMNS = {"sealed", "settings", "position", "gate", "priority", "attempts", "version", "data", "errors", "result"}
"""Columns of tables that hold JSON; the others hold text as it is."""
NULLS = {"item": ("due", "failed_at", *PAYLOAD_COLUMNS), "result": ("result",)}
"""Fields that a record must have and a table leaves empty."""
MAX_CELL_BYTES = 64 * 1024 * 1024
ROWS_PER_GROUP = 10_000

_fields = msgspec.json.Decoder(dict[str, msgspec.Raw])
_record = msgspec.json.Decoder(Record)

format_option = click.option(
    "--format", "form", type=click.Choice(FORMATS), help="By default as the file's suffix says, else ndjson."
)


@command("export")
@click.argument("names", metavar="LIST...", nargs=-1, required=True)
@click.option("-o", "--output", "target", default=STDIN, metavar="FILE", help="Write to a file; - is stdout.")
@format_option
def export(invocation: Invocation, *, names: tuple[str, ...], target: str, form: str | None) -> None:
    """Write lists with their settings, state, items, errors and results, for `rowlock import`.

    Items that a worker holds are written as ready. Of each key the newest result is written. NDJSON also holds the keys
    that a list with the setting `once` remembers; CSV and Parquet do not.
    """
    if target == STDIN and output.on_terminal():
        raise Invalid("an export is for files and pipes, and stdout is a terminal", "add -o FILE, or a pipe")
    form = _form(form, target)
    with invocation.open_database(why="it reads more than a server offers") as engine:
        records = (record for name in dict.fromkeys(names) for record in _records(engine, name, form))
        with _opened_to_write(target) as file:
            _WRITERS[form](map(msgspec.json.encode, records), file)


def _records(engine: Engine, name: str, form: str) -> Iterator[Record]:
    yield engine.read(transfers.show, name)
    yield from every(lambda **page: engine.read(transfers.page, name, **page), by="key")
    yield from every(lambda **page: engine.read(transfers.results_page, name, **page), by="key")
    if form == "ndjson":
        yield from every(lambda **page: engine.read(transfers.done_keys_page, name, **page), by="key")


@command("import")
@click.argument("source", metavar="[FILE]", default=STDIN)
@format_option
@json_option
def import_(invocation: Invocation, *, source: str, form: str | None) -> None:
    """Load lists that `rowlock export` wrote: all of the file, or nothing if a line is invalid.

    A list that exists keeps its settings and its state, and items that exist stay as they are: to import a file again
    changes nothing.
    """
    why = "it writes more than a server offers"
    invocation.database_value(why)
    with _opened_to_read(source) as file:
        records = [_checked(line, number) for number, line in _READERS[_form(form, source)](file)]
    if not records:
        raise Invalid("the file has no records", "give one that rowlock export wrote")
    with invocation.open_database(create=True, why=why) as engine, invocation.acting():
        loaded = engine.run(transfers.load, records)
    sentence = f"imported {plural(loaded.added)} of {plural(loaded.lists, 'list')}"
    sentence += f"; {loaded.existing:,} were there already" if loaded.existing else ""
    output.result(invocation, loaded, sentence=sentence)


def _form(given: str | None, file: str) -> str:
    suffix = Path(file).suffix.removeprefix(".")
    return given or (suffix if suffix in FORMATS else FORMATS[0])


def _checked(line: bytes | str, number: int) -> Record:
    try:
        return transfers.check(_record.decode(line))
    except msgspec.ValidationError as error:
        what = json_codec.describe_validation_error(error)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        what = f"it must be a JSON object: {json_codec.describe_syntax_error(error)}"
    except Invalid as error:
        raise type(error)(f"line {number}: {error.what}", error.hint, **{**error.fields, "line": number}) from None
    raise InvalidData(f"line {number}: {what}", "give a file that rowlock export wrote", line=number)


def _opened_to_write(name: str) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdout.buffer) if name == STDIN else _opened(name, "wb")


def _opened_to_read(name: str) -> AbstractContextManager[IO[bytes]]:
    return open(0, "rb", closefd=False) if name == STDIN else _opened(name, "rb")


def _opened(name: str, mode: str) -> IO[bytes]:
    try:
        return open(name, mode)  # noqa: PTH123
    except OSError as error:
        raise Invalid(f"file {name!r} cannot be opened: {(error.strerror or 'no reason given').lower()}") from None


def _cells(line: bytes) -> list[str]:
    """Return a record as cells of a table: text as it is, other values as JSON."""
    fields = {name: bytes(value) for name, value in _fields.decode(line).items()}
    absent = {name for name, value in fields.items() if value == b"null"}
    return [
        ""
        if name not in fields or name in absent
        else fields[name].decode()
        if name in JSON_COLUMNS
        else msgspec.json.decode(fields[name])
        for name in COLUMNS
    ]


def _line(cells: dict[str, Any], number: int) -> str:
    """Return a record of a table as JSON."""
    unknown = sorted({str(name) for name in cells} - set(COLUMNS))
    if unknown:
        raise InvalidData(f"line {number}: unknown column {unknown[0]!r}", f"the columns are {', '.join(COLUMNS)}")
    known = {name: cell for name, cell in cells.items() if cell not in ("", None)}
    nulls = dict.fromkeys(NULLS.get(known.get("record", ""), ()), "null")
    quoted = nulls | {
        name: cell if name in JSON_COLUMNS else json_codec.encode_json(cell) for name, cell in known.items()
    }
    return "{" + ",".join(f'"{name}":{cell}' for name, cell in quoted.items()) + "}"


def _write_ndjson(lines: Iterable[bytes], file: IO[bytes]) -> None:
    file.writelines(line + b"\n" for line in lines)
    file.flush()


def _read_ndjson(file: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    return ((number, line) for number, line in enumerate(file, 1) if line.strip())


def _write_csv(lines: Iterable[bytes], file: IO[bytes]) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(_cells, lines))
    text.detach()


def _read_csv(file: IO[bytes]) -> Iterator[tuple[int, str]]:
    csv.field_size_limit(MAX_CELL_BYTES)
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    rows = csv.DictReader(text, strict=True, restkey="")
    try:
        for row in rows:
            yield rows.line_num, _line(row, rows.line_num)
    except csv.Error:
        raise InvalidData(f"line {rows.line_num} must be CSV", "check its quotes and commas") from None
    except UnicodeDecodeError:
        raise InvalidData("the file is not UTF-8 text", "convert it, with iconv for example") from None
    finally:
        text.detach()


def _write_parquet(lines: Iterable[bytes], file: IO[bytes]) -> None:
    arrow, parquet = _pyarrow()
    schema = arrow.schema([(name, arrow.string()) for name in COLUMNS])
    with parquet.ParquetWriter(file, schema) as writer:
        rows = map(_cells, lines)
        while group := [row for row, _ in zip(rows, range(ROWS_PER_GROUP), strict=False)]:
            columns = [arrow.array(column, arrow.string()) for column in zip(*group, strict=True)]
            writer.write_table(arrow.Table.from_arrays(columns, schema=schema))


def _read_parquet(file: IO[bytes]) -> Iterator[tuple[int, str]]:
    arrow, parquet = _pyarrow()
    try:
        table = parquet.read_table(io.BytesIO(file.read()))
    except arrow.ArrowException:
        raise InvalidData("the file is not Parquet", "give one that rowlock export wrote") from None
    for number, row in enumerate(table.to_pylist(), 1):
        yield number, _line(row, number)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # heavy, and only for Parquet
        import pyarrow.parquet
    except ImportError:
        raise ExtraMissing("Parquet needs the package pyarrow", "run: pip install 'rowlock[parquet]'") from None
    return pyarrow, pyarrow.parquet


_WRITERS = {"ndjson": _write_ndjson, "csv": _write_csv, "parquet": _write_parquet}
_READERS: dict[str, Any] = {"ndjson": _read_ndjson, "csv": _read_csv, "parquet": _read_parquet}
