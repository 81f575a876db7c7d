"""The environment of an engine: clock, randomness and sleep that can be replaced, and options that are checked."""

import re
from itertools import count

import pytest

from rowlock import Engine, Invalid
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


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("patience", "2s", "patience must be a number of seconds, 0 or more, got '2s'"),
        ("patience", -1, "patience must be a number of seconds, 0 or more, got -1"),
        ("statement_seconds", None, "statement_seconds must be a number of seconds, 0 or more, got None"),
        ("connections", 0, "connections must be a whole number, 1 or more, got 0"),
        ("connections", "many", "connections must be a whole number, 1 or more, got 'many'"),
    ],
)
def test_an_engine_refuses_an_option_of_the_wrong_kind(
    sqlite_url: str, option: str, value: object, message: str
) -> None:
    with pytest.raises(Invalid, match=re.escape(message)):
        Engine(sqlite_url, **{option: value})
