"""An operation: a verb with its method, path, request and response. The request is the parameters of the verb."""

import inspect
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Annotated, Any, get_args, get_origin

import msgspec
from msgspec import Meta

from rowlock.api.documents import Value
from rowlock.audit import MAX_ID
from rowlock.db.transaction import verb_name
from rowlock.durations import DurationOrTime, milliseconds
from rowlock.errors import InvalidQuery
from rowlock.json_codec import describe_invalid_field
from rowlock.model import Versions
from rowlock.names import check_key, check_start
from rowlock.roles import Role

FROM_HEADERS = ("version", "absent", "trace")
"""Parameters of verbs that come from headers: If-Match, If-None-Match, traceparent."""
PREFIXES = "prefixes"
"""The parameter that takes the prefixes of the caller's token: the server knows them, no request has them."""

DESCRIPTIONS = {
    "after": "Strictly after this one, in the order of the page.",
    "after_key": "Strictly after this key of `list`.",
    "after_list": "Strictly after `key` of this list.",
    "before": "Strictly before this number.",
    "contains": "Only lists whose names contain this.",
    "create": "Make the list if it does not exist.",
    "delivered": "Only those that were delivered, or were not.",
    "ended": "Also those that have expired or were revoked.",
    "limit": "At most so many.",
    "offset": "Leave out so many lists at the beginning.",
    "of": "Only of this list.",
    "partial": "If one of many is malformed, publish the others.",
    "parts": "How many ranges; fewer if there are fewer keys.",
    "session": "Only of this session.",
    "since": "The last `2h`, or since a time as ISO 8601 writes it.",
    "span": "The last `15m`, `1h`, `24h` or `7d`; from one minute to a year.",
    "state": "Only items that are ready, delayed, gated, claimed or failed.",
    "subscriber": "Only those of one subscriber.",
    "text": "What their last error says, or a part of it.",
}
"""Parameters of verbs that are sent in the query."""
PAGING = {"limit": 0, "after": 1, "before": 1}
"""Parameters that come first in a query, in this order."""
QUERY_NAMES = {"after_key": "key", "after_list": "list", "limit": "count", "of": "list", "text": "error"}
"""Their names on the wire, where they differ."""
TAGS = {
    "ranges": "lists",
    "failures": "lists",
    "results": "lists",
    "done_keys": "lists",
    "throughput": "overview",
} | dict.fromkeys(("matching", "notifications", "records", "subscriptions"), "topics")
"""Modules of verbs that are described in the group of another noun."""


class ApiRequest(msgspec.Struct, frozen=True):
    """The arguments of a verb, sorted into the parts of a request."""

    path: tuple[str, ...]
    query: Mapping[str, Any] = {}
    """By the names on the wire; what is at its default is left out."""
    body: Any = None
    version: Versions | None = None
    trace: str | None = None


