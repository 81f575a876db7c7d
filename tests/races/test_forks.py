"""Processes that fork with an engine: every child writes safely, or is refused."""

import os
import signal
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from tests.torture import scaled
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, Unavailable, forks


def in_children(number: int, work: Callable[[int], object]) -> list[int]:
    """Run the work in so many forked children; their exit codes."""
    children = []
    for child in range(number):
        process = os.fork()
        if process == 0:
            try:
                work(child)
            except Unavailable:
                os._exit(5)
            except BaseException:
                os._exit(1)
            os._exit(0)
        children.append(process)
    return [os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) for process in children]


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_children_of_a_fork_lose_nothing(url: str) -> None:
    with Engine(url) as engine:
        engine["work"].add(["parent"])
        ended = in_children(3, lambda child: [engine["work"].add(f"{child}-{number}") for number in range(100)])
        assert (ended, engine["work"].counts().ready) == ([0, 0, 0], 301)


def test_a_file_in_use_at_a_fork_is_closed_to_the_child(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["work"].add("a")
        with engine.transaction():
            assert in_children(1, lambda _: Engine(sqlite_url)["work"].add("b")) == [5]
        assert engine["work"].counts().ready == 1


def test_a_fork_waits_for_a_transaction_that_another_thread_ends(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forks, "MAX_PAUSE_SECONDS", WAIT_SECONDS)
    begun, forking = threading.Event(), threading.Event()

    def add(engine: Engine) -> None:
        with engine.transaction() as tx:
            tx["work"].add("thread")
            begun.set()
            forking.wait()

    with Engine(sqlite_url) as engine:
        engine["work"].add("parent")
        thread = threading.Thread(target=add, args=(engine,))
        thread.start()
        begun.wait()
        os.register_at_fork(before=forking.set)
        ended = in_children(1, lambda _: Engine(sqlite_url)["work"].add("child"))
        thread.join()
        assert (ended, engine["work"].counts().ready) == ([0], 3)


@pytest.mark.torture
def test_children_of_a_process_whose_threads_use_sqlite_do_not_hang(tmp_path: Path) -> None:
    stopped = threading.Event()

    def add(path: Path) -> None:
        with Engine(path) as engine:
            numbers = count()
            while not stopped.is_set():
                engine["work"].add(f"{next(numbers)}")
                engine["work"].page(limit=50)

    def write_elsewhere(path: Path) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(WAIT_SECONDS))
        with Engine(path) as engine:
            engine["work"].add("a")

    threads = [threading.Thread(target=add, args=(tmp_path / f"thread-{each}.db",)) for each in range(2)]
    for thread in threads:
        thread.start()
    try:
        for each in range(scaled(200)):
            assert in_children(1, lambda _, each=each: write_elsewhere(tmp_path / f"child-{each}.db")) == [0]
    finally:
        stopped.set()
        for thread in threads:
            thread.join()
