"""Finding the route of a request: by its method and the parts of its path, from a table built once."""

from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from rowlock.errors import InvalidPath, NoSuchPath, WrongMethod
from rowlock.http.route import Route
from rowlock.names import closest

Parts = list[bytes]


class Node:
    """Where one stands after some parts of a path."""

    __slots__ = ("hole", "methods", "ways")

    def __init__(self) -> None:
        self.ways: dict[bytes, Node] = {}
        self.hole: Node | None = None
        """The way on for whatever else stands there."""
        self.methods: dict[str, Route] = {}
        """What ends here."""

    def way(self, part: bytes) -> "Node":
        """The way on as a path is written, made if it is not there."""
        if not part.startswith(b"{"):
            return self.ways.setdefault(part, Node())
        self.hole = self.hole or Node()
        return self.hole


class Router:
    """The routes by the parts of their paths; of two that fit, the one that is sooner said in so many words."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._root = Node()
        self._paths: list[str] = []
        self._methods: set[str] = set()
        self._firsts: set[bytes] = set()
        for route in routes:
            self._enter(route)

    def _enter(self, route: Route) -> None:
        self._paths.append(route.path)
        self._methods.add(route.method)
        node, parts = self._root, route.path.encode().split(b"/")
        self._firsts.add(parts[1])
        for part in parts:
            node = node.way(part)
        node.methods[route.method] = route

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """The route, and what stands in its path; what is not there is refused with what is."""
        found = self.seek(method, raw_path)
        if found is None:
            raise self._missing(method, raw_path)
        return found

    def seek(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]] | None:
        """The same, but None if there is nothing: to tell what there is takes longer than to answer a request."""
        parts = raw_path.split(b"/")
        found = self._at(method, parts) or (self._at("GET", parts) if method == "HEAD" else None)
        if found is None:
            return None
        route, held = found
        return route, dict(zip(route.parameters, map(_text, held), strict=True)) if held else {}

    def _at(self, method: str, parts: Parts) -> tuple[Route, Parts] | None:
        """The route at the end of a path, and what stands in its holes; the first way is nearly always right."""
        node, held = self._root, []
        for part in parts:
            way = node.ways.get(part)
            if way is None:
                way = node.hole
                held.append(part)
            if way is None:
                break
            node = way
        else:
            if method in node.methods and all(held):
                return node.methods[method], held
        return _follow(self._root, method, parts)

    def knows(self, raw_path: bytes) -> bool:
        """Whether there is something at a path, for any method."""
        return not self._firsts.isdisjoint(raw_path.split(b"/", 2)[1:2]) and bool(self.allowed(raw_path))

    def allowed(self, raw_path: bytes) -> list[str]:
        """The methods that a path answers to."""
        parts = raw_path.split(b"/")
        found = [method for method in self._methods if self._at(method, parts) is not None]
        return sorted({*found, "HEAD"} if "GET" in found else found)

    def _missing(self, method: str, raw_path: bytes) -> Exception:
        allowed = self.allowed(raw_path)
        shown = raw_path.decode(errors="replace")[:200]
        if allowed:
            return wrong_method(shown, method, allowed=allowed)
        if raw_path.endswith(b"/") and self.allowed(raw_path.rstrip(b"/")):
            return NoSuchPath(f"there is nothing at {shown}", "leave out the slash at its end")
        near = closest(shown, self._paths)
        hint = f"did you mean {near}?" if near else "GET /openapi.json tells what there is"
        return NoSuchPath(f"there is nothing at {shown}", hint)


def _follow(node: Node, method: str, parts: Parts) -> tuple[Route, Parts] | None:
    """The same by every way that there is."""
    if not parts:
        route = node.methods.get(method)
        return None if route is None else (route, [])
    part, *rest = parts
    way, found = node.ways.get(part), None
    if way is not None:
        found = _follow(way, method, rest)
    if found is None and node.hole is not None and part:
        further = _follow(node.hole, method, rest)
        found = None if further is None else (further[0], [part, *further[1]])
    return found


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
