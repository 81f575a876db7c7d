"""Search of items: pages, counts and changes of all items that match a filter.

Each call looks at a bounded number of items and returns the key to go on after, however few of them match.
"""

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypedDict

import msgspec

from rowlock import items, lists
from rowlock.db import Tx
from rowlock.errors import Invalid, ItemClaimed, ItemFailed, NoSuchItem
from rowlock.failures import truncate_message
from rowlock.item_input import CheckedChanges
from rowlock.json_codec import encode_json
from rowlock.model import GATES, ItemStatus, State
from rowlock.names import MAX_KEY_BYTES, check_limit, check_start

ROWS_PER_SEARCH, ROWS_PER_COUNT = 5_000, 20_000
"""Items that one call looks at."""
MAX_FOUND = 1_000
KEYS_PER_CHANGE, SAVES_PER_CHANGE = 1_000, 100
"""Items that one transaction changes, so that other writers wait for a short time."""
MAX_ATTEMPTS = 2**31 - 1

Change = Callable[[Tx, str, Sequence[str]], int]
"""A verb that changes items by their keys, and returns how many."""

_LAST_CHARACTER = "\U0010ffff"
_FIRST_SURROGATE, _AFTER_SURROGATES = 0xD800, "\ue000"
_BEYOND_ALL_KEYS = _LAST_CHARACTER * (MAX_KEY_BYTES // 4 + 1)


class ItemFilter(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which items of a list: those that fulfil every condition that is given."""

    state: str | None = None
    prefix: str = ""
    error: str | None = None
    """A part of the item's last error, or its kind."""
    attempts: int | None = None
    """At least so many failed attempts."""
    gate: int | None = None
    kind: str | None = None
    """The kind of the item's last error; only together with its shape."""
    shape: str | None = None
    """The shape of the item's last error, as groups of failures have it."""

    def check(self) -> None:
        """Refuse a condition that no item can fulfil."""
        if self.state is not None and self.state not in tuple(State):
            raise Invalid(f"state must be one of {', '.join(State)}, got {self.state!r}")
        if self.attempts is not None and not 0 <= self.attempts <= MAX_ATTEMPTS:
            raise Invalid(f"attempts must be 0 to {MAX_ATTEMPTS}, got {self.attempts}")
        if self.gate is not None and self.gate not in GATES:
            raise Invalid(f"gate must be {GATES[0]} to {GATES[-1]}, got {self.gate}")
        if self.error == "":
            raise Invalid("error must not be empty", "give a part of the message")
        if (self.kind is None) != (self.shape is None):
            given = "shape" if self.kind is None else "kind"
            raise Invalid(f"kind and shape must be given together, got only {given}", "give both, as a group has them")
        check_start(self.prefix)


class Conditions(TypedDict, total=False):
    """The fields of an `ItemFilter`, as named arguments."""

    state: str | None
    prefix: str
    error: str | None
    attempts: int | None
    gate: int | None
    kind: str | None
    shape: str | None


class FoundItem(msgspec.Struct, frozen=True):
    """An item that matches a filter, without its data, and its last error."""

    key: str
    state: State
    attempts: int
    gate: int
    priority: int
    due: datetime | None
    failed_at: datetime | None
    kind: str | None
    error: str | None


class _ScannedItem(FoundItem, frozen=True):
    place: int
    matches: bool


FOUND_FIELDS = len(FoundItem.__struct_fields__)


class SearchPage(msgspec.Struct, frozen=True):
    """Items that match, in the byte order of their keys; there may be fewer than the limit, also none."""

    items: list[FoundItem]
    next: str | None
    """What to give as `after` to search on; none if the whole list was searched."""


class MatchCount(msgspec.Struct, frozen=True):
    """How many of the items that were looked at match."""

    count: int
    next: str | None
    """The last key that was looked at, if there may be more; none if the count is of the whole list."""


def page(tx: Tx, name: str, where: ItemFilter, *, after: str = "", limit: int = 100) -> SearchPage:
    """Return items that match, in the byte order of their keys, strictly after one.

    Looks at 5,000 items at most: the page may hold fewer items than `limit`, and `next` says where to go on.
    """
    if not 1 <= limit <= MAX_FOUND:
        raise Invalid(f"limit must be 1 to {MAX_FOUND} items, got {limit}")
    return _search(tx, lists.get(tx, name), where, after=after, limit=limit)


def _search(tx: Tx, row: lists.ListRow, where: ItemFilter, *, after: str, limit: int) -> SearchPage:
    conditions = {"scan": ROWS_PER_SEARCH, "limit": limit + 1, **_range(where, after), **_conditions(where)}
    rows = tx.structs(_ScannedItem, f"items/search{_suffix(where)}", list=row.id, **conditions)
    found = [FoundItem(*msgspec.structs.astuple(each)[:FOUND_FIELDS]) for each in rows if each.matches]
    if len(found) > limit:
        return SearchPage(found[:limit], found[limit - 1].key)
    return SearchPage(found, rows[-1].key if rows and rows[-1].place == ROWS_PER_SEARCH else None)


def count(tx: Tx, name: str, where: ItemFilter, *, after: str = "", retryable: bool = False) -> MatchCount:
    """Count the items that match, strictly after a key; with `retryable`, only those that are delayed or failed.

    Looks at 20,000 items at most: `next` says where to go on.
    """
    conditions = {"scan": ROWS_PER_COUNT, **_range(where, after), **_conditions(where, retryable=retryable)}
    (found,) = tx.structs(
        MatchCount, f"items/count_matching{_suffix(where)}", list=lists.get(tx, name).id, **conditions
    )
    return found


def change(
    tx: Tx, name: str, where: ItemFilter, *, change: Change, after: str = "", limit: int = KEYS_PER_CHANGE
) -> tuple[int, str | None]:
    """Change the next items that match; return how many, and the key to go on after, or None at the end.

    They are found and changed under one lock: a failed item that is retried meanwhile is not abandoned.
    """
    row = lists.find_for_keys(tx, name)
    if row is None:
        raise lists.no_such_list(tx, name)
    found = _search(tx, row, where, after=after, limit=limit)
    keys = encode_json([item.key for item in found.items])
    tx.structs(ItemStatus, "items/lock_existing", list=row.id, keys=keys)
    matching = [key for (key,) in tx.rows("items/matching_keys", list=row.id, keys=keys, **_conditions(where))]
    return (change(tx, name, matching) if matching else 0), found.next


def save(
    tx: Tx, name: str, where: ItemFilter, *, changes: CheckedChanges, after: str = "", limit: int = SAVES_PER_CHANGE
) -> tuple[int, str | None]:
    """Change data, due time or priority of the next items that match; return how many, and the key to go on after.

    Items that are claimed stay as they are; so do failed ones, if the due time is changed.
    """

    def save_each(tx: Tx, name: str, keys: Sequence[str]) -> int:
        return sum(_save_if_possible(tx, name, key, changes) for key in keys)

    return change(tx, name, where, change=save_each, after=after, limit=limit)


def _save_if_possible(tx: Tx, name: str, key: str, changes: CheckedChanges) -> bool:
    try:
        items.save(tx, name, key, changes=changes)
    except (ItemClaimed, ItemFailed, NoSuchItem):
        return False
    return True


def keys_matching_error(tx: Tx, name: str, text: str, *, after: str = "", limit: int = 1000) -> list[str]:
    """Return the keys of failed items whose last error contains the text, in byte order, strictly after one."""
    check_limit(limit, "keys")
    row, where = lists.get(tx, name), ItemFilter(State.FAILED, error=text or None)
    keys: list[str] = []
    begin: str | None = after
    while begin is not None and len(keys) < limit:
        found = _search(tx, row, where, after=begin, limit=limit - len(keys))
        keys += [item.key for item in found.items]
        begin = found.next
    return keys


def _suffix(where: ItemFilter) -> str:
    """Return the end of a statement's name: failed items are found by an index of their own."""
    return "_failed" if where.state == State.FAILED else ""


def _range(where: ItemFilter, after: str) -> dict[str, str]:
    where.check()
    check_start(after)
    return {"after": after, "start": max(after, where.prefix), "beyond": _beyond(where.prefix)}


def _beyond(prefix: str) -> str:
    """Return the first text after all keys with a prefix, by code points, which sort as their bytes do."""
    kept = prefix.rstrip(_LAST_CHARACTER)
    if not kept:
        return _BEYOND_ALL_KEYS
    following = ord(kept[-1]) + 1
    return kept[:-1] + (_AFTER_SURROGATES if following == _FIRST_SURROGATE else chr(following))


def _conditions(where: ItemFilter, *, retryable: bool = False) -> dict[str, Any]:
    text = truncate_message(where.error or "")
    return {
        "state": where.state or "",
        "gate": -1 if where.gate is None else where.gate,
        "attempts": where.attempts or 0,
        "retryable": retryable,
        "pattern": "%" + re.sub(r"([!%_])", r"!\1", text) + "%" if text else "",
        "kind": text,
        "grouped": where.shape is not None,
        "group_kind": where.kind or "",
        "group_shape": where.shape or "",
    }
