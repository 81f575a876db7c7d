"""Endpoints of items: add them from bodies of any length, read them one by one or in pages, change many at once."""

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from functools import partial
from io import BytesIO
from itertools import chain, groupby
from typing import IO, Any

import msgspec

from rowlock import failures, idempotency, item_input, item_resources, item_search, items
from rowlock.api.items import (
    AddQuery,
    BulkQuery,
    CountQuery,
    FilterQuery,
    FoundPage,
    ItemChanges,
    ItemPage,
    ItemsToAdd,
    ItemToAdd,
    Saved,
    SearchQuery,
    UploadProgress,
)
from rowlock.db.transaction import verb_name
from rowlock.errors import Invalid
from rowlock.http import media_types
from rowlock.http.auth import audit_context
from rowlock.http.endpoints import DEFAULT_ROWS, STREAMED_ROWS, next_link, read_body, run_once
from rowlock.http.media_types import MediaType
from rowlock.http.requests import Request, decode_json
from rowlock.http.responses import Response
from rowlock.item_input import Batch, ItemDefaults
from rowlock.item_resources import FIRST_ITEMS
from rowlock.item_search import ItemFilter, MatchCount
from rowlock.json_codec import encode_json
from rowlock.model import Added, Item, State
from rowlock.roles import Role

MAX_ITEMS_IN_LOOP = 1_000
"""Items of a document that the event loop checks; more of them are checked by a thread."""
BATCH_BYTES = 4 * 1024 * 1024
PAGE_BYTES, STREAMED_BYTES = 8 * 1024 * 1024, 128 * 1024
"""Bytes of data on a page, and in a piece of a stream."""

BulkVerb = Callable[[Any, str, Sequence[str]], int]


async def add(request: Request) -> Added | Response:
    """Add items; those that are there already stay as they are.

    Lines of text are keys, one to a line; JSON is a document with `items`; NDJSON is a key or an item to a line. If one
    is invalid, nothing is added. Where the response is NDJSON the body is read as a stream of any length instead, and
    committed batch by batch: each line of the response tells what was added so far.
    """
    query: AddQuery = request.query
    defaults = ItemDefaults(None, query.due, query.gate, query.priority, traceparent=request.traceparent)
    if request.response_type is MediaType.NDJSON:
        return Response(stream=_add_stream(request, defaults))
    batches: Iterable[Batch]
    if request.content_type is MediaType.JSON:
        document: ItemsToAdd = await request.document()
        read = partial(_batches_of_document, document, defaults)
        is_quick = len(document.items) <= MAX_ITEMS_IN_LOOP
        batches = read() if is_quick else await request.executor.run_in_thread(read)
    elif request.has_small_body:
        body = await request.body(request.service.limits.body_bytes)
        media_types.refuse_unlabelled_json(request.header(b"content-type"), body)
        is_text = request.content_type is MediaType.TEXT
        batch = item_input.batch_of_simple_lines(body, defaults) if is_text else None
        batches = list(_batches_of_file(request, BytesIO(body), defaults)) if batch is None else [batch]
    else:
        with await request.body_file() as file:
            start = file.readline(media_types.FIRST_BYTES)
            media_types.refuse_unlabelled_json(request.header(b"content-type"), start)
            file.seek(0)
            check = partial(item_input.check_all, _batches_of_file(request, file, defaults))
            batches = await request.executor.run_in_thread(check)
    if request.header(b"idempotency-key"):
        return await _add_once(request, batches)
    return await request.executor.write(items.add, request.path_params["list"], batches, strict=query.strict)


async def _add_once(request: Request, batches: Iterable[Batch]) -> Response:
    name, strict = request.path_params["list"], request.query.strict
    compared = await request.executor.run_in_thread(lambda: [name, strict, *_digests(batches)])
    work = partial(idempotency.answered, verb=items.add, path=[name, batches], arguments={"strict": strict})
    stored, headers = await run_once(request, work, compared=compared, isolated=not isinstance(batches, list))
    return Response(msgspec.convert(stored, Added), headers=headers)


