"""Finding the route of a request: by its method and the parts of its path, from a table built once."""

from collections.abc import Callable, Iterable
from operator import itemgetter
from typing import Any
from urllib.parse import unquote_to_bytes

import msgspec

from rowlock.errors import InvalidPath, NoSuchPath, WrongMethod
from rowlock.http.route import Route
from rowlock.names import closest

Parts = list[bytes]


class Shape(msgspec.Struct, frozen=True):
    """Routes whose paths are fixed at the same places: found by what stands there, all at once."""

    fixed: Callable[[Parts], Any]
    holes: tuple[int, ...]
    routes: dict[Any, Route]


class Router:
    """The routes by method, number of parts and shape; of two that fit, the one that is fixed at more places."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._shapes: dict[tuple[str, int], list[Shape]] = {}
        self._paths: list[str] = []
        self._firsts: set[bytes] = set()
        for route in routes:
            self._enter(route)
        for shapes in self._shapes.values():
            shapes.sort(key=lambda shape: len(shape.holes))

    def _enter(self, route: Route) -> None:
        self._paths.append(route.path)
        parts = route.path.encode().split(b"/")
        self._firsts.add(parts[1])
        holes = tuple(at for at, part in enumerate(parts) if part.startswith(b"{"))
        shapes = self._shapes.setdefault((route.method, len(parts)), [])
        shape = next((each for each in shapes if each.holes == holes), None)
        if shape is None:
            shape = Shape(itemgetter(*(at for at in range(len(parts)) if at not in holes)), holes, {})
            shapes.append(shape)
        shape.routes[shape.fixed(parts)] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """The route, and what stands in its path; what is not there is refused with what is."""
        found = self.seek(method, raw_path)
        if found is None:
            raise self._missing(method, raw_path, raw_path.split(b"/"))
        return found

    def seek(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]] | None:
        """The same, but None if there is nothing: to tell what there is takes longer than to answer a request."""
        parts = raw_path.split(b"/")
        found = self._matching(method, parts) or (self._matching("GET", parts) if method == "HEAD" else None)
        if found is None:
            return None
        route, holes = found
        if not holes:
            return route, {}
        return route, {name: _text(parts[at]) for name, at in zip(route.parameters, holes, strict=True)}

    def _matching(self, method: str, parts: Parts) -> tuple[Route, tuple[int, ...]] | None:
        for shape in self._shapes.get((method, len(parts)), ()):
            route = shape.routes.get(shape.fixed(parts))
            if route is not None and all(parts[at] for at in shape.holes):
                return route, shape.holes
        return None

    def knows(self, raw_path: bytes) -> bool:
        """Whether there is something at a path, for any method."""
        return not self._firsts.isdisjoint(raw_path.split(b"/", 2)[1:2]) and bool(self.allowed(raw_path))

    def allowed(self, raw_path: bytes) -> list[str]:
        """The methods that a path answers to."""
        parts = raw_path.split(b"/")
        methods = {method for method, _ in self._shapes}
        found = [method for method in methods if self._matching(method, parts) is not None]
        return sorted({*found, "HEAD"} if "GET" in found else found)

    def _missing(self, method: str, raw_path: bytes, parts: list[bytes]) -> Exception:
        allowed = self.allowed(raw_path)
        shown = raw_path.decode(errors="replace")[:200]
        if allowed:
            return wrong_method(shown, method, allowed=allowed)
        if parts and parts[-1] == b"" and self.allowed(raw_path.rstrip(b"/")):
            return NoSuchPath(f"there is nothing at {shown}", "leave out the slash at its end")
        near = closest(shown, self._paths)
        hint = f"did you mean {near}?" if near else "GET /openapi.json tells what there is"
        return NoSuchPath(f"there is nothing at {shown}", hint)


def wrong_method(path: str, method: str, *, allowed: list[str]) -> WrongMethod:
    """What to tell who asks a path for something that it does not do."""
    hint = f"it answers to {', '.join(allowed)}"
    return WrongMethod(f"{path[:200]} does not answer to {method[:20]}", hint, allow=allowed)


def _text(part: bytes) -> str:
    try:
        text = (unquote_to_bytes(part) if b"%" in part else part).decode()
    except UnicodeDecodeError:
        raise InvalidPath("the path is not UTF-8 text", "percent-encode the bytes of UTF-8") from None
    if "\0" in text:
        raise InvalidPath("there is a NUL character in the path", "nothing has a name with one")
    return text
