"""Lists: named sets of items, with a gate, a state and settings. Verbs are functions of a transaction."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
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


class ListRow(msgspec.Struct, frozen=True):
    """A list's row, without its counts."""

    id: int
    name: str
    state: str
    gate: int
    sealed: bool
    version: int
    settings: Settings


@lru_cache(maxsize=1_000)
def _settings(text: str) -> Settings:
    # Most lists have none of their own, and those that have share a few.
    return msgspec.json.decode(text, type=Settings)


def _row(columns: tuple[Any, ...]) -> ListRow:
    list_id, name, state, gate, sealed, version, settings = columns
    return ListRow(list_id, name, state, gate, bool(sealed), version, _settings(settings))


def find(tx: Transaction, name: str) -> ListRow | None:
    """The list of that name, if there is one."""
    columns = tx.row("lists/find", name=name)
    return None if columns is None else _row(columns)


def find_for_keys(tx: Transaction, name: str) -> ListRow | None:
    """The same before items are looked up by their keys: in this transaction no plan from smaller times is used."""
    columns = tx.row("lists/find_for_keys", name=name)
    return None if columns is None else _row(columns[:-1])


def lock(tx: Transaction, name: str, version: int | None = None) -> ListRow:
    """The list of that name, locked until the transaction ends; with `version`, only if it is at that one."""
    row = lock_if_exists(tx, name)
    if row is None:
        raise no_such_list(tx, name)
    return _at_version(row, version)


def _at_version(row: ListRow, version: int | None) -> ListRow:
    if version is not None and version != row.version:
        raise StaleVersion.of(f"the list {row.name!r}", asked=version, actual=row.version)
    return row


def lock_without_adders(tx: Transaction, name: str, version: int | None = None) -> ListRow:
    """The same as `hold`, when every add to the list has ended: nobody can begin another before the transaction ends.

    For changes that no add may pass: the list's end, its name, and its gate. It waits for adds that have not committed.
    """
    columns = tx.row("lists/lock_exclusive", name=name)
    if columns is None:
        raise no_such_list(tx, name)
    return _at_version(_row(columns), version)


def refuse_stale_snapshot(tx: Transaction, what: str) -> None:
    """Refuse a change that needs to see every item, in a transaction that does not see what was added since."""
    if not tx.value("gates/snapshot_is_current"):
        raise Invalid(
            f"{what} at repeatable read: items that were added since are not seen",
            "do it in a transaction at read committed or serializable",
        )


def lock_if_exists(tx: Transaction, name: str) -> ListRow | None:
    """The same, if there is one."""
    columns = tx.row("lists/lock", name=name)
    return None if columns is None else _row(columns)


def no_such_list(tx: Transaction, name: str) -> NoSuchList:
    """The error for a name that no list has, with the one that was probably meant."""
    names = [row[0] for row in tx.rows("lists/names")]
    near = closest(name, names)
    hint = f"did you mean {near!r}?" if near else "it is made when the first item is added"
    return NoSuchList(f"there is no list {name!r}", hint, list=name)


def create(tx: Transaction, name: str) -> bool:
    """Make the list if it is not there yet, whoever else is about to; whether it was made."""
    check_name(name)
    return bool(tx.run("lists/create", name=name))


def ensure(tx: Transaction, name: str) -> None:
    """Make the list if it is not there yet."""
    create(tx, name)


class ListForAdding(msgspec.Struct, frozen=True):
    """A list whose row is shared until the transaction ends: nobody can drop it, pass its gate or put it to sleep."""

    id: int
    gate: int
    sealed: bool
    asleep: bool
    lanes: int
    limits: str | None = None

    @property
    def separator(self) -> str | None:
        """What a key's family ends at, where families are limited."""
        return None if self.limits is None else msgspec.json.decode(self.limits, type=ListLimits).separator


def lock_for_adding(tx: Transaction, name: str) -> ListForAdding:
    """Go in to add items, making the list if need be; whether it is sealed is for the caller to say."""
    # More than once, if others make and drop a list of that name in between.
    while (row := tx.row("lists/lock_shared", name=name)) is None:
        ensure(tx, name)
    found = ListForAdding(*row)
    if found.asleep:
        tx.run("lists/wake", list=found.id)
    return found


