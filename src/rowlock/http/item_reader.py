"""Coalesces concurrent single-item reads into one query.

An embedded database is read by the event loop itself: with four connections a request costs a third less CPU than by
a thread, with sixty-four about as much. Any other database is read by the executor's threads.
"""

import asyncio
import time
from collections.abc import Sequence
from functools import partial

from rowlock.db.database import Database
from rowlock.errors import Overloaded, RowlockError, Unavailable
from rowlock.http.executor import VerbExecutor
from rowlock.item_resources import ItemDetail, show_many

MAX_ITEMS_PER_QUERY = 256
MAX_CONCURRENT_QUERIES = 2
"""A query that is stuck does not hold up the next."""
SLOW_READ_SECONDS, SLOW_PAUSE_SECONDS = 0.005, 1.0
"""A read in the event loop that takes longer sends those of the next second to threads."""

Place = tuple[str, str]


class ItemReader:
    """Reads single items for coroutines."""

    def __init__(self, executor: VerbExecutor, *, waiting: int) -> None:
        self._executor = executor
        self._max_waiting = waiting
        database = executor.engine.database
        self._embedded = database.clone(connections=1, patience=0) if database.driver.embedded else None
        self._is_open = False
        self._slow_until = 0.0
        self._waiting: list[tuple[Place, asyncio.Future[ItemDetail]]] = []
        self._queries: set[asyncio.Task[None] | None] = set()

    async def item(self, name: str, key: str) -> ItemDetail:
        """Return an item as it stands now or a moment later, and its failures."""
        if len(self._waiting) >= self._max_waiting:
            raise Overloaded(f"{len(self._waiting)} requests wait for the database already", "try again in a moment")
        future: asyncio.Future[ItemDetail] = asyncio.get_running_loop().create_future()
        self._waiting.append(((name, key), future))
        if len(self._queries) < MAX_CONCURRENT_QUERIES:
            self._queries.add(asyncio.create_task(self._answer_waiting()))
        return await future

    async def _answer_waiting(self) -> None:
        try:
            while self._waiting:
                batch, self._waiting = self._waiting[:MAX_ITEMS_PER_QUERY], self._waiting[MAX_ITEMS_PER_QUERY:]
                _resolve([future for _, future in batch], await self._read([place for place, _ in batch]))
        finally:
            # At once, not in a callback: an item that is asked for before that would wait for another request.
            self._queries.discard(asyncio.current_task())

    async def _read(self, places: list[Place]) -> Sequence[ItemDetail | Exception]:
        try:
            if self._embedded is not None and time.perf_counter() >= self._slow_until:
                return await self._read_embedded(self._embedded, places)
        except Unavailable:
            self._slow_until = time.perf_counter() + SLOW_PAUSE_SECONDS
        except Exception as error:
            return [error] * len(places)
        try:
            return await self._executor.read(show_many, places)
        except Exception as error:
            return [error] * len(places)

    async def _read_embedded(self, database: Database, places: list[Place]) -> Sequence[ItemDetail | RowlockError]:
        if not self._is_open:  # to open a database may take long
            found = await self._executor.run_in_thread(partial(self._open, database, places))
            self._is_open = True
            return found
        start = time.perf_counter()
        found = self._executor.engine.recorded(database.read, show_many, places)
        if time.perf_counter() - start > SLOW_READ_SECONDS:
            self._slow_until = start + SLOW_PAUSE_SECONDS
        return found

    def _open(self, database: Database, places: list[Place]) -> Sequence[ItemDetail | RowlockError]:
        self._executor.engine.make_ready()
        return database.read(show_many, places)

    def close(self) -> None:
        """Close the connection of its own."""
        if self._embedded is not None:
            self._embedded.close()


def _resolve(futures: "Sequence[asyncio.Future[ItemDetail]]", found: Sequence[ItemDetail | Exception]) -> None:
    for future, each in zip(futures, found, strict=True):
        if future.done():
            continue
        if isinstance(each, Exception):
            future.set_exception(each)
        else:
            future.set_result(each)
