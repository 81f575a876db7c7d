"""Runs blocking calls outside the event loop: threads, group commit, coalesced reads of single items."""

import asyncio
import threading
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

from rowlock.db.async_reader import AsyncReader
from rowlock.db.database import Database
from rowlock.db.transaction import Verb
from rowlock.engine import Engine
from rowlock.errors import DatabaseFull, DatabaseReadOnly, Overloaded, RowlockError
from rowlock.group_commit.calls import LoopMailbox, LoopWaiter
from rowlock.item_resources import show_many, show_unfailed
from rowlock.model import ItemDetails

P = ParamSpec("P")
T = TypeVar("T")
Place = tuple[str, str]
"""The list and the key of an item."""

MAX_THREADS = 16
MAX_ITEMS_PER_QUERY = 256
MAX_ITEMS_PER_EMBEDDED_QUERY = 16
"""The event loop reads and answers so many before it serves other requests: 12 ms of items of 262 KB."""
MAX_CONCURRENT_QUERIES = 2
SLOW_QUERY_SECONDS = 0.02
"""A query that takes longer does not hold up the next; a second one any sooner halves what each coalesces."""
SLOW_READ_SECONDS, SLOW_PAUSE_SECONDS = 0.005, 1.0
"""A read in the event loop that takes longer sends those of the next second to threads."""


