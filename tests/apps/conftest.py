"""The chat application on each database, with messages stored at once and behind, and with numbers by Redis."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
from tests.apps.chatting import WAYS, Chatting, chatting
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
