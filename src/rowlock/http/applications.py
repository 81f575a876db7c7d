"""Applications: services of their own that are served beside rowlock's, at the root, behind the same door."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec

from rowlock.http.asgi import Asgi
from rowlock.http.relays import Relay
from rowlock.http.route import Route
from rowlock.http.router import wrong_method
from rowlock.roles import Role
from rowlock.worker import Worker

OURS = ("/v1", "/iidy")
"""Where the service stands, today and tomorrow: no application is asked about what is below."""
_BELOW = tuple(f"{ours}/" for ours in OURS)
FULLY = 2
READS = ("GET", "HEAD", "OPTIONS")

Known = tuple[str, frozenset[str], Callable[[Mapping[str, Any]], int]]
"""A path of an application as it is written, its methods, and whether a request fits: 2, or 1 but for its method."""


def _nothing() -> None:
    """There is nothing to give back."""


class Application(msgspec.Struct, frozen=True):
    """A service of its own, made by `build(engine, **options)` of its package."""

    asgi: Asgi
    """Answers its requests; of a Starlette application only the paths that it has."""
    worker: Callable[[Worker], None] | None = None
    """Registers its handlers; they are worked in the process that serves, unless that is told not to."""
    close: Callable[[], None] = _nothing
    """Gives back what `build` took, when all is answered and the worker has stopped; the engine stays open."""
    open_paths: tuple[str, ...] = ()
    """What needs no token: paths, or beginnings of paths that end with a star."""
    pages: tuple[str, ...] = ()
    """What people open in a browser: told by who serves when it begins."""

    def is_open(self, path: str) -> bool:
        """Whether anybody may ask that."""
        return any(path == each or (each[-1:] == "*" and path.startswith(each[:-1])) for each in self.open_paths)


class Applications:
    """What is served beside the service: of two that have a path, the one that was named first has it."""

    def __init__(self, given: Mapping[str, Application]) -> None:
        self._given = dict(given)
        self._routes = {name: _routes(name, application.asgi) for name, application in given.items()}
        self._known: dict[tuple[str, str, str, Role | None], Route] = {}

    def route(self, scope: Mapping[str, Any], path: str) -> Route | None:
        """Where a request goes that the service has no route for; None if nobody has one."""
        if path.startswith(_BELOW) or path in OURS:
            return None
        found = self._fitting(scope)
        return None if found is None else self._route(scope["method"], path, *found)

    def _fitting(self, scope: Mapping[str, Any]) -> tuple[str, str] | None:
        """Who has the path, and how it is written there: the first that answers to the method."""
        allowed: set[str] = set()
        for name, routes in self._routes.items():
            for shown, methods, matches in routes:
                fits = matches(scope)
                if fits == FULLY:
                    return name, shown
                if fits:
                    allowed |= methods
        if allowed:
            raise wrong_method(scope["path"], scope["method"], allowed=sorted(allowed))
        return None

    def _route(self, method: str, path: str, name: str, shown: str) -> Route:
        application = self._given[name]
        role = None if application.is_open(path) else Role.VIEWER if method in READS else Role.WORKER
        known = self._known.get((method, name, shown, role))
        if known is None:
            relay = Relay(name, application.asgi)
            known = self._known[method, name, shown, role] = Route(method, shown, relay, role, {}, foreign=True)
        return known


def _routes(name: str, asgi: Asgi) -> list[Known]:
    routes = getattr(asgi, "routes", None)
    somewhere = f"/… ({name})"
    if routes is None:
        return [(somewhere, frozenset(), lambda _: FULLY)]
    return [
        (getattr(route, "path", somewhere), frozenset(getattr(route, "methods", None) or ()), partial(_fits, route))
        for route in routes
    ]


def _fits(route: Any, scope: Mapping[str, Any]) -> int:
    fits: int = route.matches(scope)[0].value
    return fits
