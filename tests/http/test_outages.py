"""A database that is away: the service says so, and never that a list is finished."""

from collections.abc import Iterator

import pytest
from tests.http.serving import Serving, serving, until
from tests.servers import Server

from rowlock import Engine


@pytest.fixture
def mortal() -> Iterator[Server]:
    """A server of its own, to be killed."""
    server = Server(fsync="on", synchronous_commit="on").start()
    try:
        yield server
    finally:
        server.remove()


@pytest.fixture
def served(mortal: Server) -> Iterator[Serving]:
    with Engine(mortal.url(), patience=0.2) as engine:
        engine.migrate()
        engine["downloads"].add("a.txt")
        with serving(engine) as found:
            yield found


PATHS = [
    ("GET", "/iidy/v1/batch/lists/downloads?count=10"),
    ("GET", "/iidy/v1/lists/downloads/a.txt"),
    ("POST", "/iidy/v1/lists/downloads/b.txt"),
    ("GET", "/v1/lists/downloads/items?count=10"),
    ("GET", "/v1/lists/downloads/items/a.txt"),
    ("GET", "/v1/lists/downloads"),
    ("POST", "/v1/lists/downloads/items"),
]


def kill(mortal: Server, served: Serving) -> None:
    """Pull the plug, and wait until its last process has noticed: until then it may still answer."""
    mortal.kill()
    until(lambda: served.client("GET", "/v1/lists/downloads").status == 503)


def test_while_it_is_away_everything_is_unavailable(served: Serving, mortal: Server) -> None:
    kill(mortal, served)
    for method, path in PATHS:
        reply = served.client(method, path, b"b\n" if method == "POST" else None)
        assert (reply.status, reply.headers.get("retry-after")) == (503, "1"), f"{path} {reply.text}"
        assert "psycopg" not in reply.text
    assert served.client("GET", "/livez").status == 200
    assert served.client("GET", "/readyz").status == 503
    stream = served.client("GET", "/v1/lists/downloads/items", accept="application/x-ndjson")
    assert (stream.status, stream.json["code"]) == (503, "database-unreachable")


def test_when_it_is_back_all_is_well(served: Serving, mortal: Server) -> None:
    kill(mortal, served)
    mortal.start()
    assert served.client("GET", "/iidy/v1/batch/lists/downloads?count=10").text == "a.txt 0\n"
    assert served.client("GET", "/readyz").status == 200
