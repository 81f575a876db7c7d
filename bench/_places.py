"""Databases to measure on: durable as in production, thrown away afterwards."""

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from statistics import median

from tests.servers import Server

from rowlock import Engine

Fresh = Callable[[], str]

DISK = "/tmp"
"""Not in memory, where the tests have theirs: a flush must cost what it costs."""

# PostgreSQL as it comes, but for the memory that any server for work is given.
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "shared_buffers": "128MB",
    "max_wal_size": "4GB",
}


class DiskServer(Server):
    """A server whose files lie where they are told to."""

    def __init__(self, place: str, **settings: str) -> None:
        self._place = place
        super().__init__(**settings)

    def _folder(self, place: str) -> Path:
        return super()._folder(self._place)


@contextmanager
def sqlite(place: str = DISK, *, schema: bool = True) -> Iterator[Fresh]:
    """Gives addresses of new files, each with the schema in place unless another version is to make it."""
    numbers = count()
    with tempfile.TemporaryDirectory(prefix="rowlock-bench-", dir=place) as folder:
        yield lambda: _prepared(str(Path(folder) / f"{next(numbers)}.db"), schema)


@contextmanager
def postgres(place: str = DISK, *, schema: bool = True) -> Iterator[Fresh]:
    """Gives addresses of new databases on one server that flushes at every commit, each with the schema as above."""
    numbers = count()
    server = DiskServer(place, **DURABLE).start()

    def fresh() -> str:
        name = f"bench_{next(numbers)}"
        with server.connect() as connection:
            connection.execute(f"create database {name}")
            connection.execute("checkpoint")
        return _prepared(server.url(name), schema)

    try:
        yield fresh
    finally:
        server.remove()


def _prepared(url: str, schema: bool) -> str:
    if schema:
        with Engine(url) as engine:
            engine.migrate()
    return url


def flush_milliseconds(place: str = DISK) -> float:
    """What it takes to bring one page of a file to this disk; the median of fifty."""
    with tempfile.TemporaryFile(dir=place, buffering=0) as file:
        took = []
        for _ in range(50):
            file.write(b"x" * 8192)
            start = time.perf_counter()
            os.fdatasync(file.fileno())
            took.append(1000 * (time.perf_counter() - start))
    return median(took)


PLACES = {"sqlite": sqlite, "postgres": postgres}
