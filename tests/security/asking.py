"""A service within this process, asked by ASGI messages: thousands of requests in seconds."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import msgspec
from tests.http.serving import Reply

from rowlock import Engine
from rowlock.http.service import Service

HOST = b"127.0.0.1:8000"
FORM = "application/x-www-form-urlencoded"


class InProcess:
    """Asks a service without sockets; an answer without end is left after its first part."""

    def __init__(self, service: Service, runner: asyncio.Runner) -> None:
        self.service = service
        self._runner = runner

    def __call__(self, method: str, target: str, body: Any = b"", **headers: str) -> Reply:
        """Ask, and return the answer; a body that is no bytes or text is sent as JSON."""
        if not isinstance(body, str | bytes):
            body = msgspec.json.encode(body)
            headers = {"content_type": "application/json", **headers}
        content = body.encode() if isinstance(body, str) else body
        return self._runner.run(self._ask(_scope(method, target, len(content), headers), content))

    async def _ask(self, scope: dict[str, Any], content: bytes) -> Reply:
        messages: list[dict[str, Any]] = []
        unread = [content]
        started = asyncio.Event()

        async def receive() -> Mapping[str, Any]:
            if unread:
                return {"type": "http.request", "body": unread.pop(), "more_body": False}
            await started.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)
            if message.get("body"):
                started.set()

        await self.service(scope, receive, send)
        headers = {name.decode(): value.decode("latin-1") for name, value in messages[0]["headers"]}
        return Reply(messages[0]["status"], headers, b"".join(each.get("body", b"") for each in messages[1:]))


def _scope(method: str, target: str, length: int, headers: Mapping[str, str]) -> dict[str, Any]:
    path, _, query = target.partition("?")
    named = {"content-length": str(length)} | {name.replace("_", "-"): value for name, value in headers.items()}
    encoded = [(name.encode(), value.encode("latin-1")) for name, value in named.items()]
    return {
        "type": "http",
        "http_version": "1.1",
        "scheme": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode("latin-1"),
        "query_string": query.encode("latin-1"),
        "root_path": "",
        "headers": [(b"host", HOST), *encoded],
        "client": ("127.0.0.1", 50_000),
        "server": ("127.0.0.1", 8_000),
    }


@contextmanager
def asked(engine: Engine, **options: Any) -> Iterator[InProcess]:
    """A service on this engine; it ends with the block."""
    with asyncio.Runner() as runner:
        service = Service(engine, **{"loopback": True, **options})
        lifespan = service.lifespan()
        runner.run(lifespan.__aenter__())
        yield InProcess(service, runner)
        runner.run(lifespan.__aexit__(None, None, None))
