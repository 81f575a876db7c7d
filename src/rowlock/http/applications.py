"""ASGI applications that are served beside the service, at the root, with its authentication, limits and problems."""

import logging
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import msgspec
from starlette.routing import Match

from rowlock.dashboard.frame import PageEntry
from rowlock.errors import RowlockError
from rowlock.http.asgi import EXTENSION, Asgi, Header, Receive, Send
from rowlock.http.auth import CREDENTIALS, SAFE_METHODS
from rowlock.http.requests import Request
from rowlock.http.responses import Response, send_whole
from rowlock.http.routing import Route, wrong_method
from rowlock.roles import Role
from rowlock.worker import Worker

log = logging.getLogger("rowlock.http")

RESERVED = ("/v1", "/iidy")
"""Paths of the service, today and later: no application gets requests below them."""
_BELOW_RESERVED = tuple(f"{path}/" for path in RESERVED)
RESPONSE_START = "http.response.start"


def _nothing() -> None:
    """Release nothing."""


class Application(msgspec.Struct, frozen=True):
    """An ASGI application, made by `build(engine, **options)` of its package."""

    asgi: Asgi
    """Answers requests; a Starlette application only those for its routes."""
    worker: Callable[[Worker], None] | None = None
    """Registers its handlers, which run in the serving process unless it is started without a worker."""
    close: Callable[[], None] = _nothing
    """Releases what `build` opened, after the last request and the worker; the engine stays open."""
    open_paths: tuple[str, ...] = ()
    """Paths that need no token; a path that ends with a star stands for all that begin with it."""
    pages: tuple[str, ...] = ()
    """Paths to open in a browser: printed when serving begins, and linked from the dashboard."""
    page_entries: tuple[PageEntry, ...] = ()
    """Pages in the look of the dashboard, with its sign-in, roles and twins: see `rowlock.apps.pages`."""

    def is_open(self, path: str) -> bool:
        """Return whether a path needs no token."""
        return any(path == each or (each[-1:] == "*" and path.startswith(each[:-1])) for each in self.open_paths)


class ApplicationRoutes:
    """Routes of the applications; if two applications match a request, the one that was named first answers it."""

    def __init__(self, applications: Mapping[str, Application]) -> None:
        self._applications = dict(applications)
        self.pages = [path for each in applications.values() for path in each.pages]
        self.page_entries = [entry for each in applications.values() for entry in each.page_entries]
        self._cache: dict[tuple[str, str, str, Role | None], Route] = {}

    def match(self, scope: Mapping[str, Any], path: str) -> Route | None:
        """Return the route of a request to a path below the service's root; None if no application has one."""
        if path.startswith(_BELOW_RESERVED) or path in RESERVED:
            return None
        allowed: set[str] = set()
        for name, application in self._applications.items():
            # An application that does not list its routes answers everything.
            routes: Iterable[Any] = getattr(application.asgi, "routes", (None,))
            for route in routes:
                match = Match.FULL if route is None else route.matches(scope)[0]
                if match is Match.FULL:
                    return self._route(scope["method"], path, name, getattr(route, "path", f"/… ({name})"))
                if match is Match.PARTIAL:
                    allowed |= route.methods or set()
        if allowed:
            raise wrong_method(path, scope["method"], allowed=sorted(allowed))
        return None

    def _route(self, method: str, path: str, name: str, template: str) -> Route:
        application = self._applications[name]
        role = None if application.is_open(path) else Role.VIEWER if method in SAFE_METHODS else Role.WORKER
        known = self._cache.get((method, name, template, role))
        if known is None:
            endpoint = partial(_respond, name, application.asgi)
            known = Route(None, method, template, role, {}, endpoint=endpoint, is_application=True)
            self._cache[method, name, template, role] = known
        return known


async def _respond(name: str, asgi: Asgi, request: Request) -> Response:
    """Read the body, bounded and decompressed; the application runs when the response is sent."""
    body = await request.body(request.service.limits.document_bytes)
    return Response(application=ApplicationCall(name, asgi, body))


class ApplicationCall:
    """One request to an application, and its response."""

    def __init__(self, name: str, asgi: Asgi, body: bytes) -> None:
        self._name = name
        self._asgi = asgi
        self._body: bytes | None = body
        self._start: dict[str, Any] | None = None
        self._held: list[dict[str, Any]] = []
        """The messages of a response with status 500, which is sent only if no exception follows."""
        self._started = False
        self.status = 500
        self.sent_bytes = 0

    async def run(self, request: Request, send: Send) -> RowlockError | None:
        """Run the application and send its response; return the error if it failed before it sent anything.

        A RowlockError that the application does not catch becomes the problem that the service would send.
        """
        try:
            await self._asgi(self._scope(request), self._receive(request.receive), self._send(request, send))
        except RowlockError as error:
            return None if self._started else error
        except Exception:
            log.exception("exception in application", extra={"app": self._name, "request": request.id.decode()})
            hint = f"this is a bug in {self._name}; the log of the service says more"
            return None if self._started else RowlockError("something unexpected went wrong", hint)
        if self._held:
            self._start = self._held.pop(0)
        for message in self._held:
            await self._forward(message, request, send)
        return None

    def _scope(self, request: Request) -> dict[str, Any]:
        """Return the scope for the application: with the caller's roles, and the headers of the decompressed body."""
        # Its messages are read here, and whole responses in one message would not be understood.
        extensions = {name: value for name, value in request.scope.get("extensions", {}).items() if name != EXTENSION}
        scope = {**request.scope, "extensions": extensions, "auth": CREDENTIALS[request.principal.role]}
        if b"content-encoding" in request.headers:
            replaced = (b"content-encoding", b"content-length", b"transfer-encoding")
            kept = [header for header in request.scope["headers"] if header[0] not in replaced]
            scope["headers"] = [*kept, (b"content-length", str(len(self._body or b"")).encode())]
        return scope

    def _receive(self, receive: Receive) -> Receive:
        async def received() -> Mapping[str, Any]:
            body, self._body = self._body, None
            return await receive() if body is None else {"type": "http.request", "body": body, "more_body": False}

        return received

    def _send(self, request: Request, send: Send) -> Send:
        async def sent(message: dict[str, Any]) -> None:
            # Starlette sends a 500 and then raises the exception: only then it is known what to send.
            if self._held or (message["type"] == RESPONSE_START and message["status"] == 500):
                self._held.append(message)
            elif message["type"] == RESPONSE_START:
                self._start = message
            else:
                await self._forward(message, request, send)

        return sent

    async def _forward(self, message: dict[str, Any], request: Request, send: Send) -> None:
        self.sent_bytes += len(message.get("body", b""))
        start, self._start = self._start, None
        if start is not None:
            self._started, self.status = True, start["status"]
            headers = [*start.get("headers", ()), (b"x-request-id", request.id)]
            if _is_whole(message, headers):
                await send_whole(request.scope, send, status=self.status, headers=headers, body=message["body"])
                return
            await send({**start, "headers": headers})
        await send(message)


def _is_whole(message: Mapping[str, Any], headers: list[Header]) -> bool:
    """Return whether a body message holds all of the body that the headers announce."""
    body = message.get("body", b"")
    return not message.get("more_body") and (b"content-length", b"%d" % len(body)) in headers
