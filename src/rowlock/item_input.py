"""Reads what is added (keys, lines of a file, mappings, new items) in batches, checked before anything is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any

import msgspec
from msgspec import UNSET, UnsetType

from rowlock.durations import DurationOrTime, delay_or_time
from rowlock.errors import Invalid, InvalidData, InvalidKey
from rowlock.json_codec import check_levels, encode_json, is_finite, is_too_deep, too_deep
from rowlock.model import DEFAULT_PRIORITY, GATES, MAX_DATA_BYTES, NO_PAYLOAD, PRIORITIES, NewItem
from rowlock.names import MAX_KEY_BYTES, all_simple_keys, check_key

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
    trace: str | None = None
    """The W3C traceparent under which the items are added."""

    def payload(self, data: str | None) -> dict[str, str | None]:
        """Return an item's payload columns: its own data as JSON, and what all items share."""
        return {**NO_PAYLOAD, "data": data, "trace": self.trace}


class Batch(msgspec.Struct, frozen=True):
    """Checked items for one statement: keys that share all other columns, or rows that do not."""

    count: int
    json: str
    same: dict[str, Any] | None = None
    """Gate, priority, delay and payload of all items, if only their keys differ."""
    lowest_gate: int | None = None
    lanes: int = 0
    """A bit for each priority of the items."""

    def keys(self) -> list[str]:
        """Decode the keys: a strict add needs them, and one that is merged with others."""
        decoded = msgspec.json.decode(self.json)
        return decoded if self.same is not None else [row["key"] for row in decoded]

    def rows(self) -> list[dict[str, Any]]:
        """Decode the items as rows, for an add that is merged with others."""
        decoded = msgspec.json.decode(self.json)
        return decoded if self.same is None else [{"key": key, **self.same} for key in decoded]


def batch_of_keys(
    keys: Sequence[str],
    payload: Mapping[str, str | None] = NO_PAYLOAD,
    *,
    gate: int | None = None,
    priority: int = DEFAULT_PRIORITY,
    delay: int = 0,
) -> Batch:
    """Make a batch of checked keys that share all other columns; `delay` is in milliseconds."""
    same = {"gate": gate, "priority": priority, "delay": delay, **payload}
    return Batch(len(keys), encode_json(keys), same, gate, 1 << priority)


def batches(entries: Entries, shared: ItemDefaults, *, first_line: int = 1) -> Iterator[Batch]:
    """Read entries in batches of bounded size; the first wrong entry is refused with its line."""
    whose = f"the data of {entries!r}" if isinstance(entries, str) else "data"
    payload = shared.payload(_encode_data(shared.data, whose, None))
    common = _row(NewItem("-", None, shared.due, shared.gate, shared.priority), None, shared)
    for line, chunk in _chunks(entries, first_line):
        if common["due"] is None and set(map(type, chunk)) == {str}:
            keys = _check_keys([key for key in chunk if key], chunk, line)
            columns = {name: common[name] for name in ("gate", "priority", "delay")}
            yield batch_of_keys(keys, payload, **columns)
        else:
            yield _batch_of_rows(chunk, shared, line)


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
    return batch_of_keys(keys, shared.payload(None), priority=_number("priority", shared.priority, PRIORITIES, None))


def _chunks(entries: Entries, line: int) -> Iterator[tuple[int, list[Any]]]:
    source = iter(_each(entries, line))
    while chunk := list(islice(source, MAX_ROWS_PER_STATEMENT)):
        yield line, chunk
        line += len(chunk)


def _each(entries: Entries, first_line: int) -> Iterable[Any]:
    if isinstance(entries, str | NewItem | Mapping):
        if entries == "":
            raise InvalidKey("the key '' is empty", f"a key is 1 to {MAX_KEY_BYTES} bytes of UTF-8 text")
        return (entries,)
    if hasattr(entries, "readline"):
        return lines(entries, first_line)  # type: ignore[arg-type]
    if not hasattr(entries, "__iter__") or hasattr(entries, "decode"):
        what = f"items must be keys, mappings or an open file, got {type(entries).__name__}"
        raise Invalid(what, "give a key, an iterable of keys or mappings, or an open file")
    return _refuse_blank(entries, first_line)


def _refuse_blank(entries: Iterable[Any], first_line: int) -> Iterator[Any]:
    for line, entry in enumerate(entries, first_line):
        if entry == "":
            check_key("", line)
        yield entry


def lines(file: IO[str] | IO[bytes], first_line: int = 1) -> Iterator[str]:
    """Yield the lines of an open file without their ends; a blank line as "", so that line numbers stay right."""
    for number, line in enumerate(_readable(file), first_line):
        text = _decode_line(line, number) if isinstance(line, bytes) else str(line)
        yield text.rstrip("\r\n") if text.strip() else ""


