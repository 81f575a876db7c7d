"""A route: what may be asked for, by whom, with what, and what is answered."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any

import msgspec

from rowlock.roles import Role


class NoQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing can be asked for behind the question mark."""


class Route(msgspec.Struct, frozen=True, dict=True):
    """One line of the table of routes."""

    method: str
    path: str
    function: Callable[[Any], Awaitable[Any]]
    role: Role | None
    """The least role that may ask; None is open to everybody."""
    gives: Mapping[int, Any]
    """What is answered, by status; None is no body."""
    takes: Any = None
    """What a JSON body must be."""
    lines: Any = None
    """What a line of NDJSON must be, where the body may also be lines."""
    query: type[msgspec.Struct] = NoQuery
    idempotent: bool = True
    """Whether asking again does no more than asking once."""
    keyed: bool = False
    """Whether an Idempotency-Key makes it so."""
    versioned: bool = False
    """Whether it has an ETag, and If-Match is heeded."""
    streamed: bool = False
    """Whether it may go on for as long as it takes."""
    endless: bool = False
    """Whether it goes on until the client leaves."""
    type: str | None = None
    """The one Content-Type of the answer, where it is not text, JSON or NDJSON as was asked for."""
    scoped: bool = False
    """Whether it heeds the prefixes of who asks by itself; else, without a list in its path, it is closed to them."""
    iidy: bool = False
    """Whether it keeps to the ways of IIDY: the kind by Content-Type alone, errors in its words."""
    keys: bool = False
    """Whether the body may be lines of text, each a key."""
    foreign: bool = False
    """Whether an application answers, and reads by itself what is asked."""

    @cached_property
    def name(self) -> str:
        """What the route is called: its verb and its noun, as in `add_items`."""
        noun = self.function.__module__.rpartition(".")[2]
        return f"{noun}.{self.function.__name__}"

    @cached_property
    def ignores_body(self) -> bool:
        """Whether it changes something without looking at the body."""
        return self.takes is None and not self.foreign and self.method not in ("GET", "HEAD")

    @cached_property
    def summary(self) -> str:
        """What it does, in a sentence."""
        return (inspect.getdoc(self.function) or "").partition("\n")[0]

    @cached_property
    def description(self) -> str:
        """What else is worth knowing."""
        return (inspect.getdoc(self.function) or "").partition("\n")[2].strip()

    @cached_property
    def parameters(self) -> list[str]:
        """The names in braces in its path."""
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]


async def _nothing(_: Any) -> None:
    """There is nothing here."""


NOWHERE = Route("", "", _nothing, None, {})
"""Where a request goes for which there is no route."""
NOWHERE_IN_IIDY = Route("", "", _nothing, None, {}, iidy=True)
