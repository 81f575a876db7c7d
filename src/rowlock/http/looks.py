"""Looks: single items that many look at in the same moment are read by one statement; a look costs less than to ask."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from rowlock import failures, items
from rowlock.db import Transaction
from rowlock.db.database import Database
from rowlock.errors import Overloaded, RowlockError, Unavailable
from rowlock.http.bridge import Bridge
from rowlock.model import Failure, Item

AT_ONCE = 256
"""Items that one statement looks for."""
STATEMENTS = 2
"""That are under way at the same time: one that is stuck does not hold up the next."""
SLOW, AWAY = 0.005, 1.0
"""Seconds that a look into a file may take, and for how long no other is taken from here after one that took longer."""

Place = tuple[str, str]
Look = tuple[Item, list[Failure]]


class Looks:
    """Reads single items for coroutines."""

    def __init__(self, bridge: Bridge, *, waiting: int) -> None:
        self._bridge = bridge
        self._most = waiting
        # What lies in a file is read sooner than a thread is woken: by the event loop itself, as long as that is quick.
        near = bridge.engine.dialect == "sqlite"
        self._near = bridge.engine.database.twin(connections=1, patience=0) if near else None
        self._opened = False
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
        near, start = self._near, time.perf_counter()
        if near is None or start < self._far_until:
            return await self._bridge.read(look, places)
        try:
            if self._opened:
                return self._bridge.engine.recorded(near.read, look, places)
            found = await self._bridge.thread(partial(self._open, near, places))
            self._opened = True
            return found
        except Unavailable:
            self._far_until = start + AWAY
            return await self._bridge.read(look, places)
        finally:
            if time.perf_counter() - start > SLOW:
                self._far_until = start + AWAY

    def _open(self, near: Database, places: list[Place]) -> "Sequence[Look | BaseException]":
        """The first look, which may take long."""
        self._bridge.engine.make_ready()
        return near.read(look, places)

    def close(self) -> None:
        """Let go of the file."""
        if self._near is not None:
            self._near.close()


def look(tx: Transaction, places: Sequence[Place]) -> list[Look | BaseException]:
    """Each item with how it has failed, or what is wrong with looking for it."""
    by_list: dict[str, list[str]] = defaultdict(list)
    for name, key in places:
        by_list[name].append(key)
    seen = {name: items.show_many(tx, name, keys) for name, keys in by_list.items()}
    return [_look(tx, name, key, seen[name].get(key)) for name, key in places]


def _look(tx: Transaction, name: str, key: str, seen: tuple[Item, bool] | None) -> Look | BaseException:
    try:
        item, has_failed = (items.show(tx, name, key), True) if seen is None else seen
        return item, failures.of_item(tx, name, key) if has_failed else []
    except RowlockError as error:
        return error
