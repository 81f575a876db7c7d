"""Verbs of tallies: an append-only record of what happened to each batch. Counts and progress are their sums."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.model import Counts, ItemStatus, Progress

EVENTS = ("added", "done", "retried", "moved", "failed", "abandoned")
CHANGES = ("items_change", "delayed_change", "failed_change")
SUMMED = (*EVENTS, *CHANGES, "seconds")
NO_PROGRESS = Progress()
MINUTE_MILLISECONDS = 60_000
RECEIPT_KEPT_MILLISECONDS = 10 * MINUTE_MILLISECONDS
"""How long a repeated settlement is answered from its tally."""

_BLANK = dict.fromkeys(EVENTS + CHANGES, 0)


class TallyEvents(msgspec.Struct, frozen=True):
    """What happened at a gate, in numbers of items."""

    gate: int
    added: int
    done: int
    retried: int
    moved: int
    failed: int
    abandoned: int


class TallyRecord(TallyEvents, frozen=True):
    """What happened to one batch."""

    id: int
    list: str
    at: int


class GateSums(TallyEvents, frozen=True):
    """The sums of all tallies of a gate, and of the open gate how many items are overdue or claimed."""

    items_change: int
    delayed_change: int
    failed_change: int
    overdue: int
    claimed: int

    @property
    def progress(self) -> Progress:
        """Sums of all tallies of the gate."""
        return Progress(self.added, self.done, self.retried, self.moved, self.failed, self.abandoned)

    def counts(self, open_gate: int) -> Counts:
        """Count the gate's items by state."""
        items, delayed, failed = self.items_change, self.delayed_change, self.failed_change
        if self.gate > open_gate:
            return Counts(gated=items - failed, failed=failed)
        overdue, claimed = (self.overdue, self.claimed) if self.gate == open_gate else (0, 0)
        ready = items - failed - delayed + overdue - claimed
        return Counts(ready=ready, delayed=delayed - overdue, claimed=claimed, failed=failed)


class UnfoldedTally(TallyEvents, frozen=True):
    """A tally that is old enough to be folded."""

    id: int
    list: int
    at: int
    items_change: int
    delayed_change: int
    failed_change: int
    seconds: float


def record(tx: Tx, list_id: int, gate: int, **numbers: int) -> None:
    """Record what happened to a batch; numbers that are left out are zero."""
    tx.run("tallies/record", list=list_id, gate=gate, **(_BLANK | numbers))


def record_removed(tx: Tx, list_id: int, items: Iterable[ItemStatus], *, event: str) -> None:
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


def read(tx: Tx, list_id: int, gate: int) -> tuple[Counts, Progress]:
    """Return how many items are in each state, and what has ever happened; exact, without counting items."""
    gates = by_gate(tx, list_id, gate)
    counts = [msgspec.structs.astuple(at_gate) for _, at_gate, _ in gates]
    events = [msgspec.structs.astuple(at_gate) for _, _, at_gate in gates]
    return Counts(*map(sum, zip(*counts, strict=True))), Progress(*map(sum, zip(*events, strict=True)))


def by_gate(tx: Tx, list_id: int, gate: int) -> list[tuple[int, Counts, Progress]]:
    """Return counts and progress of each gate that ever had items, in order; `gate` is the open one."""
    sums = tx.structs(GateSums, "tallies/counts_by_gate", list=list_id, open=gate)
    return [(each.gate, each.counts(gate), each.progress) for each in sums]


def claim_seconds(tx: Tx, names: Sequence[str]) -> dict[str, float]:
    """Return how long the claims of each of the lists were held, in total."""
    return {name: float(total) for name, total in tx.rows("tallies/claim_seconds", keys=encode_json(names))}


def records_after(tx: Tx, *, after: int, limit: int = 1000) -> list[TallyRecord]:
    """Return tallies in the order of their ids, strictly after one."""
    return tx.structs(TallyRecord, "tallies/events_after", after=after, limit=limit)


def last_id(tx: Tx) -> int:
    """Return the id of the newest tally."""
    number: int = tx.value("tallies/max_id")
    return number


def fold(tx: Tx, *, limit: int = 5000, age: int = RECEIPT_KEPT_MILLISECONDS) -> int:
    """Replace old tallies by one sum for each list, gate and minute, and return how many were folded."""
    recent = min(age, MINUTE_MILLISECONDS)
    old = tx.structs(UnfoldedTally, "tallies/foldable", age=age, recent=recent, limit=limit)
    sums: dict[tuple[int, int, int], dict[str, float]] = defaultdict(lambda: dict.fromkeys(SUMMED, 0))
    for tally in old:
        total = sums[tally.list, tally.gate, tally.at - tally.at % MINUTE_MILLISECONDS]
        for name in SUMMED:
            total[name] += getattr(tally, name)
    for (list_id, gate, at), total in sums.items():
        tx.run("tallies/add_folded", list=list_id, gate=gate, at=at, **total)
    tx.run("tallies/delete", ids=encode_json([tally.id for tally in old]))
    return len(old)
