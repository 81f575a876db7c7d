"""Runs verbs by asking a server: the table of operations says how. A few verbs take other or more requests."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, ParamSpec, TypeVar

import msgspec

from rowlock import (
    backlog,
    claims,
    failures,
    gates,
    item_search,
    items,
    key_ranges,
    lists,
    receipts,
    schedules,
    settlements,
)
from rowlock.api.items import (
    ABANDON_ITEMS,
    COUNT_ITEMS,
    DELETE_ITEMS,
    DONE_ITEMS,
    RETRY_ITEMS,
    SAVE_ITEMS,
    SEARCH_ITEMS,
    ItemChanges,
)
from rowlock.api.operation import ApiRequest, Operation, result
from rowlock.api.operations import BY_VERB
from rowlock.api.schedules import PUT_SCHEDULE, ScheduleChange
from rowlock.client.transport import Transport
from rowlock.db.transaction import Verb, verb_name
from rowlock.errors import InvalidData, NeedsDatabase, NoSuchList, StaleVersion
from rowlock.item_input import CheckedChanges
from rowlock.item_search import KEYS_PER_CHANGE, SAVES_PER_CHANGE, ItemFilter, MatchCount, SearchPage
from rowlock.item_search import Change as ItemChange
from rowlock.json_codec import MAX_LEVELS, is_too_deep
from rowlock.model import Item, ListInfo, Settings
from rowlock.schedules import Change
from rowlock.schedules.plans import Plan
from rowlock.topics import records
from rowlock.topics.records import FailedDelivery

P = ParamSpec("P")
T = TypeVar("T")

DEFAULT_ROWS = 1_000
"""Rows of a page without a limit."""
TRANSACTION_HINT = "a transaction of yours cannot travel to a server: settle without using="
NEEDS_DATABASE: Mapping[Callable[..., Any], str] = {
    claims.is_held: TRANSACTION_HINT,
    receipts.answers: TRANSACTION_HINT,
    settlements.hold: TRANSACTION_HINT,
    settlements.settle_beside: TRANSACTION_HINT,
    key_ranges.snapshot: "a snapshot is one read of the whole list: page through its items instead",
}
"""Verbs of handles that no request offers, and what to do instead."""
BULK_OPERATIONS: Mapping[Callable[..., Any], Operation] = {
    items.abandon: ABANDON_ITEMS,
    items.done: DONE_ITEMS,
    items.retry: RETRY_ITEMS,
}
"""How a verb that takes keys is run for all items that match a filter."""


class Caller:
    """Runs verbs by the operations of a server; `derived` are verbs that take other requests than one of their own."""

    def __init__(self, transport: Transport, derived: Mapping[Callable[..., Any], Callable[..., Any]]) -> None:
        self.transport = transport
        self._derived = derived

    def run(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a verb run by the server; NeedsDatabase if no request offers it."""
        if verb in self._derived:
            derived: T = self._derived[verb](self, *args, **kwargs)
            return derived
        operation = BY_VERB.get(verb)
        if operation is None:
            hint = NEEDS_DATABASE.get(verb, "use an Engine, where the database is")
            raise NeedsDatabase(f"{verb_name(verb)} is not offered over HTTP", hint)
        answer: T = self.ask(operation, operation.request(*args, **kwargs), reads=operation.also.get(verb))
        return answer

    def ask(self, operation: Operation, request: ApiRequest, *, reads: Any = None) -> Any:
        """Send a request, or as many as its body takes, and return what the verb returned there."""
        if hasattr(request.body, "parts"):
            parts = (msgspec.structs.replace(request, body=part) for part in request.body.parts())
            return sum(result(self.transport.send(operation, part)) for part in parts)
        document = self.transport.send(operation, request, reads=reads)
        found = result(document)
        limit = request.query.get("count", DEFAULT_ROWS)
        # A page with much data comes in parts.
        while operation.streamed and document.next is not None and len(found) < limit:
            rest = {**request.query, "after": document.next, "count": limit - len(found)}
            document = self.transport.send(operation, msgspec.structs.replace(request, query=rest))
            found += result(document)
        if operation.deep:
            for item in found if isinstance(found, list) else [found]:
                _check_whole(item)
        return found


def _check_whole(item: Item) -> None:
    """Refuse an item whose data is nested deeper than is allowed: what arrived of it may have been truncated."""
    text = item.raw_data
    if text is not None and is_too_deep(text):
        what = f"the data of {item.key!r} of the list {item.list!r} is nested deeper than {MAX_LEVELS} levels"
        raise InvalidData(what, "it was stored when that was allowed: save other data, or abandon the item")


def find(caller: Caller, name: str) -> lists.ListRow | None:
    """Return the list's row without its number, which is the database's own; None if the list does not exist."""
    try:
        return _row(caller.run(lists.show, name))
    except NoSuchList:
        return None


def _row(info: ListInfo) -> lists.ListRow:
    return lists.ListRow(0, info.name, info.state, info.gate, info.sealed, info.version, info.settings)


def settings_of(caller: Caller, names: Sequence[str]) -> dict[str, Settings]:
    """Return the settings of lists that exist, by name."""
    rows = {name: find(caller, name) for name in names}
    return {name: row.settings for name, row in rows.items() if row is not None}


def gate_number(caller: Caller, name: str, gate: int | str) -> int:
    """Return the number of one of the list's gates that may be given by its name."""
    row = find(caller, name)
    return (row.settings if row else Settings()).gate_number(gate)


