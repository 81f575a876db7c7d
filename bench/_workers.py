"""Workers to measure: each in a process of its own, from the start of its run until nothing is left."""

import time
from collections.abc import Callable
from typing import Any

import psycopg

from bench._raw import Drained, Stopwatch, keys
from rowlock import Done, Engine, Item, Worker, settlements

LIST = "downloads"


class Watched(Engine):
    """An engine that notes when it last settled something; what a worker does after that is farewell."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.make_ready()
        self._watch = Stopwatch()
        self._settled = self._watch.drained(0)

    def start(self) -> None:
        """Now the work begins."""
        self._watch = Stopwatch()

    def drained(self, items: int) -> Drained:
        """So many were done from the start to the last settlement."""
        return Drained(items, self._settled.start, self._settled.end, self._settled.cpu)

    def run(self, verb: Any, /, *args: Any, **kwargs: Any) -> Any:
        answer = super().run(verb, *args, **kwargs)
        if verb.__module__ == settlements.__name__:
            self._settled = self._watch.drained(0)
        return answer

    def pipeline(self, *works: Any) -> list[Any]:
        answers = super().pipeline(*works)
        if any(answers):
            self._settled = self._watch.drained(0)
        return answers


def load(url: str, size: int) -> None:
    """A list of so many items; on a server tidied up, as it would be a minute later."""
    with Engine(url) as engine:
        engine[LIST].add(keys(size))
    if url.startswith("postgres"):
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("vacuum analyze")
            connection.execute("checkpoint")


def drain(url: str, kind: str, batch: int = 1000, concurrency: int = 16) -> Drained:
    """Work until nothing is left to do, by a handler that does nothing."""
    seen = [0]
    function, options = HANDLERS[kind](seen, batch)
    with Watched(url) as engine:
        worker = Worker(engine, concurrency=concurrency)
        worker.on("*", function, **options)
        engine.start()
        worker.run(until="done", signals=False)
        return engine.drained(seen[0])


def drain_by_hand(url: str, limit: int) -> Drained:
    """The same through a session: claim, say done, settle."""
    done = 0
    with Watched(url) as engine, engine.session() as session:
        engine.start()
        for claim in session.claim(LIST, limit=limit):
            for item in claim:
                claim.done(item)
            done += len(claim)
        return engine.drained(done)


def drain_timed(url: str, batch: int) -> list[float]:
    """The moments at which each batch was begun, one after the other."""
    moments: list[float] = []
    with Engine(url) as engine:
        worker = Worker(engine, concurrency=1)
        worker.on("*", lambda _: moments.append(time.perf_counter()), batch=batch)
        worker.run(until="done", signals=False)
    return moments


def _batch(seen: list[int], batch: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    def handle(items: list[Item]) -> None:
        seen[0] += len(items)

    return handle, {"batch": batch}


def _function(seen: list[int], _: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    def handle(_: Item) -> Done:
        seen[0] += 1
        return Done()

    return handle, {}


def _async(seen: list[int], _: int) -> tuple[Callable[..., Any], dict[str, Any]]:
    async def handle(_: Item) -> Done:
        seen[0] += 1
        return Done()

    return handle, {}


HANDLERS = {"batch": _batch, "function": _function, "async": _async}