class Operation(msgspec.Struct, frozen=True, dict=True, eq=False):
    """One row of the table.

    The names in the path are the verb's first parameters, in order. Every field of the body is a parameter of that
    name, and the other parameters are the query.
    """

    verb: Any
    """The function of a transaction that a server runs; None if a handler does more than that."""
    method: str
    path: str
    role: Role | None
    """The least role that may call it; None is open to everybody."""
    gives: Any
    """The document of a good answer, or documents by their statuses."""
    body: Any = None
    """The type of a JSON body."""
    whole: str = ""
    """The parameter that takes the whole body, by its `to_argument(*path)` if it has one, and not field by field."""
    line: Any = None
    """The type of a line of NDJSON, where the body may also be lines: they become the first field of the body.

    If it is the body itself, one document or many can be sent, and the verb takes a list.
    """
    query: type[msgspec.Struct] | None = None
    """The query, where it is not the remaining parameters of the verb."""
    also: Mapping[Callable[..., Any], Any] = {}
    """Other verbs that a client runs by this operation, each with what it reads of the answer."""
    threaded: bool = False
    """Whether a body may take so long to read that a thread does it, and not the event loop."""
    safe: bool = False
    """Whether it writes nothing, although its method is POST."""
    repeatable: bool = True
    """Whether a client may send it again if no answer came."""
    keyed: bool = False
    """Whether an Idempotency-Key is heeded."""
    streamed: bool = False
    """Whether text and NDJSON hold all pages, unless a limit is sent."""
    checks_prefixes: bool = False
    """Whether its handler heeds the prefixes of the caller's token."""
    deep: bool = False
    """Whether the answer may hold data that is nested too deeply to be decoded: a client then truncates it."""
    media_type: str = ""
    """The only Content-Type of the answer, where it is not text, JSON or NDJSON as the caller likes."""
    name: str = ""
    """Noun and verb, as in `items.show`."""
    description: str = ""
    """What else a caller over HTTP must know, beside the first line of the verb's docstring."""

    def __post_init__(self) -> None:
        if self.verb is not None:
            msgspec.structs.force_setattr(self, "name", self.name or verb_name(self.verb))

    @property
    def tag(self) -> str:
        """The group that it is described in: its noun."""
        noun = self.name.partition(".")[0]
        return TAGS.get(noun, noun)

    @cached_property
    def parameters(self) -> list[str]:
        """The names in braces in its path."""
        return re.findall(r"{(\w+)}", self.path)

    @cached_property
    def reads(self) -> bool:
        """Whether it writes nothing."""
        return self.safe or self.method in ("GET", "HEAD")

    @cached_property
    def document(self) -> Any:
        """The type of a good answer."""
        return next(iter(self.gives.values())) if isinstance(self.gives, Mapping) else self.gives

    @cached_property
    def answers(self) -> dict[int, Any]:
        """The response documents by status; None for no body."""
        if isinstance(self.gives, Mapping):
            return dict(self.gives)
        found = dict.fromkeys((200, 201) if self.creates else (200,), self.gives)
        return {**found, 304: None} if self.versioned and self.reads else found

    @cached_property
    def takes(self) -> Mapping[str, inspect.Parameter]:
        """The parameters of the verb, without the transaction and those of the path."""
        found = [] if self.verb is None else list(inspect.signature(self.verb).parameters.items())
        return dict(found[1 + len(self.parameters) :])

    @cached_property
    def creates(self) -> bool:
        """Whether the verb returns a pair: whether something was made, and what it is."""
        returned = inspect.signature(self.verb).return_annotation if self.verb else None
        return get_origin(returned) is tuple and get_args(returned)[0] is bool

    @cached_property
    def versioned(self) -> bool:
        """Whether the answer has an ETag, or If-Match is heeded."""
        fields = getattr(self.document, "__struct_fields__", ()) if self.reads and self.verb else self.takes
        return "version" in fields

    @cached_property
    def scoped(self) -> bool:
        """Whether prefixes are heeded; else, without a list in its path, it is closed to tokens that have some."""
        return self.checks_prefixes or PREFIXES in self.takes

    @cached_property
    def repeated(self) -> bool:
        """Whether the body is one document or, as NDJSON, one to a line: the verb takes a list of them."""
        return self.line is not None and self.line is self.body

    @cached_property
    def cursor(self) -> str:
        """The attribute of a page's last row that the next page begins after; empty if there is one page."""
        return getattr(self.document, "cursor", "") if {"after", "before"} & self.takes.keys() else ""

    @cached_property
    def query_type(self) -> type[msgspec.Struct]:
        """The struct of the query."""
        if self.query is not None:
            return self.query
        elsewhere = {*FROM_HEADERS, PREFIXES, self.whole, *getattr(self.body, "__struct_fields__", ())}
        names = [name for name in self.takes if name not in elsewhere]
        names.sort(key=lambda name: PAGING.get(name, len(PAGING)))
        fields = [_query_field(self.takes[name], optional=self.streamed and name == "limit") for name in names]
        renamed = {name: QUERY_NAMES[name] for name in names if name in QUERY_NAMES}
        return msgspec.defstruct("Query", fields, frozen=True, forbid_unknown_fields=True, kw_only=True, rename=renamed)

    def arguments(self, query: msgspec.Struct, body: Any, *path: str) -> dict[str, Any]:
        """Return the verb's named arguments, from the query and the body of a request."""
        # A query cannot say null: what is None there was left out, and the verb has its own default.
        named = {name: value for name, value in _fields(query) if value is not None}
        if self.whole:
            named[self.whole] = _argument(body, path)
        elif self.body is not None:
            named |= {name: value for name, value in _fields(body) if value is not None or name not in named}
        return named

    def request(self, *args: Any, **kwargs: Any) -> ApiRequest:
        """Return the request for these arguments of the verb, for a client."""
        given = dict(self._signature.bind(*args, **kwargs).arguments)
        path = tuple(str(given.pop(name)) for name in list(self._signature.parameters)[: len(self.parameters)])
        given.pop(PREFIXES, None)
        if "key" in self.parameters:
            check_key(path[self.parameters.index("key")])
        if isinstance(after := given.get("after"), str):
            check_start(after)
        version, trace = given.pop("version", None), given.pop("trace", None)
        body = self._body(given)
        query = _query(self.query_type, given)
        if given:
            raise TypeError(f"{self.name} cannot send {', '.join(given)}")
        return ApiRequest(path, query, body, version, trace)

    def _body(self, given: dict[str, Any]) -> Any:
        if self.whole:
            value = given.pop(self.whole)
            made = getattr(self.body, "from_argument", lambda given: given)
            return list(map(made, value)) if self.repeated else made(value)
        if self.body is None:
            return None
        names = [name for name in self.body.__struct_fields__ if name in given]
        return self.body(**{name: wire(given.pop(name)) for name in names})

    @cached_property
    def _signature(self) -> inspect.Signature:
        assert self.verb is not None, self.name  # noqa: S101
        _, *others = inspect.signature(self.verb).parameters.values()
        return inspect.Signature(others)

    def answer(self, result: Any, *path: str) -> Any:
        """Return the document that holds what the verb returned."""
        if issubclass(self.document, Value):
            return self.document.of(result)
        made = getattr(self.document, "from_result", None)
        return result if made is None else made(result, *path)


