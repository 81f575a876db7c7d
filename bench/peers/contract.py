"""The contract of an adapter, and the job that every peer runs."""

import asyncio
import os
import signal
import struct
import time
from collections.abc import Coroutine, Iterator
from typing import Any, ClassVar

TICK = struct.Struct("<dq")
TICKS, HANG, WORKER = "BENCH_TICKS", "BENCH_HANG", "BENCH_WORKER"
"""Names in a worker's environment: the file of ticks, whether a job never ends, the worker's number."""
WARM = -1
"""The number of a job that only opens connections."""

_files: dict[str, int] = {}


def tick(number: int) -> None:
    """Note that a job started: one append of 16 bytes, about a microsecond, seen without asking the database."""
    path = os.environ[TICKS]
    if path not in _files:
        _files[path] = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(_files[path], TICK.pack(time.time(), number))
    if HANG in os.environ:
        signal.pause()


def chunks(numbers: range, size: int) -> Iterator[range]:
    """Cut a range in ranges of at most `size`."""
    return (numbers[low : low + size] for low in range(0, len(numbers), size))


class Peer:
    """A queue, by its own public interface and with the settings that were found best for it."""

    packages: ClassVar[tuple[str, ...]] = ()
    storages: ClassVar[tuple[str, ...]] = ("postgres",)
    python: ClassVar[tuple[int, int]] = (3, 11)
    needs: ClassVar[str] = ""
    """What else its packages need, to be named where they cannot be installed."""
    size: ClassVar[int] = 10_000
    """Items that it drains in a second or two by its quickest handler."""
    item_share: ClassVar[float] = 1.0
    """The part of them for a handler of single items."""
    handlers: ClassVar[tuple[str, ...]] = ("item",)
    """How its worker calls a handler: "item", "async", "batch"."""
    bulk: ClassVar[bool] = True
    """Whether it has a call that adds many jobs at once."""
    note: ClassVar[str] = ""
    """A difference that a reader of the figures must know."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.idle = False
        """Whether its worker waits for single jobs, and so needs settings for latency."""
        self.storage = url.partition(":")[0].replace("postgresql", "postgres")

    @property
    def path(self) -> str:
        """The file of a SQLite database."""
        return self.url.removeprefix("sqlite:///")

    def prepare(self) -> None:
        """Install the schema."""

    def open(self) -> None:
        """Connect, for adding."""

    def add(self, number: int) -> object:
        """Add one job, durably."""
        raise NotImplementedError

    def add_singly(self, numbers: range) -> None:
        """Add jobs one at a time, each durable before the next."""
        for number in numbers:
            self.add(number)

    def add_many(self, numbers: range) -> object:
        """Add jobs by the quickest documented way; one by one where there is no other."""
        return self.add_singly(numbers)

    def work(self, handler: str) -> object:
        """Run jobs until the process is killed."""
        raise NotImplementedError

    def remaining(self) -> int:
        """Count the jobs that are not acknowledged."""
        return int(self.value(self.unfinished))

    unfinished: ClassVar[str] = ""
    """The statement that counts them."""

    def value(self, statement: str) -> Any:
        """Return the first value of a statement's one row."""
        if self.storage == "postgres":
            import psycopg

            with psycopg.connect(self.url, autocommit=True) as connection:
                [[value]] = connection.execute(statement).fetchall()
        else:
            import sqlite3

            connection = sqlite3.connect(self.path, timeout=30)
            [[value, *_]] = connection.execute(statement).fetchall()
            connection.close()
        return value


class AsyncPeer(Peer):
    """A peer whose client is asynchronous; one event loop serves all calls of a process."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._loop: asyncio.AbstractEventLoop | None = None

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Run a coroutine in the peer's loop: uvloop's where it is installed."""
        if self._loop is None:
            try:
                import uvloop

                self._loop = uvloop.new_event_loop()
            except ImportError:
                self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(coroutine)

    async def send(self, number: int) -> object:
        """Add one job."""
        raise NotImplementedError

    def add(self, number: int) -> object:
        return self.run(self.send(number))

    def add_singly(self, numbers: range) -> None:
        async def all_of_them() -> None:
            for number in numbers:
                await self.send(number)

        self.run(all_of_them())

    def add_together(self, numbers: range, at_once: int) -> None:
        """Add jobs concurrently, for a peer that has no bulk call."""

        async def all_of_them() -> None:
            for chunk in chunks(numbers, at_once):
                await asyncio.gather(*(self.send(number) for number in chunk))

        self.run(all_of_them())


class RedisPeer(Peer):
    """A peer on Redis."""

    storages = ("redis",)

    @property
    def redis(self) -> Any:
        """A client of Redis."""
        import redis

        return redis.Redis.from_url(self.url)
