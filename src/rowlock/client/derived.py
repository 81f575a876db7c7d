"""Verbs that a client answers by other operations: what a database reads in one statement takes more over HTTP."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Protocol

import msgspec

from rowlock import failures, gates, items, lists, schedules, workload
from rowlock.api.bulk import ABANDON_ITEMS, DELETE_ITEMS, RETRY_ITEMS
from rowlock.api.operation import ApiRequest, Operation
from rowlock.api.records import FAILED_DELIVERIES, FailedDeliveryPage
from rowlock.api.schedules import PUT_SCHEDULE
from rowlock.api.topics import SHOW_TOPIC, UNSUBSCRIBE
from rowlock.client.transport import Transport
from rowlock.errors import NoSuchList, StaleVersion
from rowlock.failures import Change as ItemChange
from rowlock.model import ListInfo, Settings
from rowlock.schedules import Change
from rowlock.schedules.plans import Plan
from rowlock.topics import records, subscriptions
from rowlock.topics.records import PAGE, Place
from rowlock.topics.subscriptions import TopicDetails


class Asker(Protocol):
    """Runs verbs and sends requests to a server."""

    transport: Transport

    def run(self, verb: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Have a verb run by the server."""

    def ask(self, operation: Operation, request: ApiRequest) -> Any:
        """Send a request, and return what the verb returned there."""


def find(asker: Asker, name: str) -> lists.ListRow | None:
    """The list's row without its number, which is the database's own; None if there is none."""
    try:
        return _row(asker.run(lists.show, name))
    except NoSuchList:
        return None


def _row(info: ListInfo) -> lists.ListRow:
    return lists.ListRow(0, info.name, info.state, info.gate, info.sealed, info.version, info.settings)


def settings_of(asker: Asker, names: Sequence[str]) -> dict[str, Settings]:
    """The settings of lists that exist, by name."""
    found = {name: find(asker, name) for name in names}
    return {name: row.settings for name, row in found.items() if row is not None}


def gate_number(asker: Asker, name: str, gate: int | str) -> int:
    """The number of one of the list's gates that may be given by its name."""
    row = find(asker, name)
    return (row.settings if row else Settings()).gate_number(gate)


def unfinished(asker: Asker, *, fits: Callable[[lists.ListRow], bool]) -> int:
    """How many items of fitting lists are ready, delayed, claimed or behind a gate that will open."""
    pairs = ((_row(info), info.counts) for info in _all(asker))
    return sum(workload.count_unfinished(row, counts) for row, counts in pairs if row.state == "open" and fits(row))


def with_work(asker: Asker, *, fits: Callable[[lists.ListRow], bool], holder: str) -> list[str]:
    """The names of fitting lists that have something for the holder's workers to do now."""
    free = ((_row(info), info.counts) for info in _all(asker) if info.holder in (None, holder))
    fitting = ((row, counts) for row, counts in free if workload.may_have_work(row) and fits(row))
    return [row.name for row, counts in fitting if workload.has_work(row, counts)]


def _all(asker: Asker) -> Iterator[ListInfo]:
    after = ""
    while infos := asker.run(lists.page, after=after):
        yield from infos
        after = infos[-1].name


def is_awaited_by_name(asker: Asker, name: str) -> bool:
    """Whether something waits for the list's gate to be done with."""
    try:
        info: ListInfo = asker.run(lists.show, name)
    except NoSuchList:
        return False
    return info.state == "open" and (info.sealed or (not info.settings.manual and info.counts.gated > 0))


def count_existing(asker: Asker, name: str, keys: Sequence[str]) -> int:
    """Of these keys how many are on the list."""
    return _changed(asker, DELETE_ITEMS, name, keys, dry_run=True)


def count_retryable(asker: Asker, name: str, keys: Sequence[str]) -> int:
    """Of these keys how many a retry would change."""
    return _changed(asker, RETRY_ITEMS, name, keys, dry_run=True)


def change_failed(
    asker: Asker,
    name: str,
    *,
    change: ItemChange,
    after: str = "",  # noqa: ARG001
    error: str | None = None,
    limit: int = 1000,  # noqa: ARG001
) -> tuple[int, str | None]:
    """Change all failed items: the server goes on by itself to the end."""
    operation = RETRY_ITEMS if change is items.retry else ABANDON_ITEMS
    dry_run = True if change is failures.count_given else None
    return _changed(asker, operation, name, None, state="failed", error=error, dry_run=dry_run), None


def _changed(asker: Asker, operation: Operation, name: str, keys: Sequence[str] | None, **query: Any) -> int:
    request = operation.request(name, keys or ())
    body = None if keys is None else request.body
    count: int = asker.ask(operation, msgspec.structs.replace(request, query=query, body=body))
    return count


def define(asker: Asker, schedule: str, plan: Plan, *, version: int | None = None) -> Change:
    """Make the schedule, or make it what is given; NoSuchSchedule if a version is given and it does not exist."""
    try:
        change: Change = asker.ask(PUT_SCHEDULE, PUT_SCHEDULE.request(schedule, plan, version=version))
    except StaleVersion as stale:
        if stale.fields.get("version") is None:
            asker.run(schedules.show, schedule)  # raises what an engine raises
        raise
    return change


def count(asker: Asker, topic: str) -> int:
    """How many subscriptions a topic has."""
    details: TopicDetails = asker.transport.send(SHOW_TOPIC, ApiRequest((topic,)))
    return details.subscriptions


def unsubscribe(asker: Asker, topic: str, ids: Sequence[int]) -> int:
    """Remove subscriptions by their numbers, each by a request."""
    removed: int = sum(asker.ask(UNSUBSCRIBE, ApiRequest((topic, str(number)))) for number in ids)
    return removed


def failed(asker: Asker, topic: str, *, after: Place = ("", ""), limit: int = PAGE) -> list[Place]:
    """Deliveries that failed, all attempts spent."""
    query = {"count": limit, "list": after[0] or None, "key": after[1] or None}
    page: FailedDeliveryPage = asker.transport.send(FAILED_DELIVERIES, ApiRequest((topic,), query))
    return [(each.list, each.key) for each in page.failed]


def retry(asker: Asker, places: Sequence[Place]) -> int:
    """Make failed deliveries ready again, those of each list by a request."""
    by_list = groupby(places, key=lambda place: place[0])
    retried: int = sum(asker.run(items.retry, name, [key for _, key in group]) for name, group in by_list)
    return retried


VERBS: Mapping[Callable[..., Any], Callable[..., Any]] = {
    lists.find: find,
    lists.settings_of: settings_of,
    lists.gate_number: gate_number,
    workload.unfinished: unfinished,
    workload.with_work: with_work,
    gates.is_awaited_by_name: is_awaited_by_name,
    failures.count_existing: count_existing,
    failures.count_retryable: count_retryable,
    failures.change_failed: change_failed,
    schedules.define: define,
    subscriptions.count: count,
    subscriptions.unsubscribe: unsubscribe,
    records.failed: failed,
    records.retry: retry,
}
