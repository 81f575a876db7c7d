"""The routes under /api/v1, and the page that shows a chat."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Match, Router
from starlette.types import Receive, Scope, Send

from rowlock import Engine, Invalid, RedisCounters, RowlockError
from rowlock.apps import problems
from rowlock.apps.chat.chats import Chats, CreateApplication, EditMessage, OpenChat, PostMessage, RenameApplication
from rowlock.apps.chat.model import (
    BODY,
    ChatMessage,
    check_body,
    check_count,
    check_name,
    check_number,
    check_token,
    read,
)
from rowlock.errors import InvalidQuery, NoSuchPath, TooLarge, WrongMethod

HERE = Path(__file__).parent
LONGEST_KEY = 200
BYTES = 6 * BODY + 1_000
"""Of a request's body: every character may be written as an escape."""
POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-ancestors 'none'"

Answering = Callable[[Request], Awaitable[Response]]

_encode = msgspec.json.Encoder().encode
_TAG = re.compile(r'(?:W/)?"(\d{1,19})"')


class ChatRoutes:
    """Answers requests with the chats of an engine."""

    def __init__(self, engine: Engine, chats: Chats, redis: RedisCounters | None) -> None:
        self._engine = engine
        self._chats = chats
        self._redis = redis

    def app(self) -> Router:
        """The ASGI application."""
        base = "/api/v1/applications"
        chat = f"{base}/{{token}}/chats/{{chat}}"
        paths: dict[str, dict[str, Answering]] = {
            f"{chat}/messages": {"GET": self.messages, "POST": self.post},
            f"{chat}/messages/search": {"POST": self.search, "GET": self.message, "PUT": self.edit},
            f"{chat}/messages/{{message}}": {"GET": self.message, "PUT": self.edit},
            f"{base}/{{token}}/chats": {"GET": self.chats, "POST": self.open},
            chat: {"GET": self.chat},
            base: {"GET": self.applications, "POST": self.create},
            f"{base}/": {"GET": self.applications, "POST": self.create},
            f"{base}/{{token}}": {"GET": self.application, "PUT": self.rename},
            "/chat": {"GET": _file("page.html", "text/html")},
            "/chat/page.js": {"GET": _file("page.js", "text/javascript")},
            "/chat/page.css": {"GET": _file("page.css", "text/css")},
        }
        resources = [Resource(self._engine, path, functions) for path, functions in paths.items()]
        return Router(resources, redirect_slashes=False, default=Resource(self._engine, "", {}).handle)

    async def create(self, request: Request) -> Response:
        """A new application."""
        name = check_name((await _given(request)).name)
        token, again = await self._chats.create.awaited(CreateApplication(name, _key(request)))
        made = await asyncio.to_thread(self._chats.application, token)
        return _json(made, 201, _replayed(again=again))

    async def applications(self, request: Request) -> Response:
        """All applications, page by page."""
        after, count = request.query_params.get("after", ""), check_count(request.query_params.get("count"))
        after = check_token(after) if after else ""
        found = await asyncio.to_thread(self._chats.applications, after=after, limit=count)
        return _json(found, headers=_next(request, count, [each.token for each in found]))

    async def application(self, request: Request) -> Response:
        """One application."""
        return _json(await asyncio.to_thread(self._chats.application, _token(request)))

    async def rename(self, request: Request) -> Response:
        """Another name for an application."""
        name = check_name((await _given(request)).name)
        await self._chats.rename.awaited(RenameApplication(_token(request), name))
        return _json({"success": "ok"})

    async def open(self, request: Request) -> Response:
        """A new chat."""
        token = _token(request)
        number = await self._number(self._chats.counter_of_chats, token)
        number, again = await self._chats.open.awaited(OpenChat(token, number, _key(request)))
        return _json({"number": number}, headers=_replayed(again=again))

    async def chats(self, request: Request) -> Response:
        """The chats of an application, page by page."""
        after, count = _page(request)
        found = await asyncio.to_thread(self._chats.page, _token(request), after=after, limit=count)
        return _json(found, headers=_next(request, count, [each.number for each in found]))

    async def chat(self, request: Request) -> Response:
        """One chat."""
        return _json(await asyncio.to_thread(self._chats.show, *_chat(request)))

    async def post(self, request: Request) -> Response:
        """A new message."""
        token, chat = _chat(request)
        body = check_body((await _given(request)).body)
        number = await self._number(self._chats.counter_of_messages, token, chat)
        number, again = await self._chats.post.awaited(PostMessage(token, chat, body, number, _key(request)))
        return _json({"number": number}, headers=_replayed(again=again))

    async def messages(self, request: Request) -> Response:
        """The messages of a chat, page by page."""
        after, count = _page(request)
        found = await asyncio.to_thread(self._messages, *_chat(request), after=after, limit=count)
        return _json([each.shown for each in found], headers=_next(request, count, [each.number for each in found]))

    def _messages(self, token: str, chat: int, *, after: int, limit: int) -> list[ChatMessage]:
        return self._chats.messages.page(self._engine, self._chats.find(token, chat), after=after, limit=limit)

    async def message(self, request: Request) -> Response:
        """One message; its ETag is its version."""
        number = check_number(request.path_params.get("message", "search"), "message")
        found = await asyncio.to_thread(self._chats.message, *_chat(request), number=number)
        tag = {"etag": f'"{found.version}"'}
        if str(found.version) in _TAG.findall(request.headers.get("if-none-match", "")):
            return Response(None, 304, tag)
        return _json(found.shown, headers=tag)

    async def edit(self, request: Request) -> Response:
        """Another body for a message."""
        token, chat = _chat(request)
        number = check_number(request.path_params.get("message", "search"), "message")
        body = check_body((await _given(request)).body)
        edited = await self._chats.edit.awaited(EditMessage(token, chat, number, body, _versions(request)))
        return _json(edited.shown, headers={"etag": f'"{edited.version}"'})

    async def search(self, request: Request) -> Response:
        """The messages of a chat in which a text stands, page by page."""
        after, count = _page(request)
        text = check_body((await _given(request)).body)
        found = await asyncio.to_thread(self._search, *_chat(request), text=text, after=after, limit=count)
        return _json(found, headers=_next(request, count, [each["number"] for each in found]))

    def _search(self, token: str, chat: int, *, text: str, **page: int) -> list[dict[str, Any]]:
        return self._chats.messages.search(self._engine, self._chats.find(token, chat), text=text, **page)

    async def _number(self, counter_of: Callable[..., str], *named: Any) -> int:
        """A number from Redis, for whom that is wanted; else 0, and the counter gives it in the transaction."""
        redis = self._redis
        if redis is None:
            return 0
        return await asyncio.to_thread(lambda: redis.counter(counter_of(*named)).next())


