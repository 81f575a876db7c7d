"""What a command reads: keys from its arguments, from files, from standard input; as lines, CSV or JSON."""

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

from rowlock import nesting
from rowlock.errors import Invalid, InvalidData, InvalidDuration, InvalidKey
from rowlock.item_input import Entries, lines
from rowlock.model import DurationOrTime
from rowlock.names import check_key, closest

STDIN = "-"
CHUNK = 256 * 1024
LONGEST_LINE = 1024 * 1024
Numbered = Iterator[tuple[int, Any]]
Report = Callable[[int], None]
BATCH = 1_000
SECONDS = 1.0


class InputFormat(msgspec.Struct, frozen=True):
    """How the lines of a file are to be understood."""

    csv: str | None = None
    """The column that holds the key: its name, or its number from 1 in a file without headings."""
    ndjson: bool = False
    null: bool = False

    @property
    def plain(self) -> bool:
        """Whether each line is a key."""
        return self.csv is None and not self.ndjson and not self.null

    def entries(self, pieces: Iterable[bytes]) -> Numbered:
        """The entries of one file, each with its line."""
        if self.csv is not None:
            return _csv_entries(pieces, self.csv)
        if self.ndjson:
            return _json_entries(pieces)
        return _null_entries(pieces) if self.null else enumerate(lines(pieces), 1)  # type: ignore[arg-type]


def nothing_to_read(keys: Sequence[str], files: Sequence[str] = ()) -> bool:
    """Whether a person would wait for us while we wait for them, or there is nothing to read from at all."""
    return not keys and not files and (sys.stdin is None or sys.stdin.isatty())


def _ignore(_: int) -> None:
    pass


