"""Pages of the dashboard as routes: runs operations for them within the process, signs people in, streams changes."""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Hashable, Iterable, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import msgspec

from rowlock import tallies
from rowlock.dashboard import PAGES, rendering
from rowlock.dashboard.assets import ASSETS
from rowlock.dashboard.frame import BY_NAME, TWINS, PageEntry, PageRequest, Redirect, RejectedForm, View, ViewFunction
from rowlock.errors import InvalidBody, NoSuchPath, Overloaded, RowlockError, TokenRefused
from rowlock.http import auth, problems
from rowlock.http.asgi import Header
from rowlock.http.requests import Request
from rowlock.http.responses import Response
from rowlock.http.routing import NO_ROUTE, Route
from rowlock.roles import Role

HTML, JSON, CSV = b"text/html; charset=utf-8", b"application/json", b"text/csv; charset=utf-8"
PAGE_HEADERS: list[Header] = [
    (b"content-security-policy", rendering.POLICY.encode()),
    # `same-origin` and not `no-referrer`, with which browsers send a form's origin as null.
    (b"referrer-policy", b"same-origin"),
]
STATIC_HEADERS: list[Header] = [(b"cache-control", b"public, max-age=31536000, immutable")]
CHANGES_SECONDS = 1.0
"""How often all open pages together ask the database whether something has changed."""
REFRESH_SECONDS = 3.0
"""How often it is refreshed although no item has changed: sessions and ages change too."""
SHARED_SECONDS = 1.0
"""How old a shared copy may be, and how often an open page is refreshed at most."""
MAX_SECONDS = 10.0
"""How often it is refreshed at least while something changes."""
MAX_SHARE = 0.02
"""The share of the time that all open pages together may take to be made."""
KNOWN_SECONDS = 30.0
"""How long the cost of a page counts after it was made."""
MAX_OPEN_PAGES = 100
"""How many pages are kept up to date; clients that follow the events are counted apart."""
SESSION_SECONDS = 12 * 3600
AWAY = -2
"""Stands for the number of the newest tally while the database is away."""
REFRESHES = b"hx-request"
"""The header of a request by which an open page reads itself again."""
FORM_TYPE = "application/x-www-form-urlencoded"

_PATH = re.compile(r"/(?![/\\])[!-~]*")
"""A path of this server, which a browser does not take for the address of another."""


