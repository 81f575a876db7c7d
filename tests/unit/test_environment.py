"""The world outside: chance and time that can be replaced."""

from itertools import count

import pytest

from rowlock import Engine
from rowlock.environment import REAL_ENVIRONMENT, Environment


def test_jitter_is_between_half_and_all() -> None:
    waits = [Environment(random=lambda chance=chance: chance).jittered(10) for chance in (0.0, 0.5, 0.999)]
    assert waits == pytest.approx([5.0, 7.5, 9.995])


def test_no_token_comes_twice() -> None:
    assert len({REAL_ENVIRONMENT.token() for _ in range(1000)}) == 1000


def test_an_engine_takes_all_its_waiting_from_its_world(sqlite_url: str) -> None:
    ticks = count()
    environment = Environment(monotonic=lambda: float(next(ticks)), sleep=lambda _: None)
    with Engine(sqlite_url, environment=environment) as engine:
        assert engine["work"].add("a").added == 1
