"""Runs blocking verbs of the engine for coroutines, off the event loop."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from rowlock.db.database import Verb
from rowlock.engine import Engine
from rowlock.errors import DatabaseFull, DatabaseReadOnly, Overloaded

P = ParamSpec("P")
T = TypeVar("T")

MAX_THREADS = 16


class VerbExecutor:
    """Runs verbs for coroutines; refuses more when `waiting` of them are pending."""

    def __init__(self, engine: Engine, *, waiting: int) -> None:
        self.engine = engine
        self._max_pending = waiting
        self._pending = 0
        self.writes_refused = False
        """Whether the database has refused a write because it is full or read-only, and none was tried since."""
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="rowlock http")

    async def write(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in a group commit with those of other requests; durable on return."""
        self._refuse_overload()
        return await self._counted(self.engine.grouped.awaited(verb, *args, **kwargs))

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        return await self.run_in_thread(partial(self.engine.read, verb, *args, **kwargs))

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run any blocking function; once begun, it is finished even if the caller is cancelled."""
        self._refuse_overload()
        # The context carries the principal, which the audit log records.
        context = copy_context()
        return await self._counted(asyncio.get_running_loop().run_in_executor(self._threads, context.run, work))

    def _refuse_overload(self) -> None:
        if self._pending >= self._max_pending:
            raise Overloaded(f"{self._pending} requests wait for the database already", "try again in a moment")

    async def _counted(self, answer: Awaitable[T]) -> T:
        self._pending += 1
        try:
            return await answer
        except (DatabaseFull, DatabaseReadOnly):
            self.writes_refused = True
            raise
        finally:
            self._pending -= 1

    def close(self) -> None:
        """Finish what has begun and stop the threads."""
        self._threads.shutdown(wait=True, cancel_futures=True)
