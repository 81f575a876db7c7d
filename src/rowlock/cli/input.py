"""Input of commands: keys from arguments, files and standard input, as lines, CSV or JSON; and values of options."""

import codecs
import io
import queue
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import IO, Any, cast

import click
import msgspec

from rowlock import json_codec
from rowlock.errors import Invalid, InvalidData, InvalidDuration, InvalidKey
from rowlock.item_input import Entries, lines
from rowlock.model import DurationOrTime
from rowlock.names import check_key, closest

STDIN = "-"
READ_BYTES = 256 * 1024
MAX_LINE_BYTES = 1024 * 1024
STREAM_BATCH_ENTRIES = 1_000
STREAM_BATCH_SECONDS = 1.0

NumberedEntries = Iterator[tuple[int, Any]]
ReportLines = Callable[[int], None]


class InputFormat(msgspec.Struct, frozen=True):
    """The format of input files."""

    csv: str | None = None
    """The column that holds the key: its name, or its number from 1 in a file without headings."""
    ndjson: bool = False
    null: bool = False

    @property
    def plain(self) -> bool:
        """Return whether each line is a key."""
        return self.csv is None and not self.ndjson and not self.null

    def entries(self, pieces: Iterable[bytes]) -> NumberedEntries:
        """Yield the entries of one file, each with its line number."""
        if self.csv is not None:
            return _csv_entries(pieces, self.csv)
        if self.ndjson:
            return _json_entries(pieces)
        return _null_entries(pieces) if self.null else enumerate(lines(pieces), 1)  # type: ignore[arg-type]


def nothing_to_read(keys: Sequence[str], files: Sequence[str] = ()) -> bool:
    """Return whether a command would read from a terminal, where a person waits for it, or has no stdin at all."""
    return not keys and not files and (sys.stdin is None or sys.stdin.isatty())


def _ignore(_: int) -> None:
    pass


class InputFiles:
    """Several files, read one after the other in bounded memory."""

    def __init__(self, names: Iterable[str], form: InputFormat, *, report: ReportLines = _ignore) -> None:
        self._names = list(names) or [STDIN]
        self._form = form
        self._report = report
        self._starts: list[tuple[int, str]] = []

    def entries(self) -> Entries:
        """Return the entries to add; plain lines as an open file, with blank ones so that numbers stay right."""
        if self._form.plain:
            return cast("IO[bytes]", _LineReader(self._pieces()))
        return (entry for _, entry in self.numbered())

    def numbered(self) -> NumberedEntries:
        """Yield checked entries with their line numbers; Invalid names the line and file of an invalid one."""
        for name in self._names:
            try:
                for line, entry in self._form.entries(self._split(name)):
                    if entry != "" or not self._form.plain:
                        _check(entry, line)
                        yield line, entry
            except Invalid as error:
                raise self._named(error, name) from None

    def with_line_in_file(self, error: Invalid) -> Invalid:
        """Return the error with its line number counted within the file it is in, if there are several."""
        found = list(re.finditer(r"line (\d+)", error.what))
        if not found or len(self._starts) < 2 or not self._form.plain:
            return error
        match = found[-1]
        start, name = max(each for each in self._starts if each[0] < int(match[1]))
        place = f"line {int(match[1]) - start} of {name}"
        what = error.what[: match.start()] + place + error.what[match.end() :]
        return type(error)(what, error.hint, **error.fields)

    def _named(self, error: Invalid, name: str) -> Invalid:
        if len(self._names) < 2:
            return error
        return type(error)(f"{name}: {error.what}", error.hint, **error.fields)

    def _pieces(self) -> Iterator[bytes]:
        read = 0
        for name in self._names:
            self._starts.append((read, name))
            for piece in self._split(name):
                read += 1
                yield piece

    def _split(self, name: str) -> Iterator[bytes]:
        with _opened(name) as file:
            yield from _split(file, b"\0" if self._form.null else b"\n", self._report)


