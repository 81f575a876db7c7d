"""A chat application at work, and somebody who uses it over HTTP."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest
from tests.http.serving import Client, Reply, serving

from rowlock import Engine, Worker
from rowlock.apps import Application
from rowlock.apps.chat import build
from rowlock.testing import drain

BASE = "/api/v1/applications"
WAYS = ["sqlite off", "sqlite on", "postgres off", "postgres on"]
by_redis_too = pytest.mark.parametrize("chat", [*WAYS, "sqlite redis", "postgres redis"], indirect=True)


class Chatting(msgspec.Struct):
    """The application `chat`, served; its lists are worked when a test says so."""

    engine: Engine
    application: Application
    client: Client

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Ask for something below the applications."""
        return self.client(method, BASE + path, body, **headers)

    def made(self, path: str, body: Any = None, **headers: str) -> int:
        """Post something that is numbered."""
        reply = self("POST", path, body, **headers)
        assert reply.status == 200, reply.text
        number: int = reply.json["number"]
        return number

    def get(self, path: str) -> Any:
        """What stands there."""
        reply = self("GET", path)
        assert reply.status == 200, reply.text
        return reply.json

    def new(self, name: str = "app") -> str:
        """The path of a new application."""
        reply = self("POST", "", {"name": name})
        assert reply.status == 201, reply.text
        return f"/{reply.json['token']}"

    def talk(self) -> str:
        """The path of the messages of a new chat."""
        app = self.new()
        return f"{app}/chats/{self.made(f'{app}/chats')}/messages"

    def worker(self) -> Worker:
        """A worker for the lists of the application."""
        worker = Worker(self.engine)
        assert self.application.worker is not None
        self.application.worker(worker)
        return worker

    def store(self) -> None:
        """Store what was accepted."""
        if self.engine["chat/messages"].page(limit=1):
            drain(self.worker())

    def count(self) -> None:
        """Store what was accepted, then refresh the counts."""
        self.store()
        self.engine["chat/counts"].add("refresh")
        drain(self.worker())


@contextmanager
def chatting(url: str, **options: Any) -> Iterator[Chatting]:
    """The application on a database, until the block ends."""
    with Engine(url, patience=options.pop("patience", 30.0)) as engine:
        application = build(engine, **options)
        with serving(engine, applications={"chat": application}) as found:
            yield Chatting(engine, application, found.client)
        application.close()
