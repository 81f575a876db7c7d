"""Threads for async callers: work is done in a thread, and finished there even if nobody waits for it any more."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger("rowlock.aio")

SIZE = 32
"""As many as an engine has connections."""

_lanes: ContextVar[tuple["Lane", ...]] = ContextVar("lanes", default=())
"""The lanes of the blocks that the running code stands in, the innermost first."""


class Threads:
    """Up to so many threads, begun when needed. They know no event loop and may serve several."""

    def __init__(self, size: int = SIZE) -> None:
        self._size = size
        self._pool: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in a thread.

        If the await is cancelled, work that has not begun is left; what has begun is finished, and what it opened is
        closed again.
        """
        chosen = self.chosen()
        future = chosen.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not future.cancel():
                chosen.submit(lambda: _close_again(future))
            raise

    async def finish(self, work: Callable[[], T]) -> T:
        """Do the work whatever happens to the await; a cancellation is passed on when it has been done."""
        answer = asyncio.wrap_future(self.chosen().submit(work))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            await asyncio.wait([answer])
            raise

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Hand the work to a thread."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._size, thread_name_prefix="rowlock aio")
        return self._pool.submit(copy_context().run, work)

    def chosen(self) -> "Threads":
        """Where to work: inside a block with a thread of its own on that one, as plain code would."""
        return next((lane for lane in _lanes.get() if lane.owner is self and not lane.ended), self)

    def end(self) -> None:
        """Let the threads go when they have finished what they were given."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)
            self._pool = None


class Lane(Threads):
    """One thread for a block: a transaction stays where it was begun, and nobody waits for a lock of their own."""

    def __init__(self, owner: Threads) -> None:
        super().__init__(1)
        self.owner = owner
        self.ended = False

    def chosen(self) -> Threads:
        """Here, while the block lasts; whoever comes later is told what is wrong by what they call."""
        return self.owner if self.ended else self

    def enter(self) -> None:
        """Make this the place for what is called from here on."""
        _lanes.set((self, *_lanes.get()))

    def leave(self) -> None:
        """End with the block."""
        _lanes.set(tuple(lane for lane in _lanes.get() if lane is not self))
        self.ended = True
        self.end()


def _close_again(future: "Future[Any]") -> None:
    if future.exception() is not None:
        return  # nothing was opened, and whoever would have been told is gone
    opened = future.result()
    if hasattr(opened, "__exit__"):
        try:
            opened.__exit__(None, None, None)
        except Exception:
            log.exception("what nobody waited for could not be closed")
