"""Routes of items: adding, paging, looking."""

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from io import BytesIO
from itertools import chain, groupby
from typing import IO, Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from rowlock import failures, idempotency, item_input, items, lists
from rowlock import results as stored
from rowlock.db import Transaction
from rowlock.errors import Invalid, Refused
from rowlock.http import kinds
from rowlock.http.bodies import decoded
from rowlock.http.call import Answer, Call
from rowlock.http.changes import Deleted
from rowlock.http.forms import ItemPage, NewItem, NewItems, Report, entry_of, moment_of
from rowlock.http.kinds import Kind
from rowlock.http.once import once
from rowlock.http.pages import Page, link
from rowlock.http.versions import Condition, condition
from rowlock.item_input import Batch, CheckedChanges, ItemDefaults
from rowlock.model import DEFAULT_PRIORITY, NO_DATA, Added, Failure, Item, ItemDetails
from rowlock.results import Result

PAGE = 1_000
PAGE_BYTES = 8 * 1024 * 1024
"""What a page may hold of data: one that is full before it has all its items is as good as any other."""
STREAM, STREAM_BYTES = 256, 128 * 1024
"""What a piece of a stream may hold: one of them waits for each client that does not read."""
FIRST, MANY = 4, 256
"""So many items are read at first, and many more at a time if these had little data: memory has its bounds."""
FEW = 1_000
"""Items that are looked through while others wait; more of them by a thread."""
BATCH_BYTES = 4 * 1024 * 1024

Due = Annotated[str, Meta(description="When they become ready: `5m`, or a time as ISO 8601 writes it.")]
Gate = Annotated[int, Meta(description="The gate that they wait at; the list's own if left out.")]
Count = Annotated[int, Meta(description="At most so many; text and NDJSON give all without it.")]
InState = Annotated[str, Meta(description="Only items that are ready, delayed, gated, claimed or failed.")]


class AddQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the items of one add have in common."""

    due: Due | None = None
    gate: Gate | None = None
    priority: Annotated[int, Meta(description="0 goes first, 9 last.")] = DEFAULT_PRIORITY
    strict: Annotated[bool, Meta(description="Refuse them all if one is there already.")] = False


class ItemChanges(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is to be different about an item; what is left out stays."""

    data: Any = UNSET
    due: str | float | UnsetType | None = UNSET
    """When it becomes ready; null is at once."""
    priority: int | UnsetType = UNSET