def _digests(batches: Iterable[Batch]) -> Iterator[str]:
    return (idempotency.digest(encode_json(batch.entries), encode_json(batch.same)) for batch in batches)


def _batches_of_document(document: ItemsToAdd, defaults: ItemDefaults) -> list[Batch]:
    entries = (each if isinstance(each, str) else each.entry() for each in document.items)
    return list(item_input.batches(entries, defaults))


def _batches_of_file(request: Request, file: IO[bytes], defaults: ItemDefaults, *, line: int = 1) -> Iterator[Batch]:
    if request.content_type is MediaType.TEXT:
        return item_input.batches(file, defaults, first_line=line)
    return _batches_of_ndjson(file, defaults, first_line=line)


def _batches_of_ndjson(lines: Iterable[bytes], defaults: ItemDefaults, *, first_line: int) -> Iterator[Batch]:
    """Yield batches of JSON documents, one to a line; blank lines are skipped, but counted."""
    for blank, run in groupby(enumerate(lines, first_line), lambda each: not each[1].strip()):
        if not blank:
            first = next(run)
            documents = (decode_json(line, str | ItemToAdd, line=number) for number, line in chain((first,), run))
            entries = (each if isinstance(each, str) else each.entry() for each in documents)
            yield from item_input.batches(entries, defaults, first_line=first[0])


async def _add_stream(request: Request, defaults: ItemDefaults) -> AsyncIterator[UploadProgress]:
    progress, total, name = UploadProgress(0, 0, 0), Added(0, 0), request.path_params["list"]
    async for lines in _line_batches(request):
        await request.service.reauthorize(request)  # these lines may have come long after the first
        if not progress.lines:
            media_types.refuse_unlabelled_json(request.header(b"content-type"), b"".join(lines[:1]))
        unread = _batches_of_file(request, BytesIO(b"\n".join(lines)), defaults, line=progress.lines + 1)
        batches = await request.executor.run_in_thread(partial(list[Batch], unread))
        added = await request.executor.write(items.add, name, batches, strict=request.query.strict)
        total = total.plus(added)
        progress = UploadProgress(progress.lines + len(lines), *msgspec.structs.astuple(total))
        yield progress


async def _line_batches(request: Request) -> AsyncIterator[list[bytes]]:
    """Yield the lines of the body in batches of bounded count and size; one empty batch if there are no lines."""
    max_lines = request.service.limits.batch_items
    waiting: list[bytes] = []
    async for lines in request.lines():
        waiting += lines
        while len(waiting) > max_lines:
            yield waiting[:max_lines]
            waiting = waiting[max_lines:]
        if sum(map(len, waiting)) > BATCH_BYTES:
            yield waiting
            waiting = []
    yield waiting


async def page(request: Request) -> Response:
    """Respond with one page, or with all items as a stream of lines."""
    query = request.query
    if query.limit is None and request.response_type is not MediaType.JSON:
        return Response(stream=_all_items(request))
    limit = DEFAULT_ROWS if query.limit is None else query.limit
    rows, more = await _read_page(request, query.after, limit, max_bytes=PAGE_BYTES)
    after = rows[-1].key if rows and more else None
    return Response(ItemPage(rows, after), headers=next_link(request, after))


async def _read_page(
    request: Request, after: str, limit: int, *, max_bytes: int, first: int = FIRST_ITEMS
) -> tuple[list[Item], bool]:
    max_items = request.service.limits.page_items
    if not 0 <= limit <= max_items:
        hint = "for all items ask for text or NDJSON without count"
        raise Invalid(f"count must be 0 to {max_items}, got {limit}", hint)
    name, state = request.path_params["list"], request.query.state
    bounds = {"limit": limit, "max_bytes": max_bytes, "first": first}
    return await request.executor.read(item_resources.page, name, after=after, state=state, **bounds)


async def _all_items(request: Request) -> AsyncIterator[ItemPage]:
    after, more, first = request.query.after, True, FIRST_ITEMS
    while more:
        rows, more = await _read_page(request, after, STREAMED_ROWS, max_bytes=STREAMED_BYTES, first=first)
        if rows:
            yield ItemPage(rows, None)
            after, first = rows[-1].key, len(rows)


