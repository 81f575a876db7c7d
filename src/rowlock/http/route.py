"""A route: an operation with the function that serves it."""

from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any, get_args

from rowlock.api.operation import Operation

Handler = Callable[[Any], Awaitable[Any]]


async def _nothing(_: Any) -> None:
    """There is nothing here."""


class Route(Operation, frozen=True, dict=True, eq=False):
    """One line of the table of routes."""

    function: Handler = _nothing
    iidy: bool = False
    """Whether it keeps to the ways of IIDY: the kind by Content-Type alone, errors in its words."""
    foreign: bool = False
    """Whether an application answers, and reads by itself what is asked."""

    @classmethod
    def of(cls, operation: Operation, function: Handler) -> "Route":
        """The route of an operation."""
        fields = {name: getattr(operation, name) for name in Operation.__struct_fields__}
        return Route(**fields, function=function)

    @cached_property
    def takes_lines_of_text(self) -> bool:
        """Whether the body may be lines of text, each a key."""
        return self.line is str or str in get_args(self.line)

    @cached_property
    def ignores_body(self) -> bool:
        """Whether it changes something without looking at the body."""
        return self.body is None and not self.foreign and not self.reads


NOWHERE = Route(None, "", "", None, {})
"""Where a request goes for which there is no route."""
NOWHERE_IN_IIDY = Route(None, "", "", None, {}, iidy=True)