class InputFiles:
    """Several files read in turn, as if they were one; bounded memory, however long they are."""

    def __init__(self, names: Iterable[str], form: InputFormat, *, report: Report = _ignore) -> None:
        self._names = list(names) or [STDIN]
        self._form = form
        self._report = report
        self._starts: list[tuple[int, str]] = []

    def entries(self) -> Entries:
        """What is to be added; plain lines come as an open file does, blank ones and all."""
        if self._form.plain:
            return cast("IO[bytes]", _LineReader(self._pieces()))
        return (entry for _, entry in self.numbered())

    def numbered(self) -> Numbered:
        """Entries with their lines, each checked here: the first wrong one is refused by line and file."""
        for name in self._names:
            try:
                for line, entry in self._form.entries(self._split(name)):
                    if entry != "" or not self._form.plain:
                        _check(entry, line)
                        yield line, entry
            except Invalid as error:
                raise self._named(error, name) from None

    def placed(self, error: Invalid) -> Invalid:
        """The error with its line counted in its own file, if several were read in turn."""
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
    """Lines that come as those of an open file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces

    def __iter__(self) -> Iterator[bytes]:
        return self._pieces

    def readline(self) -> bytes:
        """The next line without its end, or nothing at the end of all."""
        return next(self._pieces, b"")


def _opened(name: str) -> io.FileIO:
    try:
        # Unbuffered: what has arrived in a pipe is read at once, and nothing is held when we are interrupted.
        return io.FileIO(0, closefd=False) if name == STDIN else io.FileIO(name)
    except OSError as error:
        raise Invalid(f"{name!r} cannot be read: {(error.strerror or 'no reason given').lower()}") from None


def _split(file: io.FileIO, separator: bytes, report: Report) -> Iterator[bytes]:
    """The pieces of a file between separators; one that is longer than any item could be is refused."""
    rest, count = b"", 0
    while chunk := file.read(CHUNK):
        if not count:
            chunk = chunk.removeprefix(codecs.BOM_UTF8)
        *whole, rest = (rest + chunk).split(separator)
        count += len(whole)
        report(len(whole))
        yield from whole
        if len(rest) > LONGEST_LINE:
            raise InvalidKey(f"line {count + 1} is longer than {LONGEST_LINE} bytes", "is this a file of lines?")
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
        raise Invalid(f"line {line} is neither a key nor an item", 'write "a.txt" or {"key": "a.txt", "data": …}')


def _text(piece: bytes, line: int) -> str:
    try:
        return piece.decode()
    except UnicodeDecodeError:
        hint = "convert it first, with iconv for example"
        raise InvalidKey(f"line {line} is not UTF-8 text", hint, line=line) from None


def _null_entries(pieces: Iterable[bytes]) -> Numbered:
    for number, piece in enumerate(pieces, 1):
        yield number, _text(piece, number)


def _json_entries(pieces: Iterable[bytes]) -> Numbered:
    for line, piece in enumerate(pieces, 1):
        if not piece.strip():
            continue
        try:
            entry = msgspec.json.decode(piece)
        except RecursionError:
            raise nesting.too_deep(f"line {line}", line=line) from None
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise InvalidData(f"line {line} is not JSON", "write one key or object to a line", line=line) from None
        if isinstance(entry, dict) and isinstance(entry.get("due"), str):
            entry["due"] = moment(entry["due"])
        yield line, entry


def gate_given(text: str | None) -> int | str | None:
    """A gate as somebody wrote it: a number, or a name."""
    return int(text) if text and text.lstrip("-").isdecimal() else text


def json_value(text: str | None) -> Any:
    """What --data says."""
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except RecursionError:
        raise nesting.too_deep("--data") from None
    except (msgspec.DecodeError, UnicodeEncodeError):
        raise InvalidData("--data is not JSON", """quote it for the shell: --data '{"size": 3}'""") from None


def moment(text: str) -> DurationOrTime:
    """A time as people write it: a length of time, from now or until now, or a date and time."""
    try:
        due = datetime.fromisoformat(text) if "-" in text else text
    except ValueError:
        return text
    if isinstance(due, datetime) and due.tzinfo is None:
        raise InvalidDuration(f"the time {text!r} has no time zone", "write it like 2030-01-31T12:00Z")
    return due


def _csv_entries(pieces: Iterable[bytes], column: str) -> Numbered:
    import csv  # only --csv needs it

    reader = csv.reader((f"{_text(piece, line)}\n" for line, piece in enumerate(pieces, 1)), strict=True)
    try:
        at = int(column) - 1 if column.isdecimal() else _heading(next(reader, []), column)
        for row in reader:
            if row:
                yield reader.line_num, _cell(row, at, reader.line_num)
    except csv.Error:
        raise InvalidData(f"line {reader.line_num} cannot be read as CSV", "check its quotes and commas") from None


def _heading(row: list[str], column: str) -> int:
    if column in row:
        return row.index(column)
    near = closest(column, row)
    hint = f"did you mean {near!r}?" if near else f"its columns are {', '.join(row) or 'none: it is empty'}"
    raise Invalid(f"the CSV has no column {column!r}", hint)


def _cell(row: list[str], at: int, line: int) -> str:
    if not 0 <= at < len(row):
        raise Invalid(f"line {line} has {len(row)} columns, none of number {at + 1}", "count from 1")
    return row[at]


def keys_from(arguments: Iterable[str]) -> list[str]:
    """The keys that the arguments name, or those on standard input; checked, a wrong one named by its line."""
    given = list(arguments)
    if given and given != [STDIN]:
        for number, key in enumerate(given, 1):
            check_key(key, number)
        return given
    return [entry for _, entry in InputFiles([STDIN], InputFormat()).numbered()]


def confirm(question: str) -> None:
    """Go on only after a yes; without a terminal nobody can be asked, and the flag must say it."""
    if sys.stdin is None or not sys.stdin.isatty():
        raise Invalid("this cannot be undone, and there is no terminal to ask on", "say --yes, or look with --dry-run")
    if not click.confirm(question, err=True):
        raise click.Abort


class _EndOfInput:
    """The end of the pipe, with what ended it if it was an error."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def batches(files: InputFiles) -> Iterator[list[Any]]:
    """Entries in lists of a thousand at most, none kept back for longer than a second."""
    arriving: queue.Queue[Any] = queue.Queue(2 * BATCH)
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
    except Exception as error:  # told by the thread that writes
        arriving.put(_EndOfInput(error))
    else:
        arriving.put(_EndOfInput())


def _gathered(arriving: "queue.Queue[Any]") -> tuple[list[Any], _EndOfInput | None]:
    batch: list[Any] = []
    try:
        _fill(batch, arriving)
    except KeyboardInterrupt as interrupt:  # what has been read is still written
        return batch, _EndOfInput(interrupt)
    if batch and isinstance(batch[-1], _EndOfInput):
        return batch[:-1], batch[-1]
    return batch, None


def _fill(batch: list[Any], arriving: "queue.Queue[Any]") -> None:
    batch.append(arriving.get())
    until = time.monotonic() + SECONDS
    while len(batch) < BATCH and not isinstance(batch[-1], _EndOfInput):
        try:
            batch.append(arriving.get(timeout=max(0.0, until - time.monotonic())))
        except queue.Empty:
            return
