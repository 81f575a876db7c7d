"""The bridge from the event loop to the engine: every verb that a route asks for crosses it, none blocks the loop."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from rowlock.db.database import Verb
from rowlock.engine import Engine
from rowlock.errors import Overloaded

P = ParamSpec("P")
T = TypeVar("T")

THREADS = 16


class Bridge:
    """Runs verbs for coroutines; so many at a time, and so many more may wait."""

    def __init__(self, engine: Engine, *, waiting: int) -> None:
        self.engine = engine
        self._waiting = waiting
        self._crossing = 0
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="rowlock http")

    async def write(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a short verb that writes; it is durable when this returns."""
        return await self.thread(partial(self.engine.run, verb, *args, **kwargs))

    async def write_alone(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that may write for long, in a transaction of its own."""
        return await self.thread(partial(self.engine.run, verb, *args, **kwargs))

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        return await self.thread(partial(self.engine.read, verb, *args, **kwargs))

    async def thread(self, work: Callable[[], T]) -> T:
        """Do any work that blocks; what has begun is finished, also if nobody waits for it any more."""
        if self._crossing >= self._waiting:
            raise Overloaded(f"{self._crossing} requests wait for the database already", "try again in a moment")
        self._crossing += 1
        try:
            # Whoever acts here acts there too: what is recorded tells who it was.
            within = copy_context()
            return await asyncio.get_running_loop().run_in_executor(self._threads, within.run, work)
        finally:
            self._crossing -= 1

    def close(self) -> None:
        """Finish what has begun and let the threads go."""
        self._threads.shutdown(wait=True, cancel_futures=True)
