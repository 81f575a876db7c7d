"""What people add: keys, lines of a file, mappings, new items; read in batches, checked before anything is written."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import IO, Any

import msgspec
from msgspec import UNSET, UnsetType

from rowlock.durations import DurationOrTime, delay_or_time
from rowlock.errors import Invalid, InvalidData, InvalidKey
from rowlock.model import DEFAULT_PRIORITY, GATES, MAX_DATA_BYTES, PRIORITIES, NewItem, is_finite
from rowlock.names import all_simple_keys, check_key
from rowlock.nesting import check_levels, is_too_deep, too_deep

Entry = str | NewItem | Mapping[str, Any]
Entries = Entry | Iterable[Entry] | IO[str] | IO[bytes]

MAX_ROWS_PER_STATEMENT = 10_000
MAX_SPOOL_MEMORY_BYTES = 8 * 1024 * 1024


class ItemDefaults(msgspec.Struct, frozen=True):
    """What the items of one add have in common."""

    data: Any = None
    due: DurationOrTime | None = None
    gate: int | str | None = None
    priority: int = DEFAULT_PRIORITY
    gate_number: Callable[[str], int] | None = None
    """Tells the number of a gate that is given by its name."""
    trace: str | None = None
    """The W3C traceparent under which they are added."""


class Batch(msgspec.Struct, frozen=True):
    """Items checked and ready for one statement: keys that share the rest, or rows that differ in it."""

    count: int
    json: str
    same: dict[str, Any] | None = None
    """Gate, priority, delay, data and trace of all, if only the keys differ."""
    lowest_gate: int | None = None
    lanes: int = 0
    """A bit for each priority among them."""

    def keys(self) -> list[str]:
        """The keys, decoded again: only a strict add and one among others look at them."""
        decoded = msgspec.json.decode(self.json)
        return decoded if self.same is not None else [row["key"] for row in decoded]

    def rows(self) -> list[dict[str, Any]]:
        """The items as rows, decoded again: for an add among others that may differ from it."""
        decoded = msgspec.json.decode(self.json)
        return decoded if self.same is None else [{"key": key, **self.same} for key in decoded]


def batches(entries: Entries, shared: ItemDefaults, *, first_line: int = 1) -> Iterator[Batch]:
    """Read what is to be added, a bounded batch at a time; the first wrong entry is refused by its line."""
    same = _row(NewItem("-", None, shared.due, shared.gate, shared.priority), None, shared)
    whose = f"the data of {entries!r}" if isinstance(entries, str) else "what was given as data of all"
    same["data"] = _encoded(shared.data, whose, None)
    for line, chunk in _chunks(entries, first_line):
        if same["due"] is None and _all_text(chunk):
            keys = _checked([key for key in chunk if key], chunk, line)
            yield _batch_of_keys(keys, same)
        else:
            yield _batch_of_rows(chunk, shared, line)


def batch_of_simple_lines(text: bytes, shared: ItemDefaults) -> Batch | None:
    """Lines that are good beyond doubt, at a glance; None if they want a look, line by line."""
    if shared.due is not None or shared.data is not None or shared.gate is not None:
        return None
    try:
        keys = [key for key in text.decode().split("\n") if key]
    except UnicodeDecodeError:
        return None
    if not all_simple_keys(keys) or any(map(str.isspace, keys)):
        return None
    priority = _number("priority", shared.priority, PRIORITIES, None)
    same = {"gate": None, "priority": priority, "delay": 0, "data": None, "trace": shared.trace}
    return Batch(len(keys), encode_json(keys), same, None, 1 << priority)


def _chunks(entries: Entries, line: int) -> Iterator[tuple[int, list[Any]]]:
    source = iter(_each(entries, line))
    while chunk := list(islice(source, MAX_ROWS_PER_STATEMENT)):
        yield line, chunk
        line += len(chunk)


def _each(entries: Entries, first_line: int) -> Iterable[Any]:
    if isinstance(entries, str | NewItem | Mapping):
        if entries == "":
            raise InvalidKey("the key '' is empty", "a key is 1 to 512 bytes of UTF-8 text")
        return (entries,)
    if hasattr(entries, "readline"):
        return lines(entries, first_line)  # type: ignore[arg-type]
    if not hasattr(entries, "__iter__") or hasattr(entries, "decode"):
        raise Invalid(
            f"{type(entries).__name__} is nothing that can be added",
            "give a key, keys, mappings or an open file",
        )
    return _not_blank(entries, first_line)


def _not_blank(entries: Iterable[Any], first_line: int) -> Iterator[Any]:
    for line, entry in enumerate(entries, first_line):
        if entry == "":
            check_key("", line)
        yield entry


def lines(file: IO[str] | IO[bytes], first_line: int = 1) -> Iterator[str]:
    """The lines of an open file without their ends; a blank one comes as "" so that numbers stay true."""
    for number, line in enumerate(_readable(file), first_line):
        text = _decoded(line, number) if isinstance(line, bytes) else str(line)
        yield text.rstrip("\r\n") if text.strip() else ""


def _readable(file: IO[str] | IO[bytes]) -> Iterator[str | bytes]:
    try:
        yield from file
    except UnicodeDecodeError:
        # A text file is decoded in blocks, so its line is not known.
        raise InvalidKey("the file is not UTF-8 text", "convert it first, with iconv for example") from None


def _decoded(line: bytes, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise InvalidKey(
            f"line {number} is not UTF-8 text", "convert it first, with iconv for example", line=number
        ) from None


def _all_text(chunk: Sequence[Any]) -> bool:
    return set(map(type, chunk)) == {str}


def _checked(keys: list[str], chunk: Sequence[str], first_line: int) -> list[str]:
    if keys and not all_simple_keys(keys):
        for line, key in enumerate(chunk, first_line):
            if key:
                check_key(key, line)
    return keys


def _batch_of_keys(keys: list[str], same: dict[str, Any]) -> Batch:
    common = {name: same[name] for name in ("gate", "priority", "delay", "data", "trace")}
    return Batch(len(keys), encode_json(keys), common, same["gate"], 1 << same["priority"])


def _batch_of_rows(chunk: Iterable[Any], shared: ItemDefaults, first_line: int) -> Batch:
    rows = [
        _row(_new(entry, shared, line), line, shared) for line, entry in enumerate(chunk, first_line) if entry != ""
    ]
    gates = [row["gate"] for row in rows if row["gate"] is not None]
    lanes = sum(1 << priority for priority in {row["priority"] for row in rows})
    return Batch(len(rows), encode_json(rows), None, min(gates, default=None), lanes)


class CheckedChanges(msgspec.Struct, frozen=True):
    """What is to be different about an item; what is unset stays."""

    data: str | UnsetType | None = UNSET
    due: tuple[int, int | None] | UnsetType | None = UNSET
    """A delay from the database's now, or a moment; None is at once."""
    priority: int | UnsetType = UNSET


