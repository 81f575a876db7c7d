"""Applications: services of their own that are served beside rowlock's, at the root, behind the same door."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rowlock.http.relays import Asgi, Relay
from rowlock.http.route import Route
from rowlock.roles import Role
from rowlock.worker import Worker

OURS = ("/v1", "/iidy")
"""Where the service stands, today and tomorrow: no application is asked about what is below."""
READS = ("GET", "HEAD", "OPTIONS")


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

    def is_open(self, path: str) -> bool:
        """Whether anybody may ask that."""
        return any(path == each or (each[-1:] == "*" and path.startswith(each[:-1])) for each in self.open_paths)


class Applications:
    """What is served beside the service: of two that have a path, the one that was named first has it."""

    def __init__(self, given: Mapping[str, Application]) -> None:
        self._given = dict(given)

    def route(self, scope: Mapping[str, Any]) -> Route | None:
        """Where a request goes that the service has no route for; None if nobody has one."""
        path: str = scope["path"]
        if path.startswith(tuple(f"{ours}/" for ours in OURS)) or path in OURS:
            return None
        found = sorted(self._fitting(scope), key=lambda each: -each[0])
        if not found:
            return None
        _, name, application, shown = found[0]
        least = Role.VIEWER if scope["method"] in READS else Role.WORKER
        role = None if application.is_open(path) else least
        return Route(scope["method"], shown, Relay(name, application.asgi), role, {}, foreign=True)

    def _fitting(self, scope: Mapping[str, Any]) -> Iterator[tuple[int, str, Application, str]]:
        """Who has the path: 2 if it also answers to the method, 1 if not, and the path as it is written there."""
        for name, application in self._given.items():
            routes = getattr(application.asgi, "routes", None)
            if routes is None:
                yield 2, name, application, f"/… ({name})"
                continue
            for route in routes:
                fits = route.matches(scope)[0].value
                if fits:
                    yield fits, name, application, getattr(route, "path", f"/… ({name})")
