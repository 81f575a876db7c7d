"""The bridge from the event loop to the engine: every verb that a route asks for crosses it, none blocks the loop."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar

from rowlock.db.database import Verb
from rowlock.engine import Engine
from rowlock.errors import Overloaded
from rowlock.http.readers import Readers

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 8


class Bridge:
    """Runs verbs for coroutines; so many may wait at a time."""

    def __init__(self, engine: Engine, *, waiting: int) -> None:
        self.engine = engine
        self._waiting = waiting
        self._crossing = 0
        self._readers = Readers(engine)
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="rowlock http")

    async def write(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in one transaction with those of others; it is durable when this returns."""
        self._refuse_overload()
        return await self._crossed(self.engine.grouped.awaited(verb, *args, **kwargs))

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        self._refuse_overload()
        return await self._crossed(self._readers.awaited(verb, *args, **kwargs))

    async def thread(self, work: Callable[[], T]) -> T:
        """Do any work that blocks; what has begun is finished, also if nobody waits for it any more."""
        self._refuse_overload()
        # Whoever acts here acts there too: what is recorded tells who it was.
        within = copy_context()
        return await self._crossed(asyncio.get_running_loop().run_in_executor(self._threads, within.run, work))

    def _refuse_overload(self) -> None:
        if self._crossing >= self._waiting:
            raise Overloaded(f"{self._crossing} requests wait for the database already", "try again in a moment")

    async def _crossed(self, answer: Awaitable[T]) -> T:
        self._crossing += 1
        try:
            return await answer
        finally:
            self._crossing -= 1

    def close(self) -> None:
        """Finish what has begun and let the threads go."""
        self._threads.shutdown(wait=True, cancel_futures=True)
        self._readers.close()
