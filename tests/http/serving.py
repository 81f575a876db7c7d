"""A real server on a port of its own, and a client that speaks HTTP over a plain socket."""

import asyncio
import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import uvicorn
import uvicorn.server
from tests.waiting import WAIT_SECONDS
from tests.waiting import until as until

from rowlock import Engine
from rowlock.api.server_limits import ServerLimits
from rowlock.http.server import Server, bind
from rowlock.http.service import Service

SECONDS = WAIT_SECONDS
PROTOCOLS = {"own": None, "uvicorn": "httptools"}
"""What uvicorn's server speaks HTTP with: the protocol of rowlock, or one of its own."""
chosen = "own"
"""Which of them the next server speaks."""


class Reply(msgspec.Struct, frozen=True):
    """What the server answered."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The body as text."""
        return self.body.decode()

    @property
    def json(self) -> Any:
        """The body as a JSON document."""
        return msgspec.json.decode(self.body)

    @property
    def lines(self) -> list[Any]:
        """The body as one JSON document to a line."""
        return msgspec.json.Decoder().decode_lines(self.body)


class Client:
    """Asks a server; each request on a connection of its own unless one is kept."""

    def __init__(self, port: int, host: str = "127.0.0.1") -> None:
        self.host, self.port = host, port

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Ask, and read the whole answer; a body that is no bytes or text is sent as JSON."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=SECONDS)
        try:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            if body is not None and not isinstance(body, str | bytes):
                body = msgspec.json.encode(body)
                named.setdefault("content-type", "application/json")
            connection.request(method, path, body.encode() if isinstance(body, str) else body, named)
            return read(connection)
        finally:
            connection.close()

    def json(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Ask for JSON, and for success."""
        reply = self(method, path, body, accept="application/json", **headers)
        assert reply.status < 300, reply.text
        return reply.json


def read(connection: http.client.HTTPConnection) -> Reply:
    """The answer that comes next on a connection."""
    response = connection.getresponse()
    headers = {name.lower(): value for name, value in response.getheaders()}
    return Reply(response.status, headers, response.read())


class Hasty:
    """asyncio as uvicorn sees it here: it looks ten times a second whether it shall end, and hundreds of tests wait."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        """Not so long."""
        await asyncio.sleep(seconds / 20)


uvicorn.server.asyncio = Hasty()  # type: ignore[assignment]


class Serving(msgspec.Struct):
    """A server at work in a thread."""

    service: Service
    server: Server
    client: Client


@contextmanager
def serving_app(app: Any, **options: Any) -> Iterator[Client]:
    """Any ASGI application, served by uvicorn as it comes."""
    sock = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, http="httptools", log_config=None, **options))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield Client(sock.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()


@contextmanager
def serving(engine: Engine, limits: ServerLimits | None = None, **options: Any) -> Iterator[Serving]:
    """A server in a thread of this process, on any free port; it ends with the block."""
    sock = bind("127.0.0.1", 0)
    started = threading.Event()
    service = Service(engine, limits=limits, **{"loopback": True, **options})
    server = Server(service, drain=0.0, started=started.set)
    server.config.http = PROTOCOLS[chosen] or server.config.http
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    assert started.wait(SECONDS)
    try:
        yield Serving(service, server, Client(sock.getsockname()[1]))
    finally:
        server.should_exit = True
        thread.join(SECONDS)
        assert not thread.is_alive()
