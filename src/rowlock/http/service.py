"""The service as an ASGI application: finds the route, authorizes the caller, runs the endpoint, sends the response."""

import logging
import threading
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from urllib.parse import unquote

import msgspec

from rowlock import upkeep
from rowlock.api.server_limits import ServerLimits
from rowlock.api.service import SystemInfo
from rowlock.audit import DEFAULT_KEEP
from rowlock.config import ConfigValue
from rowlock.dashboard import NAVIGATION
from rowlock.dashboard.frame import PageEntry
from rowlock.durations import Duration
from rowlock.engine import Engine
from rowlock.errors import Overloaded, RowlockError
from rowlock.http import auth, openapi, pages
from rowlock.http.applications import Application, ApplicationRoutes
from rowlock.http.asgi import ClientDisconnected, Receive, Scope, Send
from rowlock.http.auth import Authorize, Principal
from rowlock.http.compression import CompressedResponse, choose_coding
from rowlock.http.executor import ItemReader, TimedCache, VerbExecutor
from rowlock.http.long_poll import LongPollLimiter, RemoteClaimer
from rowlock.http.monitoring import CHECKS_SECONDS, AccessLog, RequestMetrics
from rowlock.http.requests import MemoryBudget, Request
from rowlock.http.responses import Response, problem_response, send_response
from rowlock.http.routes import ROUTES
from rowlock.http.routing import NO_IIDY_ROUTE, Router
from rowlock.http.session_pollers import SessionPollers
from rowlock.tracing import check_trace_url
from rowlock.worker import Worker

log = logging.getLogger("rowlock.http")

IIDY = b"/iidy/"
UPKEEP_SECONDS = 2.0

_ROUTER = Router((*ROUTES, *pages.PAGE_ROUTES))


def _router(entries: Iterable[PageEntry]) -> Router:
    """Return the router of a service whose applications have these pages; its own routes are never replaced."""
    routes = pages.routes_of(entries, checks_prefixes=False)
    return Router((*routes, *ROUTES, *pages.PAGE_ROUTES)) if routes else _ROUTER


