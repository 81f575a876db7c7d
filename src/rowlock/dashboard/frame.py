"""What a page is: the request that it gets, the view that it returns, and the row of the table of pages."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote, urlencode

import msgspec

from rowlock.api.operations import OPERATIONS
from rowlock.config import ConfigValue
from rowlock.roles import Role, allows

BY_NAME = {operation.name: operation for operation in OPERATIONS}
TWINS = (".json", ".csv")
"""Endings of a path that ask for a view as data."""
MAX_NOTICE_CHARACTERS = 300


class OperationCaller(Protocol):
    """Runs an operation of the HTTP API with the token of the page's caller, and returns its document."""

    async def __call__(self, name: str, *path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Run the operation of that name; RowlockError if it is refused."""


async def _call_no_operation(name: str, *_: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
    raise NotImplementedError(f"this page calls no operation, got {name}")


class RejectedForm(msgspec.Struct, frozen=True):
    """A form that was refused, and why."""

    form: str
    what: str
    hint: str = ""


class PageRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request for a page."""

    call: OperationCaller = _call_no_operation
    path: str
    """The path below the prefix, percent-encoded, without the ending of a twin."""
    parameters: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    form: Sequence[tuple[str, str]] = ()
    """The fields of a form in their order; a name may come several times."""
    root: str = ""
    """The prefix that the service is mounted under, percent-encoded."""
    base_url: str = ""
    caller: str = ""
    role: Role | None = None
    limited: bool = False
    """Whether the caller's token is for some lists only."""
    signed_in: bool = False
    """Whether the caller has signed in with a token."""
    trace_url: str = ""
    """The address of traces in their viewer, with `{trace_id}` in it; empty if there is no viewer."""
    configuration: Sequence[ConfigValue] = ()
    """How the server was configured."""
    rejected: RejectedForm | None = None
    """The form that was refused, if the page is shown again because of it."""

    def is_rejected(self, form: str) -> bool:
        """Return whether the page is shown again because this form was refused."""
        return self.rejected is not None and self.rejected.form == form

    def value(self, form: str, name: str, *, stored: Any = "") -> Any:
        """Return what a field of a form shows: what was typed if the form was refused, else what is stored."""
        return self.field(name) if self.is_rejected(form) else stored

    def may(self, name: str) -> bool:
        """Return whether the caller's role allows the operation of that name, and its prefixes some of its requests."""
        operation = BY_NAME[name]
        is_whole = not operation.scoped and not operation.parameters
        return self.has_role(operation.role) and not (self.limited and is_whole)

    def has_role(self, need: Role | str | None) -> bool:
        """Return whether the caller's role includes another."""
        return allows(self.role, Role(need) if need else None)

    def field(self, name: str, default: str = "") -> str:
        """Return a field of the form."""
        return next((value for field, value in self.form if field == name), default)

    def fields(self, name: str) -> list[str]:
        """Return all values of a field of the form."""
        return [value for field, value in self.form if field == name]

    def url(self, *segments: str, **query: Any) -> str:
        """Return the address of a page, from the segments of its path."""
        return self.root + url_path(*segments, **query)

    def redirect(self, to: str, notice: str = "") -> "Redirect":
        """Return a redirect to an address made by `url`, which shows the notice."""
        if notice:
            to += ("&" if "?" in to else "?") + urlencode({"notice": notice[:MAX_NOTICE_CHARACTERS]}, quote_via=quote)
        return Redirect(to)


class View(msgspec.Struct, frozen=True, kw_only=True):
    """What a page shows: a template with a document."""

    template: str
    title: str
    document: Any
    """A dictionary: the variables of the template, and the `.json` twin."""
    more: Mapping[str, Any] = {}
    """Variables of the template that the twin leaves out."""
    rows: Sequence[Any] = ()
    """The lines of the `.csv` twin: structs or dictionaries."""
    status: int = 200
    folder: Path | None = None
    """Where the template of an application lies; it may extend those of the dashboard."""


class Redirect(msgspec.Struct, frozen=True):
    """A redirect to another page, with the cookie that is set on the way."""

    to: str
    cookie: str | None = None


PageFunction = Callable[[PageRequest], Awaitable[View | Redirect]]
ViewFunction = Callable[[PageRequest], Awaitable[View]]


class PageEntry(msgspec.Struct, frozen=True):
    """A row of the table of pages."""

    path: str
    function: PageFunction
    method: str = "GET"
    role: Role | None = Role.VIEWER
    form: str = ""
    """The name of the form that it reads."""
    shown_on: ViewFunction | None = None
    """The page of the form: it is shown again, with the error and what was typed, if the form is refused."""


def url_path(*segments: str, **query: Any) -> str:
    """Return the path of these segments, percent-encoded; a name that ends like a twin has its dot encoded."""
    path = "".join(f"/{_segment(each)}" for each in segments) or "/"
    known = {name: value for name, value in query.items() if value not in (None, "")}
    return f"{path}?{urlencode(known, quote_via=quote)}" if known else path


def _segment(text: str) -> str:
    quoted = quote(text, safe="")
    for twin in TWINS:
        if quoted.endswith(twin):
            return f"{quoted.removesuffix(twin)}%2E{twin[1:]}"
    return quoted
