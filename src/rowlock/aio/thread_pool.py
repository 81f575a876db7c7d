"""Threads for async callers: work runs in a thread, and is finished there even if nobody awaits it any more."""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

log = logging.getLogger("rowlock.aio")

MAX_THREADS = 32
"""As many as an engine has connections."""

_blocks: ContextVar[tuple["BlockThread", ...]] = ContextVar("blocks", default=())
"""The threads of the blocks that the running code stands in, the innermost first."""


class AsyncThreadPool:
    """A bounded number of threads, started when needed. They know no event loop and may serve several."""

    def __init__(self, size: int = MAX_THREADS) -> None:
        self._size = size
        self._executor: ThreadPoolExecutor | None = None

    async def run(self, work: Callable[[], T]) -> T:
        """Run the work in a thread.

        If the await is cancelled, work that has not begun is dropped; work that has begun is finished, and what it
        opened is closed again.
        """
        chosen = self.chosen()
        future = chosen.submit(work)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            if not future.cancel():
                chosen.submit(lambda: _close_result(future))
            raise

    async def finish(self, work: Callable[[], T]) -> T:
        """Run the work whatever happens to the await; a cancellation is raised when the work is done."""
        answer = asyncio.wrap_future(self.chosen().submit(work))
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            await asyncio.wait([answer])
            raise

    def submit(self, work: Callable[[], T]) -> Future[T]:
        """Hand the work to a thread, with the caller's context variables."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(self._size, thread_name_prefix="rowlock aio")
        return self._executor.submit(copy_context().run, work)

    def chosen(self) -> "AsyncThreadPool":
        """Return where to run: inside a block with a thread of its own on that thread, as plain code would."""
        return next((block for block in _blocks.get() if block.owner is self and not block.ended), self)

    def end(self) -> None:
        """End the threads when they have finished their work."""
        if self._executor is not None:
            self._executor.shutdown(wait=False)
            self._executor = None


class BlockThread(AsyncThreadPool):
    """One thread for an async with block: a transaction is used in the thread that has begun it."""

    def __init__(self, owner: AsyncThreadPool) -> None:
        super().__init__(1)
        self.owner = owner
        self.ended = False

    def chosen(self) -> AsyncThreadPool:
        """Return this thread while the block lasts; after that the handle itself raises what is wrong."""
        return self.owner if self.ended else self

    def enter(self) -> None:
        """Run here what the block calls."""
        _blocks.set((self, *_blocks.get()))

    def leave(self) -> None:
        """End with the block."""
        _blocks.set(tuple(block for block in _blocks.get() if block is not self))
        self.ended = True
        self.end()


def _close_result(future: "Future[Any]") -> None:
    if future.exception() is not None:
        return  # nothing was opened, and nobody awaits the error
    opened = future.result()
    if hasattr(opened, "__exit__"):
        try:
            opened.__exit__(None, None, None)
        except Exception:
            log.exception("the result of a cancelled call could not be closed")
