"""The endpoint of every operation that is one run of its verb: read the arguments, run it, answer with a document."""

from collections.abc import AsyncIterator
from functools import partial
from typing import Any
from urllib.parse import quote, urlencode

import msgspec

from rowlock.api.documents import cell
from rowlock.api.operation import PREFIXES
from rowlock.errors import Invalid, UnknownKind
from rowlock.http import media_types
from rowlock.http.bodies import decoded
from rowlock.http.call import Answer, Call, Header
from rowlock.http.conditional import conditions
from rowlock.http.idempotency import run_once
from rowlock.http.media_types import MediaType

DEFAULT_ROWS, STREAMED_ROWS = 1_000, 256
"""Rows of a page, and of a piece of a stream: one piece waits in memory for each client that does not read."""


async def respond(call: Call) -> Answer:
    """Run the verb of the operation and answer with what it returns."""
    operation = call.route
    if operation.cursor and operation.streamed and call.query.limit is None and call.media_type is not MediaType.JSON:
        return Answer(stream=_all_pages(call))
    arguments = await read_arguments(call)
    if operation.keyed and call.header(b"idempotency-key"):
        document, headers = await run_once(call, arguments)
        return Answer(document, headers=headers, version=_version(call, document))
    return answer(call, await run(call, arguments), arguments=arguments)


async def run(call: Call, arguments: dict[str, Any]) -> Any:
    """Run the operation's verb with these named arguments, after those of the path."""
    executor = call.service.executor
    way = executor.read if call.route.reads else executor.write
    return await way(call.route.verb, *call.path.values(), **arguments)


def answer(call: Call, result: Any, *, arguments: dict[str, Any]) -> Answer:
    """The answer that holds what the verb returned."""
    operation, status = call.route, 200
    if operation.creates:
        made, result = result
        status = 201 if made else 200
    if operation.cursor:
        return page(call, result, limit=arguments.get("limit", DEFAULT_ROWS))
    document = operation.answer(result, *call.path.values())
    return Answer(document, status, version=_version(call, document))


def page(call: Call, rows: list[Any], *, limit: int) -> Answer:
    """The answer that holds one page, with the link to the next if there may be more."""
    after = getattr(rows[-1], call.route.cursor) if rows and len(rows) == limit else None
    return Answer(call.route.document(rows, after), headers=link(call, after))


def link(call: Call, after: Any) -> list[Header]:
    """The header that names the next page, if there is one."""
    if after is None:
        return []
    fields = msgspec.structs.fields(call.route.query_type)
    asked = {field.encode_name: getattr(call.query, field.name) for field in fields}
    asked["before" if "before" in asked else "after"] = after
    query = urlencode({name: cell(value) for name, value in asked.items() if value is not None}, quote_via=quote)
    target = f"{call.scope['raw_path'].decode('latin-1')}?{query}"
    return [(b"link", f'<{target}>; rel="next"'.encode("latin-1"))]


async def _all_pages(call: Call) -> AsyncIterator[Any]:
    arguments = await read_arguments(call) | {"limit": STREAMED_ROWS}
    while rows := await run(call, arguments):
        yield call.route.document(rows, None)
        arguments["after"] = getattr(rows[-1], call.route.cursor)


def _version(call: Call, document: Any) -> int | None:
    return getattr(document, "version", None) if call.route.versioned else None


async def read_arguments(call: Call) -> dict[str, Any]:
    """The named arguments of the operation's verb, from all parts of the request."""
    operation = call.route
    body = None if operation.body is None else await read_body(call)
    read = partial(operation.arguments, call.query, body, *call.path.values())
    arguments = await call.service.executor.run_in_thread(read) if operation.threaded else read()
    if operation.versioned and not operation.reads:
        arguments |= conditions(call)
    if "trace" in operation.takes:
        arguments["trace"] = call.traceparent
    if PREFIXES in operation.takes:
        arguments[PREFIXES] = call.principal.lists
    return arguments


async def read_body(call: Call) -> Any:
    """The body as the document that the operation takes; lines become its first field."""
    operation = call.route
    if operation.line is None or call.sent is MediaType.JSON:
        document = await call.document()
        return [document] if operation.repeated else document
    text = await call.body.whole(call.service.limits.document_bytes)
    if call.sent is MediaType.NDJSON:
        numbered = enumerate(text.split(b"\n"), 1)
        lines = [decoded(line, operation.line, line=number) for number, line in numbered if line.strip()]
        return lines if operation.repeated else operation.body(lines)
    if not operation.takes_lines_of_text:
        raise UnknownKind("this takes JSON documents, not lines of text", "send application/x-ndjson")
    media_types.refuse_unlabelled(call.header(b"content-type"), text)
    return operation.body(lines_of(text))


def lines_of(text: bytes) -> list[str]:
    """The lines that are not blank."""
    try:
        return [line.rstrip("\r") for line in text.decode().split("\n") if line.strip()]
    except UnicodeDecodeError:
        raise Invalid("the body is not UTF-8 text", "convert it first, with iconv for example") from None