class OperationCall:
    """Runs operations of the API for a page: as requests of the same caller, within the process."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def __call__(self, name: str, *path: str, query: Mapping[str, Any] | None = None, body: Any = None) -> Any:
        """Run the operation of that name and return its document; RowlockError if it is refused."""
        operation = BY_NAME[name]
        quoted = [quote(value, safe="") for value in path]
        raw_path = operation.path.format(**dict(zip(operation.parameters, quoted, strict=True)))
        content, content_type = _encode_body(body)
        replaced = (b"content-type", b"content-length", b"content-encoding", b"accept", b"transfer-encoding")
        headers = [header for header in self._request.scope["headers"] if header[0] not in replaced]
        headers += [(b"accept", b"application/json"), (b"content-type", content_type)]
        scope = {
            **self._request.scope,
            "method": operation.method,
            "root_path": "",
            "path": raw_path,
            "raw_path": raw_path.encode(),
            "query_string": urlencode(dict(query or {}), quote_via=quote).encode(),
            "headers": [*headers, (b"content-length", b"%d" % len(content))],
        }

        async def receive() -> Mapping[str, Any]:
            return {"type": "http.request", "body": content, "more_body": False}

        inner = Request(self._request.service, scope, receive)
        try:
            response = await self._request.service.answer(inner)
        finally:
            inner.release()
        return response.value


def _encode_body(body: Any) -> tuple[bytes, bytes]:
    if isinstance(body, str):
        return body.encode(), b"text/plain"
    return (b"", b"application/json") if body is None else (msgspec.json.encode(body), b"application/json")


async def _page_request(request: Request, page: PageEntry, ending: str) -> PageRequest:
    parameters = dict(request.path_params)
    if ending and page.path.endswith("}"):
        last = page.path.rpartition("{")[2][:-1]
        parameters[last] = parameters[last].removesuffix(ending)
    return PageRequest(
        call=OperationCall(request),
        path=request.raw_path.decode("latin-1").removesuffix(ending),
        parameters=parameters,
        query=dict(_pairs(request.scope["query_string"])),
        form=await _form(request) if page.method == "POST" else (),
        root=request.root_path,
        base_url=request.base_url,
        caller=request.principal.name,
        role=request.principal.role,
        limited=bool(request.principal.lists),
        signed_in=bool(auth.session_cookie(request)),
        trace_url=request.service.trace_url,
    )


def _ending(request: Request) -> str:
    """Return the ending of the path if it asks for a twin of the page."""
    return next((each for each in TWINS if request.raw_path.endswith(each.encode())), "")


async def _form(request: Request) -> list[tuple[str, str]]:
    content_type = request.header(b"content-type").partition(";")[0].strip().lower()
    if content_type != FORM_TYPE:
        raise InvalidBody(f"a form must be sent as {FORM_TYPE}, got {content_type[:100]!r}", "use the form of the page")
    return _pairs(await request.body(request.service.limits.document_bytes))


def _pairs(text: bytes) -> list[tuple[str, str]]:
    try:
        return parse_qsl(text.decode("ascii"), keep_blank_values=True, errors="replace", max_num_fields=20_000)
    except ValueError:
        raise InvalidBody("the form or query is malformed", "percent-encode UTF-8") from None


async def _respond(page: PageEntry, request: Request) -> Response:
    """Respond with a page, or with its data; open tabs that read the same page again share one copy."""
    if REFRESHES not in request.headers or page.method != "GET":
        return await _response_of(page, request)
    key = (request.base_url, request.raw_path, request.scope["query_string"], request.principal)
    shared = await request.service.shared_pages.get(key, partial(_response_of, page, request))
    return Response(shared.value, shared.status, [*shared.headers], media_type=shared.media_type)


async def _response_of(page: PageEntry, request: Request) -> Response:
    ending = _ending(request) if page.method == "GET" else ""
    asked = await _page_request(request, page, ending)
    try:
        shown = await page.function(asked)
    except RowlockError as error:
        if page.shown_on is None or ending or error.http_status >= 500:
            raise
        known = problems.without_address(auth.redact(error, request), request.service.engine)
        asked = msgspec.structs.replace(asked, rejected=RejectedForm(page.form, known.what, known.hint))
        shown = await _shown_again(page.shown_on, asked, error=error)
    if isinstance(shown, Redirect):
        return Response(b"", 303, _redirect_headers(request, shown))
    return _written(request, asked, view=shown, ending=ending)


async def _shown_again(show: ViewFunction, page: PageRequest, *, error: RowlockError) -> View:
    """Return the page of a form that was refused; if it cannot be shown, raise why the form was refused."""
    try:
        view = await show(page)
    except RowlockError:
        raise error from None
    return msgspec.structs.replace(view, status=error.http_status)


def _written(request: Request, page: PageRequest, *, view: View, ending: str = "") -> Response:
    if ending == ".json":
        return Response(rendering.json(view), view.status, media_type=JSON)
    if ending == ".csv":
        return Response(rendering.csv_text(view), view.status, media_type=CSV)
    content = rendering.html(page, view, navigation=request.service.navigation)
    return Response(content, view.status, [*PAGE_HEADERS], media_type=HTML)


def _redirect_headers(request: Request, redirect: Redirect) -> list[Header]:
    headers = [(b"location", redirect.to.encode("latin-1"))]
    if redirect.cookie is not None:
        headers.append((b"set-cookie", _cookie(request, redirect.cookie).encode("latin-1")))
    return headers


def _cookie(request: Request, token: str) -> str:
    # A client can only add Secure by a false header, which locks out nobody but itself.
    is_secure = "https" in (request.scope["scheme"], request.header(b"x-forwarded-proto").partition(",")[0].strip())
    path, age = request.root_path or "/", SESSION_SECONDS if token else 0
    secure = "; Secure" if is_secure else ""
    return f"{auth.COOKIE}={token}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Strict{secure}"


def wants_page(request: Request) -> bool:
    """Return whether an error of this request is shown as a page."""
    if request.route is NO_ROUTE:
        return request.method == "GET" and "text/html" in request.header(b"accept")
    return request.route.is_page and not _ending(request)


def error_response(error: RowlockError, request: Request) -> Response:
    """Return an error as a page; without a token, a redirect to the page where people sign in."""
    if isinstance(error, TokenRefused) and request.method == "GET":
        target = f"{request.raw_path.decode('latin-1')}?{request.scope['query_string'].decode('latin-1')}".rstrip("?")
        query = urlencode({"next": target, **({"refused": "1"} if auth.session_cookie(request) else {})})
        return Response(b"", 303, [(b"location", f"{request.root_path}/login?{query}".encode())])
    shown = problems.without_address(error, request.service.engine)
    page = PageRequest(
        call=OperationCall(request),
        path=request.raw_path.decode("latin-1"),
        root=request.root_path,
        base_url=request.base_url,
        role=request.principal.role,
        limited=bool(request.principal.lists),
        caller=request.principal.name,
    )
    response = _written(request, page, view=rendering.error_view(shown))
    response.headers += problems.headers(shown)
    return response


async def sign_in(request: Request) -> Response:
    """Store the token of the form in a cookie, if it is valid."""
    auth.refuse_foreign_page(request)
    form = dict(await _form(request))
    token, target = form.get("token", "").strip(), form.get("next", "")
    try:
        await request.service.authenticate(token)
    except TokenRefused as error:
        document = {"next": target, "refused": error.what}
        page = PageRequest(call=OperationCall(request), path="/login", root=request.root_path)
        return _written(request, page, view=View(template="login.html", title="Sign in", document=document, status=403))
    if not _PATH.fullmatch(target):
        target = "/"
    return Response(b"", 303, _redirect_headers(request, Redirect(request.root_path + target, token)))


async def sign_out(request: Request) -> Response:
    """Remove the cookie."""
    auth.refuse_foreign_page(request)
    return Response(b"", 303, _redirect_headers(request, Redirect(f"{request.root_path}/login", "")))


async def static_file(request: Request) -> Response:
    """Respond with a static file; its name changes with its content."""
    found = ASSETS.get(request.path_params["file"])
    if found is None:
        raise NoSuchPath(f"there is no file {request.path_params['file'][:100]!r}", "load the page again")
    return Response(found.content, headers=[*STATIC_HEADERS], media_type=found.media_type.encode(), cacheable=True)


class SharedPage(msgspec.Struct):
    """A page that is being made or was made."""

    response: "asyncio.Future[Response]"
    made_at: float
    seconds: float = 0.0
    """How long it took to be made."""


class SharedPages:
    """The copies of one service, by what they show and to whom."""

    def __init__(self) -> None:
        self._pages: dict[Hashable, SharedPage] = {}

    async def get(self, key: Hashable, make: Callable[[], Awaitable[Response]]) -> Response:
        """Return the copy of this key if it is at most a second old, else make one; many callers wait for one copy."""
        now, known = time.monotonic(), self._pages.get(key)
        if known is not None and now - known.made_at < SHARED_SECONDS:
            return await asyncio.shield(known.response)
        self._pages = {each: page for each, page in self._pages.items() if now - page.made_at < KNOWN_SECONDS}
        page = self._pages[key] = SharedPage(asyncio.ensure_future(make()), now, known.seconds if known else 0.0)
        try:
            response = await asyncio.shield(page.response)
        except BaseException:
            if self._pages.get(key) is page:
                del self._pages[key]
            raise
        page.seconds = time.monotonic() - now
        return response

    @property
    def interval_seconds(self) -> float:
        """The time between two refreshes with which all open pages stay within their share."""
        seconds = sum(page.seconds for page in self._pages.values())
        return min(max(SHARED_SECONDS, seconds / MAX_SHARE), MAX_SECONDS)


async def live(request: Request) -> Response:
    """Stream when pages should be read again: at most once a second, and when the database is away or back."""
    service = request.service
    if service.open_pages >= MAX_OPEN_PAGES:
        raise Overloaded(f"{service.open_pages} pages are open already", "close some, or try again later")
    service.long_polls.check(request.client_host)
    return Response(stream=_changes(request), live=True, media_type=b"text/event-stream")


async def _changes(request: Request) -> AsyncIterator[bytes]:
    service, known, silent_seconds = request.service, -1, 0.0
    with request.long_poll_slot():
        disconnect = asyncio.ensure_future(request.wait_for_half_close())
        service.open_pages += 1
        try:
            yield b"retry: 2000\n\n"
            while not service.stopping and not disconnect.done():
                await service.reauthorize(request)
                event, latest = await _observe(request, known)
                silent_seconds += CHANGES_SECONDS
                interval = service.shared_pages.interval_seconds
                is_due = silent_seconds >= (interval if event else max(interval, REFRESH_SECONDS))
                if is_due or latest == AWAY != known:
                    known, silent_seconds = latest, 0.0
                    yield b"event: %b\ndata: \n\n" % (event or b"changed")
                await asyncio.wait([disconnect], timeout=CHANGES_SECONDS)
        finally:
            service.open_pages -= 1
            disconnect.cancel()


async def _observe(request: Request, known: int) -> tuple[bytes, int]:
    """Return the event to send, if there is one, and the number of the newest tally; -2 if the database is away."""
    try:
        latest = await request.service.latest_tally.get(partial(request.executor.read, tallies.last_id))
    except RowlockError:
        return b"away" if known != AWAY else b"", AWAY
    return b"changed" if latest != known else b"", latest


def routes_of(entries: Iterable[PageEntry], *, checks_prefixes: bool) -> list[Route]:
    """Return the routes of pages and of their twins; with `checks_prefixes` tokens for some lists may ask too."""
    found: list[Route] = []
    for page in entries:
        # A twin of a page whose path ends with a parameter is found by the route of the page.
        is_fixed = page.method == "GET" and page.role is not None and not page.path.endswith("}")
        twins = [("/overview" if page.path == "/" else page.path) + ending for ending in TWINS if is_fixed]
        shared: dict[str, Any] = {**PAGE_ROUTE, "endpoint": partial(_respond, page), "checks_prefixes": checks_prefixes}
        found += [Route(None, page.method, path, page.role, str, **shared) for path in (page.path, *twins)]
    return found


PAGE_ROUTE: dict[str, Any] = {"media_type": HTML.decode(), "is_page": True}
PAGE_ROUTES = [
    Route(None, "POST", "/login", None, str, endpoint=sign_in, **PAGE_ROUTE),
    Route(None, "POST", "/logout", None, str, endpoint=sign_out, **PAGE_ROUTE),
    Route(None, "GET", "/live", Role.VIEWER, str, endpoint=live, checks_prefixes=True, **PAGE_ROUTE),
    Route(None, "GET", "/static/{file}", None, str, endpoint=static_file, **PAGE_ROUTE),
    *routes_of(PAGES, checks_prefixes=True),
]
