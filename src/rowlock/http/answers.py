"""Writing answers: a value in the kind that was asked for, with its headers, packed if the client likes that."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import msgspec

from rowlock.api.documents import Page, text
from rowlock.errors import RowlockError
from rowlock.http import problems
from rowlock.http.applications import ApplicationCall
from rowlock.http.asgi import COMMON_HEADERS, LARGE_BODY_BYTES, Send, send_response
from rowlock.http.bodies import Gone
from rowlock.http.call import Answer, Call, Header
from rowlock.http.conditional import etag, is_known
from rowlock.http.media_types import TYPES, MediaType

_TYPES = {kind: name.encode() for kind, name in TYPES.items()}
_encode = msgspec.json.Encoder().encode


def written(value: Any, call: Call) -> bytes:
    """A value as bytes of the kind that was asked for."""
    if isinstance(value, bytes):
        return value
    if value is None:
        return b""
    if call.media_type is MediaType.TEXT:
        return text(value).encode()
    if call.media_type is MediaType.NDJSON and isinstance(value, Page):
        return b"".join([_encode(row) + b"\n" for row in value.value])
    return _encode(value) + b"\n"


async def send_answer(call: Call, answer: Answer, *, send: Send) -> int:
    """Send it; how many bytes of body that were."""
    if answer.application is not None:
        return await _run_application(call, answer, answer.application, send=send)
    headers = [*COMMON_HEADERS, *answer.headers, (b"x-request-id", call.id)]
    if answer.stream is not None:
        return await _send_stream(call, answer, headers, send)
    body = written(answer.value, call)
    if body or answer.status not in (204, 304):
        headers.append((b"content-type", _type(call, answer)))
    if answer.version is not None and answer.status < 300:
        tag = etag(answer.version, body)
        headers.append((b"etag", tag))
        if call.method in ("GET", "HEAD") and is_known(tag, call.header(b"if-none-match")):
            await send_response(call.scope, send, status=304, headers=headers, body=b"")
            return 0
    if len(body) > LARGE_BODY_BYTES:
        call.body.hold(len(body))
    if answer.status not in (204, 304):
        headers.append((b"content-length", str(len(body)).encode()))
    confirm = answer.undelivered is not None
    await send_response(call.scope, send, status=answer.status, headers=headers, body=body, confirm=confirm)
    return len(body)


async def _run_application(call: Call, answer: Answer, application: ApplicationCall, *, send: Send) -> int:
    wrong = await application.run(call, send)
    if wrong is None:
        answer.status = application.status
        return application.sent_bytes
    told = problems.answer(wrong, call)
    answer.status = told.status
    return await send_answer(call, told, send=send)


def _type(call: Call, answer: Answer) -> bytes:
    if call.route.iidy and call.media_type is MediaType.JSON:
        return b"application/json; charset=utf-8"
    if answer.status >= 400:
        return problems.TYPE if isinstance(answer.value, dict) else _TYPES[MediaType.TEXT]
    return call.route.media_type.encode() or _TYPES[call.media_type]


async def _send_stream(call: Call, answer: Answer, headers: list[Header], send: Send) -> int:
    headers.append((b"content-type", _type(call, answer)))
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    if call.method == "HEAD" or answer.stream is None:
        await send({"type": "http.response.body", "body": b""})
        return 0
    sent = 0
    with ExitStack() as stack:
        # Who asks with a body is seen to leave by who reads it; a stream that is live looks itself.
        left = stack.enter_context(_leaving(call)) if call.method == "GET" and not answer.live else None
        async for piece in _pieces(call, answer.stream):
            if left is not None and left.done():
                raise Gone
            sent += len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
    return sent


@contextmanager
def _leaving(call: Call) -> Iterator["asyncio.Future[None]"]:
    """A future that is done when the client has gone."""
    left = asyncio.ensure_future(call.body.left())
    try:
        yield left
    finally:
        left.cancel()


async def begun(stream: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The same stream, with its first value fetched: what is wrong at the beginning is told as any other problem."""
    first = [value] if (value := await anext(stream, None)) is not None else []

    async def whole() -> AsyncIterator[Any]:
        while first:
            yield first.pop()
        async for value in stream:
            yield value

    return whole()


async def _pieces(call: Call, stream: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    # Once a stream has begun its status is said: what goes wrong then is told in its last line.
    try:
        async for value in stream:
            yield written(value, call)
            # A stream may outlive the token it was asked with.
            await call.service.recheck(call)
    except RowlockError as error:
        yield written(problems.answer(error, call).value, call)