class ItemData(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an item carries, and where it stands if it is new."""

    data: Any = None
    due: str | float | UnsetType | None = UNSET
    gate: int | None = None
    priority: int | UnsetType = UNSET


class ResultPage(Page, frozen=True):
    """What an item left behind."""

    results: list[Result]


class FailurePage(Page, frozen=True):
    """How an item has failed, the newest first."""

    failures: list[Failure]


class HistoryQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much of an item's past."""

    count: Annotated[int, Meta(description="At most so many, the newest first.")] = 20


class PageQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which items."""

    count: Count | None = None
    after: Annotated[str, Meta(description="Strictly after this key, in byte order.")] = ""
    state: InState | None = None


async def add(call: Call) -> Added | Answer:
    """Add items; those that are there already stay as they are.

    Lines of text are keys, one to a line; JSON is a document with `items`; NDJSON is a key or an item to a line. If one
    is wrong, nothing is added. Where the answer is NDJSON the body is read as a stream of any length instead, and
    committed batch by batch: each line of the answer tells what was added so far.
    """
    query: AddQuery = call.query
    shared = ItemDefaults(None, moment_of(query.due), query.gate, query.priority, trace=call.traceparent)
    if call.kind is Kind.NDJSON:
        return Answer(stream=_add_stream(call, shared))
    if call.sent is Kind.JSON:
        return await _added(call, await _of_document(call, shared))
    if call.body.small:
        return await _added(call, _of_lines(call, await call.body.whole(call.service.limits.body_bytes), shared))
    with await call.body.file() as file:
        kinds.refuse_unlabelled(call.header(b"content-type"), file.readline(kinds.FIRST_BYTES))
        file.seek(0)
        ready = await call.service.executor.run_in_thread(lambda: item_input.check_all(_read(call, file, shared)))
    return await _added(call, ready)


def _of_lines(call: Call, body: bytes, shared: ItemDefaults) -> list[Batch]:
    kinds.refuse_unlabelled(call.header(b"content-type"), body)
    quick = item_input.batch_of_simple_lines(body, shared) if call.sent is Kind.TEXT else None
    return list(_read(call, BytesIO(body), shared)) if quick is None else [quick]


async def _added(call: Call, batches: Iterable[Batch]) -> Added | Answer:
    executor, name, strict = call.service.executor, call.path["list"], call.query.strict
    if not call.header(b"idempotency-key"):
        return await executor.write(items.add, name, batches, strict=strict)
    asked = await executor.run_in_thread(lambda: [name, strict, *_digests(batches)])
    work, many = partial(_add, name=name, batches=batches, strict=strict), not isinstance(batches, list)
    added, headers = await once(call, work, asked=asked, apart=many)
    return Answer(Added(*added), headers=headers)


def _add(tx: Transaction, *, name: str, batches: Iterable[Batch], strict: bool) -> tuple[int, int]:
    added = items.add(tx, name, batches, strict=strict)
    return added.added, added.existing


def _digests(batches: Iterable[Batch]) -> Iterator[str]:
    return (idempotency.digest(batch.json, item_input.encode_json(batch.same)) for batch in batches)


async def _of_document(call: Call, shared: ItemDefaults) -> list[Batch]:
    given: NewItems = await call.document()

    def ready() -> list[Batch]:
        return list(item_input.batches([entry_of(each) for each in given.items], shared))

    return ready() if len(given.items) <= FEW else await call.service.executor.run_in_thread(ready)


def _read(call: Call, file: IO[bytes], shared: ItemDefaults) -> Iterator[Batch]:
    if call.sent is Kind.TEXT:
        return item_input.batches(file, shared)
    return _documents(file, shared, 1)


def _documents(lines: Iterable[bytes], shared: ItemDefaults, first_line: int) -> Iterator[Batch]:
    """Batches of what stands on lines, each a JSON document; blank ones are passed over, and numbers stay true."""
    for blank, run in groupby(enumerate(lines, first_line), lambda each: not each[1].strip()):
        if not blank:
            first = next(run)
            found = (entry_of(decoded(line, str | NewItem, line=number)) for number, line in chain((first,), run))
            yield from item_input.batches(found, shared, first_line=first[0])


async def _add_stream(call: Call, shared: ItemDefaults) -> AsyncIterator[Report]:
    so_far = Report(0, 0, 0)
    async for lines in _batches(call):
        await call.service.recheck(call)  # the next lines may have come long after the first
        if not so_far.lines:
            kinds.refuse_unlabelled(call.header(b"content-type"), b"".join(lines[:1]))
        so_far = await _commit(call, lines, shared, so_far)
        yield so_far


async def _batches(call: Call) -> AsyncIterator[list[bytes]]:
    """The lines of the body in batches that are neither too many nor too large; an empty one if there are none."""
    most = call.service.limits.batch_items
    waiting: list[bytes] = []
    async for lines in call.body.lines():
        waiting += lines
        while len(waiting) > most:
            yield waiting[:most]
            waiting = waiting[most:]
        if sum(map(len, waiting)) > BATCH_BYTES:
            yield waiting
            waiting = []
    yield waiting


async def _commit(call: Call, lines: list[bytes], shared: ItemDefaults, so_far: Report) -> Report:
    ready = await call.service.executor.run_in_thread(lambda: list(_ready(call, lines, shared, so_far.lines + 1)))
    strict = call.query.strict
    added = await call.service.executor.write(items.add, call.path["list"], ready, strict=strict)
    return Report(so_far.lines + len(lines), so_far.added + added.added, so_far.existing + added.existing)


def _ready(call: Call, lines: list[bytes], shared: ItemDefaults, first_line: int) -> Iterator[Batch]:
    if call.sent is Kind.TEXT:
        return item_input.batches(BytesIO(b"\n".join(lines)), shared, first_line=first_line)
    return _documents(lines, shared, first_line)


async def page(call: Call) -> Answer:
    """A list's items in the byte order of their keys; none for a list that is not there."""
    query: PageQuery = call.query
    if query.count is None and call.kind is not Kind.JSON:
        return Answer(stream=_all(call, query))
    count = PAGE if query.count is None else query.count
    found, more = await _page(call, query.after, count)
    after = found[-1].key if found and more else None
    return Answer(ItemPage(found, after), headers=link(call, after, count=count, state=query.state))


async def _page(
    call: Call, after: str, count: int, *, first: int = FIRST, most: int = PAGE_BYTES
) -> tuple[list[Item], bool]:
    if not 0 <= count <= call.service.limits.page_items:
        what = f"a page of {count} items cannot be had"
        raise Invalid(
            what, f"ask for up to {call.service.limits.page_items}, or for all as text or NDJSON, without count"
        )
    name, state = call.path["list"], call.query.state
    read = call.service.executor.read
    return await read(_some, name, after=after, count=count, state=state, first=first, most=most)


def _some(
    tx: Transaction, name: str, *, after: str, count: int, state: str | None, first: int, most: int
) -> tuple[list[Item], bool]:
    """Items up to that many, fewer if they carry much data; and whether there may be more."""
    found: list[Item] = []
    held, step = 0, min(count, first)
    while step:
        some = items.page(tx, name, after=after, limit=step, state=state)
        found += some
        if len(some) < step:
            return found, False
        held += sum(len(memoryview(item.raw)) for item in some if item.raw != NO_DATA)
        if held >= most:
            break
        fitting = len(found) * (most - held) // held if held else MANY
        after, step = some[-1].key, min(count - len(found), MANY, fitting)
    return found, True


async def _all(call: Call, query: PageQuery) -> AsyncIterator[ItemPage]:
    after, more, first = query.after, True, FIRST
    while more:
        found, more = await _page(call, after, STREAM, first=first, most=STREAM_BYTES)
        if found:
            yield ItemPage(found, None)
            after, first = found[-1].key, len(found)


async def put(call: Call) -> Answer:
    """Add an item, or give the one that is there other data, and another due time and priority if they are said.

    What a worker has in hand stays as it was handed out: 409 `item-claimed`.
    """
    given: ItemData = await call.document()
    name, key = call.path["list"], call.path["key"]
    [batch] = item_input.batches([_entry(key, given)], ItemDefaults(trace=call.traceparent))
    made, item, failed = await call.service.executor.write(_put, name, batch, _changes(key, given), condition(call))
    return Answer(ItemDetails.of(item, failed), 201 if made else 200, version=item.version)


async def patch(call: Call) -> Answer:
    """Change an item's data, due time or priority, and leave the rest."""
    given: ItemChanges = await call.document()
    name, key = call.path["list"], call.path["key"]
    changes = item_input.read_changes(key, data=given.data, due=_due(given.due), priority=given.priority)
    item, failed = await call.service.executor.write(_save, name, key, changes, condition(call))
    return Answer(ItemDetails.of(item, failed), version=item.version)


def _entry(key: str, given: ItemData) -> Any:
    due = None if given.due is UNSET else given.due
    return entry_of(NewItem(key, given.data, due, given.gate, None if given.priority is UNSET else given.priority))


def _changes(key: str, given: ItemData) -> CheckedChanges:
    return item_input.read_changes(key, data=given.data, due=_due(given.due), priority=given.priority)


def _due(due: str | float | UnsetType | None) -> Any:
    return due if due is UNSET else moment_of(due)


def _put(
    tx: Transaction, name: str, batch: Batch, changes: CheckedChanges, holds: Condition
) -> tuple[bool, Item, list[Failure]]:
    [key] = batch.keys()
    with tx.savepoint():
        held = _checked(tx, name, key, holds)
        if held is None:
            if items.add(tx, name, [batch]).added:
                return True, *_show(tx, name, key)
            # Somebody was faster: then theirs is changed, if what must hold holds for it.
            held = _checked(tx, name, key, holds)
        gate = batch.lowest_gate
        if held is not None and gate not in (None, held.gate):
            what = f"the item {key!r} of {name!r} stands at gate {held.gate}, not {gate}"
            raise Refused(what, "leave the gate out; a worker moves it")
        items.save(tx, name, key, changes=changes)
        return False, *_show(tx, name, key)


def _checked(tx: Transaction, name: str, key: str, holds: Condition) -> items.LockedItem | None:
    held = _held(tx, name, key)
    holds.check(held.version if held else None, f"the item {key!r} of {name!r}")
    return held


def _save(
    tx: Transaction, name: str, key: str, changes: CheckedChanges, holds: Condition
) -> tuple[Item, list[Failure]]:
    held = _held(tx, name, key)
    if held is not None:
        holds.check(held.version, f"the item {key!r} of {name!r}")
    items.save(tx, name, key, changes=changes)
    return _show(tx, name, key)


def _held(tx: Transaction, name: str, key: str) -> items.LockedItem | None:
    row = lists.find(tx, name)
    return None if row is None else items.lock(tx, row, key)


async def remove(call: Call) -> Deleted:
    """Take an item off the list: it counts as done.

    To give up on it instead, `POST /v1/lists/{list}/items/abandon`.
    """
    name, key = call.path["list"], call.path["key"]
    return Deleted(await call.service.executor.write(_remove, name, key, condition(call)))


def _remove(tx: Transaction, name: str, key: str, holds: Condition) -> int:
    if holds != Condition():
        _checked(tx, name, key, holds)
    return items.done(tx, name, [key])


async def results(call: Call) -> ResultPage:
    """What an item left behind when it was done, the newest first; only where the list keeps results."""
    name, key = call.path["list"], call.path["key"]
    return ResultPage(await call.service.executor.read(stored.of_item, name, key, limit=call.query.count))


async def failed(call: Call) -> FailurePage:
    """How an item has failed, the newest first; also after it is gone, while errors are kept."""
    name, key = call.path["list"], call.path["key"]
    return FailurePage(await call.service.executor.read(failures.of_item, name, key, limit=call.query.count))


async def show(call: Call) -> Answer:
    """One item: its state, its data, how it has failed."""
    item, failed = await call.service.item_reader.item(call.path["list"], call.path["key"])
    return Answer(ItemDetails.of(item, failed), version=item.version)


def _show(tx: Transaction, name: str, key: str) -> tuple[Item, list[Failure]]:
    item = items.show(tx, name, key)
    return item, failures.of_item(tx, name, key)
