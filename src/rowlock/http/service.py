"""The service as an ASGI application: finds the route, authorizes the caller, runs the endpoint, sends the response."""

import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from urllib.parse import unquote

import msgspec

from rowlock.api.limits import ServerLimits
from rowlock.audit import DEFAULT_KEEP
from rowlock.durations import Duration
from rowlock.engine import Engine
from rowlock.errors import Overloaded, RowlockError
from rowlock.http import auth, metrics, openapi, problems
from rowlock.http.access_log import AccessLog
from rowlock.http.answers import begun, send_answer
from rowlock.http.applications import Application, ApplicationRoutes
from rowlock.http.asgi import ClientDisconnected, Receive, Scope, Send
from rowlock.http.auth import Principal
from rowlock.http.background import BackgroundThreads
from rowlock.http.bodies import Body, Budget, Gone
from rowlock.http.call import Answer, Call
from rowlock.http.compression import CompressionMiddleware
from rowlock.http.executor import VerbExecutor
from rowlock.http.item_reader import ItemReader
from rowlock.http.long_poll import LongPollLimiter, RemoteClaimer
from rowlock.http.route import NOWHERE_IN_IIDY, Route
from rowlock.http.router import Router
from rowlock.http.routes import ROUTES
from rowlock.http.session_pollers import SessionPollers
from rowlock.worker import Worker

Authorize = Callable[[Call], Awaitable[Principal]]

log = logging.getLogger("rowlock.http")

IIDY = b"/iidy/"

_ROUTER = Router(ROUTES)


class Service:
    """An ASGI application that answers requests with an engine's verbs.

    With `loopback`, for addresses that only this machine can reach, it is open until the first token exists. A
    `worker` runs as long as the service does.
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
    ) -> None:
        self.engine = engine
        self.limits = limits or ServerLimits()
        self.executor = VerbExecutor(engine, waiting=self.limits.waiting_requests)
        self.item_reader = ItemReader(self.executor, waiting=self.limits.waiting_requests)
        self.claimer = RemoteClaimer(self.executor)
        self.long_polls = LongPollLimiter(self.limits)
        self.session_pollers = SessionPollers(self.executor, self.claimer.long_poll)
        self.stopping = False
        """Whether it shuts down: it is not ready, and long polls return at once."""
        self.audit_keep = audit_keep
        self._budget = Budget(self.limits.buffered_bytes)
        self._authenticator = auth.Authenticator(engine.tokens, self.executor, loopback=loopback)
        self._authorize = authorize or self._authenticator.authorize
        self._log = access_log
        self.requests = metrics.RequestMetrics()
        self.watchers = 0
        """How many clients follow the events."""
        self.worker = worker
        self._applications = ApplicationRoutes(applications or {})
        self._prefix = engine.environment.token()[:8]
        self._count = 0
        self._background = BackgroundThreads(engine)
        self._descriptions: dict[str, bytes] = {}
        self._app = CompressionMiddleware(self._serve)

    def request_id(self, given: str) -> bytes:
        """Return the id of a request in logs and problems: the one that the client gave, or a new one."""
        if given and len(given) <= 128 and given.isascii() and given.isprintable():
            return given.encode()
        self._count += 1
        return f"{self._prefix}-{self._count:x}".encode()

    def description(self, root_path: str) -> bytes:
        """Return the OpenAPI document of a service that is mounted under that path."""
        if root_path not in self._descriptions:
            self._descriptions = {root_path: msgspec.json.encode(openapi.document(ROUTES, root_path))}
        return self._descriptions[root_path]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or run the lifespan."""
        if scope["type"] == "lifespan":
            await self._run_lifespan(receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1003})
        else:
            await self._app(scope, receive, send)

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
        self._background.start(self.worker)
        try:
            yield
        finally:
            await self.executor.run_in_thread(self._background.stop)
            await self._authenticator.save_token_use()
            self.close()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        if not self._background.started:
            self._background.start(self.worker)  # an outer application runs no lifespan for those it mounts
        body = Body(receive, dict(scope["headers"]), self.limits, budget=self._budget, scope=scope)
        call = Call(self, scope, body)
        answer = await self._answered(call)
        if answer is None:
            body.release()
            return
        sent, undelivered, is_delivered = 0, answer.undelivered, True
        with suppress(Gone), auth.acting(call):
            try:
                sent = await send_answer(call, answer, send=send)
            except ClientDisconnected:
                is_delivered = False
            except Overloaded as error:  # too large to be held in memory beside other responses
                answer, is_delivered = problems.answer(error, call), False
                sent = await send_answer(call, answer, send=send)
        body.release()
        if undelivered is not None and not is_delivered:
            with suppress(RowlockError):
                await undelivered()
        seconds = time.perf_counter() - began
        self.requests.note(call, status=answer.status, seconds=seconds)
        if self._log is not None:
            self._log.note(call, status=answer.status, sent=sent, seconds=seconds)

    async def _answered(self, call: Call) -> Answer | None:
        try:
            self._find(call)
            call.principal = await self._authorize(call)
            call.read_query()
            if call.route.ignores_body and call.body.unread:
                # A request whose body turns out to be invalid HTTP is refused, and must not have been carried out.
                await call.body.discard(self.limits.document_bytes)
            with auth.acting(call):
                given = await call.route.function(call)
                answer = given if type(given) is Answer else Answer(given)
                if answer.stream is not None and not answer.live and call.method != "HEAD":
                    answer.stream = await begun(answer.stream)
            return answer
        except RowlockError as error:
            return problems.answer(auth.redact(error, call), call)
        except Gone:
            return None
        except Exception:
            log.exception("exception in endpoint", extra={"request": call.id.decode()})
            hint = "this is a bug in rowlock; please report it, with what the log says"
            return problems.answer(RowlockError("something unexpected went wrong", hint), call)

    async def recheck(self, call: Call) -> None:
        """Authorize a request again, which may take longer than its token lives."""
        await self._authorize(call)

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

    def _find(self, call: Call) -> None:
        path = call.raw_path
        try:
            found = _ROUTER.match(call.method, path) or self._applied(call, path)
            call.route, call.path = found or _ROUTER.find(call.method, path)
        except RowlockError:
            if path.startswith(IIDY):
                call.route = NOWHERE_IN_IIDY
            with suppress(RowlockError):
                call.choose_media_type()
            raise
        if not call.route.foreign and not call.route.media_type:
            call.choose_media_type()
            return
        # A route with one media type answers in it, whatever is accepted; problems come as accepted, if they can.
        with suppress(RowlockError):
            call.choose_media_type()

    def _applied(self, call: Call, path: bytes) -> tuple[Route, dict[str, str]] | None:
        """Return the route of an application, if the service has none at that path for any method."""
        route = None if _ROUTER.knows(path) else self._applications.find(call.scope, unquote(path.decode("latin-1")))
        return None if route is None else (route, {})
