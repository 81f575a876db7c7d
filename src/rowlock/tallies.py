"""Verbs of tallies: an append-only record of what happened to each batch. Counts and progress are their sums."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import product

import msgspec

from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.model import Counts, ItemStatus, Progress

EVENTS = ("added", "done", "retried", "moved", "failed", "abandoned")
CHANGES = ("items_change", "delayed_change", "failed_change")
SUMMED = (*EVENTS, *CHANGES, "seconds")
NO_PROGRESS = Progress()
MINUTE_MILLISECONDS = 60_000
HOUR_MILLISECONDS, DAY_MILLISECONDS = 60 * MINUTE_MILLISECONDS, 1_440 * MINUTE_MILLISECONDS
PERIODS = {
    MINUTE_MILLISECONDS: 25 * HOUR_MILLISECONDS,
    HOUR_MILLISECONDS: 9 * DAY_MILLISECONDS,
    DAY_MILLISECONDS: 400 * DAY_MILLISECONDS,
}
"""The lengths of periods, and how long each is kept."""
ALL_LISTS = 0
"""The list of a period that is of all lists."""
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
    return total(by_gate(tx, list_id, gate))


def total(gates: Sequence[tuple[int, Counts, Progress]]) -> tuple[Counts, Progress]:
    """Return the counts and the progress of all gates together."""
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
    """Add old tallies to one sum for each list and gate, and to periods of time; return how many were folded."""
    recent = min(age, MINUTE_MILLISECONDS)
    old = tx.structs(UnfoldedTally, "tallies/foldable", age=age, recent=recent, limit=limit)
    if old:
        _fold_into_sums(tx, old)
        _fold_into_periods(tx, old)
        tx.run("tallies/delete", ids=encode_json([tally.id for tally in old]))
    return len(old)


def _fold_into_sums(tx: Tx, old: Sequence[UnfoldedTally]) -> None:
    sums: dict[tuple[int, int], Counter[str]] = defaultdict(Counter)
    for tally in old:
        sums[tally.list, tally.gate].update({name: getattr(tally, name) for name in SUMMED})
    rows = [{"list": list_id, "gate": gate, **total} for (list_id, gate), total in sums.items()]
    tx.run("sums/add", rows=encode_json(rows))


def _fold_into_periods(tx: Tx, old: Sequence[UnfoldedTally]) -> None:
    periods: dict[tuple[int, int, int], Counter[str]] = defaultdict(Counter)
    for tally in old:
        events = {name: getattr(tally, name) for name in (*EVENTS, "seconds")}
        for list_id, length in product((tally.list, ALL_LISTS), PERIODS):
            periods[list_id, length, tally.at - tally.at % length].update(events)
    rows = [{"list": list_id, "length": length, "at": at, **total} for (list_id, length, at), total in periods.items()]
    tx.run("periods/add", rows=encode_json(rows))


def prune_periods(tx: Tx, *, limit: int = 1000) -> int:
    """Delete minutes, hours and days past their time, and return how many."""
    return sum(tx.run("periods/prune", length=length, keep=keep, limit=limit) for length, keep in PERIODS.items())
