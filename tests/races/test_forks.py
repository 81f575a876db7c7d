"""Processes that fork with an engine: every child writes safely, or is refused."""

import os
from collections.abc import Callable

import pytest

from rowlock import Engine, Unavailable


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
