"""A server that is killed, full or told to go: every answered write is there, and no unanswered one is half there."""

import http.client
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress

import pytest
from tests.http.serving import Client, serving, until
from tests.http.victim import victim
from tests.http.working import Remote
from tests.torture import scaled
from tests.waiting import WAIT_SECONDS

from rowlock import Engine
from rowlock.db.sqlite import SqliteConnection

pytestmark = pytest.mark.own_protocol

THREADS = 8
PAIR = "/v1/lists/pairs/items"


class Writer(threading.Thread):
    """Adds pairs as fast as it can until the server is gone, and remembers which were answered."""

    def __init__(self, ask: Client, name: str) -> None:
        super().__init__(daemon=True)
        self._ask = ask
        self._name = name
        self.asked: list[str] = []
        self.answered: list[str] = []

    def run(self) -> None:
        connection = http.client.HTTPConnection(self._ask.host, self._ask.port, timeout=WAIT_SECONDS)
        with closing(connection), suppress(OSError, http.client.HTTPException):
            for number in range(1_000_000):
                pair = f"{self._name}-{number}"
                self.asked.append(pair)
                connection.request("POST", PAIR, f"{pair} left\n{pair} right\n".encode())
                if connection.getresponse().read() != b"added\t2\nexisting\t0\n":
                    return
                self.answered.append(pair)


def kill_under_load(url: str, prefix: str) -> None:
    """Kill a server that many write to, and look at what is there."""
    with victim(url) as prey:
        writers = [Writer(prey.client, f"{prefix}{number}") for number in range(THREADS)]
        for writer in writers:
            writer.start()
        until(lambda: sum(len(writer.answered) for writer in writers) > 500)
        prey.kill()
        for writer in writers:
            writer.join(WAIT_SECONDS)
    with Engine(url) as engine:
        there = {item.key for item in engine["pairs"] if item.key.startswith(prefix)}
    answered = {f"{pair} {side}" for writer in writers for pair in writer.answered for side in ("left", "right")}
    assert answered <= there
    lefts = {key.split(" ")[0] for key in there if key.endswith("left")}
    assert lefts == {key.split(" ")[0] for key in there if key.endswith("right")}
    assert lefts <= {pair for writer in writers for pair in writer.asked}


def test_what_was_answered_is_there_and_nothing_is_half_there(url: str) -> None:
    kill_under_load(url, "once-")


@pytest.mark.torture
@pytest.mark.fault("HTTP service killed", scaled(20))
def test_what_was_answered_is_there_however_often_servers_are_killed(url: str) -> None:
    for number in range(scaled(20)):
        kill_under_load(url, f"{number}-")


def test_work_goes_on_with_the_next_server(url: str) -> None:
    with victim(url) as first:
        first.client("POST", "/v1/lists/work/items", b"a\nb\n")
        remote = Remote(first.client)
        claim = remote.claim(limit=2)["claim"]
        first.kill()
    with victim(url) as second:
        remote.ask = second.client
        assert remote.settle(claim, done=["a"]).json == {"verdicts": {"a": "done"}}
        assert remote.settle(claim, done=["a"]).json == {"verdicts": {"a": "done"}}
        assert remote.settle(claim, done=["b"]).json == {"verdicts": {"b": "done"}}


def test_sigterm_answers_what_has_begun_and_then_ends(url: str) -> None:
    with victim(url) as prey, ThreadPoolExecutor(1) as threads:
        remote = Remote(prey.client)
        kept = http.client.HTTPConnection(prey.client.host, prey.client.port, timeout=WAIT_SECONDS)
        kept.request("GET", "/readyz")
        assert kept.getresponse().read() == b"ok\n"
        waiting = threads.submit(remote.claim, "work", wait="60s")
        until(lambda: prey.connections() == 2)
        prey.process.send_signal(signal.SIGTERM)
        assert waiting.result(WAIT_SECONDS)["items"] == []
        kept.request("GET", "/readyz")
        assert kept.getresponse().status == 503
        kept.close()
        assert prey.process.wait(WAIT_SECONDS) in (0, -signal.SIGTERM)
        with pytest.raises(OSError, match="refused"):
            socket.create_connection((prey.client.host, prey.client.port))


@pytest.fixture
def full(sqlite_url: str) -> Iterator[Client]:
    def small(connection: SqliteConnection) -> SqliteConnection:
        connection.query("pragma max_page_count = 120")
        return connection

    with Engine(sqlite_url, wrap=small) as engine, serving(engine) as found:
        yield found.client


def test_a_full_disk_is_told_and_nothing_of_it_is_written(full: Client) -> None:
    body = "\n".join(f"{number:06}" + "x" * 500 for number in range(2000))
    reply = full("POST", "/v1/lists/work/items", body, accept="application/json")
    assert (reply.status, reply.json["code"], reply.headers["retry-after"]) == (503, "database-full", "1")
    assert full("GET", "/v1/lists/work/items").status == 404


def test_a_statement_that_takes_too_long_is_given_up(postgres_url: str) -> None:
    with Engine(postgres_url, statement_seconds=0.2) as engine, serving(engine) as found, Engine(postgres_url) as other:
        other["work"].add("a")
        with other.transaction() as tx:
            tx.execute("lock table rowlock_lists in access exclusive mode")
            reply = found.client("GET", "/v1/lists/work", accept="application/json")
        assert (reply.status, reply.json["code"]) == (503, "database-busy")
        until(lambda: found.client("GET", "/v1/lists/work").status == 200)