def add_lanes(tx: Transaction, entrance: ListForAdding, lanes: int) -> ListForAdding:
    """Open the lanes that the list's items never had before."""
    if not lanes & ~entrance.lanes:
        return entrance
    lanes |= entrance.lanes
    tx.run("lists/add_lanes", list=entrance.id, lanes=lanes)
    return msgspec.structs.replace(entrance, lanes=lanes)


class ListWithWork(msgspec.Struct, frozen=True):
    """A list that may have work, and where it stands among those."""

    id: int
    name: str
    wake_at: int


class PollResult(msgspec.Struct, frozen=True):
    """What somebody who looks for work has found."""

    names: Sequence[str] = ()
    """Lists that may have work."""
    held: Sequence[str] = ()
    """Exclusive lists that the session has."""
    more: bool = False
    """Whether there are more than these."""
    settings: Mapping[str, Settings] = {}
    """Of these lists, where they were read too."""
    next: float | None = None
    """Seconds until the next list wakes by itself, where that was asked too."""


@unflushed
@groupable(GroupKey)
@pipelined
def apply_wakes(tx: Transaction) -> Pending[Any]:
    """Wake the lists that were called for since somebody last looked."""
    return tx.send("lists/apply_wakes")


def has_pending_wakes(tx: Transaction) -> bool:
    """Whether anybody has called for a look at a sleeping list."""
    return tx.row("lists/has_pending_wakes") is not None


def awake(tx: Transaction, *, after: ListWithWork | None = None, limit: int = 100) -> list[ListWithWork]:
    """Lists that may have work now, those that have waited longest first, a page at a time."""
    at, last = (after.wake_at, after.id) if after else (0, 0)
    return [ListWithWork(*row) for row in tx.rows("lists/awake", wake_at=at, after=last, limit=limit)]


def awake_among(tx: Transaction, names: Sequence[str]) -> list[str]:
    """Of these lists, those that may have work now."""
    return [name for (name,) in tx.rows("lists/awake_among", keys=encode_json(names))]


def settings_of(tx: Transaction, names: Sequence[str]) -> dict[str, Settings]:
    """The settings of these lists, of those that are there."""
    rows = tx.rows("lists/settings_of", keys=encode_json(names))
    return {name: _settings(settings) for name, settings in rows}


def unfinished(tx: Transaction, *, fits: Callable[[ListRow], bool]) -> int:
    """How many items of fitting lists are ready, delayed, in anybody's hands or behind a gate that will open."""
    fitting = (row for row in _all(tx) if row.state == "open" and fits(row))
    return sum(count_unfinished(row, tallies.read(tx, row.id, row.gate)[0]) for row in fitting)


def with_work(tx: Transaction, *, fits: Callable[[ListRow], bool], holder: str) -> list[str]:
    """The names of fitting lists that have something for the holder's workers to do now; exact, whoever sleeps."""
    fitting = [row for row in _all(tx) if may_have_work(row) and fits(row)]
    busy = [row for row in fitting if has_work(row, tallies.read(tx, row.id, row.gate)[0])]
    return [row.name for row in busy if not row.settings.exclusive or _leased_to(tx, row.id) in (None, holder)]


def may_have_work(row: ListRow) -> bool:
    """Whether the list hands out items by itself. What a limit holds back is for a later time, as is what is paused."""
    return row.state == "open" and row.settings.limits is None


def has_work(row: ListRow, counts: Counts) -> bool:
    """Whether items are ready, the next gate can open or the list can be completed."""
    if counts.ready:
        return True
    if counts.delayed or counts.claimed or counts.failed:
        return False
    return row.sealed if not counts.gated else not row.settings.manual


def _leased_to(tx: Transaction, list_id: int) -> str | None:
    holder: str | None = tx.value("leases/holder", list=list_id)
    return holder


def _all(tx: Transaction) -> Iterator[ListRow]:
    after = ""
    while rows := tx.rows("lists/page", after=after, limit=1000):
        yield from map(_row, rows)
        after = rows[-1][1]


def processors(tx: Transaction, *, fits: Callable[[str], bool], limit: int = 100) -> dict[str, Processor]:
    """The processors of fitting lists by the names of their lists, up to so many different ones."""
    found: dict[str, Processor] = {}
    after = ""
    while rows := tx.rows("lists/with_processor", after=after, mention='%"processor":%', limit=1000):
        for row in map(_row, rows):
            processor = row.settings.processor
            if processor is not None and fits(row.name) and processor not in found.values():
                found[row.name] = processor
            if len(found) == limit:
                return found
        after = rows[-1][1]
    return found


