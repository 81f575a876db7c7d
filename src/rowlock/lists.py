"""Lists: named sets of items with a gate, a state and settings. Functions that take a transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import msgspec

from rowlock import tallies
from rowlock.db import Pending, Tx, pipelined, unflushed
from rowlock.errors import Invalid, InvalidSetting, ListComplete, NameTaken, NoSuchList
from rowlock.group_commit import GroupKey, groupable
from rowlock.json_codec import encode_json
from rowlock.model import Counts, ListInfo, Progress, Versions, check_version
from rowlock.names import check_limit, check_name, check_start, closest
from rowlock.roles import check_changes, check_covered, keep_hidden, prefix_ranges, redact
from rowlock.settings import ListLimits, Settings

WAITING_DELAY = timedelta(days=2_000_000)
"""The delay of an item that waits for another list: longer than any duration that can be given."""
WAITING_DELAY_MILLISECONDS = WAITING_DELAY // timedelta(milliseconds=1)


class ListRow(msgspec.Struct, frozen=True):
    """A list's row, without its counts."""

    id: int
    name: str
    state: str
    gate: int
    sealed: bool
    version: int
    settings: Settings


def find(tx: Tx, name: str) -> ListRow | None:
    """Find a list by its name; None if it does not exist."""
    return tx.struct(ListRow, "lists/find", name=name)


def get(tx: Tx, name: str) -> ListRow:
    """Find a list by its name; NoSuchList if it does not exist."""
    row = find(tx, name)
    if row is None:
        raise no_such_list(tx, name)
    return row


def find_for_keys(tx: Tx, name: str) -> ListRow | None:
    """Find a list before its items are looked up by key, and keep the planner from reusing plans of a small table."""
    return tx.struct(ListRow, "lists/find_for_keys", name=name)


def lock(tx: Tx, name: str, version: Versions | None = None) -> ListRow:
    """Lock a list until the transaction ends; with `version`, only if it is at that one."""
    row = lock_if_exists(tx, name)
    if row is None:
        raise no_such_list(tx, name)
    return _check_version(row, version)


def lock_if_exists(tx: Tx, name: str) -> ListRow | None:
    """Lock a list until the transaction ends; None if it does not exist."""
    return tx.struct(ListRow, "lists/lock", name=name)


def lock_or_create(tx: Tx, name: str) -> ListRow:
    """Lock a list until the transaction ends; create it if it does not exist."""
    # More than once, if others create and drop a list of that name in between.
    while (row := lock_if_exists(tx, name)) is None:
        create(tx, name)
    return row


def lock_without_adders(tx: Tx, name: str, version: Versions | None = None) -> ListRow:
    """Lock a list when every add to it has ended, so that no add can begin before the transaction ends.

    For changes that no add may overtake: of the list's end, its name and its gate. Waits for adds that have not
    committed.
    """
    row = tx.struct(ListRow, "lists/lock_exclusive", name=name)
    if row is None:
        raise no_such_list(tx, name)
    return _check_version(row, version)


def _check_version(row: ListRow, version: Versions | None) -> ListRow:
    check_version(f"the list {row.name!r}", row.version, version=version)
    return row


def refuse_stale_snapshot(tx: Tx, what: str) -> None:
    """Refuse a change that must see every item, in a transaction that does not see what was added since it began."""
    if not tx.value("lists/snapshot_is_current"):
        raise Invalid(
            f"{what} in a transaction at repeatable read, which does not see items that were added since it began",
            "use a transaction at read committed or serializable",
        )


def no_such_list(tx: Tx, name: str) -> NoSuchList:
    """Make the error for a list that does not exist, with the name that was probably meant."""
    names = [row[0] for row in tx.rows("lists/names_to_suggest")]
    near = closest(name, names)
    hint = f"did you mean {near!r}?" if near else "it is created when the first item is added"
    return NoSuchList(f"there is no list {name!r}", hint, list=name)


def create(tx: Tx, name: str) -> bool:
    """Create a list if it does not exist, also while others create it; return whether it was created."""
    check_name(name)
    return bool(tx.run("lists/create", name=name))


