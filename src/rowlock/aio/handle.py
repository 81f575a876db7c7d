"""What all async handles share: a plain handle, and the threads that its methods run in."""

import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, ExitStack
from functools import partial
from typing import Any, ClassVar, Generic, Self, TypeVar

from rowlock.aio.thread_pool import AsyncThreadPool, BlockThread

H = TypeVar("H")
T = TypeVar("T")
U = TypeVar("U")

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

    def _block(
        self, make: Callable[[], AbstractContextManager[T]], view: View[T, U]
    ) -> AbstractAsyncContextManager[U, bool | None]:
        """Return an async with block around a plain one."""
        return _Block(self._threads, make, view)


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


class _Block(AbstractAsyncContextManager[U, bool | None], Generic[T, U]):
    """An async context around a plain one: entered, used and left in one thread."""

    def __init__(
        self, threads: AsyncThreadPool, make: Callable[[], AbstractContextManager[T]], view: View[T, U]
    ) -> None:
        self._threads = threads
        self._make = make
        self._view = view
        self._inside = ExitStack()

    async def __aenter__(self) -> U:
        around = self._threads.chosen()
        # A block within a block stays in its thread, where waiting for one's own lock is noticed and refused.
        self._thread = around if isinstance(around, BlockThread) else BlockThread(around)
        self._own = self._thread is not around
        try:
            self._inside = await self._thread.run(self._entered)
        except BaseException:
            if self._own:
                self._thread.end()
            raise
        if self._own:
            self._thread.enter()
        return self._view(self._opened, self._thread)

    def _entered(self) -> ExitStack:
        with ExitStack() as stack:
            self._opened = stack.enter_context(self._make())
            return stack.pop_all()

    async def __aexit__(self, *error: Any) -> bool | None:
        try:
            return await self._thread.finish(partial(self._inside.__exit__, *error))
        finally:
            if self._own:
                self._thread.leave()
