"""One more kind of database: PostgreSQL at its strictest isolation; and transactions of callers."""

from collections.abc import Iterator

import pytest
from tests.verbs.callers import WAYS, Begun

from rowlock import Engine, Session


@pytest.fixture
def serializable_url(postgres_url: str) -> str:
    """The address of a fresh PostgreSQL database whose transactions are serialisable."""
    return f"{postgres_url}&isolation=serializable"


ALCHEMY = [pytest.param(each, marks=pytest.mark.torture) for each in ("core", "orm")]


@pytest.fixture(params=["ours", "driver", *ALCHEMY])
def begun(request: pytest.FixtureRequest) -> Begun:
    """One of the ways; SQLAlchemy's lead to the driver's connection, and are tried by a few tests only."""
    return WAYS[request.param]


@pytest.fixture
def work(engine: Engine) -> Engine:
    """A list `work` of two items, and a table for what callers find out about them."""
    engine["work"].add(["a", "b"])
    with engine.transaction() as tx:
        tx.execute("create table results (key text)")
    return engine


@pytest.fixture
def session(work: Engine) -> Iterator[Session]:
    """A session with a heart."""
    with work.session(holder="ann") as session:
        yield session
