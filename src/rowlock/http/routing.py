"""Routes, and the router that finds the one for a request by a few dictionary lookups.

It routes by the path as it was sent: a name or key may hold a slash, which a decoded path would split.
"""

import inspect
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, get_args
from urllib.parse import unquote_to_bytes

from rowlock.api.operation import Operation
from rowlock.errors import InvalidPath, NoSuchPath, WrongMethod
from rowlock.names import closest

Endpoint = Callable[[Any], Awaitable[Any]]
Segments = tuple[bytes | None, ...]
"""A path in parts, None where a parameter stands."""
MAX_SHOWN_CHARACTERS = 200


async def _respond_with_nothing(_: Any) -> None:
    """Return no document."""


class Route(Operation, frozen=True, dict=True, eq=False):
    """An operation with the endpoint that serves it."""

    endpoint: Endpoint = _respond_with_nothing
    iidy: bool = False
    """Whether it behaves as IIDY does: the media type by Content-Type alone, errors as IIDY writes them."""
    is_application: bool = False
    """Whether an application serves it, and reads the query itself."""
    is_page: bool = False
    """Whether it is a page of the dashboard, which reads the query and the form itself; errors are pages too."""

    @classmethod
    def of(cls, operation: Operation, endpoint: Endpoint) -> "Route":
        """Return the route of an operation."""
        fields = {name: getattr(operation, name) for name in Operation.__struct_fields__}
        return Route(**fields, endpoint=endpoint)

    @cached_property
    def documentation(self) -> tuple[str, str]:
        """What it does, in one line, and what else a caller must know: of its verb, or else of its endpoint."""
        summary, _, rest = (inspect.getdoc(self.verb or self.endpoint) or "").partition("\n")
        return summary, " ".join((self.description if self.verb else rest).split())

    @cached_property
    def takes_lines_of_text(self) -> bool:
        """Whether the body may be lines of text, each a key."""
        return self.line is str or str in get_args(self.line)

    @cached_property
    def takes_only_json(self) -> bool:
        """Whether the body must be JSON or NDJSON."""
        return self.body is not None and not self.takes_lines_of_text

    @cached_property
    def ignores_body(self) -> bool:
        """Whether it changes something without reading the body."""
        return self.body is None and not (self.is_application or self.is_page or self.reads)


NO_ROUTE = Route(None, "", "", None, {})
"""The route of a request whose path no operation has."""
NO_IIDY_ROUTE = Route(None, "", "", None, {}, iidy=True)


class Router:
    """Routes by path and method; of two that match, the one with fewer parameters."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes: dict[Segments, dict[str, Route]] = defaultdict(dict)
        places: dict[int, set[tuple[int, ...]]] = defaultdict(set)
        for route in routes:
            parts = route.path.encode().split(b"/")
            segments = tuple(None if part.startswith(b"{") else part for part in parts)
            self._routes[segments][route.method] = route
            places[len(parts)].add(tuple(place for place, part in enumerate(segments) if part is None))
        self._places = {length: sorted(found, key=len) for length, found in places.items()}
        self._paths = [route.path for methods in self._routes.values() for route in methods.values()]

    def match(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]] | None:
        """Return the route and the parameters in its path; None if no operation has this path."""
        for methods, values in self._matches(raw_path):
            route = methods.get(method) or (methods.get("GET") if method == "HEAD" else None)
            if route is not None:
                return route, dict(zip(route.parameters, map(_decode, values), strict=True)) if values else {}
        return None

    def _matches(self, raw_path: bytes) -> Iterator[tuple[dict[str, Route], list[bytes]]]:
        """Yield the routes by method and the parameters, for each way to read the path."""
        parts = raw_path.split(b"/")
        for places in self._places.get(len(parts), ()):
            segments: list[bytes | None] = [*parts]
            for place in places:
                segments[place] = None
            methods = self._routes.get(tuple(segments))
            if methods is not None and all(values := [parts[place] for place in places]):
                yield methods, values

    def allowed_methods(self, raw_path: bytes) -> list[str]:
        """Return the methods that a path answers to; empty if there is no route at the path."""
        found = {method for methods, _ in self._matches(raw_path) for method in methods}
        return sorted({*found, "HEAD"} if "GET" in found else found)

    def missing(self, method: str, raw_path: bytes) -> NoSuchPath | WrongMethod:
        """Return the error for a request that matches no route."""
        shown = raw_path.decode(errors="replace")[:MAX_SHOWN_CHARACTERS]
        if allowed := self.allowed_methods(raw_path):
            return wrong_method(shown, method, allowed=allowed)
        near = closest(shown, self._paths)
        hint = f"did you mean {near}?" if near else "GET /openapi.json lists all paths"
        if raw_path.endswith(b"/") and self.allowed_methods(raw_path.rstrip(b"/")):
            hint = "leave out the slash at its end"
        return NoSuchPath(f"there is nothing at {shown}", hint)


def wrong_method(path: str, method: str, *, allowed: list[str]) -> WrongMethod:
    """Return the error for a method that a path does not answer to."""
    hint = f"it answers to {', '.join(allowed)}"
    return WrongMethod(f"{path[:MAX_SHOWN_CHARACTERS]} does not answer to {method[:20]}", hint, allow=allowed)


def _decode(part: bytes) -> str:
    try:
        text = (unquote_to_bytes(part) if b"%" in part else part).decode()
    except UnicodeDecodeError:
        raise InvalidPath("the path is not UTF-8 text", "percent-encode the bytes of UTF-8") from None
    if "\0" in text:
        raise InvalidPath("there is a NUL character in the path", "nothing has a name with one")
    return text