async def show(request: Request) -> Response:
    """Respond with one item, read in one query with those of other requests at the same moment."""
    path = request.path_params
    item = await request.service.item_reader.item(path["list"], path["key"])
    return Response(item, version=item.version)


async def search(request: Request) -> Response:
    """Return items that match a filter, in the byte order of their keys, with their last error and without their data.

    A request looks at 5,000 items at most: a page may hold fewer than `count`, and `next` says where to search on.
    """
    query: SearchQuery = request.query
    search = partial(item_search.page, after=query.after, limit=query.limit)
    found = await request.executor.read(search, request.path_params["list"], query.filter())
    return Response(FoundPage(found.items, found.next), headers=next_link(request, found.next))


async def count(request: Request) -> MatchCount:
    """Count the items that match a filter, of the next 20,000; `next` says where to count on."""
    query: CountQuery = request.query
    count = partial(item_search.count, after=query.after, retryable=query.retryable)
    return await request.executor.read(count, request.path_params["list"], query.filter())


async def delete(request: Request) -> Any:
    """Take items off the list: those given as done, all failed ones as abandoned."""
    return await _change(request, items.abandon if request.query.state == State.FAILED else items.done)


async def done(request: Request) -> Any:
    """Take items that are done off the list: those given, or all that match a filter, which needs the role operator."""
    return await _change(request, items.done)


async def change(request: Request) -> Any:
    """Run the operation's verb on the items given, or on all that match a filter."""
    return await _change(request, request.route.verb)


async def save(request: Request) -> Saved:
    """Change data, due time or priority of all items that match a filter, a hundred in each transaction.

    Claimed items stay as they are; so do failed ones, if the due time is changed.
    """
    body: ItemChanges = await request.document()
    changes = body.to_argument("", "all that match")
    where = _filter(request.query)
    if where is None:
        raise Invalid("no filter was given", "give at least one of state, prefix, error, attempts and gate")
    with audit_context(request, Role.OPERATOR, verb="items.save"):
        return Saved(await _repeat(request, item_search.save, where, changes=changes))


def _filter(query: FilterQuery) -> ItemFilter | None:
    """Return the filter of a query; None if it has no condition."""
    where = query.filter()
    return None if where == ItemFilter() else where


async def _change(request: Request, verb: BulkVerb) -> Any:
    query: BulkQuery = request.query
    where = _filter(query)
    count = await (_change_given(request, verb) if where is None else _change_matching(request, verb, where))
    return request.route.gives(count, query.dry_run)


async def _change_given(request: Request, verb: BulkVerb) -> int:
    name = request.path_params["list"]
    keys = (await read_body(request)).keys
    if request.query.dry_run:
        count = failures.count_retryable if verb is items.retry else failures.count_existing
        return await request.executor.read(count, name, keys)
    return await request.executor.write(verb, name, keys)


async def _change_matching(request: Request, verb: BulkVerb, where: ItemFilter) -> int:
    request.require_role(Role.OPERATOR)
    if request.has_unread_body:
        raise Invalid("a body with keys was sent together with a filter", "give one of them")
    if request.query.dry_run:
        return await _count_matching(request, where, retryable=verb is items.retry)
    with audit_context(request, Role.OPERATOR, verb=verb_name(verb)):
        return await _repeat(request, item_search.change, where, change=verb)


async def _repeat(request: Request, verb: Callable[..., tuple[int, str | None]], where: ItemFilter, **more: Any) -> int:
    """Change some items at a time, each in a transaction: other writers do not wait for a million of them."""
    changed, after = 0, ""
    while True:
        name = request.path_params["list"]
        count, last = await request.executor.write(verb, name, where, after=after, **more)
        changed += count
        if last is None:
            return changed
        after = last


async def _count_matching(request: Request, where: ItemFilter, *, retryable: bool) -> int:
    counted, after, name = 0, "", request.path_params["list"]
    while True:
        found = await request.executor.read(item_search.count, name, where, after=after, retryable=retryable)
        counted += found.count
        if found.next is None:
            return counted
        after = found.next
