"""Reads what is added (keys, lines of a file, mappings, new items) in batches, checked before anything is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any

import msgspec
from msgspec import UNSET, UnsetType

from rowlock.durations import DurationOrTime, delay_or_time
from rowlock.errors import Invalid, InvalidData, InvalidKey
from rowlock.json_codec import encode, has_times, is_finite, times_refused
from rowlock.model import MAX_DATA_BYTES, NewItem
from rowlock.names import all_simple_keys, check_key, short_repr
from rowlock.settings import DEFAULT_PRIORITY, GATES, PRIORITIES

Entry = str | NewItem | Mapping[str, Any]
Entries = Entry | Iterable[Entry] | IO[str] | IO[bytes]

MAX_ROWS_PER_STATEMENT = 10_000
MAX_SPOOL_MEMORY_BYTES = 8 * 1024 * 1024

_NOT_UTF8_HINT = "convert it first, with iconv for example"


class ItemDefaults(msgspec.Struct, frozen=True):
    """What the items of one add have in common."""

    data: Any = None
    due: DurationOrTime | None = None
    gate: int | str | None = None
    priority: int = DEFAULT_PRIORITY
    gate_number: Callable[[str], int] | None = None
    """Finds the number of a gate that is given by its name."""
    traceparent: str | None = None
    """The W3C traceparent under which the items are added."""


class Batch(msgspec.Struct, frozen=True):
    """Checked items for one statement: keys that share all other columns, or rows that do not."""

    entries: Sequence[Any]
    """Keys, or rows of all columns if `same` is None."""
    same: dict[str, Any] | None = None
    """Gate, priority, delay and payload of all items, if only their keys differ."""
    lowest_gate: int | None = None
    lanes: int = 0
    """A bit for each priority of the items."""

    def keys(self) -> Sequence[str]:
        """Return the keys."""
        return self.entries if self.same is not None else [row["key"] for row in self.entries]

    def rows(self) -> Sequence[dict[str, Any]]:
        """Return the items as rows of all columns."""
        return self.entries if self.same is None else [{"key": key, **self.same} for key in self.entries]


def batch_of_keys(keys: Sequence[str], columns: dict[str, Any]) -> Batch:
    """Make a batch of checked keys that share all other columns."""
    return Batch(keys, columns, columns["gate"], 1 << columns["priority"])


def batches(entries: Entries, shared: ItemDefaults, *, first_line: int = 1) -> Iterator[Batch]:
    """Read entries in batches of bounded size; the first wrong entry is refused with its line."""
    columns = _columns(shared, shared, f"the data of {entries!r}" if isinstance(entries, str) else "data")
    due = columns.pop("due")
    skips_blank = hasattr(entries, "readline")  # blank lines of a file are no keys
    source, line = iter(_each(entries, first_line)), first_line
    while chunk := list(islice(source, MAX_ROWS_PER_STATEMENT)):
        if due is None and set(map(type, chunk)) == {str}:
            keys = [key for key in chunk if key] if skips_blank else chunk
            if not all_simple_keys(keys):
                for number, key in enumerate(chunk, line):
                    if key or not skips_blank:
                        check_key(key, number)
            yield batch_of_keys(keys, columns)
        else:
            numbered = ((number, entry) for number, entry in enumerate(chunk, line) if entry != "" or not skips_blank)
            yield _batch_of_rows(numbered, shared)
        line += len(chunk)


def batch_of_simple_lines(text: bytes, shared: ItemDefaults) -> Batch | None:
    """Read lines of keys by a fast check of all at once; None if they must be checked one by one."""
    if shared.due is not None or shared.data is not None or shared.gate is not None:
        return None
    try:
        keys = [key for key in text.decode().split("\n") if key]
    except UnicodeDecodeError:
        return None
    if not all_simple_keys(keys) or any(map(str.isspace, keys)):
        return None
    columns = _columns(shared, shared, "data")
    del columns["due"]
    return batch_of_keys(keys, columns)


def _each(entries: Entries, first_line: int) -> Iterable[Any]:
    if isinstance(entries, str | NewItem | Mapping):
        return (entries,)
    if hasattr(entries, "readline"):
        return lines(entries, first_line)  # type: ignore[arg-type]
    if not hasattr(entries, "__iter__") or hasattr(entries, "decode"):
        what = f"items must be keys, mappings or an open file, got {type(entries).__name__} {short_repr(entries)}"
        raise Invalid(what, _as_text(entries) or "give a key, an iterable of keys or mappings, or an open file")
    return entries


def lines(file: IO[str] | IO[bytes], first_line: int = 1) -> Iterator[str]:
    """Yield the lines of an open file without their ends; a blank line as "", so that line numbers stay right."""
    try:
        for number, line in enumerate(file, first_line):
            text = _decode_line(line, number) if isinstance(line, bytes) else str(line)
            yield text.rstrip("\r\n") if text.strip() else ""
    except UnicodeDecodeError:
        # A text file is decoded in blocks, so the number of the line is not known.
        raise InvalidKey("the file is not UTF-8 text", _NOT_UTF8_HINT) from None


def _decode_line(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise InvalidKey(f"line {number} is not UTF-8 text", _NOT_UTF8_HINT, line=number) from None


def _batch_of_rows(entries: Iterable[tuple[int, Any]], shared: ItemDefaults) -> Batch:
    rows = []
    for line, entry in entries:
        try:
            new = _new_item(entry, shared)
            columns = _columns(new, shared, f"the data of {new.key!r}")
        except Invalid as error:
            fields = {**error.fields, "line": line}
            raise type(error)(f"{error.what} (line {line})", error.hint, **fields) from None
        check_key(new.key, line)
        rows.append({"key": str.__str__(new.key), **columns})  # a subclass of str may compare in its own way
    gates = [row["gate"] for row in rows if row["gate"] is not None]
    lanes = sum(1 << priority for priority in {row["priority"] for row in rows})
    return Batch(rows, None, min(gates, default=None), lanes)


def _new_item(entry: Any, shared: ItemDefaults) -> NewItem:
    if isinstance(entry, NewItem):
        return entry
    defaults = {"data": shared.data, "due": shared.due, "gate": shared.gate, "priority": shared.priority}
    if isinstance(entry, str):
        return NewItem(entry, **defaults)
    if not isinstance(entry, Mapping):
        what = f"an item must be a key or a mapping, got {type(entry).__name__} {short_repr(entry)}"
        raise Invalid(what, _as_text(entry) or "give keys, or mappings with a key")
    unknown = set(entry) - {"key", *defaults}
    if unknown or "key" not in entry:
        wrong = f"unknown field {min(map(str, unknown))!r} of an item" if unknown else "an item has no key"
        raise Invalid(wrong, f"its fields are key, {', '.join(defaults)}")
    return NewItem(**(defaults | dict(entry)))


def _as_text(value: Any) -> str:
    return f"a key is text: give {str(value)!r}" if isinstance(value, int | float) else ""


def _columns(new: NewItem | ItemDefaults, shared: ItemDefaults, whose: str) -> dict[str, Any]:
    """Check all but the key of an item, or of all items of an add."""
    gate = new.gate
    if isinstance(gate, str) and shared.gate_number is not None:
        gate = shared.gate_number(gate)
    delay, due = delay_or_time(new.due)
    return {
        "gate": None if gate is None else _number("gate", gate, GATES),
        "priority": _number("priority", new.priority, PRIORITIES),
        "due": due,
        "delay": delay,
        "data": _encode_data(new.data, whose),
        "trace": shared.traceparent,
    }


class CheckedChanges(msgspec.Struct, frozen=True):
    """Changes of an item that were checked; fields that are unset stay as they are."""

    data: str | UnsetType | None = UNSET
    """JSON; None for no data."""
    due: tuple[int, int | None] | UnsetType | None = UNSET
    """A delay from the database's now, or a time, in milliseconds; None is at once."""
    priority: int | UnsetType = UNSET


