"""Responses: documents written in the media type that the client accepts, streams of them, and problems."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from rowlock.api.documents import Page, text
from rowlock.errors import RowlockError
from rowlock.http import auth, problems
from rowlock.http.asgi import EXTENSION, LARGE_BODY_BYTES, ClientDisconnected, Header, Send
from rowlock.http.media_types import CONTENT_TYPES, MediaType
from rowlock.http.requests import Request

if TYPE_CHECKING:
    from rowlock.http.applications import ApplicationCall

COMMON_HEADERS: tuple[Header, ...] = (
    (b"cache-control", b"no-store"),
    (b"vary", b"accept, accept-encoding"),
    (b"x-content-type-options", b"nosniff"),
)
STATUSES_WITHOUT_BODY = (204, 304)

_encode_json = msgspec.json.Encoder().encode


class Response(msgspec.Struct):
    """The response of an endpoint: a document, bytes, or a stream of documents."""

    value: Any = None
    status: int = 200
    headers: list[Header] = []
    stream: AsyncIterator[Any] | None = None
    """Documents that come one after the other: lines."""
    live: bool = False
    """Whether the stream may be silent for long: then it begins before its first document is there."""
    first: Any = None
    """The first document of a stream that is not live: an error in place of it is a problem as any other."""
    version: int | None = None
    """The version of the document, for its ETag."""
    application: "ApplicationCall | None" = None
    """The application that responds instead."""
    media_type: bytes = b""
    """The Content-Type, where it is neither that of the route nor what the client accepts."""
    cacheable: bool = False
    """Whether its own headers say how long it may be cached; all else is not stored."""
    undelivered: Callable[[], Awaitable[Any]] | None = None
    """Undoes what was done, if the client cannot have received the response."""


def problem_response(error: RowlockError, request: Request) -> Response:
    """Return the response that describes an error, in the media type that the client accepts."""
    error, is_text = problems.without_address(error, request.service.engine), request.response_type is MediaType.TEXT
    if request.route.iidy:
        message = problems.iidy_message(error)
        value: Any = f"{message}\n" if is_text else {"error": message}
    else:
        value = problems.line(error) if is_text else problems.problem(error, request.id.decode())
    return Response(value, error.http_status, problems.headers(error))


async def send_response(request: Request, response: Response, *, send: Send) -> int:
    """Send a response, and return how many bytes its body has."""
    if response.application is not None or response.stream is not None:
        return await _send_later_parts(request, response, send)
    common = COMMON_HEADERS[1:] if response.cacheable else COMMON_HEADERS
    headers = [*common, *response.headers, (b"x-request-id", request.id)]
    body = _encode(response.value, request)
    if body or response.status not in STATUSES_WITHOUT_BODY:
        headers.append((b"content-type", _content_type(request, response)))
    if response.version is not None and response.status < 300:
        # The version goes before the dot; what follows changes with what else the document shows.
        etag = b'"%d.%08x"' % (response.version, zlib.crc32(body))
        headers.append((b"etag", etag))
        if b"if-none-match" in request.headers and request.method in ("GET", "HEAD"):
            known = request.headers[b"if-none-match"].split(b",")
            if etag in [each.strip().removeprefix(b"W/") for each in known]:
                response.status, body = 304, b""
    if len(body) > LARGE_BODY_BYTES:
        request.hold(len(body))
    if response.status not in STATUSES_WITHOUT_BODY:
        headers.append((b"content-length", b"%d" % len(body)))
    confirm = response.undelivered is not None
    await send_whole(request.scope, send, status=response.status, headers=headers, body=body, confirm=confirm)
    return len(body)


async def send_whole(
    scope: Mapping[str, Any],
    send: Send,
    *,
    status: int,
    headers: Sequence[Header],
    body: bytes,
    confirm: bool = False,
) -> None:
    """Send a whole response, in one message where the server takes it.

    With `confirm`, raise ClientDisconnected if the server knows that the client did not receive it.
    """
    if EXTENSION in scope.get("extensions", ()):
        await send({"type": EXTENSION, "status": status, "headers": headers, "body": body, "confirm": confirm})
        return
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _encode(value: Any, request: Request) -> bytes:
    if isinstance(value, bytes):
        return value
    if value is None:
        return b""
    if request.response_type is MediaType.TEXT:
        return text(value).encode()
    if request.response_type is MediaType.NDJSON and isinstance(value, Page):
        return b"".join([_encode_json(row) + b"\n" for row in value.value])
    return _encode_json(value) + b"\n"


def _content_type(request: Request, response: Response) -> bytes:
    if response.media_type:
        return response.media_type
    if request.route.iidy and request.response_type is MediaType.JSON:
        return b"application/json; charset=utf-8"
    if response.status >= 400:
        return problems.TYPE if isinstance(response.value, dict) else CONTENT_TYPES[MediaType.TEXT]
    return request.route.media_type.encode() or CONTENT_TYPES[request.response_type]


async def _send_later_parts(request: Request, response: Response, send: Send) -> int:
    """Send what is made while it is sent: an application's response, or a stream."""
    with auth.audit_context(request):
        if response.application is None:
            return await _send_stream(request, response, send)
        error = await response.application.run(request, send)
        if error is None:
            response.status = response.application.status
            return response.application.sent_bytes
    problem = problem_response(error, request)
    response.status = problem.status
    return await send_response(request, problem, send=send)


async def _send_stream(request: Request, response: Response, send: Send) -> int:
    headers = [*COMMON_HEADERS, *response.headers, (b"x-request-id", request.id)]
    headers.append((b"content-type", _content_type(request, response)))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    sent_bytes = 0
    if request.method != "HEAD" and response.stream is not None:
        # An endpoint that reads the body notices a disconnect itself, and so does a live stream.
        is_watched = request.method == "GET" and not response.live
        disconnect = asyncio.ensure_future(request.wait_for_disconnect()) if is_watched else None
        try:
            async for piece in _pieces(request, response.first, response.stream):
                if disconnect is not None and disconnect.done():
                    raise ClientDisconnected
                sent_bytes += len(piece)
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            if disconnect is not None:
                disconnect.cancel()
    await send({"type": "http.response.body", "body": b""})
    return sent_bytes


async def _pieces(request: Request, first: Any, rest: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    # Once a stream has begun its status is sent: an error after that is its last line.
    try:
        if first is not None:
            yield _encode(first, request)
            await request.service.reauthorize(request)
        async for value in rest:
            yield _encode(value, request)
            await request.service.reauthorize(request)  # a stream may outlive its token
    except RowlockError as error:
        yield _encode(problem_response(error, request).value, request)
