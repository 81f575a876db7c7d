"""Gates: stages that open when nothing unfinished is left before them; the end of a list. Verbs of a transaction."""

from random import Random

import msgspec

from rowlock import dependencies, lists, tallies
from rowlock.db import Transaction
from rowlock.errors import GatePassed, GateShut
from rowlock.item_columns import NO_PAYLOAD
from rowlock.item_input import encode_json
from rowlock.model import Counts, GateInfo, Settings, Then

MAX_ADVANCED_PER_PASS = 100
MAX_LISTS_EXAMINED_PER_PASS = 1000


class GateStatus(msgspec.Struct, frozen=True):
    """Where a list is, and the first later gate where anything unfinished stands."""

    name: str
    gate: int
    state: str
    sealed: bool
    manual: bool
    settings: str
    later: int | None = None


def advance(tx: Transaction, list_id: int) -> bool:
    """Open the lowest gate that has items, or complete a sealed list that has none; whether anything changed.

    The caller holds the list still: nobody adds or claims meanwhile, and no settlement can put an item before the gate.
    """
    stand = _cleared_gate(tx, list_id)
    if stand is None:
        return False
    if stand.later is not None:
        return not stand.manual and tx.run("gates/open", list=list_id, gate=stand.later, was=stand.gate) == 1
    return bool(stand.sealed) and _end(tx, list_id, stand)


def _cleared_gate(tx: Transaction, list_id: int) -> GateStatus | None:
    row = tx.row("gates/first_unfinished", list=list_id)
    if row is None:
        return None
    name, gate, state, sealed, manual, settings, *unfinished = row
    first = min((each for each in unfinished if each is not None), default=None)
    stand = GateStatus(name, gate, state, sealed, manual, settings, later=first)
    return None if state != "open" or first == gate else stand


def advance_if_cleared(tx: Transaction, list_id: int, name: str) -> None:
    """See whether the list can go on, now that items have left it; what cannot be seen now is left to a worker."""
    if _cleared_gate(tx, list_id) is None:
        return
    if tx.row("lists/lock_exclusive_nowait", name=name) is None:
        tx.run("lists/wake", list=list_id)
    else:
        advance(tx, list_id)


def is_awaited(tx: Transaction, list_id: int) -> bool:
    """Whether items at a later gate, or the list's completion, wait for what is left at this one."""
    return tx.row("gates/awaited", list=list_id) is not None


def is_awaited_by_name(tx: Transaction, name: str) -> bool:
    """The same for a list that is known by its name."""
    row = lists.find(tx, name)
    return row is not None and is_awaited(tx, row.id)


def advance_idle_lists(tx: Transaction, *, chance: Random) -> int:
    """Open and complete what is ripe, also where no worker comes by; how many lists went on.

    Of many lists that nobody works only some are looked at, by chance: so none is behind the others for ever.
    """
    shared, free = (
        chance.randint(0, max(0, count - MAX_LISTS_EXAMINED_PER_PASS))
        for count in tx.row("gates/count_awake") or (0, 0)
    )
    window = {"window": MAX_LISTS_EXAMINED_PER_PASS, "skip_shared": shared, "skip_free": free}
    went = 0
    for (name,) in tx.rows("gates/advanceable", limit=MAX_ADVANCED_PER_PASS, **window):
        still = tx.row("lists/lock_exclusive_nowait", name=name)
        went += still is not None and advance(tx, still[0])
    return went


def show(tx: Transaction, name: str) -> list[GateInfo]:
    """The list's gates that have ever had items, or have a name: what stands at each and what has happened there."""
    row = lists.find(tx, name)
    if row is None:
        raise lists.no_such_list(tx, name)
    known = {number: (counts, progress) for number, counts, progress in tallies.by_gate(tx, row.id, row.gate)}
    numbers = sorted({row.gate, *known, *range(len(row.settings.gates))})
    blank = (Counts(), tallies.NO_PROGRESS)
    return [
        GateInfo(number, row.settings.gate_name(number), _standing(row, number), *known.get(number, blank))
        for number in numbers
    ]


def _standing(row: lists.ListRow, number: int) -> str:
    if number == row.gate:
        return "open"
    return "passed" if number < row.gate else "shut"


def open_gate(tx: Transaction, name: str, gate: int | str) -> bool:
    """Move the list to a gate by hand; whether it was elsewhere.

    Never past items: they would not be handed out any more. Back only if the list is empty: a gate opens once.
    """
    row = lists.lock_without_adders(tx, name)
    number = row.settings.gate_number(gate)
    if number == row.gate:
        return False
    lists.refuse_stale_snapshot(tx, f"gate {number} of the list {name!r} cannot be opened")
    left = tx.value("gates/count_before", list=row.id, gate=max(number, row.gate + 1) if number > row.gate else 2**31)
    if left and number < row.gate:
        what = f"the list {name!r} is past gate {number}: it is at gate {row.gate}, with {left} items"
        raise GatePassed(what, "go back when it is empty, or use another list", gate=row.gate)
    if left:
        what = f"{left} item{'s' if left > 1 else ''} of the list {name!r} still stand below gate {number}"
        raise GateShut(what, "work, retry or abandon them first", gate=row.gate, left=left)
    return tx.run("gates/open", list=row.id, gate=number, was=row.gate) == 1


def seal(tx: Transaction, name: str, *, then: Then | None = None) -> bool:
    """Take no more items, and be complete when none is left; whether it was not sealed yet.

    `then` is added to another list in the very transaction that completes this one.
    """
    row = lists.lock(tx, name)
    if then is not None:
        _promise(tx, row, then)
    changed = tx.run("gates/seal", list=row.id) == 1
    advance_if_cleared(tx, row.id, name)
    return changed


def complete(tx: Transaction, name: str) -> bool:
    """End the list by hand, whatever is left on it; whether it was not complete yet. What is left is not handed out."""
    row = lists.lock(tx, name)
    return row.state != "complete" and _end(tx, row.id, _status(row))


def reopen(tx: Transaction, name: str) -> bool:
    """Take items and hand them out again; whether it was sealed or complete."""
    row = lists.lock(tx, name)
    return tx.run("gates/reopen", list=row.id) == 1


def _status(row: lists.ListRow) -> GateStatus:
    settings = msgspec.json.encode(row.settings).decode()
    return GateStatus(row.name, row.gate, row.state, row.sealed, row.settings.manual, settings)


def _end(tx: Transaction, list_id: int, stand: GateStatus) -> bool:
    if tx.run("gates/complete", list=list_id) == 0:
        return False
    for then in msgspec.json.decode(stand.settings, type=Settings).then:
        _deliver(tx, then, key=then.key or stand.name)
    dependencies.release(tx, list_id)
    return True


def _deliver(tx: Transaction, then: Then, *, key: str) -> None:
    # What is owed arrives, also on a list that is sealed: a complete one goes on until this is done too.
    into = lists.add_lanes(tx, lists.lock_for_adding(tx, then.list), 1 << then.priority)
    tx.run("gates/resume_complete", list=into.id)
    gate = max(into.gate, then.gate or 0)
    data = None if then.data is None else msgspec.json.encode(then.data).decode()
    row = {**NO_PAYLOAD, "data": data, "gate": gate, "priority": then.priority, "delay": 0}
    if tx.run("items/add_keys", list=into.id, keys=encode_json([key]), separator=into.separator, **row):
        tallies.record(tx, into.id, gate, added=1, items_change=1)


def _promise(tx: Transaction, row: lists.ListRow, then: Then) -> None:
    if then not in row.settings.then:
        lists.change_settings(tx, row.name, {"then": [*row.settings.then, then]})
