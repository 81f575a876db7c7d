"""The chat application, by each database and way of storing messages; and the comic shop on each database."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
from tests.apps.chatting import WAYS, Chatting, chatting
from tests.apps.shopping import Shopping, shopping
from tests.dashboard.conftest import browser as browser
from tests.dashboard.conftest import open_page as open_page
from tests.redis_servers import RedisServer

from rowlock import Engine


@pytest.fixture(scope="session")
def redis() -> Iterator[RedisServer]:
    """One Redis for all."""
    server = RedisServer().start()
    yield server
    server.remove()


@pytest.fixture(scope="module", params=WAYS)
def chat(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chatting]:
    """One server for a whole file of tests; each makes an application of its own."""
    database, way = request.param.split()
    options = {"write_behind": "on"} if way == "on" else {}
    if way == "redis":
        options["redis"] = request.getfixturevalue("redis").url
    with place(database, request, tmp_path_factory) as url, chatting(url, **options) as found:
        yield found


def place(
    database: str, request: pytest.FixtureRequest, folders: pytest.TempPathFactory
) -> AbstractContextManager[str]:
    """A database for as long as the block goes on."""
    if database == "sqlite":
        return nullcontext(str(folders.mktemp("chat") / "work.db"))
    lent: AbstractContextManager[str] = request.getfixturevalue("shelf").lent("postgresql")
    return lent


@pytest.fixture(params=["sqlite", "postgres"])
def dialect(request: pytest.FixtureRequest) -> str:
    """Each database that applications run on."""
    return str(request.param)


@pytest.fixture
def shop(engine: Engine) -> Iterator[Shopping]:
    """A comic shop, served over HTTP."""
    with shopping(engine) as found:
        yield found
