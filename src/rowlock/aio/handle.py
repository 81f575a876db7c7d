"""What all async handles share: a plain handle, and the threads that its methods run in."""

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

H = TypeVar("H")
T = TypeVar("T")
U = TypeVar("U")

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

    def leave(self) -> None:
        """End with the block."""
        _blocks.set(tuple(block for block in _blocks.get() if block is not self))
        self.ended = True
        self.end()


View = Callable[[T, AsyncThreadPool], U]
"""Makes the async handle of a plain one."""


class AsyncHandle(Generic[H]):
    """An async handle: each method runs that of the plain handle in a thread."""

    _ends_threads: ClassVar[bool] = False

    _plain: H
    _threads: AsyncThreadPool
    _generators: "set[_Generator[Any]]"

    @classmethod
    def over(cls, plain: H) -> Self:
        """Return an async handle for a plain one that you hold."""
        return cls._view(plain, AsyncThreadPool())

    @classmethod
    def _view(cls, plain: H, threads: AsyncThreadPool) -> Self:
        made = cls.__new__(cls)
        made._bind(plain, threads)
        return made

    def _bind(self, plain: H, threads: AsyncThreadPool) -> None:
        self._plain = plain
        self._threads = threads
        self._generators = set()

    @property
    def plain(self) -> H:
        """The plain handle, for code that does not await."""
        return self._plain

    def __repr__(self) -> str:
        return f"Async{self._plain!r}"

    async def _run(self, work: Callable[[], T], *given: Any) -> T:
        """Run the work in a thread; if a transaction was given, in the thread of its block."""
        pools = (handle._threads for handle in given if isinstance(handle, AsyncHandle))
        threads = next((pool for pool in pools if isinstance(pool, BlockThread)), self._threads)
        return await threads.run(work)

    async def _finish(self, work: Callable[[], T]) -> T:
        """Run the end of something in a thread, even if the await is cancelled."""
        generators = list(self._generators)

        def close() -> T:
            # As in plain code, a loop that was left early is over before what it ran on.
            for generator in generators:
                generator.close()
            return work()

        try:
            return await self._threads.finish(close)
        finally:
            if self._ends_threads:
                self._threads.end()

    async def _iterate(self, start: Callable[[], Iterator[T]], view: View[T, U]) -> AsyncGenerator[U, None]:
        """Go through a plain generator, each step in a thread."""
        generator = _Generator(start())
        self._generators.add(generator)
        try:
            while (step := await self._threads.run(generator.next)) is not None:
                yield view(step[0], self._threads)
        finally:
            await self._threads.finish(generator.close)
            self._generators.discard(generator)

    @asynccontextmanager
    async def _block(self, make: Callable[[], AbstractContextManager[T]], view: View[T, U]) -> AsyncIterator[U]:
        """Open an async with block around a plain one: entered, used and left in one thread."""
        around = self._threads.chosen()
        # A block within a block stays in its thread, where waiting for one's own lock is noticed and refused.
        thread = around if isinstance(around, BlockThread) else BlockThread(around)
        opened: list[T] = []

        def enter() -> ExitStack:
            with ExitStack() as stack:
                opened.append(stack.enter_context(make()))
                return stack.pop_all()

        try:
            inside = await thread.run(enter)
            if thread is not around:
                _blocks.set((thread, *_blocks.get()))
            try:
                yield view(opened[0], thread)
            except BaseException as error:
                if not await thread.finish(partial(inside.__exit__, type(error), error, error.__traceback__)):
                    raise
            else:
                await thread.finish(inside.close)
        finally:
            if thread is not around:
                thread.leave()


def plain(value: Any) -> Any:
    """Return the plain handle of an async one, and any other value as it is."""
    return value._plain if isinstance(value, AsyncHandle) else value


def same(value: T, _: AsyncThreadPool) -> T:
    """Return a value that has no async handle."""
    return value


class _Generator(Generic[T]):
    """A plain generator, stepped from any thread, one step at a time."""

    def __init__(self, steps: Iterator[T]) -> None:
        self._steps = steps
        self._lock = threading.Lock()

    def next(self) -> tuple[T] | None:
        """Return the next value in a tuple, or None at the end."""
        with self._lock:
            for value in self._steps:
                return (value,)
            return None

    def close(self) -> None:
        """End it; waits for a step that is running."""
        with self._lock:
            if hasattr(self._steps, "close"):
                self._steps.close()


def _close_result(future: "Future[Any]") -> None:
    if future.exception() is not None:
        return  # nothing was opened, and nobody awaits the error
    opened = future.result()
    if hasattr(opened, "__exit__"):
        try:
            opened.__exit__(None, None, None)
        except Exception:
            logging.getLogger("rowlock.aio").exception("the result of a cancelled call could not be closed")