class Service:
    """An ASGI application that answers requests with an engine's verbs.

    With `loopback`, for addresses that only this machine can reach, it is open until the first token exists. With
    `authorize`, an outer application tells the caller of a request; role, prefixes and the origin of pages are checked
    here. A `worker` runs as long as the service does. The dashboard links traces by `trace_url`, such as
    `https://jaeger.example/{trace_id}`, and shows operators the `configuration`.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        limits: ServerLimits | None = None,
        loopback: bool = False,
        authorize: Authorize | None = None,
        audit_keep: Duration = DEFAULT_KEEP,
        access_log: AccessLog | None = None,
        worker: Worker | None = None,
        applications: Mapping[str, Application] | None = None,
        trace_url: str = "",
        configuration: Sequence[ConfigValue] = (),
    ) -> None:
        self.engine = engine
        self.limits, self.configuration = limits or ServerLimits(), configuration
        self.audit_keep, self.trace_url = audit_keep, check_trace_url(trace_url)
        self.executor = VerbExecutor(engine, waiting=self.limits.waiting_requests)
        self.item_reader = ItemReader(self.executor, waiting=self.limits.waiting_requests)
        self.claimer = RemoteClaimer(self.executor)
        self.long_polls = LongPollLimiter(self.limits)
        self.session_pollers = SessionPollers(self.executor, self.claimer.long_poll)
        self.stopping = False
        """Whether it shuts down: it is not ready, and long polls return at once."""
        self.memory = MemoryBudget(self.limits.buffered_bytes)
        self._authenticator = auth.Authenticator(engine.tokens, self.executor, loopback=loopback)
        self._authorize = auth.checked(authorize) if authorize else self._authenticator.authorize
        self._log = access_log
        self.requests, self.checks = RequestMetrics(), TimedCache[SystemInfo](CHECKS_SECONDS)
        self.watchers = 0
        """How many clients follow the events."""
        self.open_pages = 0
        """How many pages of the dashboard are kept up to date."""
        self.latest_tally, self.shared_pages = TimedCache[int](pages.CHANGES_SECONDS), pages.SharedPages()
        self.worker = worker
        self._applications = ApplicationRoutes(applications or {})
        self._router = _router(self._applications.page_entries)
        self._prefix, self._count = engine.environment.token()[:8].encode(), 0
        self._background = BackgroundThreads(engine, worker)
        self._descriptions: dict[str, bytes] = {}

    @property
    def navigation(self) -> tuple[tuple[str, str], ...]:
        """The titles and paths of the links at the top of every page."""
        return *NAVIGATION, *((path.strip("/").capitalize(), path.strip("/")) for path in self._applications.pages)

    def request_id(self, given: bytes | None) -> bytes:
        """Return the id of a request in logs and problems: the one that the client gave, or a new one."""
        if given and len(given) <= 128 and given.isascii() and given.decode().isprintable():
            return given
        self._count += 1
        return b"%b-%x" % (self._prefix, self._count)

    def description(self, root_path: str) -> bytes:
        """Return the OpenAPI document of a service that is mounted under that path."""
        if root_path not in self._descriptions:
            self._descriptions = {root_path: msgspec.json.encode(openapi.document(ROUTES, root_path))}
        return self._descriptions[root_path]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or run the lifespan."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
            return
        if not self._background.started:
            self._background.start()  # an outer application runs no lifespan for those it mounts
        request = Request(self, scope, receive)
        accepted = request.header(b"accept-encoding")
        if accepted and (coding := choose_coding(accepted)):
            send = CompressedResponse(send, coding).send
        try:
            await self._serve(request, send)
        finally:
            if request.held_bytes:
                request.release()

    async def _run_lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.lifespan():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Run the service within a block, which an outer application's lifespan can be.

        Without it the service starts with the first request, and its threads end with the process.
        """
        await self.executor.run_in_thread(self.engine.make_ready)
        self._background.start()
        try:
            yield
        finally:
            await self.executor.run_in_thread(self._background.stop)
            await self._authenticator.save_token_use()
            self.close()

    async def _serve(self, request: Request, send: Send) -> None:
        began, sent_bytes, is_delivered = time.perf_counter(), 0, True
        try:
            response = await self.answer(request)
        except ClientDisconnected:
            return
        except Exception as error:
            response = _error_response(error, request)
        undelivered = response.undelivered
        try:
            sent_bytes = await send_response(request, response, send=send)
        except ClientDisconnected:
            is_delivered = False
        except Overloaded as error:  # too large to be held in memory beside other responses
            response, is_delivered = problem_response(error, request), False
            with suppress(ClientDisconnected):
                sent_bytes = await send_response(request, response, send=send)
        if undelivered is not None and not is_delivered:
            with suppress(RowlockError):
                await undelivered()
        seconds = time.perf_counter() - began
        self.requests.note(request, status=response.status, seconds=seconds)
        if self._log is not None:
            self._log.note(request, status=response.status, sent=sent_bytes, seconds=seconds)

    async def answer(self, request: Request) -> Response:
        """Find the route of a request, authorize its caller and run the endpoint; errors are raised."""
        self._find_route(request)
        request.principal = await self._authorize(request)
        request.parse_query()
        if request.route.ignores_body and request.has_unread_body:
            # A request whose body turns out to be invalid HTTP is refused, and must not have been carried out.
            await request.discard_body(self.limits.document_bytes)
        with auth.audit_context(request):
            result = await request.route.endpoint(request)
            response = result if type(result) is Response else Response(result)
            if response.stream is not None and not response.live and request.method != "HEAD":
                response.first = await anext(response.stream, None)
        return response

    async def authenticate(self, token: str) -> Principal:
        """Return the principal of a token; TokenRefused if it is not valid."""
        return await self._authenticator.identify(f"{auth.SCHEME} {token}")

    async def reauthorize(self, request: Request) -> None:
        """Authorize a request again, which may take longer than its token lives."""
        await self._authorize(request)

    def close(self) -> None:
        """Finish what has begun and stop the threads; the engine stays open, for it belongs to the caller."""
        self.executor.close()
        self.item_reader.close()
        if self._log is not None:
            self._log.flush()

    def stop(self) -> None:
        """Prepare for shutdown: become not ready, and answer long polls."""
        self.stopping = True
        self.claimer.long_poll.stop()

    def _find_route(self, request: Request) -> None:
        method, path = request.method, request.raw_path
        try:
            match = self._router.match(method, path)
            if match is not None:
                request.route, request.path_params = match
            elif self._router.allowed_methods(path):
                raise self._router.missing(method, path)
            elif (route := self._applications.match(request.scope, unquote(path.decode("latin-1")))) is not None:
                request.route = route
            else:
                raise self._router.missing(method, path)
        except RowlockError:
            if path.startswith(IIDY):
                request.route = NO_IIDY_ROUTE
            with suppress(RowlockError):
                request.negotiate()
            raise
        if not request.route.is_application and not request.route.media_type:
            request.negotiate()
            return
        # A route with one media type answers in it, whatever is accepted; problems come as accepted, if they can.
        with suppress(RowlockError):
            request.negotiate()


def _error_response(error: Exception, request: Request) -> Response:
    if not isinstance(error, RowlockError):
        log.error("exception in endpoint", exc_info=error, extra={"request": request.id.decode()})
        hint = "this is a bug in rowlock; please report it, with what the log says"
        error = RowlockError("something unexpected went wrong", hint)
    respond = pages.error_response if pages.wants_page(request) else problem_response
    return respond(auth.redact(error, request), request)


class BackgroundThreads:
    """Upkeep, which no other process does where all workers are remote, and the service's worker if it has one."""

    def __init__(self, engine: Engine, worker: Worker | None) -> None:
        self._engine = engine
        self._worker = worker
        self._stopping = threading.Event()
        self._threads: list[threading.Thread] = []
        self.started = False

    def start(self) -> None:
        """Start the threads, once."""
        if self.started:
            return
        self.started = True
        self._threads.append(threading.Thread(target=self._keep_up, name="rowlock http upkeep", daemon=True))
        if self._worker is not None:
            work = partial(self._worker.run, signals=False)
            self._threads.append(threading.Thread(target=work, name="rowlock http worker", daemon=True))
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Stop after the upkeep pass and the items that are under way."""
        if self._worker is not None:
            self._worker.stop()
        self._stopping.set()
        for thread in self._threads:
            thread.join()

    def _keep_up(self) -> None:
        database = self._engine.database.clone(connections=1)
        housekeeping = upkeep.Housekeeping(database, seconds=UPKEEP_SECONDS)
        try:
            while not self._stopping.wait(housekeeping.pause):
                try:
                    housekeeping.go_on()
                except RowlockError as error:
                    log.info("upkeep put off", extra={"code": error.code})
        finally:
            database.close()
