"""Reading items: pages truncate_message in bytes, whole lists as streams, single items read together."""

from collections.abc import AsyncIterator

from rowlock import item_resources
from rowlock.api.items import ItemPage
from rowlock.errors import Invalid
from rowlock.http.call import Answer, Call
from rowlock.http.endpoint import DEFAULT_ROWS, STREAMED_ROWS, link
from rowlock.http.media_types import MediaType
from rowlock.item_resources import FIRST_ITEMS
from rowlock.model import Item, ItemDetails

PAGE_BYTES, STREAMED_BYTES = 8 * 1024 * 1024, 128 * 1024
"""What a page and a piece of a stream may hold of data."""


async def page(call: Call) -> Answer:
    """Answer with one page, or with all items as a stream of lines."""
    query = call.query
    if query.limit is None and call.media_type is not MediaType.JSON:
        return Answer(stream=_all(call))
    limit = DEFAULT_ROWS if query.limit is None else query.limit
    found, more = await _read(call, query.after, limit)
    after = found[-1].key if found and more else None
    return Answer(ItemPage(found, after), headers=link(call, after))


async def _read(
    call: Call, after: str, limit: int, *, first: int = FIRST_ITEMS, max_bytes: int = PAGE_BYTES
) -> tuple[list[Item], bool]:
    most = call.service.limits.page_items
    if not 0 <= limit <= most:
        raise Invalid(f"count must be 0 to {most}, got {limit}", "for all items ask for text or NDJSON without count")
    name, state = call.path["list"], call.query.state
    bounds = {"limit": limit, "max_bytes": max_bytes, "first": first}
    return await call.service.executor.read(item_resources.page, name, after=after, state=state, **bounds)


async def _all(call: Call) -> AsyncIterator[ItemPage]:
    after, more, first = call.query.after, True, FIRST_ITEMS
    while more:
        found, more = await _read(call, after, STREAMED_ROWS, first=first, max_bytes=STREAMED_BYTES)
        if found:
            yield ItemPage(found, None)
            after, first = found[-1].key, len(found)


async def show(call: Call) -> Answer:
    """Answer with one item, read together with those that other requests ask for at the same moment."""
    item, failures = await call.service.item_reader.item(call.path["list"], call.path["key"])
    return Answer(ItemDetails.of(item, failures), version=item.version)
