"""Verbs of lists: named sets of items with a gate, a state and settings. Each is a function of a transaction."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from rowlock import dependencies, tallies
from rowlock.db import Pending, Transaction, pipelined, unflushed
from rowlock.errors import Invalid, InvalidSetting, ListComplete, NameTaken, NoSuchList, StaleVersion
from rowlock.group_commit import GroupKey, groupable
from rowlock.item_input import encode_json
from rowlock.model import Counts, ListInfo, ListLimits, Processor, Settings
from rowlock.names import check_limit, check_name, check_start, closest
from rowlock.roles import prefix_ranges

ROWS_PER_PAGE = 1_000


class ListRow(msgspec.Struct, frozen=True):
    """A list's row, without its counts."""

    id: int
    name: str
    state: str
    gate: int
    sealed: bool
    version: int
    settings: Settings


def find(tx: Transaction, name: str) -> ListRow | None:
    """Find a list by its name; None if there is none."""
    return tx.struct(ListRow, "lists/find", name=name)


def get(tx: Transaction, name: str) -> ListRow:
    """Find a list by its name; NoSuchList if there is none."""
    row = find(tx, name)
    if row is None:
        raise no_such_list(tx, name)
    return row


def find_for_keys(tx: Transaction, name: str) -> ListRow | None:
    """Find a list before its items are looked up by key, and keep the planner from reusing plans of a small table."""
    return tx.struct(ListRow, "lists/find_for_keys", name=name)


def lock(tx: Transaction, name: str, version: int | None = None) -> ListRow:
    """Lock a list until the transaction ends; with `version`, only if it is at that one."""
    row = lock_if_exists(tx, name)
    if row is None:
        raise no_such_list(tx, name)
    return _check_version(row, version)


def lock_if_exists(tx: Transaction, name: str) -> ListRow | None:
    """Lock a list until the transaction ends; None if there is none."""
    return tx.struct(ListRow, "lists/lock", name=name)


def lock_or_create(tx: Transaction, name: str) -> ListRow:
    """Lock a list until the transaction ends; create it if there is none."""
    # More than once, if others create and drop a list of that name in between.
    while (row := lock_if_exists(tx, name)) is None:
        ensure(tx, name)
    return row


def lock_without_adders(tx: Transaction, name: str, version: int | None = None) -> ListRow:
    """Lock a list when every add to it has ended, so that no add can begin before the transaction ends.

    For changes that no add may overtake: of the list's end, its name and its gate. Waits for adds that have not
    committed.
    """
    row = tx.struct(ListRow, "lists/lock_exclusive", name=name)
    if row is None:
        raise no_such_list(tx, name)
    return _check_version(row, version)


def _check_version(row: ListRow, version: int | None) -> ListRow:
    if version is not None and version != row.version:
        raise StaleVersion.of(f"the list {row.name!r}", asked=version, actual=row.version)
    return row


def refuse_stale_snapshot(tx: Transaction, what: str) -> None:
    """Refuse a change that must see every item, in a transaction that does not see what was added since it began."""
    if not tx.value("gates/snapshot_is_current"):
        raise Invalid(
            f"{what} in a transaction at repeatable read, which does not see items that were added since it began",
            "use a transaction at read committed or serializable",
        )


def no_such_list(tx: Transaction, name: str) -> NoSuchList:
    """Make the error for a list that does not exist, with the name that was probably meant."""
    names = [row[0] for row in tx.rows("lists/names")]
    near = closest(name, names)
    hint = f"did you mean {near!r}?" if near else "it is created when the first item is added"
    return NoSuchList(f"there is no list {name!r}", hint, list=name)


def create(tx: Transaction, name: str) -> bool:
    """Create a list if there is none, also while others create it; return whether it was created."""
    check_name(name)
    return bool(tx.run("lists/create", name=name))


def ensure(tx: Transaction, name: str) -> None:
    """Create a list if there is none."""
    create(tx, name)


