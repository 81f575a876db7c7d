"""Input of commands: keys from arguments, files and standard input, as lines, CSV or JSON; and values of options."""

import codecs
import io
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

import click
import msgspec

from rowlock import json_codec
from rowlock.durations import delay_or_time
from rowlock.errors import Invalid, InvalidData, InvalidDuration, InvalidKey
from rowlock.item_input import Entry, lines
from rowlock.model import DurationOrTime
from rowlock.names import all_simple_keys, check_key

STDIN = "-"
READ_BYTES = 256 * 1024
MAX_LINE_BYTES = 1024 * 1024
MAX_GATE_CHARACTERS = 12
STREAM_BATCH_ENTRIES = 1_000
STREAM_BATCH_SECONDS = 1.0

Chunks = Iterable[list[bytes]]
"""The lines of one file, in lists as they were read."""


class InputFormat(msgspec.Struct, frozen=True):
    """The format of input files: a key on each line unless one of these is set."""

    csv: str | None = None
    """The column that holds the key: its name, or its number from 1; the first if it is empty."""
    header: bool | None = None
    """Whether CSV files begin with headings; left out, unless the column is given by its number."""
    ndjson: bool = False
    null: bool = False
    numbers: bool = False
    """Whether cells of CSV that are numbers of JSON are read as numbers."""

    def __post_init__(self) -> None:
        if (self.csv is not None) + self.ndjson + self.null > 1:
            raise Invalid("--csv, --ndjson and -0 exclude each other", "give one of them")
        if self.header is not None and self.csv is None:
            raise Invalid("--header and --no-header are for --csv", "give --csv too")
        if self.numbers and self.csv is None:
            raise Invalid("--numbers is for --csv", "give --csv too")

    def entries(self, chunks: Chunks) -> Iterator[Entry]:
        """Yield the checked entries of one file; Invalid names the line of an invalid one."""
        if self.csv is not None:
            return _csv_entries(chunks, self.csv, header=self.header, numbers=self.numbers)
        if self.ndjson:
            return _json_entries(chunks)
        return _null_entries(chunks) if self.null else _line_entries(chunks)


def nothing_to_read(keys: Sequence[str], files: Sequence[str] = ()) -> bool:
    """Return whether a command would read from a terminal, where a person waits for it, or has no stdin at all."""
    return not keys and not files and (sys.stdin is None or sys.stdin.isatty())


def read_entries(
    names: Sequence[str], form: InputFormat, *, report: Callable[[int], None] = lambda _: None
) -> Iterator[Entry]:
    """Yield the entries of files, or of standard input, one after the other in bounded memory.

    `report` is called with the number of lines whenever more were read. Invalid names the line, and of several files
    the file.
    """
    for name in names or [STDIN]:
        try:
            with _opened(name) as file:
                yield from form.entries(_chunks(file, b"\0" if form.null else b"\n", report))
        except Invalid as error:
            raise (error if len(names) < 2 else _with_file(error, name)) from None


def _with_file(error: Invalid, name: str) -> Invalid:
    line = f"line {error.fields.get('line')}"
    before, found, after = error.what.rpartition(line)
    what = f"{before}{line} of {name}{after}" if found else f"{name}: {error.what}"
    return type(error)(what, error.hint, **error.fields)


def _opened(name: str) -> io.FileIO:
    try:
        # Unbuffered: lines in a pipe are read as they arrive, and none is lost in a buffer when the user interrupts.
        return io.FileIO(0, closefd=False) if name == STDIN else io.FileIO(name)
    except OSError as error:
        raise Invalid(f"file {name!r} cannot be read: {(error.strerror or 'no reason given').lower()}") from None


def _chunks(file: io.FileIO, separator: bytes, report: Callable[[int], None]) -> Iterator[list[bytes]]:
    """Yield the parts of a file between separators; InvalidKey for one that is longer than any item."""
    rest, count = b"", 0
    while chunk := file.read(READ_BYTES):
        if not count:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        *whole, rest = (rest + chunk).split(separator)
        count += len(whole)
        report(len(whole))
        yield whole
        if len(rest) > MAX_LINE_BYTES:
            what = f"line {count + 1} must be at most {MAX_LINE_BYTES} bytes, got more"
            raise InvalidKey(what, "check that this is a file of lines", line=count + 1)
    if rest:
        report(1)
        yield [rest]


def _numbered(chunks: Chunks) -> Iterator[tuple[int, bytes]]:
    return enumerate(chain.from_iterable(chunks), 1)


def _line_entries(chunks: Chunks) -> Iterator[str]:
    first = 1
    for chunk in chunks:
        yield from _simple_keys(chunk) or _checked_keys(chunk, first)
        first += len(chunk)


def _simple_keys(chunk: list[bytes]) -> list[str]:
    """Return the keys on lines by a fast check of all at once; none if each must be checked by itself."""
    try:
        text = b"\n".join([*chunk, b""]).replace(b"\r\n", b"\n").decode()
    except UnicodeDecodeError:
        return []
    keys = [key for key in text.split("\n") if key]
    return keys if all_simple_keys(keys) and not any(map(str.isspace, keys)) else []


def _checked_keys(chunk: list[bytes], first: int) -> Iterator[str]:
    for number, key in enumerate(lines(chunk, first), first):  # type: ignore[arg-type]
        if key:
            check_key(key, number)
            yield key


def _null_entries(chunks: Chunks) -> Iterator[str]:
    for number, text in _numbered(chunks):
        key = _decoded(text, number)
        check_key(key, number)
        yield key