class _LineReader:
    """Lines in the interface of an open file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def readline(self) -> bytes:
        """Return the next line without its line break, or nothing at the end."""
        return next(self._pieces, b"")


def _opened(name: str) -> io.FileIO:
    try:
        # Unbuffered: lines in a pipe are read as they arrive, and none is lost in a buffer when the user interrupts.
        return io.FileIO(0, closefd=False) if name == STDIN else io.FileIO(name)
    except OSError as error:
        raise Invalid(f"file {name!r} cannot be read: {(error.strerror or 'no reason given').lower()}") from None


def _split(file: io.FileIO, separator: bytes, report: ReportLines) -> Iterator[bytes]:
    """Yield the parts of a file between separators; InvalidKey for one that is longer than any item."""
    rest, count = b"", 0
    while chunk := file.read(READ_BYTES):
        if not count:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        *whole, rest = (rest + chunk).split(separator)
        count += len(whole)
        report(len(whole))
        yield from whole
        if len(rest) > MAX_LINE_BYTES:
            what = f"line {count + 1} must be at most {MAX_LINE_BYTES} bytes, got more"
            raise InvalidKey(what, "check that this is a file of lines")
    if rest:
        report(1)
        yield rest


def _check(entry: Any, line: int) -> None:
    if isinstance(entry, Mapping):
        if "key" in entry:
            check_key(entry["key"], line)
    elif isinstance(entry, str):
        check_key(entry, line)
    else:
        what = f"line {line} must be a string or an object, got {type(entry).__name__}"
        raise Invalid(what, 'write "a.txt" or {"key": "a.txt", "data": …}')


def _text(piece: bytes, line: int) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        hint = "convert it, with iconv for example"
        raise InvalidKey(f"line {line} must be UTF-8 text", hint, line=line) from None


def _null_entries(pieces: Iterable[bytes]) -> NumberedEntries:
    for number, piece in enumerate(pieces, 1):
        yield number, _text(piece, number)


def _json_entries(pieces: Iterable[bytes]) -> NumberedEntries:
    for line, piece in enumerate(pieces, 1):
        if not piece.strip():
            continue
        try:
            entry = msgspec.json.decode(piece)
        except RecursionError:
            raise json_codec.too_deep(f"line {line}", line=line) from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise InvalidData(
                f"line {line} must be JSON", "write one string or object on each line", line=line
            ) from None
        if isinstance(entry, dict) and isinstance(entry.get("due"), str):
            entry["due"] = time_value(entry["due"])
        yield line, entry


def gate_value(text: str | None) -> int | str | None:
    """Return a gate given by its number or its name."""
    return int(text) if text and text.lstrip("-").isdecimal() else text


def json_value(text: str | None) -> Any:
    """Return the value of --data."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise json_codec.too_deep("--data") from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise InvalidData("--data must be JSON", """quote it for the shell: --data '{"size": 3}'""") from None


def time_value(text: str) -> DurationOrTime:
    """Return a time given as a duration, from now on or until now, or as a date and time with a zone."""
    try:
        due = datetime.fromisoformat(text) if "-" in text else text
    except ValueError:
        return text
    if isinstance(due, datetime) and due.tzinfo is None:
        raise InvalidDuration(f"a time must have a time zone, got {text!r}", "write it like 2030-01-31T12:00Z")
    return due


def _csv_entries(pieces: Iterable[bytes], column: str) -> NumberedEntries:
    import csv  # imported only for --csv

    reader = csv.reader((f"{_text(piece, line)}\n" for line, piece in enumerate(pieces, 1)), strict=True)
    try:
        at = int(column) - 1 if column.isdecimal() else _heading(next(reader, []), column)
        for row in reader:
            if row:
                yield reader.line_num, _cell(row, at, reader.line_num)
    except csv.Error:
        raise InvalidData(f"line {reader.line_num} must be CSV", "check its quotes and commas") from None


def _heading(row: list[str], column: str) -> int:
    if column in row:
        return row.index(column)
    near = closest(column, row)
    hint = f"did you mean {near!r}?" if near else f"its columns are {', '.join(row) or 'none: it is empty'}"
    raise Invalid(f"the CSV file has no column {column!r}", hint)


def _cell(row: list[str], at: int, line: int) -> str:
    if not 0 <= at < len(row):
        raise Invalid(f"column must be 1 to {len(row)} in line {line}, got {at + 1}", "columns are counted from 1")
    return row[at]


def keys_from(arguments: Iterable[str]) -> list[str]:
    """Return the keys of the arguments, or of standard input, checked; InvalidKey names the line of an invalid one."""
    given = list(arguments)
    if given and given != [STDIN]:
        for number, key in enumerate(given, 1):
            check_key(key, number)
        return given
    return [entry for _, entry in InputFiles([STDIN], InputFormat()).numbered()]


def confirm(question: str) -> None:
    """Ask for confirmation and abort after a no; Invalid where there is no terminal to ask on."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid("confirmation needs a terminal, and stdin is none", "give --yes, or try it with --dry-run")
    if not click.confirm(question, err=True):
        raise click.Abort


class _EndOfInput:
    """The end of the input, with the error that ended it."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def batches(files: InputFiles) -> Iterator[list[Any]]:
    """Yield entries in batches of at most a thousand, each at most a second after its first entry."""
    arriving: queue.Queue[Any] = queue.Queue(2 * STREAM_BATCH_ENTRIES)
    threading.Thread(target=_read, args=(files, arriving), daemon=True).start()
    end = None
    while end is None:
        batch, end = _gathered(arriving)
        if batch:
            yield batch
    if end.error:
        raise end.error


def _read(files: InputFiles, arriving: "queue.Queue[Any]") -> None:
    try:
        for _, entry in files.numbered():
            arriving.put(entry)
    except Exception as error:  # raised in the thread that writes
        arriving.put(_EndOfInput(error))
    else:
        arriving.put(_EndOfInput())


def _gathered(arriving: "queue.Queue[Any]") -> tuple[list[Any], _EndOfInput | None]:
    batch: list[Any] = []
    try:
        _fill(batch, arriving)
    except KeyboardInterrupt as interrupt:  # entries already read are still written
        return batch, _EndOfInput(interrupt)
    if batch and isinstance(batch[-1], _EndOfInput):
        return batch[:-1], batch[-1]
    return batch, None


def _fill(batch: list[Any], arriving: "queue.Queue[Any]") -> None:
    batch.append(arriving.get())
    until = time.monotonic() + STREAM_BATCH_SECONDS
    while len(batch) < STREAM_BATCH_ENTRIES and not isinstance(batch[-1], _EndOfInput):
        try:
            batch.append(arriving.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            return
