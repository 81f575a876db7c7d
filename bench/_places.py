"""Databases to measure on: durable as in production, thrown away afterwards."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.servers import Server

from rowlock import Engine

Fresh = Callable[[], str]

# PostgreSQL as it comes, but for the memory that any server for work is given.
DURABLE = {
    "fsync": "on",
    "synchronous_commit": "on",
    "full_page_writes": "on",
    "autovacuum": "on",
    "shared_buffers": "128MB",
    "max_wal_size": "4GB",
}


@contextmanager
def sqlite() -> Iterator[Fresh]:
    """Gives addresses of new files, each with the schema in place."""
    numbers = count()
    with tempfile.TemporaryDirectory(prefix="rowlock-bench-") as folder:
        yield lambda: _with_schema(str(Path(folder) / f"{next(numbers)}.db"))


@contextmanager
def postgres() -> Iterator[Fresh]:
    """Gives addresses of new databases on one server that flushes at every commit."""
    numbers = count()
    server = Server(**DURABLE).start()

    def fresh() -> str:
        name = f"bench_{next(numbers)}"
        with server.connect() as connection:
            connection.execute(f"create database {name}")
            connection.execute("checkpoint")
        return _with_schema(server.url(name))

    try:
        yield fresh
    finally:
        server.remove()


def _with_schema(url: str) -> str:
    with Engine(url) as engine:
        engine.migrate()
    return url


PLACES = {"sqlite": sqlite, "postgres": postgres}