def unfinished(caller: Caller, *, fits: Callable[[lists.ListRow], bool]) -> int:
    """Count the unfinished items of open lists that fit."""
    pairs = ((_row(info), info.counts) for info in _all_lists(caller))
    fitting = ((row, counts) for row, counts in pairs if row.state == "open" and fits(row))
    return sum(backlog.count_unfinished(row.settings, counts) for row, counts in fitting)


def with_work(caller: Caller, *, fits: Callable[[lists.ListRow], bool], holder: str) -> list[str]:
    """Return the names of fitting lists that have work for the holder now."""
    free = ((_row(info), info.counts) for info in _all_lists(caller) if info.holder in (None, holder))
    fitting = ((row, counts) for row, counts in free if backlog.may_have_work(row) and fits(row))
    return [row.name for row, counts in fitting if backlog.has_work(row, counts)]


def _all_lists(caller: Caller) -> Iterator[ListInfo]:
    after = ""
    while infos := caller.run(lists.page, after=after):
        yield from infos
        after = infos[-1].name


def is_awaited_by_name(caller: Caller, name: str) -> bool:
    """Return whether something waits for the list's gate to be cleared."""
    try:
        info = caller.run(lists.show, name)
    except NoSuchList:
        return False
    return info.state == "open" and (info.sealed or (not info.settings.manual and info.counts.gated > 0))


def count_existing(caller: Caller, name: str, keys: Sequence[str]) -> int:
    """Count those of the keys that are on the list."""
    return _bulk(caller, DELETE_ITEMS, name, keys, dry_run=True)


def count_retryable(caller: Caller, name: str, keys: Sequence[str]) -> int:
    """Count those of the keys that a retry would change."""
    return _bulk(caller, RETRY_ITEMS, name, keys, dry_run=True)


def search(caller: Caller, name: str, where: ItemFilter, *, after: str = "", limit: int = 100) -> SearchPage:
    """Return items that match."""
    found = caller.transport.send(SEARCH_ITEMS, ApiRequest((name,), {**_sent(where), "after": after, "count": limit}))
    return SearchPage(found.items, found.next)


def count(caller: Caller, name: str, where: ItemFilter, *, after: str = "", retryable: bool = False) -> MatchCount:
    """Count the items that match."""
    query = {**_sent(where), "after": after, "retryable": retryable}
    counted: MatchCount = caller.transport.send(COUNT_ITEMS, ApiRequest((name,), query))
    return counted


def change_matching(
    caller: Caller,
    name: str,
    where: ItemFilter,
    *,
    change: ItemChange,
    after: str = "",  # noqa: ARG001
    limit: int = KEYS_PER_CHANGE,  # noqa: ARG001
) -> tuple[int, str | None]:
    """Change all items that match: the server goes on by itself to the end."""
    operation = BULK_OPERATIONS[change]
    return _bulk(caller, operation, name, None, **_sent(where)), None


def save_matching(
    caller: Caller,
    name: str,
    where: ItemFilter,
    *,
    changes: CheckedChanges,
    after: str = "",  # noqa: ARG001
    limit: int = SAVES_PER_CHANGE,  # noqa: ARG001
) -> tuple[int, str | None]:
    """Change all items that match: the server goes on by itself to the end."""
    request = ApiRequest((name,), _sent(where), ItemChanges.from_argument(changes))
    return caller.ask(SAVE_ITEMS, request), None


def _sent(where: ItemFilter) -> dict[str, Any]:
    where.check()
    if where == ItemFilter():
        where = ItemFilter(attempts=0)  # a server takes no empty filter for all items
    known = {name: value for name, value in msgspec.structs.asdict(where).items() if value is not None}
    return known if where.prefix else {name: value for name, value in known.items() if name != "prefix"}


def _bulk(caller: Caller, operation: Operation, name: str, keys: Sequence[str] | None, **query: Any) -> int:
    body = None if keys is None else operation.body(keys)
    count: int = caller.ask(operation, ApiRequest((name,), query, body))
    return count


def define(caller: Caller, schedule: str, plan: Plan, *, version: int | None = None) -> Change:
    """Make the schedule, or make it what is given; NoSuchSchedule if a version is given and it does not exist."""
    request = PUT_SCHEDULE.request(schedule, plan, version=version)
    try:
        change: Change = caller.ask(PUT_SCHEDULE, request, reads=ScheduleChange)
    except StaleVersion as stale:
        if stale.fields.get("version") is None:
            caller.run(schedules.show, schedule)  # raises what an engine raises
        raise
    return change


def retry(caller: Caller, deliveries: Sequence[FailedDelivery]) -> int:
    """Make failed deliveries ready again, those of each list by a request."""
    by_list = groupby(deliveries, key=lambda each: each.list)
    return sum(caller.run(items.retry, name, [each.key for each in group]) for name, group in by_list)


VERBS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    lists.find: find,
    lists.settings_of: settings_of,
    lists.gate_number: gate_number,
    backlog.unfinished: unfinished,
    backlog.with_work: with_work,
    gates.is_awaited_by_name: is_awaited_by_name,
    failures.count_existing: count_existing,
    failures.count_retryable: count_retryable,
    item_search.page: search,
    item_search.count: count,
    item_search.change: change_matching,
    item_search.save: save_matching,
    schedules.define: define,
    records.retry: retry,
}
