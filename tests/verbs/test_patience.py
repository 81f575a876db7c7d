"""Patience: one deadline for a call, whatever it waits for and however many wait with it."""

import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from rowlock import Engine
from rowlock.environment import Environment
from rowlock.errors import DatabaseBusy

PATIENCE = 10
THREADS = 6


class Time:
    """Seconds that pass when somebody sleeps, and at no other time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self.now += seconds

    def environment(self) -> Environment:
        return Environment(monotonic=lambda: self.now, sleep=self.sleep)


@pytest.fixture
def held(sqlite_url: str) -> Iterator[str]:
    """A file whose write lock another program holds."""
    with Engine(sqlite_url) as engine:
        engine["work"].add("before")
    with closing(sqlite3.connect(sqlite_url, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield sqlite_url


def test_threads_that_wait_for_a_file_are_all_told_when_the_patience_of_each_has_ended(held: str) -> None:
    time = Time()
    together = threading.Barrier(THREADS)

    def told_after(engine: Engine) -> float:
        together.wait()
        start = time.now
        with pytest.raises(DatabaseBusy):
            engine["work"].add("more")
        return time.now - start

    with Engine(held, patience=PATIENCE, environment=time.environment()) as engine, ThreadPoolExecutor(THREADS) as pool:
        engine["work"].counts()
        after = list(pool.map(told_after, [engine] * THREADS))
    assert (min(after) >= PATIENCE, max(after) < 2 * PATIENCE) == (True, True)


def test_a_call_waits_for_a_connection_no_longer_than_its_patience(url: str) -> None:
    with (
        Engine(url, connections=1, patience=0) as engine,
        engine.transaction(),
        ThreadPoolExecutor(1) as pool,
        pytest.raises(DatabaseBusy, match="all 1 connections"),
    ):
        pool.submit(engine["work"].counts).result()


def test_a_call_that_found_no_connection_can_be_made_again(url: str) -> None:
    with Engine(url, connections=1, patience=0) as engine:
        with engine.transaction(), ThreadPoolExecutor(1) as pool, pytest.raises(DatabaseBusy):
            pool.submit(engine["work"].counts).result()
        assert engine["work"].add("a").added == 1


def test_a_writer_waits_for_another_thread_no_longer_than_its_patience(sqlite_url: str) -> None:
    with Engine(sqlite_url, patience=0) as engine:
        engine["work"].add("before")
        with engine.transaction(), ThreadPoolExecutor(1) as pool, pytest.raises(DatabaseBusy):
            pool.submit(engine["work"].add, "more").result()
        assert engine["work"].add("after").added == 1