def read_changes(key: str, *, data: Any = UNSET, due: Any = UNSET, priority: Any = UNSET) -> CheckedChanges:
    """Check the changes of an item before anything is written."""
    check_key(key)
    if data is UNSET and due is UNSET and priority is UNSET:
        raise Invalid(f"no changes were given for the item {key!r}", "give data, due or priority")
    when = due if due is UNSET or due is None else delay_or_time(due)
    return CheckedChanges(
        data if data is UNSET else _encode_data(data, f"the data of {key!r}"),
        None if when == (0, None) else when,
        priority if priority is UNSET else _number("priority", priority, PRIORITIES),
    )


def _number(name: str, value: Any, allowed: range) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        raise Invalid(f"{name} must be 0 to {allowed[-1]}, got {value!r}", "give a whole number")
    return value


def _encode_data(data: Any, whose: str) -> str | None:
    if data is None:
        return None
    try:
        text = encode(data, whose)
        if "null" in text and not is_finite(data):
            raise ValueError("JSON has no such number")
        if msgspec.json.decode(text) != data:
            if has_times(data):
                raise times_refused(whose)
            if _has_sets(data):
                raise ValueError("JSON has no sets")
    except (TypeError, ValueError, OverflowError):
        hint = "give text, finite numbers, lists and mappings"
        raise InvalidData(f"{whose} cannot be written as JSON", hint) from None
    size = len(text.encode())
    if size > MAX_DATA_BYTES:
        what = f"{whose} must be at most {MAX_DATA_BYTES} bytes of JSON, got {size}"
        raise InvalidData(what, "store it elsewhere, and its address as data")
    return text


def _has_sets(data: Any) -> bool:
    """Whether a set is in the data: it would be stored as a list, in any order."""
    if isinstance(data, Mapping):
        return any(map(_has_sets, data.values()))
    if isinstance(data, list | tuple):
        return any(map(_has_sets, data))
    return isinstance(data, set | frozenset)


def check_all(stream: Iterator[Batch]) -> Iterable[Batch]:
    """Read and check all batches before the first is written, so that a wrong last line adds nothing.

    Batches that exceed a small part of memory are kept in a temporary file meanwhile.
    """
    first = list(islice(stream, 2))
    return first if len(first) < 2 else _SpooledBatches(first, stream)


class _SpooledBatches:
    """Batches in a temporary file, which can be read again when a transaction is retried."""

    def __init__(self, first: Iterable[Batch], rest: Iterable[Batch]) -> None:
        from tempfile import SpooledTemporaryFile  # heavy, and only a long add needs it

        self._file = SpooledTemporaryFile(max_size=MAX_SPOOL_MEMORY_BYTES)  # noqa: SIM115
        for batch in (*first, *rest):
            self._file.write(msgspec.json.encode(batch) + b"\n")

    def __del__(self) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Batch]:
        self._file.seek(0)
        for line in self._file:
            yield msgspec.json.decode(line, type=Batch)