class Resource(BaseRoute):
    """What stands at a path: a function for each method, and a problem for everything that is wrong.

    A route of its own: it needs little of what Starlette can do with paths, and messages come by the thousand.
    """

    def __init__(self, engine: Engine, path: str, functions: Mapping[str, Answering]) -> None:
        self.path = path
        self._parts = path.split("/")
        self._engine = engine
        self._functions = dict(functions)
        if "GET" in functions:
            self._functions["HEAD"] = functions["GET"]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether a request is for this, and what stands in its path."""
        parts = scope["path"].split("/")
        if len(parts) != len(self._parts):
            return Match.NONE, {}
        held = {}
        for ours, theirs in zip(self._parts, parts, strict=True):
            if ours.startswith("{") and theirs:
                held[ours[1:-1]] = theirs
            elif ours != theirs:
                return Match.NONE, {}
        return Match.FULL, {"path_params": held}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        request = Request(scope, receive)
        try:
            function = self._functions.get(scope["method"])
            response = await function(request) if function else self._misled(request)
        except RowlockError as error:
            response = problems.answer(error, self._engine)
        await response(scope, receive, send)

    def _misled(self, request: Request) -> Response:
        path, allowed = request.url.path[:200], sorted(self._functions)
        if not allowed:
            raise NoSuchPath(f"there is nothing at {path}", "all paths are below /api/v1/applications")
        hint = f"it answers to {', '.join(allowed)}"
        raise WrongMethod(f"{path} does not answer to {request.method[:20]}", hint, allow=allowed)


def _file(name: str, kind: str) -> Answering:
    content = (HERE / name).read_bytes()

    async def sent(_: Request) -> Response:
        return Response(content, headers={"content-security-policy": POLICY}, media_type=kind)

    return sent


class JsonResponse(Response):
    """A document; its headers are written once, and not read again as Starlette's are."""

    def __init__(self, value: Any, status: int, headers: Mapping[str, str]) -> None:
        self.body = _encode(value)
        self.status_code = status
        self.background = None
        self.raw_headers = [
            *((name.encode(), text.encode()) for name, text in headers.items()),
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(self.body)),
        ]


def _json(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return JsonResponse(value, status, headers or {})


async def _given(request: Request) -> Any:
    """What the body of a request says; no more of it is read than can be right."""
    body, more = b"", True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > BYTES:
            raise TooLarge(f"a request of more than {BYTES} bytes is too large", f"a body has up to {BODY} characters")
    return read(body)


def _token(request: Request) -> str:
    return check_token(request.path_params["token"])


def _chat(request: Request) -> tuple[str, int]:
    return _token(request), check_number(request.path_params["chat"], "chat")


def _page(request: Request) -> tuple[int, int]:
    """After which number, and how many."""
    after = request.query_params.get("after", "0")
    if not after.isascii() or not after.isdigit() or len(after) > 18:
        raise InvalidQuery(f"nothing comes after {after[:50]!r}", "give the last number of the page before")
    return int(after), check_count(request.query_params.get("count"))


def _next(request: Request, count: int, shown: list[Any]) -> dict[str, str]:
    """The link to the next page, if this one is full."""
    if len(shown) < count:
        return {}
    query = urlencode({"after": shown[-1], "count": count})
    return {"link": f'<{request.url.path}?{query}>; rel="next"'}


def _key(request: Request) -> str:
    """Under which key something is asked, told apart from the same one of others or for something else."""
    given = request.headers.get("idempotency-key", "")
    if len(given) > LONGEST_KEY:
        raise Invalid(f"the Idempotency-Key is longer than {LONGEST_KEY} characters", "a UUID will do")
    if not given:
        return ""
    whole = msgspec.json.encode([request.url.path, request.headers.get("authorization", ""), given])
    return f"chat {sha256(whole).hexdigest()}"


def _replayed(*, again: bool) -> dict[str, str]:
    return {"idempotency-replayed": "true"} if again else {}


def _versions(request: Request) -> tuple[int, ...] | None:
    """The versions that a message must be at to be changed; None if any will do."""
    given = request.headers.get("if-match", "*").strip()
    if given == "*":
        return None
    found = [_TAG.fullmatch(tag.strip()) for tag in given.split(",")]
    if not all(found):
        raise Invalid(f"If-Match: {given[:100]} names no version", "give the ETag of the message that you have read")
    return tuple(int(match[1]) for match in found if match)
