"""A call: one request as a route's function sees it, and the answer that it gives."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

import msgspec

from rowlock import json_codec, tracing
from rowlock.api.operation import NoQuery
from rowlock.errors import InvalidQuery, NotAllowed, UnknownKind
from rowlock.http import media_types
from rowlock.http.asgi import split_root_path
from rowlock.http.auth import ANONYMOUS
from rowlock.http.bodies import Body
from rowlock.http.media_types import MediaType
from rowlock.http.route import NOWHERE
from rowlock.names import closest
from rowlock.roles import Role, allows

if TYPE_CHECKING:
    from rowlock.http.applications import ApplicationCall
    from rowlock.http.service import Service

T = TypeVar("T")

Header = tuple[bytes, bytes]
_EMPTY: dict[type, Any] = {}


class Answer(msgspec.Struct):
    """What is sent back: a value to be written in the kind that was asked for, or bytes, or a stream of values."""

    value: Any = None
    status: int = 200
    headers: list[Header] = []
    stream: AsyncIterator[Any] | None = None
    """Values that come one after the other: lines."""
    live: bool = False
    """Whether the stream may be silent for long: then it begins before its first value is there."""
    version: int | None = None
    """The version of what is shown: it gets an ETag."""
    application: "ApplicationCall | None" = None
    """Who answers instead."""
    undelivered: Callable[[], Awaitable[Any]] | None = None
    """What takes back what was done, if the client has gone before it was answered."""


class Call:
    """One request: where it goes, what it brings, who asks."""

    __slots__ = (
        "_headers",
        "_sent",
        "body",
        "id",
        "media_type",
        "path",
        "principal",
        "query",
        "raw_path",
        "root_path",
        "route",
        "scope",
        "service",
    )

    def __init__(self, service: "Service", scope: Mapping[str, Any], body: Body) -> None:
        self.service = service
        self.scope = scope
        self.root_path, self.raw_path = split_root_path(scope)
        """The prefix that the service is mounted under, and the path below it; both percent-encoded."""
        self.body = body
        self._headers = body.headers
        self.id = service.request_id(self.header(b"x-request-id"))
        self.media_type = MediaType.TEXT
        self._sent: MediaType | None = None
        self.path: dict[str, str] = {}
        self.query: Any = None
        self.route = NOWHERE
        self.principal = ANONYMOUS

    def header(self, name: bytes) -> str:
        """A header of the request by its name in small letters; empty if it is not there."""
        found = self._headers.get(name)
        return found.decode("latin-1") if found else ""

    @property
    def traceparent(self) -> str | None:
        """The W3C traceparent of the request, or of the current span; a malformed header is ignored."""
        return tracing.parse_traceparent(self.header(b"traceparent")) or tracing.current_traceparent()

    @property
    def method(self) -> str:
        """GET, POST and the like."""
        method: str = self.scope["method"]
        return method

    @property
    def address(self) -> str:
        """Where this service is, as the caller wrote it."""
        return f"{self.scope['scheme']}://{self.header(b'host')}{self.root_path}"

    @property
    def client(self) -> str:
        """The address that it comes from; empty if it has none."""
        client = self.scope.get("client")
        return client[0] if client else ""

    def long_poll(self) -> AbstractContextManager[None]:
        """A block in which the request waits for something to happen; refused if too many do."""
        return self.service.long_polls.slot(self.client)

    def choose_media_type(self) -> None:
        """Which kind the answer is in: as Accept says, else as the request is written, else text."""
        if self.route.iidy:
            self.media_type = MediaType.JSON if media_types.is_json(self.header(b"content-type")) else MediaType.TEXT
            return
        wanted = media_types.accepted(self.header(b"accept"))
        self.media_type = wanted or (MediaType.JSON if self.route.foreign else self.sent)

    @property
    def sent(self) -> MediaType:
        """How the request is written; unlabelled, as curl sends it, it is what the route takes."""
        if self._sent is None:
            content_type = self.header(b"content-type")
            only_json = self.route.body is not None and not self.route.takes_lines_of_text
            unlabelled = only_json and not media_types.is_labelled(content_type)
            self._sent = MediaType.JSON if unlabelled else media_types.of_content_type(content_type)
        return self._sent

    def read_query(self) -> None:
        """Check what stands behind the question mark."""
        if self.route.foreign:
            return
        form = self.route.query_type
        text: bytes = self.scope["query_string"]
        if self.route.iidy:
            self.query = dict(reversed(parse_qsl(text.decode("latin-1"), keep_blank_values=True)))
            return
        if not text:
            if form not in _EMPTY:
                _EMPTY[form] = converted({}, form)
            self.query = _EMPTY[form]
            return
        self.query = converted(_pairs(text), form)

    def require(self, role: Role) -> None:
        """Refuse who may do less: for routes where it depends on what is asked."""
        if not allows(self.principal.role, role):
            raise NotAllowed(f"this is for an {role}; you are a {self.principal.role}", "ask with another token")

    async def document(self) -> Any:
        """The body as the JSON document that the route takes."""
        if self.sent is MediaType.TEXT:
            raise UnknownKind("this takes a JSON document, not lines", "send it as application/json")
        return await self.body.document(self.route.body)


def _pairs(text: bytes) -> dict[str, str]:
    try:
        pairs = parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="strict", max_num_fields=100)
    except ValueError:
        raise InvalidQuery("what stands behind the question mark cannot be read", "percent-encode UTF-8") from None
    given = dict(pairs)
    if any("\0" in value for value in given.values()):
        raise InvalidQuery("there is a NUL character behind the question mark", "nothing has a name with one")
    if len(given) < len(pairs):
        raise InvalidQuery("something is asked for twice behind the question mark", "give each name once")
    return given


def converted(given: dict[str, str], form: type[T]) -> T:
    """Texts by name as what they mean; an unknown name is refused with the nearest."""
    known: tuple[str, ...] = () if form is NoQuery else form.__struct_encode_fields__  # type: ignore[attr-defined]
    for name in given:
        if name not in known:
            near = closest(name, known)
            names = f"the names are {', '.join(known)}" if known else "nothing can be asked for here"
            raise InvalidQuery(f"nothing is called {name[:100]!r} here", f"did you mean {near!r}?" if near else names)
    try:
        return msgspec.convert(given, form, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidQuery(
            f"what is asked for cannot be had: {json_codec.describe_validation_error(error)}", "see GET /openapi.json"
        ) from None
