"""Relays: a request that an application answers, in the bounds of the service, and with its problems if it has none."""

import logging
from collections.abc import Mapping
from typing import Any

from rowlock.errors import RowlockError
from rowlock.http.asgi import EXTENSION, Asgi, Receive, Send, send_response
from rowlock.http.auth import CREDENTIALS
from rowlock.http.call import Answer, Call

log = logging.getLogger("rowlock.http")

START = "http.response.start"


class Relay:
    """Gives requests to an application."""

    def __init__(self, name: str, asgi: Asgi) -> None:
        self._name = name
        self._asgi = asgi

    async def __call__(self, call: Call) -> Answer:
        """Read what is sent, in bounds and unpacked, and have the application answer it."""
        body = await call.body.whole(call.service.limits.document_bytes)
        return Answer(relay=Relayed(self._name, self._asgi, body))


class Relayed:
    """One request on its way through an application."""

    def __init__(self, name: str, asgi: Asgi, body: bytes) -> None:
        self._name = name
        self._asgi = asgi
        self._body: bytes | None = body
        self._held: list[dict[str, Any]] = []
        self._start: dict[str, Any] | None = None
        self._begun = False
        self.status = 500
        self.sent = 0

    async def run(self, call: Call, send: Send) -> RowlockError | None:
        """Have it answered; what is wrong if that failed before anything was sent.

        An error of rowlock that the application does not see to is told as the service tells it: with its status,
        with its code, and when to come again.
        """
        try:
            await self._asgi(self._scope(call), self._receiving(call.body.receive), self._sending(call, send))
        except RowlockError as error:
            return None if self._begun else error
        except Exception:
            log.exception("an application went wrong", extra={"app": self._name, "request": call.id.decode()})
            hint = f"this is a bug in {self._name}; the log of the service says more"
            return None if self._begun else RowlockError("something unexpected went wrong", hint)
        if self._held:
            self._start = self._held.pop(0)
        for message in self._held:
            await self._pass_on(message, call, send)
        return None

    def _scope(self, call: Call) -> dict[str, Any]:
        """The request as the application sees it: what was packed is unpacked, and who asks is known by their role."""
        extensions = call.scope.get("extensions", {})
        others = {name: value for name, value in extensions.items() if name != EXTENSION} if len(extensions) > 1 else {}
        scope = {**call.scope, "extensions": others, "auth": CREDENTIALS[call.principal.role]}
        if b"content-encoding" in call.body.headers:
            gone = (b"content-encoding", b"content-length", b"transfer-encoding")
            length = str(len(self._body or b"")).encode()
            kept = [header for header in call.scope["headers"] if header[0] not in gone]
            scope["headers"] = [*kept, (b"content-length", length)]
        return scope

    def _receiving(self, receive: Receive) -> Receive:
        async def received() -> Mapping[str, Any]:
            body, self._body = self._body, None
            return await receive() if body is None else {"type": "http.request", "body": body, "more_body": False}

        return received

    def _sending(self, call: Call, send: Send) -> Send:
        async def said(message: dict[str, Any]) -> None:
            # Starlette says 500 and then raises what happened: only then is it known what to say.
            if self._held or (message["type"] == START and message["status"] == 500):
                self._held.append(message)
            elif message["type"] == START:
                self._start = message
            else:
                await self._pass_on(message, call, send)

        return said

    async def _pass_on(self, message: dict[str, Any], call: Call, send: Send) -> None:
        self.sent += len(message.get("body", b""))
        start, self._start = self._start, None
        if start is not None:
            self._begun, self.status = True, start["status"]
            headers = [*start.get("headers", ()), (b"x-request-id", call.id)]
            if _is_whole(message, headers):
                whole = {"status": self.status, "headers": headers, "body": message["body"]}
                await send_response(call.scope, send, **whole)
                return
            await send({**start, "headers": headers})
        await send(message)


def _is_whole(message: Mapping[str, Any], headers: list[tuple[bytes, bytes]]) -> bool:
    """Whether it is all that follows the headers, and they say so."""
    body = message.get("body", b"")
    return not message.get("more_body") and (b"content-length", b"%d" % len(body)) in headers
