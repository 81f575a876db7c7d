"""A request: its headers, query and body, its route and its caller. Bodies are read and decompressed within limits."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager
from functools import lru_cache
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, unquote_to_bytes

import msgspec

from rowlock import json_codec, tracing
from rowlock.api.server_limits import KB
from rowlock.errors import (
    InvalidBody,
    InvalidQuery,
    InvalidShape,
    NotAllowed,
    Overloaded,
    TooLarge,
    UnknownKind,
)
from rowlock.http import media_types
from rowlock.http.asgi import EXTENSION, ClientDisconnected, Receive
from rowlock.http.auth import ANONYMOUS
from rowlock.http.compression import decompressor_for
from rowlock.http.media_types import MediaType
from rowlock.http.routing import NO_ROUTE, Route
from rowlock.names import closest
from rowlock.roles import Role, allows

if TYPE_CHECKING:
    from rowlock.http.service import Service

SPOOLED_BYTES = 64 * KB
MAX_SMALL_BODY_DIGITS = 5
"""A Content-Length of so many digits is a small body, which is read without further ado."""
SPLIT_HINT = "split it, or send NDJSON, which is read as a stream"


class MemoryBudget:
    """How many bytes all requests together may hold in memory."""

    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes

    def take(self, count: int) -> None:
        """Hold more bytes; raise Overloaded if there is no room."""
        if count > self._left:
            raise Overloaded("large requests and answers of many are under way already", "try again in a moment")
        self._left -= count

    def give_back(self, count: int) -> None:
        """Hold fewer bytes."""
        self._left += count


class Request:
    """One request, as endpoints see it."""

    def __init__(self, service: "Service", scope: Mapping[str, Any], receive: Receive) -> None:
        self.service = service
        self.executor = service.executor
        self.scope = scope
        self.receive = receive
        self.method: str = scope["method"]
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        self.root_path, self.raw_path = split_root_path(scope)
        """The prefix that the service is mounted under, and the path below it; both percent-encoded."""
        self.id = service.request_id(self.headers.get(b"x-request-id"))
        self.route: Route = NO_ROUTE
        self.path_params: dict[str, str] = {}
        self.query: Any = None
        self.principal = ANONYMOUS
        self.response_type = MediaType.TEXT
        self._content_type: MediaType | None = None
        self._length = self.headers.get(b"content-length")
        self.body_complete = False
        """Whether the body was read to its end."""
        self._first_message: Mapping[str, Any] | None = None
        self.held_bytes = 0
        """Bytes that it holds in memory, until `release`."""

    def header(self, name: bytes) -> str:
        """Return a header by its lower-case name; empty if it was not sent."""
        value = self.headers.get(name)
        return value.decode("latin-1") if value else ""

    @property
    def traceparent(self) -> str | None:
        """The W3C traceparent of the request, or of the current span; a malformed header is ignored."""
        return tracing.parse_traceparent(self.header(b"traceparent")) or tracing.current_traceparent()

    @property
    def base_url(self) -> str:
        """The URL of the service, as the client wrote it."""
        return f"{self.scope['scheme']}://{self.header(b'host')}{self.root_path}"

    @property
    def client_host(self) -> str:
        """The address of the client; empty if it has none."""
        client = self.scope.get("client")
        return client[0] if client else ""

    def long_poll_slot(self) -> AbstractContextManager[None]:
        """Return a block in which the request may wait; Overloaded if too many do."""
        return self.service.long_polls.slot(self.client_host)

    def negotiate(self) -> None:
        """Choose the media type of the response: by Accept, else as the body is written, else text."""
        if self.route.iidy:
            is_json = media_types.is_json(self.header(b"content-type"))
            self.response_type = MediaType.JSON if is_json else MediaType.TEXT
            return
        accepted = media_types.accepted(self.header(b"accept"))
        self.response_type = accepted or (MediaType.JSON if self.route.is_application else self.content_type)

    @property
    def content_type(self) -> MediaType:
        """How the body is written; without a Content-Type, or with that of curl, what the route takes."""
        if self._content_type is None:
            sent = self.header(b"content-type")
            is_json = self.route.takes_only_json and not media_types.is_labelled(sent)
            self._content_type = MediaType.JSON if is_json else media_types.of_content_type(sent)
        return self._content_type

    def parse_query(self) -> None:
        """Check the query parameters against those of the route."""
        text: bytes = self.scope["query_string"]
        if self.route.is_application or self.route.is_page:
            return
        if self.route.iidy:
            self.query = dict(reversed(parse_qsl(text.decode("latin-1"), keep_blank_values=True)))
        elif not text:
            self.query = _default_query(self.route.query_type)
        else:
            self.query = _convert_query(_parse_pairs(text), self.route.query_type)

    def require_role(self, role: Role) -> None:
        """Refuse a caller without the role, for routes where it depends on the arguments."""
        if not allows(self.principal.role, role):
            raise NotAllowed(f"this needs the role {role}, and this token has the role {self.principal.role}")

    @property
    def has_unread_body(self) -> bool:
        """Whether there is a body that was not read to its end."""
        return not self.body_complete and (b"transfer-encoding" in self.headers or self._length not in (None, b"0"))

    @property
    def has_small_body(self) -> bool:
        """Whether Content-Length announces a small body, and it is not compressed."""
        length = self._length
        return length is not None and len(length) <= MAX_SMALL_BODY_DIGITS and b"content-encoding" not in self.headers

    async def stream(self, max_bytes: int | None, *, decompress: bool = True) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, decompressed; TooLarge if there is more than `max_bytes`."""
        length = self._length
        if length is not None and max_bytes is not None and length.isdigit() and int(length) > max_bytes:
            raise _too_large(max_bytes)
        coding = self.header(b"content-encoding").strip().lower() if decompress else ""
        decompressor = decompressor_for(coding)
        seen_bytes, more = 0, True
        while more:
            message, self._first_message = self._first_message or await self.receive(), None
            if message["type"] == "http.disconnect":
                raise ClientDisconnected
            more = message.get("more_body", False)
            received = message.get("body", b"")
            for piece in decompressor.feed(received) if decompressor else (received,):
                seen_bytes += len(piece)
                if max_bytes is not None and seen_bytes > max_bytes:
                    raise _too_large(max_bytes)
                if piece:
                    yield piece
        if decompressor:
            decompressor.end()
        self.body_complete = True

    async def discard_body(self, max_bytes: int) -> None:
        """Read the body to its end and keep nothing."""
        async for _ in self.stream(max_bytes, decompress=False):
            pass

    async def body(self, max_bytes: int) -> bytes:
        """Return the whole body; TooLarge if it has more than `max_bytes`."""
        if self.has_small_body and max_bytes >= 10**MAX_SMALL_BODY_DIGITS:
            message = await self.receive()
            if message["type"] == "http.request" and not message.get("more_body", False):
                self.body_complete = True
                body: bytes = message.get("body", b"")
                return body
            self._first_message = message
        pieces: list[bytes] = []
        async for piece in self.stream(max_bytes):
            pieces.append(piece)
            if len(pieces) > 1:
                self.hold(len(piece))
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def document(self) -> Any:
        """Return the body as the JSON document that the route takes; an empty body is an empty object."""
        if self.content_type is MediaType.TEXT:
            raise UnknownKind("this takes a JSON document, not lines", "send it as application/json")
        return decode_json(await self.body(self.service.limits.document_bytes) or b"{}", self.route.body)

    async def body_file(self) -> IO[bytes]:
        """Return the whole body as a file, on disk if it is large."""
        file: SpooledTemporaryFile[bytes] = SpooledTemporaryFile(max_size=SPOOLED_BYTES)  # noqa: SIM115
        try:
            async for piece in self.stream(self.service.limits.body_bytes):
                file.write(piece)
        except BaseException:
            file.close()
            raise
        file.seek(0)
        return file

    async def lines(self) -> AsyncIterator[list[bytes]]:
        """Yield the lines of the body as they arrive, some at a time; a body of any length, of bounded lines."""
        rest, max_bytes = b"", self.service.limits.line_bytes
        async for piece in self.stream(None):
            *complete, rest = (rest + piece).split(b"\n")
            if len(rest) > max_bytes:
                raise TooLarge(f"a line is longer than {max_bytes} bytes", "end each item with a newline")
            if complete:
                yield complete
        if rest:
            yield [rest]

    def hold(self, count: int) -> None:
        """Count so many bytes as held in memory until the request ends; Overloaded if others hold too many."""
        self.service.memory.take(count)
        self.held_bytes += count

    def release(self) -> None:
        """Give back what the request holds in memory: it has ended."""
        self.service.memory.give_back(self.held_bytes)
        self.held_bytes = 0

    @property
    def is_half_closed(self) -> bool:
        """Whether the client has closed its sending side; it may still read. False on servers that do not tell."""
        extension = self.scope.get("extensions", {}).get(EXTENSION)
        return extension is not None and extension["half_closed"]

    async def wait_for_disconnect(self) -> None:
        """Return when the client has disconnected."""
        while (await self.receive())["type"] != "http.disconnect":
            pass

    async def wait_for_half_close(self) -> None:
        """Return when the client has disconnected or closed its sending side, which may be the same."""
        while not self.is_half_closed and (await self.receive())["type"] != "http.disconnect":
            pass