def result(document: Any) -> Any:
    """Return what the verb returned, from the document that was received."""
    if isinstance(document, Value):
        return document.value
    return document.to_result() if hasattr(document, "to_result") else document


def wire(value: Any) -> Any:
    """Return a value as it is sent: a length of time as text, because JSON has no type for it."""
    return f"{milliseconds(value)}ms" if isinstance(value, timedelta) else value


def _query_field(parameter: inspect.Parameter, *, optional: bool) -> tuple[Any, ...]:
    name, kind, default = parameter.name, parameter.annotation, parameter.default
    base: Any = str if kind == DurationOrTime | None else (get_args(kind) or (kind,))[0]
    bounds = {"ge": 0, "le": MAX_ID} if base is int and name in ("after", "before") else {}
    description = DESCRIPTIONS[name]
    if optional:
        default, description = None, f"{description} Without it, text and NDJSON give all."
    described = Annotated[base, Meta(description=description, **bounds)]
    if default is inspect.Parameter.empty:
        return name, described
    return name, described | None if default is None else described, default


def _argument(body: Any, path: tuple[str, ...]) -> Any:
    if isinstance(body, list):
        return [_argument(each, path) for each in body]
    return body.to_argument(*path) if hasattr(body, "to_argument") else body


def _fields(document: Any) -> list[tuple[str, Any]]:
    return [(name, getattr(document, name)) for name in document.__struct_fields__]


def _query(struct: type[msgspec.Struct], given: dict[str, Any]) -> dict[str, Any]:
    query: dict[str, Any] = {}
    for field in msgspec.structs.fields(struct):
        value = given.pop(field.name, None)
        if value is not None and value != field.default:
            query[field.encode_name] = value.isoformat() if isinstance(value, datetime) else wire(value)
    try:
        msgspec.convert(query, struct)  # a server would take the text "2" for a number
    except msgspec.ValidationError as error:
        raise InvalidQuery(describe_invalid_field(error, query), "see GET /openapi.json") from None
    return query
