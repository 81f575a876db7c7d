"""Stores to compare on, all flushed at every commit: a database for each measurement, copied from a prepared one."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import psycopg
import redis
from tests.redis_servers import RedisServer

from bench._places import DISK, DURABLE, DiskServer

FLUSH_EACH = ("--appendonly", "yes", "--appendfsync", "always")


class PostgresStore:
    """One server; the schema of a peer is installed once, into a template."""

    def __init__(self, place: str) -> None:
        self._server = DiskServer(place, **DURABLE, max_connections="200")
        self._server.start()
        self._numbers = count()

    def template(self, peer: str) -> str:
        """Make an empty database for the schema of a peer."""
        with self._server.connect() as connection:
            connection.execute(f"create database template_{peer}")
        return self._server.url(f"template_{peer}")

    @contextlib.contextmanager
    def copy(self, peer: str, *, snapshot: bool = False) -> Iterator[str]:
        """Copy a peer's template; with `snapshot`, a transaction that began before any item stays open in it."""
        name = f"run_{next(self._numbers)}"
        with self._server.connect() as connection:
            connection.execute(f"create database {name} template template_{peer}")
        try:
            with self._pinned(name) if snapshot else contextlib.nullcontext():
                yield self._server.url(name)
        finally:
            with self._server.connect() as connection:
                connection.execute(f"drop database {name} with (force)")

    @contextlib.contextmanager
    def _pinned(self, name: str) -> Iterator[None]:
        with psycopg.connect(self._server.url(name)) as connection:
            connection.execute("set transaction isolation level repeatable read")
            connection.execute("select count(*) from pg_class")
            yield

    def version(self) -> str:
        """Return the server's version."""
        with self._server.connect() as connection:
            [[version]] = connection.execute("show server_version").fetchall()
        return str(version)

    def close(self) -> None:
        """Stop the server and remove its files."""
        self._server.remove()


class SqliteStore:
    """A folder of folders, each with the files of one measurement."""

    def __init__(self, place: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="rowlock-bench-", dir=place))
        self._numbers = count()

    def template(self, peer: str) -> str:
        """Make an empty folder for the schema of a peer."""
        return self._url(f"template_{peer}")

    def _url(self, name: str) -> str:
        (self._folder / name).mkdir(exist_ok=True)
        return f"sqlite:///{self._folder / name / 'queue.db'}"

    @contextlib.contextmanager
    def copy(self, peer: str, *, snapshot: bool = False) -> Iterator[str]:
        """Copy a peer's template; a snapshot is PostgreSQL's alone."""
        assert not snapshot
        name = f"run_{next(self._numbers)}"
        shutil.copytree(self._folder / f"template_{peer}", self._folder / name)
        try:
            yield self._url(name)
        finally:
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def close(self) -> None:
        """Remove all files."""
        shutil.rmtree(self._folder, ignore_errors=True)


class RedisStore:
    """One server that flushes its log at each write; each measurement has an empty database."""

    def __init__(self, place: str) -> None:
        self._files = tempfile.TemporaryDirectory(prefix="rowlock-bench-", dir=place)
        self._server = RedisServer(*FLUSH_EACH, "--dir", self._files.name).start()
        self._numbers = count()

    def template(self, peer: str) -> str:
        """Return the address; no peer needs a schema."""
        return self._server.url

    @contextlib.contextmanager
    def copy(self, peer: str, *, snapshot: bool = False) -> Iterator[str]:
        """Empty one of the server's databases, of which it has sixteen."""
        assert not snapshot
        url = self._server.url.removesuffix("0") + str(next(self._numbers) % 16)
        with redis.Redis.from_url(url) as client:
            client.flushdb()
        yield url

    def version(self) -> str:
        """Return the server's version."""
        return str(self._server.client.info("server")["redis_version"])

    def close(self) -> None:
        """Stop the server and remove its files."""
        self._server.remove()
        self._files.cleanup()


STORES = {"postgres": PostgresStore, "sqlite": SqliteStore, "redis": RedisStore}


@contextlib.contextmanager
def opened(place: str = DISK) -> Iterator[dict[str, PostgresStore | SqliteStore | RedisStore]]:
    """Start all stores, and stop them at the end."""
    with contextlib.ExitStack() as stack:
        stores: dict[str, PostgresStore | SqliteStore | RedisStore] = {}
        for name, make in STORES.items():
            stores[name] = make(place)
            stack.callback(stores[name].close)
        yield stores
