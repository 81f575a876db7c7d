"""Adding items: lines, documents and NDJSON, whole or as a stream of any length."""

from collections.abc import AsyncIterator, Iterable, Iterator
from functools import partial
from io import BytesIO
from itertools import chain, groupby
from typing import IO, Any

import msgspec

from rowlock import idempotency, item_input, items
from rowlock.api.items import AddQuery, ItemsToAdd, ItemToAdd, UploadProgress
from rowlock.http import media_types
from rowlock.http.bodies import decoded
from rowlock.http.call import Answer, Call
from rowlock.http.idempotency import once
from rowlock.http.media_types import MediaType
from rowlock.item_input import Batch, ItemDefaults
from rowlock.json_codec import encode_json
from rowlock.model import Added

CHECKED_AT_ONCE = 1_000
"""Items of a document that are checked by the event loop; more of them by a thread."""
BATCH_BYTES = 4 * 1024 * 1024


async def add(call: Call) -> Added | Answer:
    """Add the items of the body: as a whole, or where the answer is NDJSON batch by batch with the progress of each."""
    query: AddQuery = call.query
    shared = ItemDefaults(None, query.due, query.gate, query.priority, trace=call.traceparent)
    if call.media_type is MediaType.NDJSON:
        return Answer(stream=_add_stream(call, shared))
    if call.sent is MediaType.JSON:
        return await _added(call, await _of_document(call, shared))
    if call.body.small:
        return await _added(call, _of_lines(call, await call.body.whole(call.service.limits.body_bytes), shared))
    with await call.body.file() as file:
        media_types.refuse_unlabelled(call.header(b"content-type"), file.readline(media_types.FIRST_BYTES))
        file.seek(0)
        ready = await call.service.executor.run_in_thread(lambda: item_input.check_all(_read(call, file, shared)))
    return await _added(call, ready)


def _of_lines(call: Call, body: bytes, shared: ItemDefaults) -> list[Batch]:
    media_types.refuse_unlabelled(call.header(b"content-type"), body)
    quick = item_input.batch_of_simple_lines(body, shared) if call.sent is MediaType.TEXT else None
    return list(_read(call, BytesIO(body), shared)) if quick is None else [quick]


async def _added(call: Call, batches: Iterable[Batch]) -> Added | Answer:
    executor, name, strict = call.service.executor, call.path["list"], call.query.strict
    if not call.header(b"idempotency-key"):
        return await executor.write(items.add, name, batches, strict=strict)
    asked = await executor.run_in_thread(lambda: [name, strict, *_digests(batches)])
    work = partial(idempotency.answered, verb=items.add, path=[name, batches], arguments={"strict": strict})
    stored, headers = await once(call, work, asked=asked, apart=not isinstance(batches, list))
    return Answer(msgspec.convert(stored, Added), headers=headers)


def _digests(batches: Iterable[Batch]) -> Iterator[str]:
    return (idempotency.digest(batch.json, encode_json(batch.same)) for batch in batches)


def _entry(given: str | ItemToAdd) -> Any:
    return given if isinstance(given, str) else given.entry()


async def _of_document(call: Call, shared: ItemDefaults) -> list[Batch]:
    given: ItemsToAdd = await call.document()

    def ready() -> list[Batch]:
        return list(item_input.batches([_entry(each) for each in given.items], shared))

    return ready() if len(given.items) <= CHECKED_AT_ONCE else await call.service.executor.run_in_thread(ready)


def _read(call: Call, file: IO[bytes], shared: ItemDefaults) -> Iterator[Batch]:
    if call.sent is MediaType.TEXT:
        return item_input.batches(file, shared)
    return _documents(file, shared, 1)


def _documents(lines: Iterable[bytes], shared: ItemDefaults, first_line: int) -> Iterator[Batch]:
    """Batches of what stands on lines, each a JSON document; blank ones are passed over, and numbers stay true."""
    for blank, run in groupby(enumerate(lines, first_line), lambda each: not each[1].strip()):
        if not blank:
            first = next(run)
            found = (_entry(decoded(line, str | ItemToAdd, line=number)) for number, line in chain((first,), run))
            yield from item_input.batches(found, shared, first_line=first[0])


async def _add_stream(call: Call, shared: ItemDefaults) -> AsyncIterator[UploadProgress]:
    so_far = UploadProgress(0, 0, 0)
    async for lines in _batches(call):
        await call.service.recheck(call)  # the next lines may have come long after the first
        if not so_far.lines:
            media_types.refuse_unlabelled(call.header(b"content-type"), b"".join(lines[:1]))
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


async def _commit(call: Call, lines: list[bytes], shared: ItemDefaults, so_far: UploadProgress) -> UploadProgress:
    ready = await call.service.executor.run_in_thread(lambda: list(_ready(call, lines, shared, so_far.lines + 1)))
    strict = call.query.strict
    added = await call.service.executor.write(items.add, call.path["list"], ready, strict=strict)
    return UploadProgress(so_far.lines + len(lines), so_far.added + added.added, so_far.existing + added.existing)


def _ready(call: Call, lines: list[bytes], shared: ItemDefaults, first_line: int) -> Iterator[Batch]:
    if call.sent is MediaType.TEXT:
        return item_input.batches(BytesIO(b"\n".join(lines)), shared, first_line=first_line)
    return _documents(lines, shared, first_line)
