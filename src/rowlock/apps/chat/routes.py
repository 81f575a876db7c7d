"""The routes under /api/v1."""

import asyncio
from hashlib import sha256
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Router

from rowlock import Engine
from rowlock.apps import web
from rowlock.apps.chat.chats import (
    Chats,
    CreateApplication,
    EditMessage,
    MessageNumbers,
    OpenChat,
    PostMessage,
    RenameApplication,
)
from rowlock.apps.chat.model import MAX_BODY_CHARACTERS, check_body, check_name, check_number, check_token

MAX_REQUEST_BYTES = 6 * MAX_BODY_CHARACTERS + 1_000
"""Every character of a message may be written as an escape."""
DEFAULT_PAGE, MAX_PAGE = 1_000, 10_000


class ChatRoutes:
    """Answers requests with the chats of an engine."""

    def __init__(self, engine: Engine, chats: Chats, numbers: MessageNumbers) -> None:
        self._engine = engine
        self._chats = chats
        self._numbers = numbers

    def app(self) -> Router:
        """Return the ASGI application."""
        base = "/api/v1/applications"
        chat = f"{base}/{{token}}/chats/{{chat}}"
        paths: dict[str, dict[str, web.Endpoint]] = {
            f"{chat}/messages": {"GET": self.messages, "POST": self.post},
            f"{chat}/messages/search": {"POST": self.search},
            f"{chat}/messages/{{message}}": {"GET": self.message, "PUT": self.edit},
            f"{base}/{{token}}/chats": {"GET": self.chats, "POST": self.open},
            chat: {"GET": self.chat},
            base: {"GET": self.applications, "POST": self.create},
            f"{base}/": {"GET": self.applications, "POST": self.create},
            f"{base}/{{token}}": {"GET": self.application, "PUT": self.rename},
        }
        routes = [web.resource(path, engine=self._engine, **endpoints) for path, endpoints in paths.items()]
        return Router(routes, redirect_slashes=False)

    async def create(self, request: Request) -> Response:
        """Create an application."""
        name = check_name((await _document(request)).get("name"))
        token, again = await self._chats.create.awaited(CreateApplication(name, _key(request)))
        made = await asyncio.to_thread(self._chats.application, token)
        return web.json_response(made, 201, headers=web.replayed(again=again))

    async def applications(self, request: Request) -> Response:
        """Return a page of applications."""
        after, count = request.query_params.get("after", ""), _count(request)
        after = check_token(after) if after else ""
        found = await asyncio.to_thread(self._chats.applications, after=after, limit=count)
        return web.json_response(found, headers=web.next_link(request, [each.token for each in found], count=count))

    async def application(self, request: Request) -> Response:
        """Return one application."""
        return web.json_response(await asyncio.to_thread(self._chats.application, _token(request)))

    async def rename(self, request: Request) -> Response:
        """Rename an application."""
        name = check_name((await _document(request)).get("name"))
        await self._chats.rename.awaited(RenameApplication(_token(request), name))
        return web.json_response({"success": "ok"})

    async def open(self, request: Request) -> Response:
        """Open a chat."""
        token = _token(request)
        number = await self._numbers.next_chat(token)
        number, again = await self._chats.open.awaited(OpenChat(token, number, _key(request)))
        return web.json_response({"number": number}, headers=web.replayed(again=again))

    async def chats(self, request: Request) -> Response:
        """Return a page of the chats of an application."""
        after, count = _page(request)
        found = await asyncio.to_thread(self._chats.page, _token(request), after=after, limit=count)
        return web.json_response(found, headers=web.next_link(request, [each.number for each in found], count=count))

    async def chat(self, request: Request) -> Response:
        """Return one chat."""
        return web.json_response(await asyncio.to_thread(self._chats.show, *_chat(request)))

    async def post(self, request: Request) -> Response:
        """Post a message."""
        token, chat = _chat(request)
        body = check_body((await _document(request)).get("body"))
        number = await self._numbers.next_message(token, chat)
        number, again = await self._chats.post.awaited(PostMessage(token, chat, body, number, _key(request)))
        return web.json_response({"number": number}, headers=web.replayed(again=again))

    async def messages(self, request: Request) -> Response:
        """Return a page of the messages of a chat."""
        after, count = _page(request)
        found = await asyncio.to_thread(self._chats.read, *_chat(request), after=after, limit=count)
        link = web.next_link(request, [each.number for each in found], count=count)
        return web.json_response([each.shown for each in found], headers=link)

    async def message(self, request: Request) -> Response:
        """Return one message; its ETag is its version."""
        number = check_number(request.path_params["message"], "message")
        found = await asyncio.to_thread(self._chats.message, *_chat(request), number=number)
        if web.is_not_modified(request, found.version):
            return Response(None, 304, web.etag(found.version))
        return web.json_response(found.shown, headers=web.etag(found.version))

    async def edit(self, request: Request) -> Response:
        """Replace the body of a message."""
        token, chat = _chat(request)
        number = check_number(request.path_params["message"], "message")
        body = check_body((await _document(request)).get("body"))
        edited = await self._chats.edit.awaited(EditMessage(token, chat, number, body, web.expected_versions(request)))
        return web.json_response(edited.shown, headers=web.etag(edited.version))

    async def search(self, request: Request) -> Response:
        """Return a page of the messages of a chat that contain a text."""
        after, count = _page(request)
        text = check_body((await _document(request)).get("body"))
        found = await asyncio.to_thread(self._chats.search, *_chat(request), text=text, after=after, limit=count)
        return web.json_response(found, headers=web.next_link(request, [each["number"] for each in found], count=count))


async def _document(request: Request) -> dict[str, Any]:
    return await web.json_object(request, max_bytes=MAX_REQUEST_BYTES)


def _token(request: Request) -> str:
    return check_token(request.path_params["token"])


def _chat(request: Request) -> tuple[str, int]:
    return _token(request), check_number(request.path_params["chat"], "chat")


def _page(request: Request) -> tuple[int, int]:
    return web.query_number(request, "after", default=0), _count(request)


def _count(request: Request) -> int:
    return web.query_number(request, "count", default=DEFAULT_PAGE, minimum=1, maximum=MAX_PAGE)


def _key(request: Request) -> str:
    """Return the idempotency key of a request, different for each caller and path; empty if it has none."""
    given = web.idempotency_key(request)
    if not given:
        return ""
    whole = msgspec.json.encode([request.url.path, request.headers.get("authorization", ""), given])
    return f"chat {sha256(whole).hexdigest()}"