class VerbExecutor:
    """Runs verbs for coroutines; refuses more when `waiting` of them are pending."""

    def __init__(self, engine: Engine, *, waiting: int) -> None:
        self.engine = engine
        self._max_pending = waiting
        self._pending = 0
        self.writes_refused = False
        """Whether the database has refused a write because it is full or read-only, and none was tried since."""
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="rowlock http")
        self._busy_threads = 0
        self._queue: deque[tuple[LoopWaiter, Callable[[], Any]]] = deque()
        self._queue_lock = threading.Lock()
        self._mailboxes: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopMailbox] = WeakKeyDictionary()

    async def write(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that writes, in a group commit with those of other requests; durable on return."""
        return await self._run(partial(self.engine.grouped.awaited, verb, *args, **kwargs))

    async def read(self, verb: Verb[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb that only reads."""
        return await self.run_in_thread(partial(self.engine.read, verb, *args, **kwargs))

    async def run_in_thread(self, work: Callable[[], T]) -> T:
        """Run any blocking function; once begun, it is finished even if the caller is cancelled."""
        return await self._run(partial(self._submit, work))

    def _submit(self, work: Callable[[], T]) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        waiter = LoopWaiter(self._mailboxes.setdefault(loop, LoopMailbox()), future)
        with self._queue_lock:
            # The context carries the principal, which the audit log records.
            self._queue.append((waiter, partial(copy_context().run, work)))
            is_thread_free = self._busy_threads < MAX_THREADS
            self._busy_threads += is_thread_free
        if is_thread_free:
            self._threads.submit(self._work_off_queue)
        return future

    def _work_off_queue(self) -> None:
        # To wake a thread, and then the event loop, costs more than most reads: each runs all that waits meanwhile.
        while True:
            with self._queue_lock:
                if not self._queue:
                    self._busy_threads -= 1
                    return
                waiter, work = self._queue.popleft()
            if waiter.is_waiting():
                try:
                    waiter.resolve(work())
                except BaseException as error:
                    waiter.resolve(error)

    async def _run(self, start: Callable[[], Awaitable[T]]) -> T:
        if self._pending >= self._max_pending:
            raise Overloaded(f"{self._pending} requests wait for the database already", "try again in a moment")
        self._pending += 1
        try:
            return await start()
        except (DatabaseFull, DatabaseReadOnly):
            self.writes_refused = True
            raise
        finally:
            self._pending -= 1

    def close(self) -> None:
        """Finish what has begun and stop the threads."""
        self._queue.clear()
        self._threads.shutdown(wait=True, cancel_futures=True)


class ItemReader:
    """Coalesces concurrent single-item reads into one query.

    An embedded database is read by the event loop itself: with four connections a request costs a third less CPU than
    by a thread, with sixty-four about as much. For a server's answer the event loop waits. After an error of either,
    the executor's threads read for a moment: they know how to go on.
    """

    def __init__(self, executor: VerbExecutor, *, waiting: int) -> None:
        self._executor = executor
        self._max_waiting = waiting
        database = executor.engine.database
        self._embedded = database.clone(connections=1, patience=0) if database.driver.embedded else None
        self._batch = MAX_ITEMS_PER_QUERY if self._embedded is None else MAX_ITEMS_PER_EMBEDDED_QUERY
        self._is_open = False
        self._async_readers: list[AsyncReader] = []
        self._slow_until = 0.0
        self._waiting: list[tuple[Place, asyncio.Future[ItemDetails]]] = []
        self._queries: set[asyncio.Task[None] | None] = set()
        self._query_begun = 0.0
        self._timer: asyncio.TimerHandle | None = None

    async def item(self, name: str, key: str) -> ItemDetails:
        """Return an item as it stands now or a moment later, and its failures."""
        if len(self._waiting) >= self._max_waiting:
            raise Overloaded(f"{len(self._waiting)} requests wait for the database already", "try again in a moment")
        loop = asyncio.get_running_loop()
        future: asyncio.Future[ItemDetails] = loop.create_future()
        self._waiting.append(((name, key), future))
        if not self._queries:
            self._queries.add(asyncio.create_task(self._answer_waiting()))
        elif self._timer is None:
            self._timer = loop.call_later(SLOW_QUERY_SECONDS, self._pass_slow_query)
        return await future

    def _pass_slow_query(self) -> None:
        """Start a second query if the one that runs is slow; look again later if it is not."""
        self._timer, loop = None, asyncio.get_running_loop()
        if not self._waiting or len(self._queries) >= MAX_CONCURRENT_QUERIES:
            return
        if loop.time() - self._query_begun >= SLOW_QUERY_SECONDS:
            self._queries.add(asyncio.create_task(self._answer_waiting()))
        else:
            self._timer = loop.call_later(SLOW_QUERY_SECONDS, self._pass_slow_query)

    async def _answer_waiting(self) -> None:
        loop, is_slow = asyncio.get_running_loop(), False
        try:
            while self._waiting and not (is_slow and len(self._queries) > 1):
                batch, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
                begun = self._query_begun = loop.time()
                items = await self._read([place for place, _ in batch])
                for (_, future), item in zip(batch, items, strict=True):
                    if future.done():
                        continue
                    if isinstance(item, Exception):
                        future.set_exception(item)
                    else:
                        future.set_result(item)
                is_slow = loop.time() - begun >= SLOW_QUERY_SECONDS  # another one goes on in its place
                if self._waiting:
                    await asyncio.sleep(0)  # these are answered, and other requests served, before the next are read
        finally:
            # At once, not in a callback: an item that is asked for before that would wait for another request.
            self._queries.discard(asyncio.current_task())

    async def _read(self, places: list[Place]) -> Sequence[ItemDetails | Exception]:
        try:
            if time.perf_counter() >= self._slow_until:
                if self._embedded is not None:
                    return await self._read_embedded(self._embedded, places)
                return await self._read_from_server(places)
        except RowlockError:
            self._slow_until = time.perf_counter() + SLOW_PAUSE_SECONDS
        except Exception as error:
            return [error] * len(places)
        try:
            return await self._executor.read(show_many, places)
        except Exception as error:
            return [error] * len(places)

    async def _read_from_server(self, places: list[Place]) -> Sequence[ItemDetails | RowlockError]:
        readers, executor = self._async_readers, self._executor
        reader = readers.pop() if readers else await executor.run_in_thread(self._open_async_reader)
        try:
            found: list[ItemDetails | None] = await reader.read(show_unfailed.bind(places))
        except BaseException:
            reader.close()
            raise
        readers.append(reader)
        rest = [place for place, item in zip(places, found, strict=True) if item is None]
        others = iter(await executor.read(show_many, rest) if rest else ())
        return [next(others) if item is None else item for item in found]

    def _open_async_reader(self) -> AsyncReader:
        self._executor.engine.make_ready()
        return self._executor.engine.database.async_reader()

    async def _read_embedded(self, database: Database, places: list[Place]) -> Sequence[ItemDetails | RowlockError]:
        engine = self._executor.engine
        if not self._is_open:  # to open a database may take long
            await self._executor.run_in_thread(engine.make_ready)
            items = await self._executor.run_in_thread(partial(database.read, show_many, places))
            self._is_open = True
            return items
        start = time.perf_counter()
        items = engine.recorded(database.read, show_many, places)
        if time.perf_counter() - start > SLOW_READ_SECONDS:
            self._slow_until = start + SLOW_PAUSE_SECONDS
        return items

    def close(self) -> None:
        """Close its connections."""
        if self._embedded is not None:
            self._embedded.close()
        while self._async_readers:
            self._async_readers.pop().close()


class TimedCache(Generic[T]):
    """A value that all requests share, read again when it is older than `seconds`."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._value: T | None = None
        self._read_at = 0.0
        self._lock = asyncio.Lock()

    async def get(self, read: Callable[[], Awaitable[T]]) -> T:
        """Return the value; one caller reads it while others wait for that."""
        async with self._lock:
            if self._value is None or time.monotonic() - self._read_at >= self._seconds:
                self._value = await read()
                self._read_at = time.monotonic()
            return self._value
