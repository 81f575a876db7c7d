"""Finding the route of a request: by its method and the parts of its path, from a table built once."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from rowlock.errors import InvalidPath, NoSuchPath, WrongMethod
from rowlock.http.route import Route
from rowlock.names import closest

_PARAMETER = ""


class Router:
    """The routes as a tree of path parts, one for each method."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._trees: dict[str, dict[Any, Any]] = {}
        self._paths: list[str] = []
        for route in routes:
            self._enter(route)

    def _enter(self, route: Route) -> None:
        self._paths.append(route.path)
        node = self._trees.setdefault(route.method, {})
        for part in route.path.encode().split(b"/")[1:]:
            node = node.setdefault(_PARAMETER if part.startswith(b"{") else part, {})
        node[None] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """The route, and what stands in its path; what is not there is refused with what is."""
        parts = raw_path.split(b"/")[1:]
        given: list[bytes] = []
        route = _walk(self._trees.get(method, {}), parts, given)
        if route is None and method == "HEAD":
            route = _walk(self._trees.get("GET", {}), parts, given)
        if route is None:
            raise self._missing(method, raw_path, parts)
        if not given:
            return route, {}
        return route, {name: _text(value) for name, value in zip(route.parameters, given, strict=True)}

    def allowed(self, raw_path: bytes) -> list[str]:
        """The methods that a path answers to."""
        parts = raw_path.split(b"/")[1:]
        found = [method for method, tree in self._trees.items() if _walk(tree, parts, []) is not None]
        return sorted({*found, "HEAD"} if "GET" in found else found)

    def _missing(self, method: str, raw_path: bytes, parts: list[bytes]) -> Exception:
        allowed = self.allowed(raw_path)
        shown = raw_path.decode(errors="replace")[:200]
        if allowed:
            hint = f"it answers to {', '.join(allowed)}"
            return WrongMethod(f"{shown} does not answer to {method[:20]}", hint, allow=allowed)
        if parts and parts[-1] == b"" and self.allowed(raw_path.rstrip(b"/")):
            return NoSuchPath(f"there is nothing at {shown}", "leave out the slash at its end")
        near = closest(shown, self._paths)
        hint = f"did you mean {near}?" if near else "GET /openapi.json tells what there is"
        return NoSuchPath(f"there is nothing at {shown}", hint)


def _walk(node: dict[Any, Any], parts: list[bytes], given: list[bytes]) -> Route | None:
    if not parts:
        return node.get(None)
    first, rest = parts[0], parts[1:]
    if first in node and (route := _walk(node[first], rest, given)) is not None:
        return route
    if _PARAMETER in node and first:
        given.append(first)
        if (route := _walk(node[_PARAMETER], rest, given)) is not None:
            return route
        given.pop()
    return None


def _text(part: bytes) -> str:
    try:
        text = (unquote_to_bytes(part) if b"%" in part else part).decode()
    except UnicodeDecodeError:
        raise InvalidPath("the path is not UTF-8 text", "percent-encode the bytes of UTF-8") from None
    if "\0" in text:
        raise InvalidPath("there is a NUL character in the path", "nothing has a name with one")
    return text