def count_unfinished(row: ListRow, counts: Counts) -> int:
    """How many items of a list are ready, delayed, in anybody's hands or behind a gate that will open."""
    opens = not counts.failed and not row.settings.manual
    return counts.ready + counts.delayed + counts.claimed + (counts.gated if opens else 0)


def next_wake(tx: Transaction) -> float | None:
    """Seconds until the next sleeping list wakes by itself, if one does."""
    left = tx.value("lists/next_wake")
    return None if left is None else left / 1_000


def gate_number(tx: Transaction, name: str, gate: int | str) -> int:
    """The number of one of the list's gates that may be given by its name."""
    row = find(tx, name)
    return (row.settings if row else Settings()).gate_number(gate)


def show(tx: Transaction, name: str) -> ListInfo:
    """The list with its counts and progress."""
    row = find(tx, name)
    if row is None:
        raise no_such_list(tx, name)
    return _info(tx, row)


def page(tx: Transaction, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[ListInfo]:
    """Lists in the order of their names, strictly after one, with counts and progress; or only those with a prefix."""
    check_limit(limit, "lists")
    check_start(after)
    rows = _with_prefix(tx, prefixes, after, limit) if prefixes else tx.rows("lists/page", after=after, limit=limit)
    return [_info(tx, _row(columns)) for columns in rows]


def _with_prefix(tx: Transaction, prefixes: Sequence[str], after: str, limit: int) -> list[Any]:
    found: list[Any] = []
    for span in prefix_ranges(prefixes):
        found += tx.rows("lists/page_prefix", after=after, limit=limit - len(found), **span)
    return found


def _info(tx: Transaction, row: ListRow) -> ListInfo:
    counts, progress = tallies.read(tx, row.id, row.gate)
    holder = _leased_to(tx, row.id) if row.settings.exclusive else None
    return ListInfo(row.name, row.state, row.gate, row.sealed, row.version, row.settings, counts, progress, holder)


def pause(tx: Transaction, name: str, *, version: int | None = None) -> bool:
    """Stop handing out the list's items; whether it was going on. What is claimed may still be settled."""
    return _set_state(tx, name, "paused", version)


def resume(tx: Transaction, name: str, *, version: int | None = None) -> bool:
    """Hand out the list's items again; whether it was not going on."""
    return _set_state(tx, name, "open", version)


def _set_state(tx: Transaction, name: str, state: str, version: int | None) -> bool:
    if lock(tx, name, version).state == "complete":
        raise ListComplete(f"the list {name!r} is complete: it hands out nothing", "reopen it", list=name)
    return bool(tx.run("lists/set_state", name=name, state=state))


def change_settings(tx: Transaction, name: str, changes: dict[str, Any], *, version: int | None = None) -> Settings:
    """Set what is given, leave the rest; with `version`, only if it is there at that one still."""
    row = lock_or_create(tx, name) if version is None else lock(tx, name, version)
    settings = row.settings.changed(**changes)
    if any(then.list == name for then in settings.then):
        raise InvalidSetting(f"the list {name!r} cannot follow itself: it would never end", "name another list")
    tx.run(
        "lists/set_settings",
        list=row.id,
        version=row.version,
        settings=msgspec.json.encode(settings).decode(),
        exclusive=settings.exclusive,
        manual=settings.manual,
        limits=None if settings.limits is None else msgspec.json.encode(settings.limits).decode(),
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


def lock_or_create(tx: Transaction, name: str) -> ListRow:
    """The list of that name, locked until the transaction ends; a new one if there is none."""
    # More than once, if others make and drop a list of that name in between.
    while (columns := tx.row("lists/lock", name=name)) is None:
        ensure(tx, name)
    return _row(columns)


def rename(tx: Transaction, name: str, to: str, *, version: int | None = None) -> None:
    """Give the list another name; items, counts, history and schedules stay with it."""
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
    """Forget the list with all its items and history; how many items it had."""
    refuse_stale_snapshot(tx, f"the list {name!r} cannot be dropped")
    row = lock_without_adders(tx, name, version)
    dependencies.release(tx, row.id)
    # The list goes first: adders that wait for its row then find none, and make a new list.
    tx.run("lists/drop", list=row.id)
    dropped = tx.run("items/delete_all", list=row.id)
    for noun in ("claims", "leases", "dependencies", "limits", "tallies", "errors", "results"):
        tx.run(f"{noun}/delete_all", list=row.id)
    return dropped
