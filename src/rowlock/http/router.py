"""Finds the route of a request by one or two dictionary lookups, however many routes there are.

It routes by the path as it was sent: a name or key may hold a slash, which a decoded path would split.
"""

from collections import defaultdict
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from rowlock.errors import InvalidPath, NoSuchPath, WrongMethod
from rowlock.http.route import Route
from rowlock.names import closest

Segments = tuple[bytes | None, ...]
"""A path in parts, None where a parameter stands."""
MAX_SHOWN_CHARACTERS = 200


class Router:
    """Routes by path and method; of two that fit, the one with fewer parameters."""

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

    def find(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]]:
        """Return the route and the values in its path; NoSuchPath or WrongMethod if there is none."""
        found = self.match(method, raw_path)
        if found is None:
            raise self._missing(method, raw_path)
        return found

    def match(self, method: str, raw_path: bytes) -> tuple[Route, dict[str, str]] | None:
        """Return the route and the values in its path; None if there is none."""
        for methods, values in self._fitting(raw_path):
            route = methods.get(method) or (methods.get("GET") if method == "HEAD" else None)
            if route is not None:
                return route, dict(zip(route.parameters, map(_decode, values), strict=True)) if values else {}
        return None

    def _fitting(self, raw_path: bytes) -> list[tuple[dict[str, Route], list[bytes]]]:
        """Return the methods at a path and the values in it, for each way to read the path."""
        parts = raw_path.split(b"/")
        found: list[tuple[dict[str, Route], list[bytes]]] = []
        for places in self._places.get(len(parts), ()):
            segments: list[bytes | None] = [*parts]
            for place in places:
                segments[place] = None
            methods = self._routes.get(tuple(segments))
            if methods is not None and all(values := [parts[place] for place in places]):
                found.append((methods, values))
        return found

    def knows(self, raw_path: bytes) -> bool:
        """Return whether there is a route at a path, for any method."""
        return bool(self._fitting(raw_path))

    def allowed(self, raw_path: bytes) -> list[str]:
        """Return the methods that a path answers to."""
        found = {method for methods, _ in self._fitting(raw_path) for method in methods}
        return sorted({*found, "HEAD"} if "GET" in found else found)

    def _missing(self, method: str, raw_path: bytes) -> Exception:
        allowed = self.allowed(raw_path)
        shown = raw_path.decode(errors="replace")[:MAX_SHOWN_CHARACTERS]
        if allowed:
            return wrong_method(shown, method, allowed=allowed)
        if raw_path.endswith(b"/") and self.allowed(raw_path.rstrip(b"/")):
            return NoSuchPath(f"there is nothing at {shown}", "leave out the slash at its end")
        near = closest(shown, self._paths)
        return NoSuchPath(
            f"there is nothing at {shown}", f"did you mean {near}?" if near else "GET /openapi.json lists all paths"
        )


def wrong_method(path: str, method: str, *, allowed: list[str]) -> WrongMethod:
    """Make the error for a method that a path does not answer to."""
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