def _json_entries(chunks: Chunks) -> Iterator[Entry]:
    for line, entry in json_lines(chunks, "write one string or object on each line"):
        if not isinstance(entry, str | dict):
            what = f"line {line} must be a string or an object, got {type(entry).__name__}"
            raise Invalid(what, 'write "a.txt" or {"key": "a.txt", "data": …}', line=line)
        fields = entry if isinstance(entry, dict) else {"key": entry}
        if "key" in fields:
            check_key(fields["key"], line)
        if isinstance(fields.get("due"), str):
            fields["due"] = time_value(fields["due"])
        yield entry


def json_lines(chunks: Chunks, hint: str) -> Iterator[tuple[int, Any]]:
    """Yield the JSON document on each line with the line's number; skips blank lines."""
    for line, text in _numbered(chunks):
        if text.strip():
            yield line, decode_json(text, f"line {line}", hint=hint, line=line)


def json_lines_of_stdin() -> Iterator[tuple[int, Any]]:
    """Yield the JSON document on each line of standard input with the line's number; skips blank lines."""
    with _opened(STDIN) as stdin:
        yield from json_lines(_chunks(stdin, b"\n", lambda _: None), "check its quotes and commas")


def decode_json(text: str | bytes, what: str, *, hint: str, **fields: Any) -> Any:
    """Decode a JSON document that a user wrote; InvalidData names `what` it is."""
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise json_codec.too_deep(what, **fields) from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidData(f"{what} must be JSON", hint, **fields) from None


def _csv_entries(chunks: Chunks, column: str, *, header: bool | None, numbers: bool) -> Iterator[Entry]:
    from rowlock.cli.csv_input import csv_entries  # imported only for --csv

    lines = (f"{_decoded(text, line)}\n" for line, text in _numbered(chunks))
    return csv_entries(lines, column, header=header, numbers=numbers)


def _decoded(text: bytes, line: int) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError:
        hint = "convert it, with iconv for example"
        raise InvalidKey(f"line {line} must be UTF-8 text", hint, line=line) from None


def gate_value(text: str | None) -> int | str | None:
    """Return a gate given by its number or its name."""
    is_number = text and len(text) <= MAX_GATE_CHARACTERS and text.removeprefix("-").isdecimal()
    return int(text) if text and is_number else text


def json_value(text: str | None) -> Any:
    """Return the value of --data."""
    hint = """quote it for the shell: --data '{"size": 3}'"""
    return None if text is None else decode_json(text, "--data", hint=hint)


def time_value(text: str) -> DurationOrTime:
    """Return a time given as a duration, from now on or until now, or as a date and time with a zone."""
    try:
        due = datetime.fromisoformat(text) if "-" in text else text
    except ValueError:
        return text
    if isinstance(due, datetime) and due.tzinfo is None:
        raise InvalidDuration(f"a time must have a time zone, got {text!r}", "write it like 2030-01-31T12:00Z")
    return due


def due_value(text: str) -> DurationOrTime:
    """Return the time of --due; the error for another text names durations and times."""
    due = time_value(text)
    try:
        delay_or_time(due)
    except InvalidDuration as error:
        raise InvalidDuration(f"--due: {error.what}", "write it like 90s, 1h30m or 2030-01-31T12:00Z") from None
    return due


def first_of(entries: Iterator[Entry]) -> Iterator[Entry] | None:
    """Return the entries, of which there is at least one; None if there are none."""
    for first in entries:
        return chain([first], entries)
    return None


def checked_arguments(keys: Sequence[str]) -> list[str]:
    """Return the keys of arguments, checked; their error names no line."""
    for key in keys:
        check_key(key)
    return list(keys)


def keys_from(arguments: Sequence[str]) -> list[str]:
    """Return the keys of the arguments, or of standard input, checked; InvalidKey names the line of an invalid one."""
    if arguments and list(arguments) != [STDIN]:
        return checked_arguments(arguments)
    return [str(key) for key in read_entries([], InputFormat())]


def confirm(question: str) -> None:
    """Ask for confirmation and abort after a no; Invalid where there is no terminal to ask on."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid("confirmation needs a terminal, and stdin is not one", "give --yes, or try it with --dry-run")
    if not click.confirm(question, err=True):
        raise click.Abort


class _EndOfInput(msgspec.Struct):
    """The end of the input, with the error that ended it."""

    error: BaseException | None = None


def batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    """Yield entries in batches of at most a thousand, each at most a second after its first entry."""
    arriving: queue.Queue[Entry | _EndOfInput] = queue.Queue(2 * STREAM_BATCH_ENTRIES)
    threading.Thread(target=_read, args=(entries, arriving), daemon=True).start()
    end = None
    while end is None:
        batch: list[Entry] = []
        try:
            end = _fill(batch, arriving)
        except KeyboardInterrupt as interrupt:  # entries already read are still written
            end = _EndOfInput(interrupt)
        if batch:
            yield batch
    if end.error:
        raise end.error


def _read(entries: Iterator[Entry], arriving: "queue.Queue[Entry | _EndOfInput]") -> None:
    try:
        for entry in entries:
            arriving.put(entry)
    except Exception as error:  # raised in the thread that writes
        arriving.put(_EndOfInput(error))
    else:
        arriving.put(_EndOfInput())


def _fill(batch: list[Entry], arriving: "queue.Queue[Entry | _EndOfInput]") -> _EndOfInput | None:
    entry = arriving.get()
    until = time.monotonic() + STREAM_BATCH_SECONDS
    while not isinstance(entry, _EndOfInput):
        batch.append(entry)
        if len(batch) == STREAM_BATCH_ENTRIES:
            return None
        try:
            entry = arriving.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            return None
    return entry
