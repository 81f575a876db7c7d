"""A database that is away: the service says so, and never that a list is finished."""

import logging
import threading
from collections.abc import Iterator
from functools import partial

import pytest
from tests.http.serving import Serving, serving, until
from tests.races.faults import Faulty, raising
from tests.receivers import free_port
from tests.servers import Server

from rowlock import Engine, Worker
from rowlock.errors import DatabaseFull, DatabaseReadOnly


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


@pytest.mark.parametrize("error", [DatabaseFull("no room is left", ""), DatabaseReadOnly("it cannot be written", "")])
def test_a_service_that_cannot_write_is_not_ready_until_it_can(sqlite_url: str, error: Exception) -> None:
    refusing = threading.Event()
    wrap = partial(Faulty, before_commit=lambda _: raising(error)() if refusing.is_set() else None)
    with Engine(sqlite_url, wrap=wrap) as engine, serving(engine) as served:
        refusing.set()
        assert served.client("POST", "/v1/lists/downloads/items", "a").status == 503
        assert [served.client("GET", path).status for path in ("/readyz", "/readyz", "/livez")] == [503, 503, 200]
        assert f"wrong\tdatabase: {error.args[0]}" in served.client("GET", "/readyz?verbose").text
        refusing.clear()
        assert [served.client("GET", "/readyz").status, served.client("GET", "/v1/lists").status] == [200, 200]


def kill(mortal: Server, served: Serving) -> None:
    """Pull the plug, and wait until its last process has noticed: until then it may still answer."""
    mortal.kill()
    until(lambda: served.client("GET", "/v1/lists/downloads").status == 503)


def test_health_names_the_database_and_processors_of_lists(served: Serving, mortal: Server) -> None:
    engine = served.service.engine
    worker = Worker(engine)
    worker.process("*", allow=["localhost"])
    engine["downloads"].settings(processor={"url": f"http://localhost:{free_port()}/", "health": "/health"})
    served.service.worker = worker
    before = served.client("GET", "/v1/health", accept="application/json")
    kill(mortal, served)
    after = served.client("GET", "/v1/health", accept="application/json")
    ill = [[each["name"] for each in reply.json["checks"] if not each["well"]] for reply in (before, after)]
    assert ill == [["processor of downloads"], ["database", "processor of downloads"]]


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


def refuse_everybody(mortal: Server) -> None:
    """Ask for passwords from now on."""
    (mortal.folder / "data" / "pg_hba.conf").write_text("local all all scram-sha-256\n")
    mortal.start()


def told(served: Serving) -> str:
    """All that is said to whoever asks, in every kind."""
    paths = [*PATHS, ("GET", "/"), ("GET", "/readyz?verbose"), ("GET", "/v1/health"), ("GET", "/metrics")]
    kinds = ("text/plain", "application/json", "application/x-ndjson")
    replies = [served.client(method, path, accept=kind) for method, path in paths for kind in kinds]
    assert {reply.status for reply in replies if reply.status != 200} == {503}
    return "".join(f"{reply.headers} {reply.text}" for reply in replies)


def test_nobody_is_told_where_the_database_is_and_no_log_its_password(
    mortal: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    with mortal.connect() as connection:
        connection.execute("create role annabel superuser login password 'right'")
    url = mortal.url().replace("postgres@", "annabel:hunter2@")
    with Engine(url, patience=0.05) as engine:
        engine.migrate()
        with serving(engine) as found:
            mortal.kill()
            until(lambda: found.client("GET", "/v1/lists/downloads").status == 503)
            away = told(found)
            refuse_everybody(mortal)
            until(lambda: "database-denied" in found.client("GET", "/v1/lists").text)
            said = away + told(found)
    assert [secret in said for secret in ("hunter2", "annabel", str(mortal.folder), "psycopg")] == [False] * 4
    assert "hunter2" not in caplog.text