class ListForAdding(msgspec.Struct, frozen=True):
    """A list under a shared lock: until the transaction ends it cannot be dropped, advanced or put to sleep."""

    id: int
    gate: int
    sealed: bool
    asleep: bool
    lanes: int
    limits: ListLimits | None = None

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, if families are limited."""
        return None if self.limits is None else self.limits.separator


def lock_for_adding(tx: Transaction, name: str) -> ListForAdding:
    """Lock a list for adding items, and create it if there is none; the caller checks whether it is sealed."""
    # More than once, if others create and drop a list of that name in between.
    while (found := tx.struct(ListForAdding, "lists/lock_shared", name=name)) is None:
        ensure(tx, name)
    if found.asleep:
        tx.run("lists/wake", list=found.id)
    return found


def add_lanes(tx: Transaction, target: ListForAdding, lanes: int) -> ListForAdding:
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
def apply_wakes(tx: Transaction) -> Pending[Any]:
    """Wake the lists for which a wake was requested since the last call."""
    return tx.send("lists/apply_wakes")


def has_pending_wakes(tx: Transaction) -> bool:
    """Return whether a wake was requested that is not applied yet."""
    return tx.row("lists/has_pending_wakes") is not None


def awake(tx: Transaction, *, after: ListWithWork | None = None, limit: int = 100) -> list[ListWithWork]:
    """Return a page of lists that may have work now, those that have waited longest first."""
    at, last = (after.wake_at, after.id) if after else (0, 0)
    return tx.structs(ListWithWork, "lists/awake", wake_at=at, after=last, limit=limit)


def awake_among(tx: Transaction, names: Sequence[str]) -> list[str]:
    """Return those of the lists that may have work now."""
    return [name for (name,) in tx.rows("lists/awake_among", keys=encode_json(names))]


class _NamedSettings(msgspec.Struct, frozen=True):
    name: str
    settings: Settings


def settings_of(tx: Transaction, names: Sequence[str]) -> dict[str, Settings]:
    """Return the settings of those of the lists that exist, by name."""
    found = tx.structs(_NamedSettings, "lists/settings_of", keys=encode_json(names))
    return {each.name: each.settings for each in found}


def unfinished(tx: Transaction, *, fits: Callable[[ListRow], bool]) -> int:
    """Count the unfinished items of open lists that fit: see `count_unfinished`."""
    fitting = (row for row in _all(tx) if row.state == "open" and fits(row))
    return sum(count_unfinished(row, tallies.read(tx, row.id, row.gate)[0]) for row in fitting)


def with_work(tx: Transaction, *, fits: Callable[[ListRow], bool], holder: str) -> list[str]:
    """Return the names of fitting lists that have work for the holder now; exact, also for lists that are asleep."""
    fitting = [row for row in _all(tx) if may_have_work(row) and fits(row)]
    busy = [row for row in fitting if has_work(row, tallies.read(tx, row.id, row.gate)[0])]
    return [row.name for row in busy if not row.settings.exclusive or _lease_holder(tx, row.id) in (None, holder)]


def may_have_work(row: ListRow) -> bool:
    """Return whether the list is open and has no limits: what a limit holds back becomes work later."""
    return row.state == "open" and row.settings.limits is None


def has_work(row: ListRow, counts: Counts) -> bool:
    """Return whether items are ready, the next gate can open or the list can be completed."""
    if counts.ready:
        return True
    if counts.delayed or counts.claimed or counts.failed:
        return False
    return row.sealed if not counts.gated else not row.settings.manual


def count_unfinished(row: ListRow, counts: Counts) -> int:
    """Count items that are ready, delayed, claimed, or behind a gate that will open by itself."""
    opens = not counts.failed and not row.settings.manual
    return counts.ready + counts.delayed + counts.claimed + (counts.gated if opens else 0)


def _lease_holder(tx: Transaction, list_id: int) -> str | None:
    holder: str | None = tx.value("leases/holder", list=list_id)
    return holder


def _all(tx: Transaction) -> Iterator[ListRow]:
    after = ""
    while rows := tx.structs(ListRow, "lists/page", after=after, limit=ROWS_PER_PAGE):
        yield from rows
        after = rows[-1].name


def processors(tx: Transaction, *, fits: Callable[[str], bool], limit: int = 100) -> dict[str, Processor]:
    """Return the processors of lists whose names fit, by name: each processor once, at most `limit`."""
    found: dict[str, Processor] = {}
    after, mention = "", '%"processor":%'
    while rows := tx.structs(ListRow, "lists/with_processor", after=after, mention=mention, limit=ROWS_PER_PAGE):
        for row in rows:
            processor = row.settings.processor
            if processor is not None and fits(row.name) and processor not in found.values():
                found[row.name] = processor
            if len(found) == limit:
                return found
        after = rows[-1].name
    return found


def next_wake(tx: Transaction) -> float | None:
    """Return the seconds until the next sleeping list wakes by itself; None if none does."""
    left = tx.value("lists/next_wake")
    return None if left is None else left / 1_000


def gate_number(tx: Transaction, name: str, gate: int | str) -> int:
    """Return the number of one of the list's gates, which may be given by its name."""
    row = find(tx, name)
    return (row.settings if row else Settings()).gate_number(gate)


