"""Backlog: lists with unfinished items, lists with work to claim now, how long items wait, and HTTP processors."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from rowlock import lists, sessions, tallies
from rowlock.db import Tx
from rowlock.json_codec import encode_json
from rowlock.model import Counts, ListInfo, Settings
from rowlock.names import MAX_PAGE_ROWS
from rowlock.settings import Processor

ROWS_PER_PAGE = 1_000
MAX_LISTS = 1_000
"""Lists of a snapshot: each name is a series of metrics, and too many overload a monitor."""
WATERMARKS_KEPT_MILLISECONDS = 30 * 24 * 3_600_000


def unfinished(tx: Tx, *, fits: Callable[[lists.ListRow], bool]) -> int:
    """Count the unfinished items of open lists that fit: see `count_unfinished`."""
    fitting = (row for row in _all_with_items(tx) if row.state == "open" and fits(row))
    return sum(count_unfinished(row.settings, tallies.read(tx, row.id, row.gate)[0]) for row in fitting)


def with_work(tx: Tx, *, fits: Callable[[lists.ListRow], bool], holder: str) -> list[str]:
    """Return the names of fitting lists that have work for the holder now; exact, also for lists that are asleep."""
    fitting = [row for row in _all_with_items(tx, sealed=True) if may_have_work(row) and fits(row)]
    busy = [row for row in fitting if has_work(row, tallies.read(tx, row.id, row.gate)[0])]
    return [row.name for row in busy if not row.settings.exclusive or lists.lease_holder(tx, row.id) in (None, holder)]


def may_have_work(row: lists.ListRow) -> bool:
    """Return whether the list is open and has no limits: what a limit holds back becomes work later."""
    return row.state == "open" and row.settings.limits is None


def has_work(row: lists.ListRow, counts: Counts) -> bool:
    """Return whether items are ready, the next gate can open or the list can be completed."""
    if counts.ready:
        return True
    if counts.delayed or counts.claimed or counts.failed:
        return False
    return row.sealed if not counts.gated else not row.settings.manual


def count_unfinished(settings: Settings, counts: Counts) -> int:
    """Count items that are ready, delayed, claimed, or behind a gate that will open by itself."""
    opens = not counts.failed and not settings.manual
    return counts.ready + counts.delayed + counts.claimed + (counts.gated if opens else 0)


def processors(tx: Tx, *, fits: Callable[[str], bool], limit: int = 100) -> dict[str, Processor]:
    """Return the processors of lists whose names fit, by name: each processor once, at most `limit`."""
    found: dict[str, Processor] = {}
    after, mention = "", '%"processor":%'
    while rows := tx.structs(lists.ListRow, "lists/with_processor", after=after, mention=mention, limit=ROWS_PER_PAGE):
        for row in rows:
            processor = row.settings.processor
            if processor is not None and fits(row.name) and processor not in found.values():
                found[row.name] = processor
            if len(found) == limit:
                return found
        after = rows[-1].name
    return found


def record_watermark(tx: Tx) -> None:
    """Record how far positions have got, from which the age of waiting items is estimated; each pass of upkeep does."""
    tx.run("backlog/add_watermark")
    tx.run("backlog/prune_watermarks", keep=WATERMARKS_KEPT_MILLISECONDS)


def longest_wait_seconds(tx: Tx, name: str) -> float:
    """Return for how long, at least, the list's first free item has waited; 0 if no item is free.

    Exact to within the time between two passes of upkeep. A retried item has a new position, and its age begins anew.
    """
    age = tx.value("backlog/oldest_item_age", name=name)
    return 0.0 if age is None else max(0.0, age / 1_000)


def _all_with_items(tx: Tx, *, sealed: bool = False) -> Iterator[lists.ListRow]:
    """Yield the lists that have items, and with `sealed` also those that are sealed."""
    after = ""
    while rows := lists.page_rows(tx, after=after, limit=ROWS_PER_PAGE):
        found = {list_id for (list_id,) in tx.rows("lists/with_items", ids=encode_json([row.id for row in rows]))}
        yield from (row for row in rows if row.id in found or (sealed and row.sealed))
        after = rows[-1].name


class WorkloadSnapshot(msgspec.Struct, frozen=True):
    """The workload at one moment."""

    lists: list[ListInfo]
    waiting: dict[str, float]
    """At least so many seconds the first free item has waited, by list."""
    seconds: dict[str, float]
    """Seconds from claim to settlement, added up, by list."""
    sessions: int


def snapshot(tx: Tx, *, prefixes: Sequence[str] = ()) -> WorkloadSnapshot:
    """Return the workload of the first lists by name, and how many sessions there are."""
    found = lists.page(tx, limit=MAX_LISTS, prefixes=prefixes)
    return WorkloadSnapshot(
        found,
        {info.name: longest_wait_seconds(tx, info.name) for info in found if info.counts.ready},
        tallies.claim_seconds(tx, [info.name for info in found]),
        len(sessions.page(tx, limit=MAX_PAGE_ROWS, prefixes=prefixes)),
    )
