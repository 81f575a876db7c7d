"""Long adds: streamed, bounded, all or nothing."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from rowlock import Added, Engine
from rowlock.errors import Invalid, InvalidKey

MANY = 25_000


def names(count: int = MANY) -> Iterator[str]:
    return (f"key-{number:08}" for number in range(count))


def broken() -> Iterator[str]:
    yield from names()
    raise ZeroDivisionError


def test_a_generator_of_many_keys_is_added_whole(engine: Engine) -> None:
    assert engine["many"].add(names()) == Added(MANY, 0)
    assert engine["many"].counts().total == sum(1 for _ in engine["many"]) == MANY


def test_many_mappings_are_added_whole(engine: Engine) -> None:
    added = engine["many"].add({"key": key, "data": {"of": key}, "priority": 1} for key in names())
    assert (added, engine["many"].counts().ready) == (Added(MANY, 0), MANY)


def test_a_long_add_again_adds_nothing(engine: Engine) -> None:
    engine["many"].add(names())
    assert engine["many"].add(names()) == Added(0, MANY)


def test_a_wrong_last_line_adds_nothing(engine: Engine) -> None:
    with pytest.raises(InvalidKey, match=f"line {MANY + 1}"):
        engine["many"].add([*names(), "wrong\0"])
    assert engine.lists() == []


def test_a_wrong_last_mapping_adds_nothing(engine: Engine) -> None:
    with pytest.raises(Invalid, match=f"line {MANY + 1}"):
        engine["many"].add([*names(), {"key": "a", "gate": -1}])
    assert engine.lists() == []


def test_a_source_that_breaks_adds_nothing(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError):
        engine["many"].add(broken())
    assert engine.lists() == []


def test_a_long_file_on_disk_is_added_by_its_lines(engine: Engine, tmp_path: Path) -> None:
    file = tmp_path / "names.txt"
    file.write_text("\n".join(names()))
    with file.open() as lines:
        assert engine["many"].add(lines) == Added(MANY, 0)


def test_an_add_larger_than_its_part_of_memory_is_added_whole(engine: Engine) -> None:
    assert engine["many"].add(f"{number:0400}" for number in range(MANY)).added == MANY


def test_a_long_add_keeps_to_its_part_of_memory(sqlite_url: str) -> None:
    with Engine(sqlite_url) as engine:
        engine["many"].add(names(10))
        tracemalloc.start()
        engine["many"].add(names(200_000))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 20_000_000