class ListForAdding(msgspec.Struct, frozen=True):
    """A list under a shared lock: until the transaction ends it cannot be dropped, advanced or put to sleep."""

    id: int
    gate: int
    sealed: bool
    needs_wake: bool
    """Whether it sleeps and nobody has requested a wake."""
    lanes: int
    limits: ListLimits | None = None
    once: bool = False
    """Whether keys that were done are not added again."""
    created: bool = False
    """Whether this transaction has created it: nobody else can have added to it."""

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, if families are limited."""
        return None if self.limits is None else self.limits.separator


def lock_for_adding(tx: Tx, name: str) -> ListForAdding:
    """Lock a list for adding items, and create it if it does not exist; the caller checks whether it is sealed."""
    # More than once, if others create and drop a list of that name in between.
    created = False
    while (target := tx.struct(ListForAdding, "lists/lock_shared", name=name)) is None:
        created = create(tx, name)
    if target.needs_wake:
        tx.run("lists/request_wake", list=target.id)
    return msgspec.structs.replace(target, created=True) if created else target


def add_lanes(tx: Tx, target: ListForAdding, lanes: int) -> ListForAdding:
    """Record priorities that no item of the list had before; `lanes` has a bit for each."""
    if not lanes & ~target.lanes:
        return target
    lanes |= target.lanes
    tx.run("lists/add_lanes", list=target.id, lanes=lanes)
    return msgspec.structs.replace(target, lanes=lanes)


class ListWithWork(msgspec.Struct, frozen=True):
    """A list that may have work, and its place in the order of such lists."""

    id: int
    name: str
    wake_at: int


class PollResult(msgspec.Struct, frozen=True):
    """What a poll for work has found."""

    names: Sequence[str] = ()
    """Lists that may have work."""
    held: Sequence[str] = ()
    """Exclusive lists that the session holds."""
    more: bool = False
    """Whether there are more lists than these."""
    settings: Mapping[str, Settings] = {}
    """Settings of these lists, if they were read."""
    next: float | None = None
    """Seconds until the next list wakes by itself, if that was read."""


@unflushed
@groupable(GroupKey)
@pipelined
def apply_wakes(tx: Tx) -> Pending[Any]:
    """Wake the lists for which a wake was requested since the last call."""
    return tx.send("lists/apply_wakes")


def has_pending_wakes(tx: Tx) -> bool:
    """Return whether a wake was requested that is not applied yet."""
    return tx.row("lists/has_pending_wakes") is not None


def awake(tx: Tx, *, after: ListWithWork | None = None, limit: int = 100) -> list[ListWithWork]:
    """Return a page of lists that may have work now, those that have waited longest first."""
    at, last = (after.wake_at, after.id) if after else (0, 0)
    return tx.structs(ListWithWork, "lists/awake", wake_at=at, after=last, limit=limit)


def awake_among(tx: Tx, names: Sequence[str]) -> list[str]:
    """Return those of the lists that may have work now."""
    return [name for (name,) in tx.rows("lists/awake_among", keys=encode_json(names))]


class _NamedSettings(msgspec.Struct, frozen=True):
    name: str
    settings: Settings


def settings_of(tx: Tx, names: Sequence[str]) -> dict[str, Settings]:
    """Return the settings of those of the lists that exist, by name."""
    found = tx.structs(_NamedSettings, "lists/settings_of", keys=encode_json(names))
    return {each.name: each.settings for each in found}


def lease_holder(tx: Tx, list_id: int) -> str | None:
    """Return the holder of the lease on an exclusive list; None if it is free."""
    holder: str | None = tx.value("leases/holder", list=list_id)
    return holder


def next_wake(tx: Tx) -> float | None:
    """Return the seconds until the next sleeping list wakes by itself; None if none does."""
    left = tx.value("lists/next_wake")
    return None if left is None else left / 1_000


def gate_number(tx: Tx, name: str, gate: int | str) -> int:
    """Return the number of one of the list's gates, which may be given by its name."""
    row = find(tx, name)
    return (row.settings if row else Settings()).gate_number(gate)


def show(tx: Tx, name: str, *, prefixes: Sequence[str] = ()) -> ListInfo:
    """Return a list with its state, settings, counts and progress.

    With `prefixes`, its setting `then` shows only lists that they cover.
    """
    return redact(_info(tx, get(tx, name)), prefixes)


