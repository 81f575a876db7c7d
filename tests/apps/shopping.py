"""A comic shop at work: served over HTTP, its worker run when a test says so, its requests heard by a receiver."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from tests.http.serving import Client, Reply, serving
from tests.worker.running import work_off

from rowlock import Engine, Worker
from rowlock.apps import Application
from rowlock.apps.comics import build

C1 = {
    "artist": "mark bagley",
    "author": "brian michael bendis",
    "issue": 1,
    "mint": True,
    "publisher": "marvel",
    "series": "ultimate spiderman",
    "superhero": "",
    "year": 2000,
}
C2 = {
    "artist": "jim lee",
    "author": "chris claremont",
    "issue": 1,
    "mint": True,
    "publisher": "marvel",
    "series": "x-men",
    "superhero": "wolverine",
    "year": 1991,
}


class Shopping(msgspec.Struct):
    """A shop, and whoever asks it."""

    engine: Engine
    application: Application
    ask: Client

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """What a good request is answered."""
        return self.ask.json("POST", path, body, **headers)

    def get(self, path: str) -> Any:
        """What is there."""
        return self.ask.json("GET", path)

    def refused(self, path: str, body: Any) -> Reply:
        """The answer to a bad one."""
        return self.ask("POST", path, body, accept="application/json")

    def run(self) -> None:
        """Let the handlers work until nothing is left to do."""
        worker = Worker(self.engine)
        assert self.application.worker is not None
        self.application.worker(worker)
        work_off(worker)

    @property
    def told(self) -> list[tuple[str, str]]:
        """Who was told of which series, in the order of names."""
        return sorted((each["email"], each["comic"]["series"]) for each in self.get("/notifications"))


@contextmanager
def shopping(engine: Engine, **options: str) -> Iterator[Shopping]:
    """A shop for as long as the block lasts."""
    application = build(engine, **options)
    with serving(engine, applications={"comics": application}) as served:
        yield Shopping(engine, application, served.client)
    application.close()
