"""A client of a real server on a fresh database, in the place of an engine."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.conftest import Clock
from tests.http.serving import Serving, serving

from rowlock import Client, Engine
from rowlock.diagnostics import broken_rules


@pytest.fixture(params=["sqlite"])
def dialect(request: pytest.FixtureRequest) -> str:
    """A client does not know which database its server is on; the service is tried on all of them."""
    return str(request.param)


@pytest.fixture
def served(url: str) -> Iterator[Serving]:
    """A server at work on a fresh database."""
    with Engine(url) as engine, serving(engine) as found:
        yield found


class Checked(Client):
    """A client whose server's tables can be looked through for what contradicts itself."""

    def __init__(self, served: Serving) -> None:
        super().__init__(f"http://127.0.0.1:{served.client.port}")
        self._served = served

    def read(self, verb: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run a verb over HTTP, but `broken_rules`, which has no route, on the server's engine."""
        if verb is broken_rules:
            return self._served.service.engine.read(broken_rules)
        return super().read(verb, *args, **kwargs)


def client_of(served: Serving) -> Client:
    """A client of a server."""
    return Checked(served)


@pytest.fixture
def client(served: Serving) -> Iterator[Client]:
    """A client of that server."""
    with client_of(served) as client:
        yield client


@pytest.fixture
def engine(client: Client) -> Client:
    """The same where a test of the verbs wants an engine: what holds there holds here."""
    return client


@pytest.fixture
def timed(url: str, clock: Clock) -> Iterator[Client]:
    """A client of a server whose time is the movable clock's."""
    with Engine(url, clock=clock) as engine, serving(engine) as served, client_of(served) as client:
        yield client
