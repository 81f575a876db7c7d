"""The chat application on each database, with messages stored at once and behind, and with numbers by Redis."""

from collections.abc import Iterator

import pytest
from tests.apps.chatting import WAYS, Chatting, chatting
from tests.conftest import fresh
from tests.redis_servers import RedisServer


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
    if database == "sqlite":
        urls = iter([str(tmp_path_factory.mktemp("chat") / "work.db")])
    else:
        urls = fresh(request.getfixturevalue("postgres"), "postgresql")
    with chatting(next(urls), **options) as found:
        yield found
    for _ in urls:
        pass
