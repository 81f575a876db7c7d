"""Items: add, read, change and remove them. Functions that take a transaction."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec
from msgspec import UNSET

from rowlock import done_keys, failures, gates, lists, results, single_items, tallies
from rowlock.db import Pending, Tx, pipelined, single_statement
from rowlock.db.driver import Row
from rowlock.db.row_decoders import decoder
from rowlock.errors import (
    AlreadyThere,
    GatePassed,
    Invalid,
    ItemClaimed,
    ItemFailed,
    ListSealed,
    NoSuchItem,
    StaleVersion,
)
from rowlock.group_commit import GroupedCall, GroupKey, Merge, groupable
from rowlock.item_input import Batch, CheckedChanges
from rowlock.json_codec import encode_json
from rowlock.model import CHANGEABLE_COLUMNS, Added, Item, ItemStatus, State, Versions, check_version
from rowlock.names import all_simple_keys, check_key, check_keys, check_limit, check_start

MAX_GROUPED_KEYS = 500
"""Keys of one call up to which other calls can wait for it in a group commit."""


class AddedItem(msgspec.Struct, frozen=True):
    """An item that an add has inserted."""

    key: str
    gate: int
    due: int | None


class LockedItem(msgspec.Struct, frozen=True):
    """The facts of an item whose row is locked."""

    gate: int
    priority: int
    version: int
    delayed: bool
    failed: bool
    claimed: bool


def _group_key_of_add(name: str, batches: Iterable[Batch], *, strict: bool = False) -> GroupKey:
    weight = sum(len(batch.entries) for batch in batches) if isinstance(batches, list) else MAX_GROUPED_KEYS + 1
    small = weight <= MAX_GROUPED_KEYS
    return GroupKey(name, mergeable=small and not strict, isolated=not small, cost=weight, argument=batches)


def _add_merged(tx: Tx, calls: Sequence[GroupedCall]) -> list[Added | GatePassed]:
    """Add the items of several calls by one statement; a key that several calls give is added by the first."""
    name = calls[0].group_key.name
    target = _lock_for_adding(tx, name)
    refusals = [_gate_passed(call.group_key.argument, name, target.gate) for call in calls]
    rows_of = [
        [] if refusal else [row for batch in call.group_key.argument for row in batch.rows()]
        for call, refusal in zip(calls, refusals, strict=True)
    ]
    rows = list(chain.from_iterable(rows_of))
    lists.add_lanes(tx, target, sum(1 << priority for priority in {row["priority"] for row in rows}))
    done: set[str] = set()
    if target.once:
        new, done = _add_unless_done(tx, target, rows)
    else:
        new = _add_rows(tx, target, rows)
    answers: list[Added | GatePassed] = []
    for refusal, given in zip(refusals, rows_of, strict=True):
        added = new.intersection([row["key"] for row in given])
        new -= added
        before = sum(row["key"] in done for row in given)
        answers.append(refusal or Added(len(added), len(given) - len(added) - before, before))
    return answers


@single_statement(single_items.add)
@groupable(_group_key_of_add, _add_merged)
def add(tx: Tx, name: str, batches: Iterable[Batch], *, strict: bool = False) -> Added:
    """Add items in the order given; those that are on the list already stay as they are.

    With `strict`, a key that is on the list already, or is given twice, refuses them all: AlreadyThere. So does a key
    that was done, if the list remembers it.
    """
    target = _lock_for_adding(tx, name)
    given = added = before = 0
    for batch in batches:
        if refusal := _gate_passed([batch], name, target.gate):
            raise refusal
        target = lists.add_lanes(tx, target, batch.lanes)
        if strict:
            _refuse_existing(tx, target.id, name, batch)
        given += len(batch.entries)
        if target.once:
            rows = batch.rows()
            new, done = _add_unless_done(tx, target, rows)
            added, before = added + len(new), before + sum(row["key"] in done for row in rows)
        elif batch.same is None:
            added += len(_add_rows(tx, target, batch.entries))
        else:
            added += _add_keys(tx, target, batch.entries, batch.same)
        if strict and before:
            raise done_keys.refusal(name, min(done))
        if strict and added < given:
            raise _given_twice(name, batch)
    return Added(added, given - added - before, before)


def _lock_for_adding(tx: Tx, name: str) -> lists.ListForAdding:
    target = lists.lock_for_adding(tx, name)
    if target.sealed:
        raise ListSealed(f"the list {name!r} is sealed and takes no new items", "reopen it, or add to another list")
    return target


def _gate_passed(batches: Iterable[Batch], name: str, gate: int) -> GatePassed | None:
    lowest = min((batch.lowest_gate for batch in batches if batch.lowest_gate is not None), default=gate)
    if lowest >= gate:
        return None
    what = f"gate must be at least {gate}, the open gate of the list {name!r}, got {lowest}"
    return GatePassed(what, "leave the gate out to add at the open one", gate=gate)


def _add_keys(tx: Tx, target: lists.ListForAdding, keys: Sequence[str], same: dict[str, Any]) -> int:
    gate = target.gate if same["gate"] is None else same["gate"]
    columns = {**same, "gate": gate, "separator": target.separator, "keys": encode_json(keys)}
    # To a new list keys are added without looking for each, which takes a third of the time; one that is given twice
    # is a conflict.
    new = target.created and tx.optimistic
    added = tx.run("items/add_new_keys" if new else "items/add_keys", list=target.id, **columns)
    if added:
        delayed = added if same["delay"] else 0
        tallies.record(tx, target.id, gate, added=added, items_change=added, delayed_change=delayed)
    return added


def _add_unless_done(tx: Tx, target: lists.ListForAdding, rows: Sequence[dict[str, Any]]) -> tuple[set[str], set[str]]:
    """Add rows to a list that remembers what was done; return the keys that are new, and those that were done."""
    done = done_keys.among(tx, target.id, [row["key"] for row in rows])
    left = [row for row in rows if row["key"] not in done]
    new = _add_rows(tx, target, left) if left else set()
    late = done_keys.among_added(tx, target.id, sorted(new)) if new else set()
    if late:
        for item in tx.structs(ItemStatus, "items/delete", list=target.id, keys=encode_json(sorted(late))):
            tallies.record(tx, target.id, item.gate, added=-1, items_change=-1, delayed_change=-item.delayed)
    return new - late, done | late


def _add_rows(tx: Tx, target: lists.ListForAdding, rows: Sequence[dict[str, Any]]) -> set[str]:
    columns = {"gate": target.gate, "separator": target.separator}
    added = tx.structs(AddedItem, "items/add_rows", list=target.id, rows=encode_json(rows), **columns)
    delayed = Counter(item.gate for item in added if item.due is not None)
    for gate, count in Counter(item.gate for item in added).items():
        tallies.record(tx, target.id, gate, added=count, items_change=count, delayed_change=delayed[gate])
    return {item.key for item in added}


def _refuse_existing(tx: Tx, list_id: int, name: str, batch: Batch) -> None:
    key = tx.value("items/first_existing", list=list_id, keys=encode_json(batch.keys()))
    if key is not None:
        hint = "nothing was added; leave strict out to add the others"
        raise AlreadyThere(f"{key!r} is on the list {name!r} already", hint, key=key)


def _given_twice(name: str, batch: Batch) -> AlreadyThere:
    keys = batch.keys()
    twice = next((key for key, count in Counter(keys).items() if count > 1), keys[0])
    return AlreadyThere(f"{twice!r} was given twice for {name!r}", "nothing was added; give each key once", key=twice)


def page(tx: Tx, name: str, *, after: str = "", limit: int = 1000, state: str | None = None) -> list[Item]:
    """Return items in the byte order of their keys, strictly after one; NoSuchList if there is no such list."""
    check_limit(limit, "items")
    check_start(after)
    where = {"list": name, "after": after, "limit": limit}
    if state is None:
        found = tx.structs(Item, "items/page", **where) if limit else []
    elif state not in tuple(State):
        raise Invalid(f"state must be one of {', '.join(State)}, got {state!r}")
    elif state == State.FAILED:
        found = tx.structs(Item, "items/page_failed", **where)
    else:
        found = tx.structs(Item, "items/page_state", state=state, **where)
    if not found:
        lists.get(tx, name)
    return found


def show(tx: Tx, name: str, key: str) -> Item:
    """Return one item as it stands; NoSuchList or NoSuchItem if it is not there."""
    check_key(key)
    item = tx.struct(Item, "items/show", list=name, key=key)
    if item is None:
        raise _no_such_item(name, key) if lists.find(tx, name) else lists.no_such_list(tx, name)
    return item


@pipelined
def show_many(tx: Tx, name: str, keys: Sequence[str]) -> Pending[dict[str, tuple[Item, bool]]]:
    """Return items by their keys, each with whether failures of it are known; keys that are not there are left out."""
    rows = tx.send("items/show_many", list=name, keys=encode_json(keys))
    columns = tx.statements.columns("items/show_many")

    def decode(found: list[Row]) -> dict[str, tuple[Item, bool]]:
        items, flag = decoder(Item, columns, partial=True)(found), columns.index("has_failures")
        return {item.key: (item, bool(row[flag])) for item, row in zip(items, found, strict=True)}

    return rows.map(decode)


def lock(tx: Tx, row: lists.ListRow, key: str) -> LockedItem | None:
    """Lock an item until the transaction ends; None if it is not there."""
    check_key(key)
    return tx.struct(LockedItem, "items/lock", list=row.id, key=key)


def save(tx: Tx, name: str, key: str, *, changes: CheckedChanges, version: Versions | None = None) -> Item:
    """Change an item's data, due time or priority, and leave the rest; with `version`, only if it is at that one.

    A claimed item stays as it was handed out: ItemClaimed. An item that is gone is not added again: NoSuchItem.
    """
    row = lists.lock(tx, name)  # claimers wait meanwhile: an item that is being changed is not handed out
    item = lock(tx, row, key)
    if item is None:
        raise _no_such_item(name, key)
    what = f"the item {key!r} of {name!r}"
    check_version(what, item.version, version=version)
    if item.claimed:
        raise ItemClaimed(f"{what} is claimed by a worker", "try again when it is settled", key=key)
    if item.failed and changes.due is not UNSET:
        raise ItemFailed(f"{what} has failed and has no due time", "retry it first, then set when it is due", key=key)
    changes_lane = changes.priority not in (UNSET, item.priority)
    due = _new_due(item, changes.due, changes_lane=changes_lane)
    if changes_lane:
        tx.run("lists/add_lanes", list=row.id, lanes=1 << changes.priority)  # type: ignore[operator]
    columns = _changed_columns(item, changes, due)
    if not tx.run("items/update_if_unclaimed", list=row.id, key=key, version=item.version, **columns):
        fields = {"asked": item.version, "version": item.version + 1}
        raise StaleVersion(f"{what} is at version {item.version + 1}, not {item.version}", "read it again", **fields)
    if due is not None:
        if not item.delayed:
            tallies.record(tx, row.id, item.gate, delayed_change=1)
        tx.run("lists/request_wake", list=row.id)
    return show(tx, name, key)


def _no_such_item(name: str, key: str) -> NoSuchItem:
    return NoSuchItem(f"the list {name!r} has no item {key!r}", "it may be done already, or never was added", key=key)


def _new_due(item: LockedItem, due: Any, *, changes_lane: bool) -> tuple[int, int | None] | None:
    """Return when the item is due from now on; None leaves its due time as it is.

    An item that is due at once is put at the back of its lane by the next claim; so is one that changes its lane.
    """
    if isinstance(due, tuple):
        return due
    ready = not item.delayed and not item.failed
    at_once = changes_lane if ready else item.delayed and due is None
    return (0, None) if at_once else None


def _changed_columns(item: LockedItem, changes: CheckedChanges, due: tuple[int, int | None] | None) -> dict[str, Any]:
    delay, at = due or (0, None)
    columns = {"keeps_due": due is None, "delay": delay, "at": at}
    columns["priority"] = item.priority if changes.priority is UNSET else changes.priority
    for name in CHANGEABLE_COLUMNS:
        value = getattr(changes, name)
        columns |= {f"keeps_{name}": value is UNSET, name: None if value is UNSET else value}
    return columns


def _group_key_of_keys(name: str, keys: Sequence[str], *, error: str | None = None) -> GroupKey:
    small = len(keys) <= MAX_GROUPED_KEYS
    # Keys that may be wrong are not merged, so that an error is raised to its own caller.
    mergeable = small and error is None and all_simple_keys(keys)
    return GroupKey(name, mergeable=mergeable, isolated=not small, cost=len(keys), argument=keys)


def _merged(change: Callable[[Tx, lists.ListRow, Sequence[str]], Iterable[str]]) -> Merge:
    """Run several calls by one statement for all their keys, and answer each with how many of its keys were there.

    `change` returns the keys that were there.
    """

    def merged(tx: Tx, calls: Sequence[GroupedCall]) -> list[int]:
        row = lists.find_for_keys(tx, calls[0].group_key.name)
        answers: list[int] = []
        for run in _without_shared_keys(set(call.group_key.argument) for call in calls):
            changed = set(change(tx, row, [key for keys in run for key in keys])) if row else set()
            answers += [len(changed & keys) for keys in run]
        return answers

    return merged


def _without_shared_keys(calls: Iterable[set[str]]) -> Iterator[list[set[str]]]:
    """Split calls into runs in which no two share a key: those that do must see what the other has done."""
    run: list[set[str]] = []
    seen: set[str] = set()
    for keys in calls:
        if not seen.isdisjoint(keys):
            yield run
            run, seen = [], set()
        run.append(keys)
        seen |= keys
    yield run


def _increment(tx: Tx, row: lists.ListRow, keys: Sequence[str]) -> dict[str, int]:
    changed = tx.structs(ItemStatus, "items/increment_attempts", list=row.id, keys=encode_json(keys))
    for gate, count in Counter(item.gate for item in changed).items():
        tallies.record(tx, row.id, gate, retried=count)
    return {item.key: item.attempts for item in changed}


@single_statement(single_items.increment)
@groupable(_group_key_of_keys, _merged(_increment))
def increment(tx: Tx, name: str, keys: Sequence[str], *, error: str | None = None) -> int:
    """Record one failed attempt for each key that is on the list, and return how many there were."""
    row = _find(tx, name, keys)
    if row is None:
        return 0
    attempts = _increment(tx, row, keys)
    if error:
        for key, attempt in attempts.items():
            _record_error(tx, row, key, attempt, error)
    return len(attempts)


def _record_error(tx: Tx, row: lists.ListRow, key: str, attempt: int, message: str) -> None:
    text = failures.truncate_message(message)
    error = {"attempt": attempt, "kind": "increment", "message": text, "shape": failures.shape(text), "holder": ""}
    tx.run("errors/record", list=row.id, key=key, keep=row.settings.keep, **error)


def _remove(tx: Tx, row: lists.ListRow, keys: Sequence[str], *, event: str) -> list[ItemStatus]:
    removed = tx.structs(ItemStatus, "items/delete", list=row.id, keys=encode_json(keys))
    tallies.record_removed(tx, row.id, removed, event=event)
    if gates.is_awaited(tx, row.id):
        gates.advance_if_cleared(tx, row.id, row.name)
    return removed


def _done(tx: Tx, row: lists.ListRow, keys: Sequence[str]) -> list[str]:
    removed = _remove(tx, row, keys, event="done")
    if row.settings.keep_results and removed:
        rows = [{"key": item.key, "attempts": item.attempts, "data": None} for item in removed]
        results.add(tx, row.id, rows, keep=row.settings.keep)
    if row.settings.once and removed:
        done_keys.remember(tx, row.id, [item.key for item in removed])
    return [item.key for item in removed]


@single_statement(single_items.done)
@groupable(_group_key_of_keys, _merged(_done))
def done(tx: Tx, name: str, keys: Sequence[str]) -> int:
    """Remove items that are done, and return how many were on the list."""
    row = _find(tx, name, keys)
    return 0 if row is None else len(_done(tx, row, keys))


@groupable(_group_key_of_keys)
def abandon(tx: Tx, name: str, keys: Sequence[str]) -> int:
    """Remove items that are given up, and return how many were on the list."""
    row = _find(tx, name, keys)
    return 0 if row is None else len(_remove(tx, row, keys, event="abandoned"))


@groupable(_group_key_of_keys)
def retry(tx: Tx, name: str, keys: Sequence[str]) -> int:
    """Make failed and delayed items ready at once with no attempts counted, and return how many."""
    row = _find(tx, name, keys)
    if row is None:
        return 0
    found = tx.structs(ItemStatus, "items/lock_existing", list=row.id, keys=encode_json(keys))
    waiting = [item for item in found if item.delayed or item.failed]
    if not waiting:
        return 0
    tx.run("items/retry", list=row.id, keys=encode_json(keys))
    delayed = Counter(item.gate for item in waiting if item.delayed)
    failed = Counter(item.gate for item in waiting if item.failed)
    for gate in sorted({*delayed, *failed}):
        tallies.record(tx, row.id, gate, delayed_change=-delayed[gate], failed_change=-failed[gate])
    tx.run("lists/request_wake", list=row.id)
    return len(waiting)


def _find(tx: Tx, name: str, keys: Sequence[str]) -> lists.ListRow | None:
    check_keys(keys)
    return lists.find_for_keys(tx, name) if keys else None
