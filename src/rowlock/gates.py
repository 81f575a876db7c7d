"""Verbs of gates: stages that open when nothing unfinished is left before them, and the completion of a list."""

from collections.abc import Sequence
from random import Random

import msgspec

from rowlock import done_keys, lists, tallies
from rowlock.db import Tx
from rowlock.errors import GatePassed, GateShut
from rowlock.json_codec import encode_json
from rowlock.model import NO_PAYLOAD, Counts, GateInfo, Progress
from rowlock.roles import check_covered
from rowlock.settings import Settings, Then

MAX_ADVANCED_PER_PASS = 100
MAX_LISTS_EXAMINED_PER_PASS = 1_000
_AFTER_ALL_GATES = 2**31


class GateStatus(msgspec.Struct, frozen=True):
    """A list's open gate, and the first gates from there on that have ready and other unfinished items."""

    name: str
    gate: int
    state: str
    sealed: bool
    manual: bool
    settings: Settings
    first_ready: int | None
    first_unready: int | None

    @property
    def first_unfinished(self) -> int | None:
        """The first gate, from the open one on, that has unfinished items."""
        found = [gate for gate in (self.first_ready, self.first_unready) if gate is not None]
        return min(found, default=None)


def advance(tx: Tx, list_id: int) -> bool:
    """Open the lowest gate that has items, or complete a sealed list that has none; return whether anything changed.

    The caller holds the list's exclusive lock: nobody adds or claims meanwhile, and no settlement can put an item
    before the gate.
    """
    status = _cleared(tx, list_id)
    if status is None:
        return False
    later = status.first_unfinished
    if later is not None:
        return not status.manual and tx.run("gates/open", list=list_id, gate=later, was=status.gate) == 1
    return status.sealed and _complete(tx, list_id, status.name, status.settings)


def _cleared(tx: Tx, list_id: int) -> GateStatus | None:
    """Return the list's status if it is open and nothing unfinished is left at its gate."""
    status = tx.struct(GateStatus, "gates/first_unfinished", list=list_id)
    if status is None or status.state != "open" or status.first_unfinished == status.gate:
        return None
    return status


def advance_if_cleared(tx: Tx, list_id: int, name: str) -> None:
    """Advance the list after items have left it; if its lock is not free now, wake it, so that a worker does it."""
    if _cleared(tx, list_id) is None:
        return
    if tx.row("lists/lock_exclusive_nowait", name=name) is None:
        tx.run("lists/request_wake", list=list_id)
    else:
        advance(tx, list_id)


def is_awaited(tx: Tx, list_id: int) -> bool:
    """Return whether items at a later gate, or the list's completion, wait for what is left at the open gate."""
    return tx.row("gates/is_awaited", list=list_id) is not None


def is_awaited_by_name(tx: Tx, name: str) -> bool:
    """Return `is_awaited` of a list that is given by its name."""
    row = lists.find(tx, name)
    return row is not None and is_awaited(tx, row.id)


def advance_idle_lists(tx: Tx, *, chance: Random) -> int:
    """Advance lists that no worker looks at, and return how many changed.

    If there are many such lists, a random part of them is examined, so that each has its turn.
    """
    shared, free = (
        chance.randint(0, max(0, count - MAX_LISTS_EXAMINED_PER_PASS))
        for count in tx.row("lists/count_awake") or (0, 0)
    )
    window = {"window": MAX_LISTS_EXAMINED_PER_PASS, "skip_shared": shared, "skip_free": free}
    advanced = 0
    for (name,) in tx.rows("gates/advanceable", limit=MAX_ADVANCED_PER_PASS, **window):
        list_id = tx.value("lists/lock_exclusive_nowait", name=name)
        advanced += list_id is not None and advance(tx, list_id)
    return advanced


def show(tx: Tx, name: str) -> list[GateInfo]:
    """Return the list's gates that ever had items or have a name, with the counts and progress of each."""
    row = lists.get(tx, name)
    return of_row(row, tallies.by_gate(tx, row.id, row.gate))