def _readable(file: IO[str] | IO[bytes]) -> Iterator[str | bytes]:
    try:
        yield from file
    except UnicodeDecodeError:
        # A text file is decoded in blocks, so the number of the line is not known.
        raise InvalidKey("the file is not UTF-8 text", _NOT_UTF8_HINT) from None


def _decode_line(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise InvalidKey(f"line {number} is not UTF-8 text", _NOT_UTF8_HINT, line=number) from None


def _check_keys(keys: list[str], chunk: Sequence[str], first_line: int) -> list[str]:
    if keys and not all_simple_keys(keys):
        for line, key in enumerate(chunk, first_line):
            if key:
                check_key(key, line)
    return keys


def _batch_of_rows(chunk: Iterable[Any], shared: ItemDefaults, first_line: int) -> Batch:
    rows = [
        _row(_new_item(entry, shared, line), line, shared)
        for line, entry in enumerate(chunk, first_line)
        if entry != ""
    ]
    gates = [row["gate"] for row in rows if row["gate"] is not None]
    lanes = sum(1 << priority for priority in {row["priority"] for row in rows})
    return Batch(len(rows), encode_json(rows), None, min(gates, default=None), lanes)


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
        data if data is UNSET else _encode_data(data, f"the data of {key!r}", None),
        None if when == (0, None) else when,
        priority if priority is UNSET else _number("priority", priority, PRIORITIES, None),
    )


def _new_item(entry: Any, shared: ItemDefaults, line: int) -> NewItem:
    if isinstance(entry, NewItem):
        return entry
    defaults = {"data": shared.data, "due": shared.due, "gate": shared.gate, "priority": shared.priority}
    if isinstance(entry, str):
        return NewItem(entry, **defaults)
    if not isinstance(entry, Mapping):
        what = f"an item must be a key or a mapping, got {type(entry).__name__} (line {line})"
        raise Invalid(what, "give keys, or mappings with a key", line=line)
    unknown = set(entry) - {"key", *defaults}
    if unknown or "key" not in entry:
        wrong = f"unknown field {min(map(str, unknown))!r} of an item" if unknown else "an item has no key"
        raise Invalid(f"{wrong} (line {line})", f"its fields are key, {', '.join(defaults)}", line=line)
    return NewItem(**(defaults | dict(entry)))


def _row(new: NewItem, line: int | None, shared: ItemDefaults) -> dict[str, Any]:
    check_key(new.key, line)
    delay, due = _due(new.due, line)
    return {
        "key": new.key,
        "gate": None if new.gate is None else _gate(new.gate, line, shared),
        "priority": _number("priority", new.priority, PRIORITIES, line),
        "due": due,
        "delay": delay,
        **shared.payload(_encode_data(new.data, f"the data of {new.key!r}", line)),
    }


def _due(due: Any, line: int | None) -> tuple[int, int | None]:
    try:
        return delay_or_time(due)
    except Invalid as error:
        if line is None:
            raise
        raise type(error)(f"{error.what} (line {line})", error.hint, **error.fields, line=line) from None


def _gate(gate: int | str, line: int | None, shared: ItemDefaults) -> int:
    if isinstance(gate, str) and shared.gate_number is not None:
        return shared.gate_number(gate)
    return _number("gate", gate, GATES, line)


def _number(name: str, value: Any, allowed: range, line: int | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        where = f" (line {line})" if line is not None else ""
        what = f"{name} must be 0 to {allowed[-1]}, got {value!r}{where}"
        raise Invalid(what, "give a whole number", line=line)
    return value


def _encode_data(data: Any, whose: str, line: int | None) -> str | None:
    if data is None:
        return None
    where = f" (line {line})" if line is not None else ""
    try:
        text = encode_json(data)
        if is_too_deep(text):
            check_levels(text, f"{whose}{where}", line=line)
        if "null" in text and not is_finite(data):
            raise ValueError("JSON has no such number")
        if msgspec.json.decode(text) != data and _has_sets(data):
            raise ValueError("JSON has no sets")
    except RecursionError:
        raise too_deep(f"{whose}{where}", line=line) from None
    except (TypeError, ValueError, OverflowError, UnicodeEncodeError):
        hint = "give text, finite numbers, lists and mappings"
        raise InvalidData(f"{whose} cannot be written as JSON{where}", hint, line=line) from None
    size = len(text.encode())
    if size > MAX_DATA_BYTES:
        what = f"{whose} must be at most {MAX_DATA_BYTES} bytes of JSON, got {size}{where}"
        raise InvalidData(what, "store it elsewhere, and its address as data", line=line)
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
