"""Items: keys on a list, each to be done once. Verbs are functions of a transaction."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import groupby
from operator import or_
from typing import Any

import msgspec
from msgspec import UNSET

from rowlock import failures, gates, lists, tallies
from rowlock.db import Transaction
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
from rowlock.item_input import Batch, CheckedChanges, encode_json
from rowlock.model import Added, Item, State
from rowlock.names import check_key, check_keys, check_limit, check_start

_STATES = {state.value: state for state in State}

MAX_GROUPED_KEYS = 500
"""Keys of one call that others can be asked to wait for."""


def _group_key_of_add(name: str, batches: Iterable[Batch], *, strict: bool = False) -> GroupKey:
    weight = sum(batch.count for batch in batches) if isinstance(batches, list) else MAX_GROUPED_KEYS + 1
    small = weight <= MAX_GROUPED_KEYS
    return GroupKey(name, mergeable=small and not strict, isolated=not small, cost=weight, argument=batches)


def _add_together(tx: Transaction, calls: Sequence[GroupedCall]) -> list[Any]:
    """One statement for all; of callers with the same key the first has added it."""
    name = calls[0].group_key.name
    into = _enter(tx, name)
    given = [_brought(call, name, into.gate) for call in calls]
    good = [row for each in given if isinstance(each, list) for row in each]
    lists.add_lanes(tx, into, reduce(or_, {1 << row["priority"] for row in good}, 0))
    landed = _add_rows(tx, into, encode_json(good))
    return [_share(each, landed) if isinstance(each, list) else each for each in given]


def _brought(call: GroupedCall, name: str, gate: int) -> list[dict[str, Any]] | GatePassed:
    """The rows of a call, or why it cannot have them."""
    try:
        for batch in call.group_key.argument:
            _check_gate(batch, name, gate)
    except GatePassed as passed:
        return passed
    return [row for batch in call.group_key.argument for row in batch.rows()]


def _share(rows: list[dict[str, Any]], landed: set[str]) -> Added:
    mine = landed.intersection([row["key"] for row in rows])
    landed -= mine
    return Added(len(mine), len(rows) - len(mine))


@groupable(_group_key_of_add, _add_together)
def add(tx: Transaction, name: str, batches: Iterable[Batch], *, strict: bool = False) -> Added:
    """Put new items on the list, in the order given; those that are there already stay as they are.

    With `strict`, one key that is there already, or comes twice, refuses them all.
    """
    into = _enter(tx, name)
    given = added = 0
    for batch in batches:
        _check_gate(batch, name, into.gate)
        into = lists.add_lanes(tx, into, batch.lanes)
        if strict:
            _refuse_taken(tx, into.id, name, batch)
        given += batch.count
        if batch.same is None:
            added += len(_add_rows(tx, into, batch.json))
        else:
            added += _add_keys(tx, into, batch)
        if strict and added < given:
            raise _twice(name, batch)
    return Added(added, given - added)


def _enter(tx: Transaction, name: str) -> lists.ListForAdding:
    into = lists.lock_for_adding(tx, name)
    if into.sealed:
        raise ListSealed(f"the list {name!r} is sealed and takes no new items", "reopen it, or add to another list")
    return into


def _check_gate(batch: Batch, name: str, gate: int) -> None:
    lowest = batch.lowest_gate
    if lowest is not None and lowest < gate:
        what = f"the list {name!r} has passed gate {lowest}: it is at gate {gate}"
        raise GatePassed(what, f"add at gate {gate} or later, or leave the gate out", gate=gate)


def _add_keys(tx: Transaction, into: lists.ListForAdding, batch: Batch) -> int:
    same = batch.same or {}
    at = into.gate if same["gate"] is None else same["gate"]
    row = {**same, "gate": at, "separator": into.separator}
    added = tx.run("items/add_keys", list=into.id, keys=batch.json, **row)
    if added:
        delayed = added if same["delay"] else 0
        tallies.record(tx, into.id, at, added=added, items_change=added, delayed_change=delayed)
    return added


def _add_rows(tx: Transaction, into: lists.ListForAdding, rows: str) -> set[str]:
    landed = tx.rows("items/add_rows", list=into.id, gate=into.gate, rows=rows, separator=into.separator)
    delayed = Counter(at for _, at, due in landed if due is not None)
    for at, count in Counter(at for _, at, _ in landed).items():
        tallies.record(tx, into.id, at, added=count, items_change=count, delayed_change=delayed[at])
    return {key for key, _, _ in landed}


def _refuse_taken(tx: Transaction, list_id: int, name: str, batch: Batch) -> None:
    taken = tx.value("items/first_existing", list=list_id, keys=encode_json(batch.keys()))
    if taken is not None:
        hint = "nothing was added; leave strict out to add the rest"
        raise AlreadyThere(f"{taken!r} is on the list {name!r} already", hint, key=taken)


def _twice(name: str, batch: Batch) -> AlreadyThere:
    keys = batch.keys()
    twice = next((key for key, count in Counter(keys).items() if count > 1), keys[0])
    hint = "nothing was added; give each key once"
    return AlreadyThere(f"{twice!r} comes twice in what was given for {name!r}", hint, key=twice)


def page(tx: Transaction, name: str, *, after: str = "", limit: int = 1000, state: str | None = None) -> list[Item]:
    """Items in the byte order of their keys, strictly after one; none for a list that is not there."""
    check_limit(limit, "items")
    check_start(after)
    if limit == 0:
        return []
    if state is None:
        rows = tx.rows("items/page", list=name, after=after, limit=limit)
    elif _known(state) is State.FAILED:
        rows = tx.rows("items/page_failed", list=name, after=after, limit=limit)
    else:
        rows = tx.rows("items/page_state", list=name, after=after, limit=limit, state=state)
    return [_item(row) for row in rows]


def _known(state: str) -> State:
    try:
        return State(state)
    except ValueError:
        raise Invalid(f"there is no state {state!r}", f"the states are {', '.join(State)}") from None


def _item(columns: tuple[Any, ...]) -> Item:
    *plain, trace, state = columns
    return Item(*plain, _STATES[state], None, trace)  # type: ignore[call-arg]


def show(tx: Transaction, name: str, key: str) -> Item:
    """One item as it stands."""
    check_key(key)
    row = tx.row("items/show", list=name, key=key)
    if row is None:
        if lists.find(tx, name) is None:
            raise lists.no_such_list(tx, name)
        raise _no_such_item(name, key)
    return _item(row)


def ask_many(tx: Transaction, name: str, keys: Sequence[str]) -> Callable[[], dict[str, tuple[Item, bool]]]:
    """What reads items by their keys, each with whether it is known how it failed; who is not there is left out."""
    rows = tx.send("items/show_many", list=name, keys=encode_json(keys))
    return lambda: {row[1]: (_item(row[:-1]), bool(row[-1])) for row in rows()}


class LockedItem(msgspec.Struct, frozen=True):
    """An item that is held, as it stands."""

    gate: int
    priority: int
    version: int
    delayed: bool
    failed: bool
    claimed: bool


def lock(tx: Transaction, row: lists.ListRow, key: str) -> LockedItem | None:
    """An item of a list, locked until the transaction ends; None if it is not there."""
    check_key(key)
    found = tx.row("items/lock", list=row.id, key=key)
    return None if found is None else LockedItem(*found)


def save(tx: Transaction, name: str, key: str, *, changes: CheckedChanges, version: int | None = None) -> Item:
    """Change what is given of an item, leave the rest; with `version`, only if it is at that one still.

    What a worker has in hand stays as it was handed out: ItemClaimed. What is gone stays gone: NoSuchItem.
    """
    row = lists.lock(tx, name)  # claimers wait meanwhile: nobody is handed what is being changed
    item = lock(tx, row, key)
    if item is None:
        raise _no_such_item(name, key)
    _refuse_save(name, key, item, changes, version)
    moves = changes.priority not in (UNSET, item.priority)
    due = _new_due(item, changes.due, moves=moves)
    if moves:
        tx.run("lists/add_lanes", list=row.id, lanes=1 << changes.priority)  # type: ignore[operator]
    new = _columns(item, changes, due)
    if not tx.run("items/save", list=row.id, key=key, version=item.version, **new):
        raise StaleVersion.of(f"the item {key!r} of {name!r}", asked=item.version, actual=item.version + 1)
    if due is not None:
        if not item.delayed:
            tallies.record(tx, row.id, item.gate, delayed_change=1)
        tx.run("lists/wake", list=row.id)
    return show(tx, name, key)


def _no_such_item(name: str, key: str) -> NoSuchItem:
    return NoSuchItem(f"the list {name!r} has no item {key!r}", "it may be done already, or never was added", key=key)


def _refuse_save(name: str, key: str, item: LockedItem, changes: CheckedChanges, version: int | None) -> None:
    what = f"the item {key!r} of {name!r}"
    if version is not None and version != item.version:
        raise StaleVersion.of(what, asked=version, actual=item.version)
    if item.claimed:
        raise ItemClaimed(f"{what} is in a worker's hands", "try again when its turn is over", key=key)
    if item.failed and changes.due is not UNSET:
        raise ItemFailed(f"{what} has failed: it is not due", "retry it, then say when it is due", key=key)


def _new_due(item: LockedItem, due: Any, *, moves: bool) -> tuple[int, int | None] | None:
    """When the item is due from now on; None leaves that as it is.

    Due at once it gets a new place, at the back of its lane, by the next claim: so does one that changes its lane.
    """
    if isinstance(due, tuple):
        return due
    ready = not item.delayed and not item.failed
    at_once = moves if ready else item.delayed and due is None
    return (0, None) if at_once else None


def _columns(item: LockedItem, changes: CheckedChanges, due: tuple[int, int | None] | None) -> dict[str, Any]:
    delay, at = due or (0, None)
    return {
        "keeps_data": changes.data is UNSET,
        "data": None if changes.data is UNSET else changes.data,
        "priority": item.priority if changes.priority is UNSET else changes.priority,
        "keeps_due": due is None,
        "delay": delay,
        "at": at,
    }


def _group_key_of_keys(name: str, keys: Sequence[str], *, error: str | None = None) -> GroupKey:
    small = len(keys) <= MAX_GROUPED_KEYS
    return GroupKey(name, mergeable=small and error is None, isolated=not small, cost=len(keys), argument=keys)


def _keys_together(change: Callable[[Transaction, lists.ListRow, Sequence[str]], Iterable[str]]) -> Merge:
    """One change for the keys of all; whoever names a key that was named before comes in a round of its own."""

    def together(tx: Transaction, calls: Sequence[GroupedCall]) -> list[Any]:
        answers: list[Any] = [_wrong_keys(call) for call in calls]
        row = lists.find_for_keys(tx, calls[0].group_key.name)
        waiting = [number for number, wrong in enumerate(answers) if wrong is None]
        while waiting:
            keys, this_round, waiting = _round(calls, waiting)
            there = set(change(tx, row, list(keys))) if row and keys else set()
            for number in this_round:
                answers[number] = len(there.intersection(calls[number].group_key.argument))
        return answers

    return together


def _wrong_keys(call: GroupedCall) -> Invalid | None:
    try:
        check_keys(call.group_key.argument)
    except Invalid as wrong:
        return wrong
    return None


def _round(calls: Sequence[GroupedCall], numbers: Iterable[int]) -> tuple[set[str], list[int], list[int]]:
    keys: set[str] = set()
    named: set[str] = set()
    now, later = [], []
    for number in numbers:
        given = calls[number].group_key.argument
        if named.isdisjoint(given):
            keys.update(given)
            now.append(number)
        else:
            later.append(number)
        named.update(given)
    return keys, now, later


def _increment(tx: Transaction, row: lists.ListRow, keys: Sequence[str]) -> dict[str, int]:
    touched = tx.rows("items/increment", list=row.id, keys=encode_json(keys))
    for gate, count in Counter(gate for _, gate, _ in touched).items():
        tallies.record(tx, row.id, gate, retried=count)
    return {key: attempts for key, _, attempts in touched}


@groupable(_group_key_of_keys, _keys_together(_increment))
def increment(tx: Transaction, name: str, keys: Sequence[str], *, error: str | None = None) -> int:
    """Note one failed attempt for each key that is there; how many were."""
    row = _named(tx, name, keys)
    if row is None:
        return 0
    touched = _increment(tx, row, keys)
    if error:
        for key, attempts in touched.items():
            _record_error(tx, row, key, attempts, error)
    return len(touched)


def _record_error(tx: Transaction, row: lists.ListRow, key: str, attempt: int, message: str) -> None:
    text = failures.truncate_message(message)
    said = {"attempt": attempt, "kind": "increment", "message": text, "shape": failures.shape(text), "holder": ""}
    tx.run("errors/record", list=row.id, key=key, keep=row.settings.keep, **said)


def _take_off(tx: Transaction, row: lists.ListRow, keys: Sequence[str]) -> list[str]:
    gone = tx.rows("items/delete", list=row.id, keys=encode_json(keys))
    tallies.record_removed(tx, row.id, gone, event="done")
    _go_on(tx, row)
    if row.settings.keep_results and gone:
        kept = [{"key": key, "attempts": attempts, "data": None} for key, _, attempts, *_ in gone]
        tx.run("results/keep_many", list=row.id, keep=row.settings.keep, rows=encode_json(kept))
    return [key for key, *_ in gone]


@groupable(_group_key_of_keys, _keys_together(_take_off))
def done(tx: Transaction, name: str, keys: Sequence[str]) -> int:
    """Take off the list what has been done; how many were there."""
    row = _named(tx, name, keys)
    return 0 if row is None else len(_take_off(tx, row, keys))


@groupable(_group_key_of_keys)
def abandon(tx: Transaction, name: str, keys: Sequence[str]) -> int:
    """Give up on items: off the list, undone; how many were there."""
    row = _named(tx, name, keys)
    if row is None:
        return 0
    gone = tx.rows("items/delete", list=row.id, keys=encode_json(keys))
    tallies.record_removed(tx, row.id, gone, event="abandoned")
    _go_on(tx, row)
    return len(gone)


def _go_on(tx: Transaction, row: lists.ListRow) -> None:
    if gates.is_awaited(tx, row.id):
        gates.advance_if_cleared(tx, row.id, row.name)


@groupable(_group_key_of_keys)
def retry(tx: Transaction, name: str, keys: Sequence[str]) -> int:
    """Make failed and delayed items ready at once, with a clean count of attempts; how many were."""
    row = _named(tx, name, keys)
    if row is None:
        return 0
    found = tx.rows("items/lock_existing", list=row.id, keys=encode_json(keys))
    waiting = [(gate, bool(delayed), bool(failed)) for _, gate, _, delayed, failed in found if delayed or failed]
    if not waiting:
        return 0
    tx.run("items/retry", list=row.id, keys=encode_json(keys))
    for gate, group in groupby(sorted(waiting), key=lambda each: each[0]):
        of_gate = list(group)
        tallies.record(
            tx,
            row.id,
            gate,
            delayed_change=-sum(delayed for _, delayed, _ in of_gate),
            failed_change=-sum(failed for _, _, failed in of_gate),
        )
    tx.run("lists/wake", list=row.id)
    return len(waiting)


def _named(tx: Transaction, name: str, keys: Sequence[str]) -> lists.ListRow | None:
    check_keys(keys)
    return lists.find_for_keys(tx, name) if keys else None
