"""A server on a fresh database of each kind."""

from collections.abc import Iterator

import pytest
from tests.http.serving import Client, Serving, serving

from rowlock import Engine


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    """The kinds of database that a face is tried on; the verbs below it are tried on all."""
    return str(request.param)


@pytest.fixture
def served(engine: Engine) -> Iterator[Serving]:
    """A server at work, with the engine that it serves."""
    with serving(engine) as found:
        yield found


@pytest.fixture
def ask(served: Serving) -> Client:
    """A client of a server on each kind of database."""
    return served.client


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of one server on SQLite for a whole file of tests, for what does not depend on the database."""
    with Engine(str(tmp_path_factory.mktemp("quick") / "work.db")) as engine, serving(engine) as found:
        yield found.client