def split_root_path(scope: Mapping[str, Any]) -> tuple[str, bytes]:
    """Return the prefix that the service is mounted under, percent-encoded, and the raw path below it.

    The path of a scope contains the prefix, unless a proxy has removed it.
    """
    raw_path: bytes = scope.get("raw_path") or quote(scope["path"]).encode()
    root_path = scope.get("root_path", "").rstrip("/")
    if not root_path:
        return "", raw_path
    depth = root_path.count("/")
    *prefix, rest = raw_path.split(b"/", depth + 1)
    if unquote_to_bytes(b"/".join(prefix)) == root_path.encode():
        raw_path = b"/" + rest
    elif unquote_to_bytes(raw_path) == root_path.encode():
        raw_path = b"/"
    return quote(root_path), raw_path


def _too_large(max_bytes: int) -> TooLarge:
    return TooLarge(f"the body is larger than {max_bytes} bytes", SPLIT_HINT, most=max_bytes)


def _parse_pairs(text: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise InvalidQuery("malformed query string", "percent-encode UTF-8") from None
    given = dict(pairs)
    if any("\0" in value for value in given.values()):
        raise InvalidQuery("a query parameter contains a NUL character", "nothing has a name with one")
    if len(given) < len(pairs):
        raise InvalidQuery("duplicate query parameter", "give each name once")
    return given


@lru_cache(256)
def _default_query(struct: type[msgspec.Struct]) -> msgspec.Struct:
    return _convert_query({}, struct)


def _convert_query(given: dict[str, str], struct: type[msgspec.Struct]) -> msgspec.Struct:
    known = struct.__struct_encode_fields__
    for name in given:
        if name not in known:
            near = closest(name, known)
            allowed = f"the names are {', '.join(known)}" if known else "this takes no query parameters"
            raise InvalidQuery(
                f"unknown query parameter {name[:100]!r}", f"did you mean {near!r}?" if near else allowed
            )
    try:
        return msgspec.convert(given, struct, strict=False)
    except msgspec.ValidationError as error:
        what = f"invalid query parameter: {json_codec.describe_invalid_field(error, given)}"
        raise InvalidQuery(what, "see GET /openapi.json") from None


_decoder = lru_cache(64)(msgspec.json.Decoder)


def decode_json(text: bytes | str, form: Any, *, line: int | None = None) -> Any:
    """Return JSON as a value of a type; errors name the line if it is one of many."""
    place, fields = ("the body", {}) if line is None else (f"line {line}", {"line": line})
    try:
        return _decoder(form).decode(text)
    except msgspec.ValidationError as error:
        what = f"{place} is not what is taken here: {json_codec.describe_validation_error(error)}"
        pointer = json_codec.json_pointer(error)
        raise InvalidShape(what, "see GET /openapi.json", pointer=pointer, **fields) from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        what = f"{place} is not JSON: {json_codec.describe_syntax_error(error)}"
        raise InvalidBody(what, "check its quotes and commas", **fields) from None
    except RecursionError:
        raise json_codec.too_deep(place, error=InvalidBody, **fields) from None
