"""Tallies: an append-only record of what happened to each batch; counts and progress are their sums."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from rowlock.db import Transaction
from rowlock.item_input import encode_json
from rowlock.model import Counts, ItemStatus, Progress

EVENTS = ("added", "done", "retried", "moved", "failed", "abandoned")
CHANGES = ("items_change", "delayed_change", "failed_change")
NO_PROGRESS = Progress()
MINUTE_MILLISECONDS = 60_000
RECEIPT_KEPT_MILLISECONDS = 10 * MINUTE_MILLISECONDS
"""How long a settlement can be asked for again and is answered from its tally."""


class TallyRecord(msgspec.Struct, frozen=True):
    """What happened to a batch, as it was recorded."""

    id: int
    list: str
    gate: int
    at: int
    added: int
    done: int
    retried: int
    moved: int
    failed: int
    abandoned: int


def record(tx: Transaction, list_id: int, gate: int, **numbers: int) -> None:
    """Write down what happened to a batch; what is left out is zero."""
    blank = dict.fromkeys(EVENTS + CHANGES, 0)
    tx.run("tallies/record", list=list_id, gate=gate, **(blank | numbers))


def record_removed(tx: Transaction, list_id: int, items: Iterable[ItemStatus], *, event: str) -> None:
    """Record that items left the list, one tally for each gate."""
    gates: dict[int, list[ItemStatus]] = defaultdict(list)
    for item in items:
        gates[item.gate].append(item)
    for gate, removed in gates.items():
        numbers = {
            event: len(removed),
            "items_change": -len(removed),
            "delayed_change": -sum(item.delayed for item in removed),
            "failed_change": -sum(item.failed for item in removed),
        }
        record(tx, list_id, gate, **numbers)


def read(tx: Transaction, list_id: int, gate: int) -> tuple[Counts, Progress]:
    """How many items stand in each state, and what has ever happened; exact, without counting items."""
    gates = by_gate(tx, list_id, gate)
    counts = [msgspec.structs.astuple(at_gate) for _, at_gate, _ in gates]
    events = [msgspec.structs.astuple(at_gate) for _, _, at_gate in gates]
    return Counts(*map(sum, zip(*counts, strict=True))), Progress(*map(sum, zip(*events, strict=True)))


def by_gate(tx: Transaction, list_id: int, gate: int) -> list[tuple[int, Counts, Progress]]:
    """The same for each gate that ever had items, in order; `gate` is the one that is open."""
    rows = tx.rows("tallies/sum", list=list_id, open=gate)
    return [_at_gate(gate, *row) for row in rows]


def _at_gate(open_gate: int, gate: int, *sums: int) -> tuple[int, Counts, Progress]:
    progress = Progress(*sums[: len(EVENTS)])
    items, delayed, failed, overdue, claimed = sums[len(EVENTS) :]
    if gate > open_gate:
        return gate, Counts(gated=items - failed, failed=failed), progress
    if gate < open_gate:
        overdue = claimed = 0
    counts = Counts(items - failed - delayed + overdue - claimed, delayed - overdue, 0, claimed, failed)
    return gate, counts, progress


def claim_seconds(tx: Transaction, names: Sequence[str]) -> dict[str, float]:
    """How long the claims of each of these lists were held, added up."""
    return {name: float(total) for name, total in tx.rows("tallies/seconds", keys=encode_json(names))}


def records_after(tx: Transaction, *, after: int, limit: int = 1000) -> list[TallyRecord]:
    """What has been recorded since, in the order of its numbers."""
    return [TallyRecord(*row) for row in tx.rows("tallies/after", after=after, limit=limit)]


def last_id(tx: Transaction) -> int:
    """The number of the last record."""
    number: int = tx.value("tallies/last")
    return number


def fold(tx: Transaction, *, limit: int = 5000, age: int = RECEIPT_KEPT_MILLISECONDS) -> int:
    """Add up old tallies by list, gate and minute; how many were folded. The sums stay what they were."""
    rows = tx.rows("tallies/oldest", age=age, recent=min(age, MINUTE_MILLISECONDS), limit=limit)
    sums: dict[tuple[int, int, int], list[float]] = defaultdict(lambda: [0] * (len(EVENTS) + len(CHANGES) + 1))
    for _, list_id, gate, at, *numbers in rows:
        total = sums[list_id, gate, at - at % MINUTE_MILLISECONDS]
        total[:] = map(sum, zip(total, numbers, strict=True))
    for (list_id, gate, at), total in sums.items():
        names = (*EVENTS, *CHANGES, "seconds")
        tx.run("tallies/fold", list=list_id, gate=gate, at=at, **dict(zip(names, total, strict=True)))
    tx.run("tallies/delete", ids=msgspec.json.encode([row[0] for row in rows]).decode())
    return len(rows)
