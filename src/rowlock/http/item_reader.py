"""Coalesces concurrent single-item reads into one query."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial

from rowlock import failures, items
from rowlock.db import Transaction
from rowlock.db.database import Database
from rowlock.db.pipeline import Pipeline
from rowlock.errors import Overloaded, RowlockError, Unavailable
from rowlock.http.executor import VerbExecutor
from rowlock.model import Failure, Item

AT_ONCE = 256
"""Items that one statement looks for."""
STATEMENTS = 2
"""That are under way at the same time: one that is stuck does not hold up the next."""
SLOW, AWAY = 0.005, 1.0
"""Seconds that a look into a file may take, and for how long no other is taken from here after one that took longer."""

Place = tuple[str, str]
Look = tuple[Item, list[Failure]]


class ItemReader:
    """Reads single items for coroutines."""

    def __init__(self, executor: VerbExecutor, *, waiting: int) -> None:
        self._executor = executor
        self._most = waiting
        # What lies in a file is read sooner than a thread is woken: by the event loop itself, as long as that is quick.
        near = executor.engine.dialect == "sqlite"
        self._near = executor.engine.database.clone(connections=1, patience=0) if near else None
        self._opened = False
        self._pipelines: list[Pipeline] = []
        self._far_until = 0.0
        self._waiting: list[tuple[Place, asyncio.Future[Look]]] = []
        self._asking: set[asyncio.Task[None]] = set()

    async def item(self, name: str, key: str) -> Look:
        """An item as it stands now or a moment later, and how it has failed."""
        if len(self._waiting) >= self._most:
            raise Overloaded(f"{len(self._waiting)} requests wait for the database already", "try again in a moment")
        future: asyncio.Future[Look] = asyncio.get_running_loop().create_future()
        self._waiting.append(((name, key), future))
        if len(self._asking) < STATEMENTS:
            asking = asyncio.create_task(self._ask())
            self._asking.add(asking)
            asking.add_done_callback(self._asking.discard)
        return await future

    async def _ask(self) -> None:
        while self._waiting:
            asked, self._waiting = self._waiting[:AT_ONCE], self._waiting[AT_ONCE:]
            found: Sequence[Look | BaseException]
            try:
                found = await self._look([place for place, _ in asked])
            except BaseException as error:  # whatever it is, whoever asked must be told
                found = [error] * len(asked)
            for (_, future), each in zip(asked, found, strict=True):
                if future.done():
                    continue
                if isinstance(each, BaseException):
                    future.set_exception(each)
                else:
                    future.set_result(each)

    async def _look(self, places: list[Place]) -> "Sequence[Look | BaseException]":
        start = time.perf_counter()
        if start < self._far_until:
            return await self._executor.read(look, places)
        try:
            return await (self._pipelined(places) if self._near is None else self._read(self._near, places))
        except Unavailable:
            self._far_until = start + AWAY
            return await self._executor.read(look, places)

    async def _read(self, near: Database, places: list[Place]) -> "Sequence[Look | BaseException]":
        if not self._opened:
            found = await self._executor.run_in_thread(partial(self._open, near, places))
            self._opened = True
            return found
        start = time.perf_counter()
        try:
            return self._executor.engine.recorded(near.read, look, places)
        finally:
            if time.perf_counter() - start > SLOW:
                self._far_until = start + AWAY

    async def _pipelined(self, places: list[Place]) -> "Sequence[Look | BaseException]":
        """Send for the items and wait for the socket: no thread has to be woken, nor to be given its turn."""
        pipeline = self._pipelines.pop() if self._pipelines else await self._executor.run_in_thread(self._connected)
        try:
            pipeline.send(partial(ask_look, places=places))
            while not pipeline.poll():
                await news(pipeline)
            [found] = pipeline.results()
        except BaseException:
            pipeline.close()
            raise
        self._pipelines.append(pipeline)
        # What is not there, or has failed, wants more questions.
        rest = [place for place, each in zip(places, found, strict=True) if each is None]
        more = iter(await self._executor.read(look, rest) if rest else ())
        return [next(more) if each is None else each for each in found]

    def _connected(self) -> Pipeline:
        self._executor.engine.make_ready()
        return self._executor.engine.database.open_pipeline()

    def _open(self, near: Database, places: list[Place]) -> "Sequence[Look | BaseException]":
        """The first look, which may take long."""
        self._executor.engine.make_ready()
        return near.read(look, places)

    def close(self) -> None:
        """Let go of the file, or hang up."""
        if self._near is not None:
            self._near.close()
        for pipeline in self._pipelines:
            pipeline.close()


def look(tx: Transaction, places: Sequence[Place]) -> list[Look | BaseException]:
    """Each item with how it has failed, or what is wrong with looking for it."""
    seen = {name: items.ask_many(tx, name, keys)() for name, keys in _by_list(places).items()}
    return [_look(tx, name, key, seen[name].get(key)) for name, key in places]


def ask_look(tx: Transaction, places: Sequence[Place]) -> Callable[[], list[Look | None]]:
    """The same for a voyage, in one statement to a list; None for those of which that does not tell everything."""
    asked = {name: items.ask_many(tx, name, keys) for name, keys in _by_list(places).items()}

    def found() -> list[Look | None]:
        seen = {name: answer() for name, answer in asked.items()}
        told = (seen[name].get(key) for name, key in places)
        return [None if each is None or each[1] else (each[0], []) for each in told]

    return found


async def news(pipeline: Pipeline) -> None:
    """Wait until something may have poll, or may be sent on."""
    loop, socket = asyncio.get_running_loop(), pipeline.fileno()
    moved = asyncio.Event()
    loop.add_reader(socket, moved.set)
    if pipeline.unsent:
        loop.add_writer(socket, moved.set)
    try:
        await moved.wait()
    finally:
        loop.remove_reader(socket)
        loop.remove_writer(socket)


def _look(tx: Transaction, name: str, key: str, seen: tuple[Item, bool] | None) -> Look | BaseException:
    try:
        item, has_failed = (items.show(tx, name, key), True) if seen is None else seen
        return item, failures.of_item(tx, name, key) if has_failed else []
    except RowlockError as error:
        return error


def _by_list(places: Sequence[Place]) -> dict[str, list[str]]:
    by_list: dict[str, list[str]] = defaultdict(list)
    for name, key in places:
        by_list[name].append(key)
    return by_list
