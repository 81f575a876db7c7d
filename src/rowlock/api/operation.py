"""An operation: a verb as it crosses a process. Its request is the parameters of the verb, and nothing else."""

import inspect
import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

import msgspec

from rowlock.durations import milliseconds
from rowlock.model import Versions
from rowlock.names import check_key, check_start
from rowlock.roles import Role

Parameters = Mapping[str, inspect.Parameter]

FROM_HEADERS = {"version": "versioned", "absent": "versioned", "trace": "traced"}
"""Parameters that come from headers (If-Match, If-None-Match, traceparent), each with the flag that says so."""
PREFIXES = "prefixes"
"""The parameter that takes the prefixes of the caller's token: the server knows them, no request has them."""


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An empty query."""


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

    The names in the path are the verb's first parameters, in order. Every field of the query and of the body is a
    parameter of that name.
    """

    verb: Callable[..., Any] | None
    method: str
    path: str
    role: Role | None
    """The least role that may call it; None is open to everybody."""
    gives: Any
    """The document of a good answer, or documents by their statuses."""
    query: type[msgspec.Struct] = NoQuery
    body: Any = None
    """What a JSON body must be."""
    line: Any = None
    """What a line of NDJSON must be, where the body may also be lines: they become the first field of the body.

    If it is the body itself, one document or many can be sent, and the verb takes a list.
    """
    whole: str = ""
    """The parameter that takes the whole body, by its `to_argument(*path)` if it has one, and not field by field."""
    value: str = ""
    """The field of the answer that holds what the verb returns, if that is not the answer itself."""
    to_result: Callable[..., Any] | None = None
    """How a client gets what the verb returns from the answer, where the answer has no `to_result(*path)`."""
    read_as: Any = None
    """What a client reads of the answer, if not all of it."""
    cursor: str = ""
    """The attribute of a page's last row that the next page begins after."""
    text: Callable[[Any], str] | None = None
    """How the answer is written as lines, where neither its own `text()` nor the default does."""
    threaded: bool = False
    """Whether a body may take so long to read that a thread does it, and not the event loop."""
    statuses: tuple[int, ...] = (200,)
    """Both 200 and 201 mean that the verb returns a pair: whether something was made, and what it is."""
    served_by: Callable[..., Any] | None = None
    """The verb that a server runs instead, where its answer holds more than the verb returns."""
    handled: bool = False
    """Whether the server has a handler for it, and more may be sent than the verb takes."""
    custom: bool = False
    """Whether client and server both have code of their own for its arguments."""
    safe: bool = False
    """Whether it writes nothing, although it takes a body."""
    idempotent: bool = True
    """Whether a repeated request does no more than one does."""
    keyed: bool = False
    """Whether an Idempotency-Key makes it so."""
    versioned: bool = False
    """Whether the answer has an ETag, or If-Match is heeded."""
    traced: bool = False
    """Whether the verb takes the trace of the request."""
    streamed: bool = False
    """Whether it may go on for as long as it takes."""
    endless: bool = False
    """Whether it goes on until the client leaves."""
    scoped: bool = False
    """Whether it heeds the caller's prefixes by itself; else, without a list in its path, it is closed to them."""
    deep: bool = False
    """Whether the answer may hold data that is nested too deeply to be decoded: a client then cuts it."""
    media_type: str = ""
    """The only Content-Type of the answer, where it is not text, JSON or NDJSON as the caller likes."""
    name: str = ""
    """Noun and verb, as in `items.show`."""
    tag: str = ""
    """The group that it is described in: its noun."""
    summary: str = ""
    """What it does: the first sentence of the verb's docstring."""
    description: str = ""
    """What else a caller over HTTP must know."""

    def __post_init__(self) -> None:
        name = self.name or (name_of(self.verb) if self.verb else "")
        summary = self.summary or (inspect.getdoc(self.served_by or self.verb) or "").partition("\n")[0]
        known = {"name": name, "summary": summary, "tag": self.tag or name.partition(".")[0]}
        for field, value in known.items():
            msgspec.structs.force_setattr(self, field, value)

    @cached_property
    def parameters(self) -> list[str]:
        """The names in braces in its path."""
        return re.findall(r"{(\w+)}", self.path)

    @cached_property
    def reads(self) -> bool:
        """Whether it writes nothing."""
        return self.safe or self.method in ("GET", "HEAD")

    @cached_property
    def creates(self) -> bool:
        """Whether the verb returns whether something was made, and what it is."""
        return 200 in self.statuses and 201 in self.statuses

    @cached_property
    def repeated(self) -> bool:
        """Whether the body is one document or, as NDJSON, one to a line: the verb takes a list of them."""
        return self.line is not None and self.line is self.body

    @cached_property
    def answers(self) -> dict[int, Any]:
        """What is answered, by status; None is no body."""
        if isinstance(self.gives, Mapping):
            return dict(self.gives)
        found = dict.fromkeys(self.statuses, self.gives)
        return {**found, 304: None} if self.versioned and self.reads else found

    @cached_property
    def server_verb(self) -> Callable[..., Any]:
        """The verb that a server runs."""
        verb = self.served_by or self.verb
        if verb is None:
            raise TypeError(f"{self.name} has no verb: a handler serves it")
        return verb

    @cached_property
    def takes(self) -> Parameters:
        """The parameters of the verb that a server runs, without the transaction and those of the path."""
        return _parameters(self.served_by or self.verb, skip=1 + len(self.parameters))

    def arguments(self, query: msgspec.Struct, body: Any, *path: str) -> dict[str, Any]:
        """The verb's named arguments, from the query and the body of a request."""
        # A query cannot say null: what is None there was left out, and the verb has its own default.
        named = {name: value for name, value in _fields(query) if value is not None}
        if self.whole:
            named[self.whole] = _argument(body, path)
        elif self.body is not None:
            named |= {name: value for name, value in _fields(body) if value is not None or name not in named}
        return named

    def request(self, *args: Any, **kwargs: Any) -> ApiRequest:
        """The request for these arguments of the verb, for a client."""
        given = dict(self._signature.bind(*args, **kwargs).arguments)
        path = tuple(str(given.pop(name)) for name in list(self._signature.parameters)[: len(self.parameters)])
        given.pop(PREFIXES, None)
        if "key" in self.parameters:
            check_key(path[self.parameters.index("key")])
        if isinstance(after := given.get("after"), str):
            check_start(after)
        version, trace = given.pop("version", None), given.pop("trace", None)
        body = self._body(given)
        query = _query(self.query, given)
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

    def answer(self, result: Any, *path: str) -> Any:
        """What the verb returned, as the document that is sent."""
        if self.value:
            return self.gives(**{self.value: result})
        made = getattr(self.gives, "from_result", None)
        return result if made is None else made(result, *path)

    def result(self, document: Any, *path: str) -> Any:
        """What the verb returned, from the document that was received."""
        if self.value:
            return getattr(document, self.value)
        if self.to_result is not None:
            return self.to_result(document, *path)
        return document.to_result(*path) if hasattr(document, "to_result") else document

    def check(self) -> None:
        """Raise TypeError unless the request is the parameters of the verb: run by a test over the whole table."""
        if self.custom:
            return
        sent = {*self.query.__struct_fields__}
        sent |= {self.whole} if self.whole else {*getattr(self.body, "__struct_fields__", ())}
        headers = {name for name, flag in FROM_HEADERS.items() if getattr(self, flag)} | {PREFIXES}
        client = _parameters(self.verb, skip=1 + len(self.parameters))
        if unsendable := client.keys() - sent - headers:
            raise TypeError(f"{self.name} takes {sorted(unsendable)}, which its request has not")
        if self.handled:
            return
        if untaken := sent - self.takes.keys():
            raise TypeError(f"the request of {self.name} has {sorted(untaken)}, which its verb does not take")
        needed = {name for name, each in self.takes.items() if each.default is inspect.Parameter.empty}
        if missing := needed - sent:
            raise TypeError(f"{self.name} needs {sorted(missing)}, which its request has not")

    @cached_property
    def _signature(self) -> inspect.Signature:
        return inspect.Signature(list(_parameters(self.verb, skip=1).values()))


def name_of(verb: Callable[..., Any]) -> str:
    """Noun and verb, as in `items.show`."""
    return f"{verb.__module__.rpartition('.')[2]}.{verb.__name__}"


def wire(value: Any) -> Any:
    """A value as it is sent: a length of time as people write it, which JSON has no type for."""
    return f"{milliseconds(value)}ms" if isinstance(value, timedelta) else value


def _parameters(verb: Callable[..., Any] | None, *, skip: int) -> Parameters:
    found = [] if verb is None else list(inspect.signature(verb).parameters.items())
    return dict(found[skip:])


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
    return query
