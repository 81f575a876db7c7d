"""A server on a fresh database of each kind."""

from collections.abc import Iterator

import pytest
from tests.http import serving as servers
from tests.http.serving import Client, Serving, serving

from rowlock import Engine

OF_THE_PROTOCOL = (
    "access",
    "description",
    "item_reader",
    "items",
    "kinds",
    "long_polls",
    "outages",
    "problems",
    "service",
    "streams",
    "traces",
    "waiting",
)
"""The files about headers, bodies, streams and the end of connections; all others ask in the same ways for more."""


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    """The kinds of database that a face is tried on; the verbs below it are tried on all."""
    return str(request.param)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test by rowlock's own protocol and by uvicorn's, which the service must not be able to tell apart.

    By uvicorn's, `make test` runs the files that a protocol can break, and `make torture` the others.
    """
    if "protocol" in metafunc.fixturenames:
        own_only = metafunc.definition.get_closest_marker("own_protocol") is not None
        is_quick = metafunc.definition.path.stem.removeprefix("test_") in OF_THE_PROTOCOL
        uvicorn = pytest.param("uvicorn", marks=() if is_quick else pytest.mark.torture)
        metafunc.parametrize("protocol", ["own"] if own_only else ["own", uvicorn], indirect=True, scope="module")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """By uvicorn's protocol on SQLite alone: what the protocol does has nothing to do with the database."""
    twice = {each for each in items if params(each) >= {("protocol", "uvicorn"), ("dialect", "postgres")}}
    config.hook.pytest_deselected(items=list(twice))
    items[:] = [each for each in items if each not in twice]


def params(item: pytest.Item) -> set[tuple[str, object]]:
    callspec = getattr(item, "callspec", None)
    return {(name, callspec.params[name]) for name in ("protocol", "dialect") if callspec and name in callspec.params}


@pytest.fixture(scope="module", autouse=True)
def protocol(request: pytest.FixtureRequest) -> Iterator[str]:
    """What servers speak HTTP with: those of a wider scope than a test must ask for this fixture too."""
    servers.chosen = request.param
    yield request.param
    servers.chosen = "own"


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
def quick(protocol: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A client of one server on SQLite for a whole file of tests, for what does not depend on the database."""
    with Engine(str(tmp_path_factory.mktemp("quick") / "work.db")) as engine, serving(engine) as found:
        yield found.client
