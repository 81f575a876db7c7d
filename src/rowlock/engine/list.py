"""The handle of a list: each method calls the database, nothing is cached."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Unpack

from msgspec import UnsetType

from rowlock import (
    done_keys,
    failures,
    gates,
    item_input,
    item_search,
    items,
    key_ranges,
    lists,
    overview,
    results,
    throughput,
    tracing,
)
from rowlock.durations import milliseconds
from rowlock.engine.protocols import NamedHandle
from rowlock.errors import Invalid, InvalidKey, InvalidTransaction, NotFound
from rowlock.failures import FailureGroup
from rowlock.item_input import Batch, Entries, ItemDefaults
from rowlock.item_search import Change, Conditions, ItemFilter, MatchCount, SearchPage
from rowlock.key_ranges import Range
from rowlock.model import (
    DEFAULT_PRIORITY,
    Added,
    Counts,
    Duration,
    DurationOrTime,
    Failure,
    GateInfo,
    Item,
    ListInfo,
    Progress,
    Settings,
    Then,
)
from rowlock.names import short_repr
from rowlock.outcomes import UNCHANGED
from rowlock.overview import ItemOverview, ListDetails
from rowlock.progress import ProgressSnapshot, ProgressTracker, is_over
from rowlock.results import Result
from rowlock.throughput import Throughput
from rowlock.tracing import check_traceparent

if TYPE_CHECKING:
    from rowlock.trees import RankedSet

Keys = str | Iterable[str]
MIN_WATCH_SECONDS = 0.1
MAX_WATCH_SECONDS = 60.0
"""A cancelled async watch waits for the end of its pause."""


class List(NamedHandle):
    """A list by its name; it need not exist yet. Each method calls the database, nothing is cached."""

    _noun = "list"

    def add(
        self,
        what: Entries,
        *,
        data: Any = None,
        due: DurationOrTime | None = None,
        gate: int | str | None = None,
        priority: int = DEFAULT_PRIORITY,
        strict: bool = False,
        trace: str | None = None,
        using: Any = None,
        report: Callable[[int], None] | None = None,
    ) -> Added:
        """Add a key, any iterable of keys and mappings, or an open file of lines; if one is invalid, none is added.

        What is there already stays as it is; `strict` refuses it. `using` is an open transaction of yours to do it in.
        `trace` is a W3C traceparent; left out, it is that of the OpenTelemetry span that goes on, if one does.
        `report` is called with the number of items written so far, from the start if the transaction is run again.
        """
        runner = self._joined(using)
        traced = tracing.current_traceparent() if trace is None else check_traceparent(trace)
        shared = ItemDefaults(
            data, due, gate, priority, lambda name: runner.read(lists.gate_number, self.name, name), traced
        )
        ready = item_input.read_all(what, shared)
        return runner.run(items.add, self.name, _Reported(ready, report) if report else ready, strict=strict)

    def page(self, *, after: str = "", limit: int = 1000, state: str | None = None) -> list[Item]:
        """Return items in the byte order of their keys, strictly after one."""
        return self._runner.read(items.page, self.name, after=after, limit=limit, state=state)

    def __contains__(self, key: object) -> bool:
        try:
            return isinstance(key, str) and self.show(key).key == key
        except NotFound:
            return False

    def __iter__(self) -> Iterator[Item]:
        return self.items()

    def items(
        self, *, state: str | None = None, after: str = "", upto: str | None = None, page: int = 1000
    ) -> Iterator[Item]:
        """Iterate over all items in the byte order of their keys, or over a range, read page by page."""
        while batch := self.page(after=after, limit=page, state=state):
            if upto is not None and upto < batch[-1].key:  # code points sort as their bytes do
                yield from (item for item in batch if item.key <= upto)
                return
            yield from batch
            after = batch[-1].key

    def show(self, key: str) -> Item:
        """Return one item; NoSuchItem if it is not on the list."""
        return self._runner.read(items.show, self.name, key)

    def save(
        self,
        key: str,
        *,
        data: Any = UNCHANGED,
        due: DurationOrTime | UnsetType | None = UNCHANGED,
        priority: int | UnsetType = UNCHANGED,
        version: int | None = None,
    ) -> Item:
        """Change the given fields of an item, and return the item after the change.

        With `version`, only if it is at that one still: else StaleVersion. Without it the last one to save wins. One
        that is gone is NoSuchItem and stays gone; one that a worker has in hand is ItemClaimed.
        """
        changes = item_input.read_changes(key, data=data, due=due, priority=priority)
        return self._runner.run(items.save, self.name, key, changes=changes, version=version)

    def failures(self, key: str, *, limit: int = 20) -> list[Failure]:
        """Return the failures of an item, the newest first."""
        return self._runner.read(failures.of_item, self.name, key, limit=limit)

    def results(self, key: str, *, limit: int = 20) -> list[Result]:
        """Return the results of an item, the newest first; only where the list keeps results."""
        return self._runner.read(results.of_item, self.name, key, limit=limit)

    def newest_results(self, *, after: str = "", limit: int = 1000) -> list[Result]:
        """Return the newest result of each key, in the byte order of the keys, strictly after one."""
        return self._runner.read(results.page, self.name, after=after, limit=limit)

    def remembered(self) -> int:
        """Return how many keys are remembered as done: a list with the setting `once` does not add them again."""
        return self._runner.read(done_keys.count, self.name)

    def forget(self, keys: Keys | None = None, *, older: Duration | None = None) -> int:
        """Forget that keys were done, or all that were done at least `older` ago; return how many.

        They can be added again. By age, each 10,000 are a transaction.
        """
        if keys is not None or older is None:
            given = None if keys is None else _listed(keys)
            return self._runner.run(done_keys.forget, self.name, keys=given, older=older)
        forgotten = 0
        while some := self._runner.run(done_keys.forget, self.name, older=older):
            forgotten += some
        return forgotten

    def failure_groups(self, *, limit: int = 50) -> list[FailureGroup]:
        """Return failed items grouped by the shape of their last error, the most frequent first."""
        return self._runner.read(failures.groups, self.name, limit=limit)

    def keys_matching_error(self, text: str, *, after: str = "", limit: int = 1000) -> list[str]:
        """Return the keys of failed items whose last error contains the text, in byte order, strictly after one."""
        return self._runner.read(item_search.keys_matching_error, self.name, text, after=after, limit=limit)

    def increment(self, keys: Keys, *, error: str | None = None) -> int:
        """Note one failed attempt for each key, and return how many are on the list."""
        return self._runner.run(items.increment, self.name, _listed(keys), error=error)

    def done(self, keys: Keys, *, dry_run: bool = False) -> int:
        """Take items that are done off the list, and return how many were there; `dry_run` only counts them."""
        return self._change(items.done, failures.count_existing, keys, dry_run=dry_run)

    def abandon(self, keys: Keys, *, dry_run: bool = False) -> int:
        """Take items off the list undone, and return how many were there; `dry_run` only counts them."""
        return self._change(items.abandon, failures.count_existing, keys, dry_run=dry_run)

    def retry(self, keys: Keys, *, dry_run: bool = False) -> int:
        """Make failed and delayed items ready at once, and return how many were; `dry_run` only counts them."""
        return self._change(items.retry, failures.count_retryable, keys, dry_run=dry_run)

    def _change(self, change: Change, count: Change, keys: Keys, *, dry_run: bool) -> int:
        if dry_run:
            return self._runner.read(count, self.name, _listed(keys))
        return self._runner.run(change, self.name, _listed(keys))

    def search(self, *, after: str = "", limit: int = 100, **where: Unpack[Conditions]) -> SearchPage:
        """Return items that match `state`, `prefix`, `error`, `attempts` and `gate`, strictly after a key.

        Looks at 5,000 items at most: a page may hold fewer than `limit`, and its `next` says where to go on.
        """
        return self._runner.read(item_search.page, self.name, ItemFilter(**where), after=after, limit=limit)

    def count_matching(self, *, after: str = "", **where: Unpack[Conditions]) -> MatchCount:
        """Count the items that match, of the next 20,000; there may be more if `next` is not None."""
        return self._runner.read(item_search.count, self.name, ItemFilter(**where), after=after)

    def done_matching(self, *, dry_run: bool = False, **where: Unpack[Conditions]) -> int:
        """Take all items that match off the list as done, and return how many; `dry_run` only counts them.

        Up to a thousand are a transaction, here and for the other changes of all that match.
        """
        return self._change_matching(items.done, ItemFilter(**where), dry_run=dry_run)

    def abandon_matching(self, *, dry_run: bool = False, **where: Unpack[Conditions]) -> int:
        """Take all items that match off the list undone, and return how many; `dry_run` only counts them."""
        return self._change_matching(items.abandon, ItemFilter(**where), dry_run=dry_run)

    def retry_matching(self, *, dry_run: bool = False, **where: Unpack[Conditions]) -> int:
        """Make all failed and delayed items that match ready, and return how many; `dry_run` only counts them."""
        return self._change_matching(items.retry, ItemFilter(**where), dry_run=dry_run)

    def retry_failed(self, *, error: str | None = None, dry_run: bool = False) -> int:
        """Make all failed items ready, or those whose last error contains `error`, and return how many."""
        return self.retry_matching(state="failed", error=error, dry_run=dry_run)

    def abandon_failed(self, *, error: str | None = None, dry_run: bool = False) -> int:
        """Take all failed items off the list, or those whose last error contains `error`, and return how many."""
        return self.abandon_matching(state="failed", error=error, dry_run=dry_run)

    def _change_matching(self, verb: Change, where: ItemFilter, *, dry_run: bool) -> int:
        changed, after = 0, ""
        while True:
            if dry_run:
                found = self._runner.read(
                    item_search.count, self.name, where, after=after, retryable=verb is items.retry
                )
                count, last = found.count, found.next
            else:
                count, last = self._runner.run(item_search.change, self.name, where, change=verb, after=after)
            changed += count
            if last is None:
                return changed
            after = last

    def save_matching(
        self,
        *,
        data: Any = UNCHANGED,
        due: DurationOrTime | UnsetType | None = UNCHANGED,
        priority: int | UnsetType = UNCHANGED,
        **where: Unpack[Conditions],
    ) -> int:
        """Change the given fields of all items that match, and return how many; a hundred are a transaction.

        Claimed items stay as they are; so do failed ones, if the due time is given.
        """
        changes = item_input.read_changes("all that match", data=data, due=due, priority=priority)
        changed = 0
        after: str | None = ""
        while after is not None:
            count, after = self._runner.run(
                item_search.save, self.name, ItemFilter(**where), changes=changes, after=after
            )
            changed += count
        return changed

    def ranges(self, parts: int) -> list[Range]:
        """Return the keys as up to `parts` ranges whose sizes differ by at most one, however long the list is."""
        return self._runner.read(key_ranges.split, self.name, parts)

    def snapshot(self) -> "RankedSet[str]":
        """Return all keys as they are now, in a tree in memory with rank, nth and slices."""
        return self._runner.read(key_ranges.snapshot, self.name)

    def info(self) -> ListInfo:
        """Return the list's counts, progress and settings; NoSuchList if it does not exist."""
        return self._runner.read(lists.show, self.name)

    def counts(self) -> Counts:
        """Return how many items are in each state; exact and fast for any number."""
        return self.info().counts

    def progress(self) -> Progress:
        """Return what has happened to the list's items since it was created."""
        return self.info().progress

    def watch(self, *, every: Duration = "1s") -> Iterator[ProgressSnapshot]:
        """Iterate over the progress from now on, until nothing is left that is worked by itself; waits in between.

        The first snapshot comes at once, and the last one when the list is done. NoSuchList if it does not exist.
        """
        seconds = milliseconds(every) / 1_000
        if not MIN_WATCH_SECONDS <= seconds <= MAX_WATCH_SECONDS:
            raise Invalid(f"every must be 100ms to 1m, got {every!r}", "leave it out for one second")
        if self._environment is None:
            hint = "watch a list of the engine: it sees what others commit"
            raise InvalidTransaction("a list of an open transaction cannot be watched", hint)
        info = self.info()
        tracker = ProgressTracker(info.progress, self._environment.monotonic)
        yield tracker.snapshot(info)
        while not is_over(info):
            self._environment.sleep(seconds)
            info = self.info()
            yield tracker.snapshot(info)

    def overview(self, *, span: Duration = "1h") -> ListDetails:
        """Return the list with its gates, the sessions that work it, and its throughput in a span."""
        return self._runner.read(overview.of_list, self.name, span=span)

    def item_overview(self, key: str) -> ItemOverview:
        """Return an item with its failures, how long it has waited and a worker has held it, and its results."""
        return self._runner.read(overview.of_item, self.name, key)

    def throughput(self, *, span: Duration = "1h") -> Throughput:
        """Return how many items were added, done and failed in each minute, hour or day of a span."""
        return self._runner.read(throughput.of_list, self.name, span=span)

    def settings(self, *, version: int | None = None, **changes: Any) -> Settings:
        """Return the list's settings after setting those given, which creates the list."""
        if not changes:
            return self.info().settings
        return self._runner.run(lists.change_settings, self.name, changes, version=version, create=True).settings

    def gates(self) -> list[GateInfo]:
        """Return the gates: whether each is open, its items, and its progress."""
        return self._runner.read(gates.show, self.name)

    def open_gate(self, gate: int | str) -> bool:
        """Open a gate by hand; return whether that changed anything. GateShut if there are items before it."""
        return self._runner.run(gates.open_gate, self.name, gate)

    def seal(self, *, then: str | Then | None = None) -> bool:
        """Take no more items, complete when none is left and add `then` to another list; return whether that is new."""
        return self._runner.run(gates.seal, self.name, then=Then(then) if isinstance(then, str) else then)

    def complete(self) -> bool:
        """Complete the list by hand, whatever is left on it; return whether that changed anything."""
        return self._runner.run(gates.complete, self.name)

    def reopen(self) -> bool:
        """Take items again after a seal or completion; return whether that changed anything."""
        return self._runner.run(gates.reopen, self.name)

    def pause(self, *, version: int | None = None) -> bool:
        """Stop claims; return whether that changed anything. Claimed items may still be settled."""
        return self._runner.run(lists.pause, self.name, version=version)

    def resume(self, *, version: int | None = None) -> bool:
        """Allow claims again; return whether that changed anything."""
        return self._runner.run(lists.resume, self.name, version=version)

    def rename(self, to: str, *, version: int | None = None) -> None:
        """Rename the list; NameTaken if the name is in use."""
        self._runner.run(lists.rename, self.name, to, version=version)
        self.name = to

    def drop(self, *, version: int | None = None) -> int:
        """Delete the list with all its items and history, and return how many items it had."""
        return self._runner.run(lists.drop, self.name, version=version)


def _listed(keys: Keys) -> list[str]:
    if isinstance(keys, str):
        return [keys]
    given: object = keys
    if not isinstance(given, Iterable) or isinstance(given, bytes):
        what = f"keys must be text or an iterable of text, got {type(keys).__name__} {short_repr(keys)}"
        raise InvalidKey(what, f"give {str(keys)!r}" if isinstance(keys, int) else "give one key or several")
    return list(given)


class _Reported:
    """Batches whose items are counted and reported as they are written; a transaction may read them again."""

    def __init__(self, batches: Iterable[Batch], report: Callable[[int], None]) -> None:
        self._batches = batches
        self._report = report

    def __iter__(self) -> Iterator[Batch]:
        written = 0
        for batch in self._batches:
            yield batch
            written += len(batch.entries)
            self._report(written)