def page(tx: Tx, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[ListInfo]:
    """Return lists in the order of their names, strictly after one; with `prefixes`, only those that have one."""
    check_limit(limit, "lists")
    check_start(after)
    return [redact(_info(tx, row), prefixes) for row in page_rows(tx, after=after, limit=limit, prefixes=prefixes)]


def page_rows(tx: Tx, *, after: str, limit: int, prefixes: Sequence[str] = ()) -> list[ListRow]:
    """Return the rows of lists in the order of their names, strictly after one, without their counts."""
    found: list[ListRow] = []
    for span in prefix_ranges(prefixes):
        found += tx.structs(ListRow, "lists/page", after=after, limit=limit - len(found), **span)
    return found


def _info(tx: Tx, row: ListRow) -> ListInfo:
    holder = lease_holder(tx, row.id) if row.settings.exclusive else None
    return info_of(row, tallies.by_gate(tx, row.id, row.gate), holder=holder)


def info_of(row: ListRow, by_gate: Sequence[tuple[int, Counts, Progress]], *, holder: str | None) -> ListInfo:
    """Return a list's state, settings, counts and progress, from its row and what its tallies add up to."""
    counts, progress = tallies.total(by_gate)
    return ListInfo(row.name, row.state, row.gate, row.sealed, row.version, row.settings, counts, progress, holder)


def pause(tx: Tx, name: str, *, version: Versions | None = None) -> bool:
    """Stop handing out a list's items, and return whether that changed it. Claimed items can still be settled."""
    return _set_state(tx, name, "paused", version)


def resume(tx: Tx, name: str, *, version: Versions | None = None) -> bool:
    """Hand out a list's items again, and return whether that changed it."""
    return _set_state(tx, name, "open", version)


def _set_state(tx: Tx, name: str, state: str, version: Versions | None) -> bool:
    if lock(tx, name, version).state == "complete":
        raise ListComplete(f"the list {name!r} is complete: it hands out no items", "reopen it", list=name)
    return bool(tx.run("lists/set_state", name=name, state=state))


def change_settings(
    tx: Tx,
    name: str,
    changes: dict[str, Any],
    *,
    version: Versions | None = None,
    create: bool = False,
    prefixes: Sequence[str] = (),
) -> ListInfo:
    """Change some settings of a list and leave the rest.

    With `create`, a list that does not exist is created; with `version`, it must exist at that one.
    """
    check_changes(changes, prefixes)
    row = lock_or_create(tx, name) if create and version is None else lock(tx, name, version)
    _set_settings(tx, row, changes, prefixes)
    return show(tx, name, prefixes=prefixes)


def put(
    tx: Tx,
    name: str,
    settings: Settings,
    *,
    version: Versions | None = None,
    absent: bool = False,
    prefixes: Sequence[str] = (),
) -> tuple[bool, ListInfo]:
    """Create a list with these settings, or give them to the one that exists; what is left out is at its default.

    Returns whether it was created, and the list.
    """
    changes = {field: getattr(settings, field) for field in Settings.__struct_fields__}
    check_changes(changes, prefixes)
    with tx.savepoint():
        # Of many callers that would create it the database lets one; for the others the conditions hold of its list.
        created = version is None and create(tx, name)
        row = lock_if_exists(tx, name)
        actual = None if created or row is None else row.version
        check_version(f"the list {name!r}", actual, version=version, absent=absent)
        _set_settings(tx, row or lock_or_create(tx, name), changes, prefixes)
        return created, show(tx, name, prefixes=prefixes)


def _set_settings(tx: Tx, row: ListRow, changes: dict[str, Any], prefixes: Sequence[str]) -> None:
    name, settings = row.name, row.settings.changed(**keep_hidden(changes, row.settings, prefixes=prefixes))
    if any(then.list == name for then in settings.then):
        raise InvalidSetting(
            f"then must name another list, got {name!r} itself", "a list that follows itself never ends"
        )
    regroups = settings.separator != row.settings.separator
    if regroups:
        # Before the row is changed: an add that waits reads it anew only if it was locked as it stood.
        tx.rows("lists/lock_against_adds", list=row.id)
    tx.run(
        "lists/set_settings",
        list=row.id,
        version=row.version,
        settings=encode_json(settings),
        exclusive=settings.exclusive,
        manual=settings.manual,
        once=settings.once,
        limits=None if settings.limits is None else encode_json(settings.limits),
    )
    if row.settings.exclusive and not settings.exclusive:
        tx.run("leases/delete_of_list", list=row.id)
    if regroups:
        tx.run("limits/set_families", list=row.id, separator=settings.separator)
        tx.run("claims/clear_families", list=row.id)


def rename(tx: Tx, name: str, to: str, *, version: Versions | None = None, prefixes: Sequence[str] = ()) -> ListInfo:
    """Give a list another name; its items, counts, history and schedules stay with it."""
    check_covered(prefixes, to)
    check_name(to)
    lock_without_adders(tx, name, version)
    if to != name and find(tx, to):
        raise NameTaken(f"there is a list {to!r} already", "drop it first, or choose another name", list=to)
    tx.run("lists/rename", name=name, to=to)
    tx.run("schedules/rename_list", name=name, to=to)
    return show(tx, to, prefixes=prefixes)


@groupable(lambda name, **_: GroupKey(name, isolated=True))
def drop(tx: Tx, name: str, *, version: Versions | None = None) -> int:
    """Delete a list with all its items and history, and return how many items it had."""
    refuse_stale_snapshot(tx, f"the list {name!r} cannot be dropped")
    row = lock_without_adders(tx, name, version)
    release_waiting(tx, row.id)
    # The list goes first: adders that wait for its row then find none, and create a new list.
    tx.run("lists/drop", list=row.id)
    dropped = tx.run("items/delete_of_list", list=row.id)
    for noun in ("claims", "leases", "waiters", "limits", "tallies", "periods", "errors", "results", "done_keys"):
        tx.run(f"{noun}/delete_of_list", list=row.id)
    tx.run("sums/delete_of_list", list=row.id)  # after tallies: upkeep may have folded some meanwhile
    return dropped


def record_waiting(tx: Tx, list_id: int, keys: Sequence[str], *, awaited: int) -> None:
    """Record that items wait for another list alone. The caller holds that list's lock, and it is not complete."""
    tx.run("waiters/record", list=list_id, keys=encode_json(keys), awaited=awaited)


def release_waiting(tx: Tx, awaited: int) -> None:
    """Make the items ready that waited for a list; those that were abandoned or retried meanwhile are left alone."""
    released = Counter(tx.rows("waiters/release", awaited=awaited, waiting=WAITING_DELAY_MILLISECONDS))
    for (list_id, gate), count in sorted(released.items()):
        tallies.record(tx, list_id, gate, delayed_change=-count)
        tx.run("lists/request_wake", list=list_id)
    tx.run("waiters/delete_by_awaited", awaited=awaited)