def of_row(row: lists.ListRow, by_gate: Sequence[tuple[int, Counts, Progress]]) -> list[GateInfo]:
    """Return the gates of a list from what its tallies add up to."""
    known = {number: (counts, progress) for number, counts, progress in by_gate}
    numbers = sorted({row.gate, *known, *range(len(row.settings.gates))})
    blank = (Counts(), tallies.NO_PROGRESS)
    return [
        GateInfo(number, row.settings.gate_name(number), _state(row, number), *known.get(number, blank))
        for number in numbers
    ]


def _state(row: lists.ListRow, number: int) -> str:
    if number == row.gate:
        return "open"
    return "passed" if number < row.gate else "shut"


def open_gate(tx: Tx, name: str, gate: int | str) -> bool:
    """Move the list to a gate by hand, and return whether it was at another one.

    Never past items, which would not be handed out any more; back only if the list is empty, for a gate opens once.
    """
    row = lists.lock_without_adders(tx, name)
    number = row.settings.gate_number(gate)
    if number == row.gate:
        return False
    lists.refuse_stale_snapshot(tx, f"gate {number} of the list {name!r} cannot be opened")
    left = tx.value("items/count_before_gate", list=row.id, gate=number if number > row.gate else _AFTER_ALL_GATES)
    items = f"{left} item{'s' if left > 1 else ''}"
    if left and number < row.gate:
        what = f"gate must be at least {row.gate}, the open gate of the list {name!r}, which has {items}, got {number}"
        raise GatePassed(what, "go back when the list is empty, or use another list", gate=row.gate)
    if left:
        what = f"the list {name!r} has {items} before gate {number}"
        raise GateShut(what, "work, retry or abandon them first", gate=row.gate, left=left)
    return tx.run("gates/open", list=row.id, gate=number, was=row.gate) == 1


def seal(tx: Tx, name: str, *, then: Then | None = None, prefixes: Sequence[str] = ()) -> bool:
    """Take no more items, and complete the list when none is left; return whether it was not sealed yet.

    `then` is added to another list, which `prefixes` must cover, in the transaction that completes this one.
    """
    if then is not None:
        check_covered(prefixes, then.list)
    row = lists.lock(tx, name)
    if then is not None and then not in row.settings.then:
        lists.change_settings(tx, row.name, {"then": [*row.settings.then, then]})
    changed = tx.run("gates/seal", list=row.id) == 1
    advance_if_cleared(tx, row.id, name)
    return changed


def complete(tx: Tx, name: str) -> bool:
    """Complete the list by hand, and return whether it was not complete yet. Items that are left are not handed out."""
    row = lists.lock(tx, name)
    return row.state != "complete" and _complete(tx, row.id, row.name, row.settings)


def reopen(tx: Tx, name: str) -> bool:
    """Take items and hand them out again; return whether the list was sealed or complete."""
    row = lists.lock(tx, name)
    return tx.run("gates/reopen", list=row.id) == 1


def _complete(tx: Tx, list_id: int, name: str, settings: Settings) -> bool:
    if tx.run("gates/complete", list=list_id) == 0:
        return False
    for then in settings.then:
        _add_then(tx, then, key=then.key or name)
    lists.release_waiting(tx, list_id)
    return True


def _add_then(tx: Tx, then: Then, *, key: str) -> None:
    # It is added also to a list that is sealed; one that is complete is opened again until the item is done.
    target = lists.add_lanes(tx, lists.lock_for_adding(tx, then.list), 1 << then.priority)
    if target.once and done_keys.among(tx, target.id, [key]):
        return
    tx.run("gates/reopen_for_add", list=target.id)
    gate = max(target.gate, then.gate or 0)
    data = None if then.data is None else encode_json(then.data)
    columns = {**NO_PAYLOAD, "data": data, "gate": gate, "priority": then.priority, "delay": 0}
    keys = encode_json([key])
    if not tx.run("items/add_keys", list=target.id, keys=keys, separator=target.separator, **columns):
        return
    if target.once and done_keys.among_added(tx, target.id, [key]):
        tx.rows("items/delete", list=target.id, keys=keys)
    else:
        tallies.record(tx, target.id, gate, added=1, items_change=1)
