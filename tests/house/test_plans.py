"""Paging walks the index of keys, also before PostgreSQL has gathered statistics of what was just loaded."""

from collections.abc import Iterator

import pytest

from rowlock import Engine
from rowlock.db.postgres import DIALECT
from rowlock.db.statements import Statements

ENOUGH = 20_000


@pytest.fixture
def loaded(postgres_url: str) -> Iterator[Engine]:
    with Engine(postgres_url) as engine:
        engine["names"].add(f"{number:06}" for number in range(ENOUGH))
        yield engine


def plan(engine: Engine, name: str, **parameters: object) -> str:
    text = Statements(DIALECT)[name].text
    with engine.transaction() as tx:
        return "\n".join(line for (line,) in tx.execute(f"explain {text}", parameters).fetchall())


@pytest.mark.parametrize("statistics", ["none", "fresh"])
@pytest.mark.parametrize("statement", ["items/page", "items/page_state"])
@pytest.mark.parametrize("after", ["", "019000"])
def test_a_page_walks_the_index_of_keys(loaded: Engine, statement: str, after: str, statistics: str) -> None:
    if statistics == "fresh":
        with loaded.transaction() as tx:
            tx.execute("analyze rowlock_items")
    walked = plan(loaded, statement, list="names", after=after, limit=100, state="ready")
    assert "Index Scan using rowlock_items_pkey" in walked
    assert "Bitmap" not in walked
    assert "Seq Scan on rowlock_items" not in walked