def show(tx: Transaction, name: str) -> ListInfo:
    """Return a list with its counts and progress."""
    return _info(tx, get(tx, name))


def page(tx: Transaction, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[ListInfo]:
    """Return lists in the order of their names, strictly after one; with `prefixes`, only those that have one."""
    check_limit(limit, "lists")
    check_start(after)
    if not prefixes:
        rows = tx.structs(ListRow, "lists/page", after=after, limit=limit)
    else:
        rows = []
        for span in prefix_ranges(prefixes):
            rows += tx.structs(ListRow, "lists/page_prefix", after=after, limit=limit - len(rows), **span)
    return [_info(tx, row) for row in rows]


def _info(tx: Transaction, row: ListRow) -> ListInfo:
    counts, progress = tallies.read(tx, row.id, row.gate)
    holder = _lease_holder(tx, row.id) if row.settings.exclusive else None
    return ListInfo(row.name, row.state, row.gate, row.sealed, row.version, row.settings, counts, progress, holder)


def pause(tx: Transaction, name: str, *, version: int | None = None) -> bool:
    """Stop handing out a list's items, and return whether that changed it. Claimed items can still be settled."""
    return _set_state(tx, name, "paused", version)


def resume(tx: Transaction, name: str, *, version: int | None = None) -> bool:
    """Hand out a list's items again, and return whether that changed it."""
    return _set_state(tx, name, "open", version)


def _set_state(tx: Transaction, name: str, state: str, version: int | None) -> bool:
    if lock(tx, name, version).state == "complete":
        raise ListComplete(f"the list {name!r} is complete: it hands out no items", "reopen it", list=name)
    return bool(tx.run("lists/set_state", name=name, state=state))


def change_settings(tx: Transaction, name: str, changes: dict[str, Any], *, version: int | None = None) -> Settings:
    """Change some settings of a list, which is created if need be; with `version`, only if it is at that one."""
    row = lock_or_create(tx, name) if version is None else lock(tx, name, version)
    settings = row.settings.changed(**changes)
    if any(then.list == name for then in settings.then):
        raise InvalidSetting(
            f"then must name another list, got {name!r} itself", "a list that follows itself never ends"
        )
    tx.run(
        "lists/set_settings",
        list=row.id,
        version=row.version,
        settings=encode_json(settings),
        exclusive=settings.exclusive,
        manual=settings.manual,
        limits=None if settings.limits is None else encode_json(settings.limits),
    )
    if row.settings.exclusive and not settings.exclusive:
        tx.run("leases/delete_all", list=row.id)
    if settings.separator != row.settings.separator:
        _change_families(tx, row.id, settings.separator)
    return settings


def _change_families(tx: Transaction, list_id: int, separator: str | None) -> None:
    tx.rows("limits/block_adders", list=list_id)
    tx.run("limits/set_families", list=list_id, separator=separator)
    tx.run("limits/clear_families", list=list_id)


def rename(tx: Transaction, name: str, to: str, *, version: int | None = None) -> None:
    """Give a list another name; its items, counts, history and schedules stay with it."""
    check_name(to)
    lock_without_adders(tx, name, version)
    if to != name and find(tx, to):
        raise NameTaken(f"there is a list {to!r} already", "drop it first, or choose another name", list=to)
    tx.run("lists/rename", name=name, to=to)
    tx.run("schedules/follow", name=name, to=to)


def _isolated(name: str, **_: Any) -> GroupKey:
    return GroupKey(name, isolated=True)


@groupable(_isolated)
def drop(tx: Transaction, name: str, *, version: int | None = None) -> int:
    """Delete a list with all its items and history, and return how many items it had."""
    refuse_stale_snapshot(tx, f"the list {name!r} cannot be dropped")
    row = lock_without_adders(tx, name, version)
    dependencies.release(tx, row.id)
    # The list goes first: adders that wait for its row then find none, and create a new list.
    tx.run("lists/drop", list=row.id)
    dropped = tx.run("items/delete_all", list=row.id)
    for noun in ("claims", "leases", "dependencies", "limits", "tallies", "errors", "results"):
        tx.run(f"{noun}/delete_all", list=row.id)
    return dropped
