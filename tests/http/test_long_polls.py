"""Requests that wait have a bound of their own below that of connections, and health always answers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec
import pytest
from tests.http.serving import SECONDS, Serving, serving, until
from tests.http.working import Remote
from tests.worker.running import running

from rowlock import Client, Engine, Item, Worker
from rowlock.api.server_limits import ServerLimits
from rowlock.http import long_poll

ROOM = ServerLimits(connections_per_address=8)
CLAIMS, LOOK, EVENTS = "/v1/lists/none/claims", "/v1/sessions/{}/look", "/v1/events"


@contextmanager
def narrow(tmp_path: Path, limits: ServerLimits) -> Iterator[Serving]:
    with Engine(str(tmp_path / "work.db")) as engine, serving(engine, limits) as found:
        yield found


def connected(served: Serving, *lines: str, body: bytes = b"") -> socket.socket:
    """A connection on which something was asked."""
    head = "\r\n".join([lines[0], "host: localhost", *lines[1:], "", ""])
    found = socket.create_connection((served.client.host, served.client.port), timeout=SECONDS)
    found.sendall(head.encode() + body)
    return found


def waiting_claims(served: Serving, stack: ExitStack, count: int) -> list[socket.socket]:
    """Connections on which an item that never comes is waited for."""
    body = msgspec.json.encode({"session": Remote(served.client).session, "wait": "60s"})
    lines = f"POST {CLAIMS} HTTP/1.1", "content-type: application/json", f"content-length: {len(body)}"
    return [stack.enter_context(connected(served, *lines, body=body)) for _ in range(count)]


def unfinished(served: Serving, stack: ExitStack, count: int) -> None:
    """Use up connections by requests whose bodies do not come."""
    lines = "POST /v1/lists/work/items HTTP/1.1", "expect: 100-continue", "content-length: 10"
    for sock in [stack.enter_context(connected(served, *lines)) for _ in range(count)]:
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"


def test_waits_beyond_three_quarters_of_the_connections_are_refused(tmp_path: Path) -> None:
    with narrow(tmp_path, ROOM) as served, ExitStack() as stack:
        waiting_claims(served, stack, 6)
        until(lambda: served.service.long_polls.count == 6)
        body = {"session": Remote(served.client).session, "wait": "60s"}
        reply = served.client("POST", CLAIMS, body, accept="application/json")
        assert (reply.status, reply.json["code"], reply.headers["retry-after"]) == (503, "overloaded", "5")
        assert served.service.long_polls.count == 6


def test_others_of_an_address_are_served_while_as_many_wait_as_may(tmp_path: Path) -> None:
    with narrow(tmp_path, ROOM) as served, ExitStack() as stack:
        waiting_claims(served, stack, 6)
        until(lambda: served.service.long_polls.count == 6)
        assert served.client("GET", "/livez").status == 200
        assert served.client("POST", "/v1/lists/work/items", b"a\n").status == 200
        assert Remote(served.client).keys("work", wait="60s") == ["a"]  # what is there need not be waited for


@pytest.mark.parametrize(("method", "path"), [("POST", CLAIMS), ("POST", LOOK), ("GET", EVENTS)])
def test_all_that_waits_is_bounded_together(tmp_path: Path, method: str, path: str) -> None:
    with narrow(tmp_path, ServerLimits(long_polls=1)) as served, ExitStack() as stack:
        session = Remote(served.client).session
        waiting_claims(served, stack, 1)
        until(lambda: served.service.long_polls.count == 1)
        body = {CLAIMS: {"session": session, "wait": "60s"}, LOOK: {"wait": "60s"}}.get(path)
        reply = served.client(method, path.format(session), body, accept="application/json, text/event-stream")
        assert (reply.status, reply.json["code"]) == (503, "overloaded")


def test_who_stops_waiting_makes_room(tmp_path: Path) -> None:
    with narrow(tmp_path, ServerLimits(long_polls=1)) as served:
        for _ in range(3):
            with ExitStack() as stack:
                waiting_claims(served, stack, 1)
                until(lambda: served.service.long_polls.count == 1)
            until(lambda: served.service.long_polls.count == 0)


@pytest.mark.own_protocol
@pytest.mark.parametrize(
    "limits", [ServerLimits(connections_per_address=2), ServerLimits(connections=2)], ids=["address", "all"]
)
def test_health_answers_when_all_connections_are_used(tmp_path: Path, limits: ServerLimits) -> None:
    with narrow(tmp_path, limits) as served, ExitStack() as stack:
        unfinished(served, stack, 2)
        answers = {path: served.client("GET", path).status for path in ("/livez", "/readyz?verbose", "/v1/lists")}
        assert answers == {"/livez": 200, "/readyz?verbose": 200, "/v1/lists": 503}


@pytest.mark.own_protocol
def test_silent_connections_do_not_keep_health_from_answering(tmp_path: Path) -> None:
    limits = ServerLimits(connections_per_address=2, health_connections=2)
    with narrow(tmp_path, limits) as served, ExitStack() as stack:
        unfinished(served, stack, 2)
        for _ in range(5):
            stack.enter_context(socket.create_connection((served.client.host, served.client.port), timeout=SECONDS))
        assert served.client("GET", "/livez").status == 200


@pytest.mark.own_protocol
def test_a_connection_kept_for_health_answers_once(tmp_path: Path) -> None:
    with narrow(tmp_path, ServerLimits(connections_per_address=1)) as served, ExitStack() as stack:
        unfinished(served, stack, 1)
        assert served.client("GET", "/livez").headers["connection"] == "close"


def test_a_worker_that_may_not_wait_still_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_poll, "RETRY_AFTER_SECONDS", 0)
    handled = threading.Event()
    with narrow(tmp_path, ServerLimits(long_polls=1)) as served, ExitStack() as stack:
        waiting_claims(served, stack, 1)
        until(lambda: served.service.long_polls.count == 1)
        client = stack.enter_context(Client(f"http://127.0.0.1:{served.client.port}"))
        worker = Worker(client)

        @worker.on("work")
        def handle(_: Item) -> None:
            handled.set()

        with running(worker):
            until(client.sessions)
            client["work"].add("a")
            assert handled.wait(SECONDS)


def test_the_bounds_on_waiting_follow_those_on_connections() -> None:
    limits = ServerLimits(connections=100, connections_per_address=1)
    assert (limits.long_polls, limits.long_polls_per_address) == (75, 1)
    assert (ServerLimits(long_polls=5).long_polls, ServerLimits(connections=4, long_polls=9).long_polls) == (5, 3)
