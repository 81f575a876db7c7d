"""Transfers: lists with their items, errors, results and remembered keys, as records that another database can load."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta

from rowlock import done_keys, failures, items, lists, results, tallies, tracing
from rowlock.db import Tx
from rowlock.durations import delay_or_time
from rowlock.errors import GatePassed, Invalid, InvalidData, ListSealed
from rowlock.json_codec import check_levels, encode_json
from rowlock.model import GATES, MAX_DATA_BYTES, PAYLOAD_COLUMNS, PRIORITIES, Failure, Item, ItemStatus, Settings
from rowlock.names import check_key, check_name, short_repr

T = TypeVar("T")

MAX_ROWS_PER_STATEMENT = 1_000

Time = Annotated[datetime, Meta(tz=True)]
Number = Annotated[int, Meta(ge=0, lt=2**31)]


class ListRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="record", tag="list"):
    """A list without its items."""

    list: str
    state: str = "open"
    gate: Number = 0
    sealed: bool = False
    settings: Settings = Settings()


class ItemRecord(Item, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="record", tag="item"):
    """An item with all that is stored of it."""

    until: str | None = None
    """The list that it waits for."""
    errors: tuple[Failure, ...] = ()
    """How it has failed, the oldest first."""


class ResultRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="record", tag="result"):
    """The newest result of a key."""

    list: str
    key: str
    result: Any
    attempts: Number
    settled_at: Time


class DoneKeyRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="record", tag="done_key"):
    """A key that a list with the setting `once` remembers as done."""

    list: str
    key: str
    done_at: Time


Record = ListRecord | ItemRecord | ResultRecord | DoneKeyRecord


class Loaded(msgspec.Struct, frozen=True):
    """What a load did, in numbers."""

    lists: int
    added: int
    existing: int
    """Items that were on their list already, or were done there on a list that remembers it."""
    results: int
    remembered: int
    """Keys that are remembered as done, and were not before."""


class _KeyedFailure(msgspec.Struct, frozen=True):
    key: str
    attempt: int
    at: datetime
    holder: str
    kind: str
    message: str


def show(tx: Tx, name: str) -> ListRecord:
    """Return the record of a list."""
    row = lists.get(tx, name)
    return ListRecord(row.name, row.state, row.gate, row.sealed, row.settings)


def page(tx: Tx, name: str, *, after: str = "", limit: int = 1000) -> list[ItemRecord]:
    """Return the records of items in the byte order of their keys, strictly after one."""
    row = lists.get(tx, name)
    found = items.page(tx, name, after=after, limit=limit)
    keys = encode_json([item.key for item in found])
    errors: dict[str, list[Failure]] = defaultdict(list)
    for each in tx.structs(_KeyedFailure, "errors/of_keys", list=row.id, keys=keys):
        errors[each.key].append(Failure(each.attempt, each.at, each.holder, each.kind, each.message))
    awaited: dict[str, str] = dict(tx.rows("waiters/of_keys", list=row.id, keys=keys))
    return [
        ItemRecord(*msgspec.structs.astuple(item), until=awaited.get(item.key), errors=tuple(errors[item.key]))
        for item in found
    ]


def results_page(tx: Tx, name: str, *, after: str = "", limit: int = 1000) -> list[ResultRecord]:
    """Return the records of the newest result of each key, in the byte order of the keys, strictly after one."""
    found = results.page(tx, name, after=after, limit=limit)
    return [ResultRecord(name, each.key, each.result, each.attempts, each.settled_at) for each in found]


def done_keys_page(tx: Tx, name: str, *, after: str = "", limit: int = 1000) -> list[DoneKeyRecord]:
    """Return the records of the keys that a list remembers as done, in their byte order, strictly after one."""
    return [DoneKeyRecord(name, each.key, each.at) for each in done_keys.page(tx, name, after=after, limit=limit)]


def check(record: Record) -> Record:
    """Return a record whose names, key, times and data can be stored; Invalid if one cannot."""
    check_name(record.list)
    if isinstance(record, ListRecord):
        if record.state not in ("open", "paused", "complete"):
            raise Invalid(f"state must be open, paused or complete, got {record.state!r}")
        return record
    check_key(record.key)
    if isinstance(record, ResultRecord):
        _milliseconds(record.settled_at)
        return record
    if isinstance(record, DoneKeyRecord):
        _milliseconds(record.done_at)
        return record
    _check_item(record)
    return record


def _check_item(record: ItemRecord) -> None:
    for name, allowed in (("gate", GATES), ("priority", PRIORITIES), ("attempts", GATES), ("version", GATES)):
        if getattr(record, name) not in allowed:
            raise Invalid(f"{name} must be 0 to {allowed[-1]}, got {getattr(record, name)}", "give a whole number")
    for time in (record.due, record.failed_at):
        _milliseconds(time)
    for error in record.errors:
        _check_error(error)
    tracing.check_item(record)
    if record.until is not None:
        check_name(record.until)
    if record.until == record.list:
        raise Invalid(f"the item {record.key!r} waits for its own list", "name another list in until, or leave it out")
    if record.due is not None and record.failed_at is not None:
        raise Invalid(f"the item {record.key!r} is both due and failed", "leave due or failed_at out")
    text = record.raw_data or ""
    check_levels(text, f"the data of {record.key!r}")
    if (size := len(text.encode())) > MAX_DATA_BYTES:
        what = f"the data of {record.key!r} must be at most {MAX_DATA_BYTES} bytes, got {size}"
        raise InvalidData(what, "store it elsewhere, and its address as data")


def _check_error(error: Failure) -> None:
    _milliseconds(error.at)
    if error.attempt not in GATES:
        raise Invalid(f"attempt of an error must be 0 to {GATES[-1]}, got {error.attempt}", "give a whole number")
    for name, text in (("holder", error.holder), ("kind", error.kind)):
        if "\0" in text or len(text) > failures.MAX_MESSAGE_CHARACTERS:
            rule = f"text of at most {failures.MAX_MESSAGE_CHARACTERS} characters without NUL"
            raise Invalid(f"{name} of an error must be {rule}, got {short_repr(text)}", "shorten it")


def load(tx: Tx, records: Sequence[Record]) -> Loaded:
    """Make the lists of the records, and add the items, results and remembered keys that are not there yet.

    A list that exists keeps its settings and its state, and an item that is on its list stays as it is: a second load
    changes nothing. Invalid, and nothing is written, if a list, an item or a result is there twice, or the list of an
    item is missing.
    """
    _refuse_twice(records)
    given = {each.list: each for each in records if isinstance(each, ListRecord)}
    rows = {name: lists.lock_if_exists(tx, name) for name in sorted(given)}
    made = [name for name, row in rows.items() if row is None]
    for name in made:
        _make_list(tx, given[name])
    by_list = defaultdict[str, list[ItemRecord]](list)
    for record in sorted((each for each in records if isinstance(each, ItemRecord)), key=lambda each: each.position):
        by_list[record.list].append(record)
    added = 0
    for name, some in sorted(by_list.items()):
        row = lists.lock_without_adders(tx, name)
        new = _load_items(tx, row, some)
        if new and row.sealed and name not in made:
            raise ListSealed(f"the list {name!r} is sealed and takes no new items", "reopen it, or rename it first")
        added += new
    kept = sum(_load_results(tx, lists.get(tx, name), records) for name in rows)
    # After the items: one whose key is remembered too was added before the list had the setting `once`.
    remembered = sum(_load_done_keys(tx, lists.get(tx, name), records) for name in rows)
    return Loaded(len(rows), added, sum(map(len, by_list.values())) - added, kept, remembered)


def _refuse_twice(records: Iterable[Record]) -> None:
    seen = set()
    known = {each.list for each in records if isinstance(each, ListRecord)}
    for each in records:
        kind = str(each.__struct_config__.tag).replace("_", " ")
        key = getattr(each, "key", None)
        what = f"the list {each.list!r}" if key is None else f"the {kind} {key!r} of the list {each.list!r}"
        if (kind, each.list, key) in seen:
            raise Invalid(f"{what} stands twice in the file", "nothing was imported; give each once", key=key)
        if each.list not in known:
            raise Invalid(f"{what} comes without a record of its list", 'add a line {"record": "list", "list": …}')
        seen.add((kind, each.list, key))


def _make_list(tx: Tx, record: ListRecord) -> None:
    """Make a list with its settings, gate and state; what its end adds elsewhere was added where it came from."""
    lists.put(tx, record.list, record.settings)
    row = lists.lock_without_adders(tx, record.list)
    tx.run("gates/open", list=row.id, gate=record.gate, was=row.gate)
    if record.sealed:
        tx.run("gates/seal", list=row.id)
    if record.state == "complete":
        tx.run("gates/complete", list=row.id)
    elif record.state == "paused":
        tx.run("lists/set_state", name=row.name, state="paused")


def _load_items(tx: Tx, row: lists.ListRow, records: Sequence[ItemRecord]) -> int:
    lowest = min(record.gate for record in records)
    if lowest < row.gate:
        what = f"gate must be at least {row.gate}, the open gate of the list {row.name!r}, got {lowest}"
        raise GatePassed(what, "import it into an empty database, or under another name", gate=row.gate)
    tx.run("lists/add_lanes", list=row.id, lanes=sum(1 << priority for priority in {each.priority for each in records}))
    added = sum(_load_batch(tx, row, some) for some in _batches(records))
    if added:
        tx.run("lists/request_wake", list=row.id)
    return added


def _load_batch(tx: Tx, row: lists.ListRow, records: Sequence[ItemRecord]) -> int:
    done = done_keys.among(tx, row.id, [each.key for each in records]) if row.settings.once else set()
    awaited = {name: lists.lock_if_exists(tx, name) for name in sorted({each.until for each in records if each.until})}
    waits = {name for name, found in awaited.items() if found is not None and found.state != "complete"}
    rows = [_row(each, waits=waits) for each in records if each.key not in done]
    columns = {"separator": row.settings.separator, "rows": encode_json(rows)}
    new = {each.key: each for each in tx.structs(ItemStatus, "items/import", list=row.id, **columns)}
    late = done_keys.among_added(tx, row.id, sorted(new)) if new and row.settings.once else set()
    if late:
        for each in tx.structs(ItemStatus, "items/delete", list=row.id, keys=encode_json(sorted(late))):
            del new[each.key]
    for gate in sorted({each.gate for each in new.values()}):
        here = [each for each in new.values() if each.gate == gate]
        numbers = {
            "delayed_change": sum(each.delayed for each in here),
            "failed_change": sum(each.failed for each in here),
        }
        tallies.record(tx, row.id, gate, added=len(here), items_change=len(here), **numbers)
    for name in waits:
        keys = [each.key for each in records if each.until == name and each.key in new]
        lists.record_waiting(tx, row.id, keys, awaited=awaited[name].id)  # type: ignore[union-attr]
    errors = [error for each in records if each.key in new for error in _errors(each)]
    if errors:
        tx.run("errors/import", list=row.id, keep=row.settings.keep, rows=encode_json(errors))
    return len(new)


def _row(record: ItemRecord, *, waits: set[str]) -> dict[str, Any]:
    """Return the columns of an item; one that waited for a list that is complete or missing is ready."""
    ready = record.until is not None and record.until not in waits
    payload = {name: getattr(record, name) for name in PAYLOAD_COLUMNS} | {"data": record.raw_data}
    numbers = {name: getattr(record, name) for name in ("gate", "priority", "attempts", "version")}
    due = None if ready else _milliseconds(record.due)
    return {"key": record.key, "due": due, "failed_at": _milliseconds(record.failed_at), **numbers, **payload}


def _errors(record: ItemRecord) -> Iterator[dict[str, Any]]:
    for each in record.errors:
        message = failures.truncate_message(each.message)
        fields = {"at": _milliseconds(each.at), "message": message, "shape": failures.shape(message)}
        yield {"key": record.key, **msgspec.structs.asdict(each), **fields}


def _load_results(tx: Tx, row: lists.ListRow, records: Sequence[Record]) -> int:
    found = [each for each in records if isinstance(each, ResultRecord) and each.list == row.name]
    kept = 0
    for some in _batches(found):
        rows = [
            {
                "key": each.key,
                "attempts": each.attempts,
                "data": None if each.result is None else encode_json(each.result),
                "settled_at": _milliseconds(each.settled_at),
            }
            for each in some
        ]
        kept += tx.run("results/import", list=row.id, keep=row.settings.keep, rows=encode_json(rows))
    return kept


def _load_done_keys(tx: Tx, row: lists.ListRow, records: Sequence[Record]) -> int:
    found = [each for each in records if isinstance(each, DoneKeyRecord) and each.list == row.name]
    rows = [{"key": each.key, "at": _milliseconds(each.done_at)} for each in found]
    return sum(tx.run("done_keys/import", list=row.id, rows=encode_json(some)) for some in _batches(rows))


def _batches(records: Sequence[T]) -> Iterator[Sequence[T]]:
    for first in range(0, len(records), MAX_ROWS_PER_STATEMENT):
        yield records[first : first + MAX_ROWS_PER_STATEMENT]


def _milliseconds(time: datetime | None) -> int | None:
    return None if time is None else delay_or_time(time)[1]