def read_changes(key: str, *, data: Any = UNSET, due: Any = UNSET, priority: Any = UNSET) -> CheckedChanges:
    """Read what is to be different about an item; what cannot be is refused before anything is asked or written."""
    check_key(key)
    if data is UNSET and due is UNSET and priority is UNSET:
        raise Invalid(f"nothing is to be changed of {key!r}", "give data, due or priority")
    when = due if due is UNSET or due is None else delay_or_time(due)
    return CheckedChanges(
        data if data is UNSET else _encoded(data, f"the data of {key!r}", None),
        None if when == (0, None) else when,
        priority if priority is UNSET else _number("priority", priority, PRIORITIES, None),
    )


def encode_json(values: Any) -> str:
    """Values as JSON, as statements take them; a subclass of str counts as text."""
    return msgspec.json.encode(values, enc_hook=_plain).decode()


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _new(entry: Any, shared: ItemDefaults, line: int) -> NewItem:
    if isinstance(entry, NewItem):
        return entry
    defaults = {"data": shared.data, "due": shared.due, "gate": shared.gate, "priority": shared.priority}
    if isinstance(entry, str):
        return NewItem(entry, **defaults)
    if not isinstance(entry, Mapping):
        raise Invalid(
            f"line {line} is {type(entry).__name__}, nothing that can be added",
            "give keys or mappings with a key",
        )
    unknown = set(entry) - {"key", *defaults}
    if unknown or "key" not in entry:
        wrong = f"has no field {min(map(str, unknown))!r}" if unknown else "has no key"
        what = f"an item {wrong} (line {line})"
        raise Invalid(what, "its fields are key, data, due, gate and priority", line=line)
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
        "data": _encoded(new.data, f"the data of {new.key!r}", line),
        "trace": shared.trace,
    }


def _due(due: Any, line: int | None) -> tuple[int, int | None]:
    try:
        return delay_or_time(due)
    except Invalid as error:
        if line is None:
            raise
        raise type(error)(f"{error.what} (line {line})", error.hint, **error.fields, line=line) from None


def _gate(gate: int | str, line: int | None, shared: ItemDefaults) -> int:
    named = isinstance(gate, str) and shared.gate_number is not None
    return shared.gate_number(gate) if named else _number("gate", gate, GATES, line)  # type: ignore[misc,arg-type]


def _number(name: str, value: Any, allowed: range, line: int | None) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value not in allowed:
        where = f" (line {line})" if line is not None else ""
        hint = f"it is a whole number from 0 to {allowed[-1]}"
        raise Invalid(f"{name} {value!r} cannot be had{where}", hint, line=line)
    return value


def _encoded(data: Any, whose: str, line: int | None) -> str | None:
    if data is None:
        return None
    where = f" (line {line})" if line is not None else ""
    try:
        text = encode_json(data)
        if is_too_deep(text):
            check_levels(text, f"{whose}{where}", line=line)
        if "null" in text and not is_finite(msgspec.to_builtins(data, enc_hook=_plain)):
            raise ValueError("JSON has no such number")
        if msgspec.json.decode(text) != data and _is_unordered(data):
            raise ValueError("JSON has no sets")
    except RecursionError:
        raise too_deep(f"{whose}{where}", line=line) from None
    except (TypeError, ValueError, OverflowError, UnicodeEncodeError):
        hint = "give text, numbers, lists and mappings"
        raise InvalidData(f"{whose} cannot be written as JSON{where}", hint, line=line) from None
    if len(text.encode()) > MAX_DATA_BYTES:
        what = f"{whose} is larger than {MAX_DATA_BYTES} bytes{where}"
        raise InvalidData(what, "keep it elsewhere and store where", line=line)
    return text


def _is_unordered(data: Any) -> bool:
    """Whether there is a set in it: it would come out as a list, in any order."""
    if isinstance(data, Mapping):
        return any(map(_is_unordered, data.values()))
    if isinstance(data, list | tuple):
        return any(map(_is_unordered, data))
    return isinstance(data, set | frozenset)


def check_all(stream: Iterator[Batch]) -> Iterable[Batch]:
    """All batches, read and checked to the end before the first is given: so that a wrong last line writes nothing.

    What does not fit a small part of memory lies in a temporary file meanwhile.
    """
    first = list(islice(stream, 2))
    return first if len(first) < 2 else _Spool(first, stream)


class _Spool:
    """Batches on disk, to be read as often as a transaction has to be run again."""

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
