"""Routes of items: adding, paging, looking."""

from collections.abc import AsyncIterator, Iterable, Iterator
from io import BytesIO
from typing import IO, Annotated, Any

import msgspec
from msgspec import Meta

from rowlock import entries, failures, items
from rowlock.db import Transaction
from rowlock.entries import Batch, Shared
from rowlock.http.bodies import decoded
from rowlock.http.call import Answer, Call
from rowlock.http.forms import ItemPage, NewItem, NewItems, Report, details, entry_of, moment_of, shown
from rowlock.http.kinds import Kind
from rowlock.http.pages import link
from rowlock.model import DEFAULT_PRIORITY, Added, Failure, Item

PAGE = 1_000
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
    shared = Shared(None, moment_of(query.due), query.gate, query.priority)
    if call.kind is Kind.NDJSON:
        return Answer(stream=_add_stream(call, shared))
    bridge, name = call.service.bridge, call.path["list"]
    if call.sent is Kind.JSON:
        given: NewItems = await call.document()
        batches = list(entries.batches([entry_of(each) for each in given.items], shared))
        return await bridge.write(items.add, name, batches, strict=query.strict)
    file = await call.body.file()
    if call.body.small:
        return await bridge.write(items.add, name, list(_read(call, file, shared)), strict=query.strict)
    ready = await bridge.thread(lambda: entries.read_through(_read(call, file, shared)))
    return await bridge.write(items.add, name, ready, strict=query.strict)


def _read(call: Call, file: IO[bytes], shared: Shared) -> Iterator[Batch]:
    if call.sent is Kind.TEXT:
        return entries.batches(file, shared)
    return entries.batches(_entries(file), shared)


def _entries(lines: Iterable[bytes]) -> Iterator[Any]:
    return (entry_of(decoded(line, str | NewItem)) for line in lines if not line.isspace())


async def _add_stream(call: Call, shared: Shared) -> AsyncIterator[Report]:
    """Commit what comes batch by batch."""
    so_far = Report(0, 0, 0)
    waiting: list[bytes] = []
    size = 0
    async for lines in call.body.lines():
        waiting += lines
        size += sum(map(len, lines))
        if len(waiting) >= call.service.limits.batch_items or size >= BATCH_BYTES:
            so_far = await _commit(call, waiting, shared, so_far)
            yield so_far
            waiting, size = [], 0
    yield await _commit(call, waiting, shared, so_far)


async def _commit(call: Call, lines: list[bytes], shared: Shared, so_far: Report) -> Report:
    ready = await call.service.bridge.thread(lambda: list(_ready(call, lines, shared, so_far.lines + 1)))
    strict = call.query.strict
    added = await call.service.bridge.write(items.add, call.path["list"], ready, strict=strict)
    return Report(so_far.lines + len(lines), so_far.added + added.added, so_far.existing + added.existing)


def _ready(call: Call, lines: list[bytes], shared: Shared, first_line: int) -> Iterator[Batch]:
    if call.sent is Kind.TEXT:
        return entries.batches(BytesIO(b"\n".join(lines)), shared, first_line=first_line)
    return entries.batches(list(_entries(lines)), shared, first_line=first_line)


async def page(call: Call) -> Answer:
    """A list's items in the byte order of their keys; none for a list that is not there."""
    query: PageQuery = call.query
    if query.count is None and call.kind is not Kind.JSON:
        return Answer(stream=_all(call, query))
    count = PAGE if query.count is None else query.count
    found = await _page(call, query.after, count)
    after = found[-1].key if found and len(found) == count else None
    return Answer(ItemPage(list(map(shown, found)), after), headers=link(call, after, count=count, state=query.state))


async def _page(call: Call, after: str, count: int) -> list[Item]:
    name, state = call.path["list"], call.query.state
    return await call.service.bridge.read(items.page, name, after=after, limit=count, state=state)


async def _all(call: Call, query: PageQuery) -> AsyncIterator[ItemPage]:
    after = query.after
    while found := await _page(call, after, PAGE):
        yield ItemPage(list(map(shown, found)), None)
        after = found[-1].key


async def show(call: Call) -> Answer:
    """One item: its state, its data, how it has failed."""
    item, failed = await call.service.bridge.read(_show, call.path["list"], call.path["key"])
    return Answer(details(item, failed), version=item.version)


def _show(tx: Transaction, name: str, key: str) -> tuple[Item, list[Failure]]:
    item = items.show(tx, name, key)
    return item, failures.of_item(tx, name, key)
