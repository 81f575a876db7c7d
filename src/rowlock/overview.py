"""The overview: all lists, those with the most urgent alert first, and what is wrong; and all about a list or an item.

Each is five statements at most, however many lists, items and sessions there are.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from rowlock import gates, item_resources, lists, results, tallies, throughput
from rowlock.db import Tx
from rowlock.durations import Duration
from rowlock.errors import Invalid
from rowlock.json_codec import encode_json
from rowlock.model import Counts, GateInfo, ItemDetails, ListInfo, add_up, to_datetime
from rowlock.names import check_limit, check_start, matches_pattern
from rowlock.results import Result
from rowlock.roles import prefix_ranges, redact, sees
from rowlock.tallies import MINUTE_MILLISECONDS
from rowlock.throughput import Throughput

MAX_LISTS, MAX_SESSIONS = 10_000, 1_000
"""Of more lists or sessions the others are left out."""
MAX_ALERTS_OF_A_KIND = 20
RATE_MINUTES, CHART_MINUTES = 5, 30
"""How far back rates and the small charts look."""
KINDS = ("late-session", "nobody-works", "failing", "falling-behind", "paused")
"""The kinds of alerts, the most urgent first."""


class Alert(msgspec.Struct, frozen=True):
    """Something that is wrong, and what to do."""

    kind: str
    what: str
    hint: str
    list: str | None = None
    session: str | None = None
    at: datetime | None = None
    """When the items of a late session return to their lists."""


class ListOverview(msgspec.Struct, frozen=True):
    """A list at a glance."""

    name: str
    state: str
    gate: int
    sealed: bool
    counts: Counts
    done: int
    """Items that were ever done."""
    rate: float
    """Items that were done or moved per minute, in the last minutes."""
    eta_seconds: float | None
    """How long the unfinished items take at this rate; none if nothing is done, or nothing is left."""
    oldest_seconds: float | None
    """For how long the first free item has waited, at least."""
    minutes: Sequence[int]
    """Items done in each of the last minutes, the oldest first; the last one is not over."""
    alerts: Sequence[str]
    """The kinds of its alerts, the most urgent first."""


class Overview(msgspec.Struct, frozen=True):
    """All lists and what is wrong."""

    at: datetime
    alerts: Sequence[Alert]
    """At most 20 of a kind."""
    alert_counts: Mapping[str, int]
    """How many alerts there are of each kind."""
    totals: Counts
    number: int
    """How many lists there are that match."""
    sessions: int
    lists: Sequence[ListOverview]
    next: int | None
    """The offset of the next page; none if this is the last."""


class ListWorker(msgspec.Struct, frozen=True):
    """A live session that works a list: it holds items of the list or its lease, or looks for them."""

    session: str
    holder: str
    items: int
    """Items of the list that it holds."""
    has_lease: bool
    expires_at: datetime


class ListDetails(msgspec.Struct, frozen=True):
    """A list with its gates, its workers and its throughput."""

    list: ListInfo
    gates: Sequence[GateInfo]
    workers: Sequence[ListWorker]
    throughput: Throughput


class ItemTimes(msgspec.Struct, frozen=True):
    """How long an item has waited at its place, and how long a worker has held it."""

    waited_seconds: float | None = None
    """At least so long, until it was claimed; watermarks measure it. Unknown for an item that came a moment ago."""
    held_seconds: float | None = None
    """Since the claim that holds it was taken; None if no claim does."""
    holder: str | None = None


class ItemOverview(msgspec.Struct, frozen=True):
    """An item with its times, the name of its gate, and its results if the list keeps them."""

    item: ItemDetails
    times: ItemTimes
    gate: str | None
    results: Sequence[Result]


class _ListSums(msgspec.Struct, frozen=True):
    id: int
    name: str
    state: str
    gate: int
    sealed: bool
    done: int
    gated: int
    line: int
    """Items at the open gate that are neither delayed nor failed: ready or claimed."""
    delayed: int
    failed: int
    recently_added: int
    recently_settled: int
    overdue: int
    claimed: int
    now: int

    @property
    def counts(self) -> Counts:
        """Its items by state."""
        ready = self.line + self.overdue - self.claimed
        return Counts(ready, self.delayed - self.overdue, self.gated, self.claimed, self.failed)


class _WorkerRow(msgspec.Struct, frozen=True):
    session: str
    holder: str
    seeks: list[str] | None
    scope: list[str] | None
    expires_at: datetime
    items: int
    has_lease: bool

    def works(self, name: str, prefixes: Sequence[str]) -> bool:
        """Return whether it works the list of that name, and whether the caller may see it."""
        is_busy = self.items > 0 or self.has_lease
        works = is_busy or any(matches_pattern(pattern, name) for pattern in self.seeks or ())
        return works and sees(prefixes, self.scope)


class _ListAge(msgspec.Struct, frozen=True):
    list: int
    age: int | None


class _Minute(msgspec.Struct, frozen=True):
    list: int
    at: int
    done: int
    failed: int


class _SessionState(msgspec.Struct, frozen=True):
    id: str
    holder: str
    seeks: list[str] | None
    scope: list[str] | None
    expires_at: int
    expiry: int | None
    now: int
    items: int

    @property
    def is_late(self) -> bool:
        """Whether no heartbeat came for half of its expiry; a live session sends one in each third."""
        return self.expires_at - self.now < (self.expiry or 0) // 2

    @property
    def alert(self) -> Alert:
        """What to say if it is late."""
        silent = max(0, self.now - self.expires_at + (self.expiry or 0)) / 1_000
        what = f"{self.holder} has sent no heartbeat for {silent:,.0f} s and holds {_items(self.items)}"
        hint = "its items return by themselves; end the session to return them at once"
        return Alert("late-session", what, hint, session=self.id, at=to_datetime(self.expires_at))


def show(tx: Tx, *, contains: str = "", offset: int = 0, limit: int = 50, prefixes: Sequence[str] = ()) -> Overview:
    """Return lists, those with the most urgent alert first, and what is wrong with any of them.

    With `contains`, only lists whose names contain it.
    """
    check_limit(limit, "lists")
    check_start(contains)
    if offset < 0:
        raise Invalid(f"offset must be 0 or more, got {offset}")
    live = tx.structs(_SessionState, "overview/sessions", limit=MAX_SESSIONS)
    sessions = [each for each in live if sees(prefixes, each.scope)]
    every = _lists(tx, prefixes)
    now = every[0].now if every else tx.value("diagnostics/now")
    found = [each for each in every if contains in each.name]
    patterns = {pattern for session in sessions for pattern in session.seeks or ()}
    alerts = {each.id: list(_list_alerts(each, patterns)) for each in found}
    found.sort(key=lambda each: _rank(each, alerts[each.id]))
    wrong = [session.alert for session in sessions if session.is_late]
    wrong += [alert for each in found for alert in alerts[each.id]]
    return Overview(
        to_datetime(now),
        _first_of_each_kind(wrong),
        Counter(alert.kind for alert in wrong),
        add_up(Counts, (each.counts for each in found)),
        len(found),
        len(sessions),
        _page(tx, found[offset : offset + limit], alerts, now),
        offset + limit if offset + limit < len(found) else None,
    )


def _lists(tx: Tx, prefixes: Sequence[str]) -> list[_ListSums]:
    bounds = {"limit": MAX_LISTS, "recent": RATE_MINUTES * MINUTE_MILLISECONDS}
    return [
        each for span in prefix_ranges(prefixes) for each in tx.structs(_ListSums, "overview/lists", **bounds, **span)
    ]


def _list_alerts(each: _ListSums, patterns: set[str]) -> Iterator[Alert]:
    """Yield what is wrong with a list, the most urgent first."""
    name, counts = each.name, each.counts
    is_worked = counts.claimed or each.recently_settled or any(matches_pattern(pattern, name) for pattern in patterns)
    if each.state == "open" and counts.ready and not is_worked:
        what = f"{_items(counts.ready, 'is', 'are', of=name)} ready, and nobody works on the list"
        yield Alert("nobody-works", what, "start a worker", name)
    if counts.failed:
        what = f"{_items(counts.failed, 'has', 'have', of=name)} failed"
        yield Alert("failing", what, "retry or abandon what failed", name)
    if each.recently_added > each.recently_settled > 0 and counts.ready > each.recently_settled:
        what = f"{name!r} receives more items than are done: {counts.ready:,} are ready"
        yield Alert("falling-behind", what, "start more workers", name)
    if each.state == "paused" and counts.total > counts.failed:
        yield Alert("paused", f"{name!r} is paused with {_items(counts.total - counts.failed)} left", "resume it", name)


def _rank(each: _ListSums, alerts: Sequence[Alert]) -> tuple[int, int, str]:
    urgency = KINDS.index(alerts[0].kind) if alerts else len(KINDS)
    return urgency, -each.counts.total, each.name


def _first_of_each_kind(alerts: Sequence[Alert]) -> list[Alert]:
    by_kind: dict[str, list[Alert]] = defaultdict(list)
    for alert in alerts:
        by_kind[alert.kind].append(alert)
    return [alert for kind in KINDS for alert in by_kind[kind][:MAX_ALERTS_OF_A_KIND]]


def _page(tx: Tx, page: Sequence[_ListSums], alerts: dict[int, list[Alert]], now: int) -> list[ListOverview]:
    if not page:
        return []
    ids = encode_json([each.id for each in page])
    ages = {row.list: row.age for row in tx.structs(_ListAge, "overview/oldest_ready", ids=ids)}
    last = now - now % MINUTE_MILLISECONDS
    first = last - (CHART_MINUTES - 1) * MINUTE_MILLISECONDS
    done: dict[int, dict[int, int]] = defaultdict(dict)
    for row in tx.structs(_Minute, "overview/recent_minutes", ids=ids, span=CHART_MINUTES * MINUTE_MILLISECONDS):
        done[row.list][row.at] = row.done
    minutes = range(first, last + 1, MINUTE_MILLISECONDS)
    return [
        _list_overview(each, alerts[each.id], ages.get(each.id), [done[each.id].get(at, 0) for at in minutes])
        for each in page
    ]


def _list_overview(
    each: _ListSums, alerts: Sequence[Alert], /, age: int | None, minutes: Sequence[int]
) -> ListOverview:
    counts, rate = each.counts, each.recently_settled / RATE_MINUTES
    left = counts.total - counts.failed
    return ListOverview(
        each.name,
        each.state,
        each.gate,
        each.sealed,
        counts,
        each.done,
        rate,
        left / rate * 60 if rate and left else None,
        None if age is None or not counts.ready else max(0.0, age / 1_000),
        minutes,
        [alert.kind for alert in alerts],
    )


def of_list(tx: Tx, name: str, *, span: Duration = "1h", prefixes: Sequence[str] = ()) -> ListDetails:
    """Return a list with its gates, the sessions that work it, and its throughput in the last `span`."""
    row = lists.get(tx, name)
    by_gate = tallies.by_gate(tx, row.id, row.gate)
    rows = tx.structs(_WorkerRow, "overview/workers", list=row.id, limit=MAX_SESSIONS)
    workers = [
        ListWorker(each.session, each.holder, each.items, each.has_lease, each.expires_at)
        for each in rows
        if each.works(name, prefixes)
    ]
    lease_holder = next((each.holder for each in rows if each.has_lease), None)
    info = lists.info_of(row, by_gate, holder=lease_holder if row.settings.exclusive else None)
    series = throughput.of_row(tx, row.id, span=span)
    return ListDetails(redact(info, prefixes), gates.of_row(row, by_gate), workers, series)


def of_item(tx: Tx, name: str, key: str) -> ItemOverview:
    """Return an item with how it has failed, how long it has waited and a worker has held it, and its results.

    Waiting is exact to within the time between two passes of upkeep: items hold no times of their own.
    """
    item, row = item_resources.show(tx, name, key), lists.get(tx, name)
    times = tx.struct(ItemTimes, "overview/item_times", list=row.id, key=key) or ItemTimes()
    kept = results.of_row(tx, row.id, key) if row.settings.keep_results else []
    return ItemOverview(item, times, row.settings.gate_name(item.gate), kept)


def _items(count: int, *verbs: str, of: str = "") -> str:
    """Return a number of items with the verb that fits it, in the singular or the plural."""
    words = ["1 item" if count == 1 else f"{count:,} items", f"of {of!r}" if of else "", *verbs[count != 1 :][:1]]
    return " ".join(filter(None, words))
