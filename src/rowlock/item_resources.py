"""Verbs of items as HTTP resources: shown with failures, paged within bytes, put and removed on conditions."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from msgspec import UNSET, UnsetType

from rowlock import done_keys, failures, item_input, items, lists
from rowlock.db import Pending, Tx, pipelined
from rowlock.durations import DurationOrTime
from rowlock.errors import Refused, RowlockError
from rowlock.item_input import CheckedChanges, ItemDefaults
from rowlock.model import NO_DATA, Item, ItemDetails, Versions, check_version

FIRST_ITEMS, MAX_ITEMS_PER_READ = 4, 256
"""The first read of a page is small; if its items have little data, the next ones are larger. This bounds memory."""


def page(
    tx: Tx,
    name: str,
    *,
    after: str = "",
    limit: int = 1000,
    state: str | None = None,
    max_bytes: int,
    first: int = FIRST_ITEMS,
) -> tuple[list[Item], bool]:
    """Return up to `limit` items, fewer if their data is more than `max_bytes`, and whether there may be more."""
    rows: list[Item] = [] if limit else items.page(tx, name, limit=0)  # a list that does not exist is refused
    data_bytes, step = 0, min(limit, first)
    while step:
        read = items.page(tx, name, after=after, limit=step, state=state)
        rows += read
        if len(read) < step:
            return rows, False
        data_bytes += sum(len(memoryview(item.raw)) for item in read if item.raw != NO_DATA)
        if data_bytes >= max_bytes:
            break
        fitting = len(rows) * (max_bytes - data_bytes) // data_bytes if data_bytes else MAX_ITEMS_PER_READ
        after, step = read[-1].key, min(limit - len(rows), MAX_ITEMS_PER_READ, fitting)
    return rows, True


def show(tx: Tx, name: str, key: str) -> ItemDetails:
    """Return one item with its state, its data and how it has failed."""
    return _detailed(tx, items.show(tx, name, key))


def show_many(tx: Tx, places: Sequence[tuple[str, str]]) -> list[ItemDetails | RowlockError]:
    """Return each item, by list and key, with its failures; in place of an item that cannot be shown, the error.

    One statement per list, and one more for each item that has failed or does not exist.
    """
    found = {name: items.show_many(tx, name, keys) for name, keys in _keys_by_list(places).items()}
    return [_show_one(tx, name, key, found[name].get(key)) for name, key in places]


@pipelined
def show_unfailed(tx: Tx, places: Sequence[tuple[str, str]]) -> Pending[list[ItemDetails | None]]:
    """Return each item, by list and key; None in place of one that has failed or does not exist: `show_many` says more.

    One statement per list, which all can be sent at once.
    """
    found = {name: items.show_many.send(tx, name, keys) for name, keys in _keys_by_list(places).items()}

    def details() -> list[ItemDetails | None]:
        shown = {name: pending.result() for name, pending in found.items()}
        rows = (shown[name].get(key) for name, key in places)
        return [None if row is None or row[1] else ItemDetails.of(row[0], []) for row in rows]

    return Pending(details)


def _keys_by_list(places: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    keys: dict[str, list[str]] = defaultdict(list)
    for name, key in places:
        keys[name].append(key)
    return keys


def _show_one(tx: Tx, name: str, key: str, found: tuple[Item, bool] | None) -> ItemDetails | RowlockError:
    try:
        item, has_failed = (items.show(tx, name, key), True) if found is None else found
        return ItemDetails.of(item, failures.recent(tx, name, key) if has_failed else [])
    except RowlockError as error:
        return error


def put(
    tx: Tx,
    name: str,
    key: str,
    *,
    data: Any = None,
    due: DurationOrTime | UnsetType | None = UNSET,
    gate: int | None = None,
    priority: int | UnsetType = UNSET,
    trace: str | None = None,
    version: Versions | None = None,
    absent: bool = False,
) -> tuple[bool, ItemDetails]:
    """Add an item, or give the one that exists other data, and another due time and priority if they are given.

    Returns whether it was added, and the item. An item that a worker holds stays as it was handed out: ItemClaimed.
    """
    changes = item_input.read_changes(key, data=data, due=due, priority=priority)
    given = {"due": due, "gate": gate, "priority": priority}
    entry = {"key": key, "data": data} | {each: value for each, value in given.items() if value not in (None, UNSET)}
    [batch] = item_input.batches([entry], ItemDefaults(traceparent=trace))
    with tx.savepoint():
        held = _hold(tx, name, key, version=version, absent=absent)
        if held is None:
            added = items.add(tx, name, [batch])
            if added.done_before:
                raise done_keys.refusal(name, key)
            if added.added:
                return True, show(tx, name, key)
            # Another caller was faster: its item is changed, if the conditions hold for it.
            held = _hold(tx, name, key, version=version, absent=absent)
        if held is not None and gate not in (None, held.gate):
            what = f"the item {key!r} of {name!r} stands at gate {held.gate}, not {gate}"
            raise Refused(what, "leave the gate out; a worker moves it")
        return False, save(tx, name, key, changes=changes)


def save(tx: Tx, name: str, key: str, *, changes: CheckedChanges, version: Versions | None = None) -> ItemDetails:
    """Change an item's data, due time or priority, and leave the rest."""
    return _detailed(tx, items.save(tx, name, key, changes=changes, version=version))


def remove(tx: Tx, name: str, key: str, *, version: Versions | None = None) -> int:
    """Take an item off the list, counted as done; returns 1, or 0 if it was not there."""
    if version is not None:
        _hold(tx, name, key, version=version)
    return items.done(tx, name, [key])


def _detailed(tx: Tx, item: Item) -> ItemDetails:
    return ItemDetails.of(item, failures.recent(tx, item.list, item.key))


def _hold(tx: Tx, name: str, key: str, *, version: Versions | None, absent: bool = False) -> items.LockedItem | None:
    row = lists.find(tx, name)
    held = None if row is None else items.lock(tx, row, key)
    actual = None if held is None else held.version
    check_version(f"the item {key!r} of {name!r}", actual, version=version, absent=absent)
    return held
