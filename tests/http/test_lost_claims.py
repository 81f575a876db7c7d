"""Claims whose client hangs up before it was answered are free again while the session lives."""

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec
import pytest
from tests.http.serving import SECONDS, Serving, until
from tests.http.working import Remote

from rowlock import Engine

pytestmark = pytest.mark.own_protocol

ITEMS = "/v1/lists/work/items"
MANY = 8
AT_ONCE = struct.pack("ii", 1, 0)


def asked(served: Serving, remote: Remote, *headers: str) -> socket.socket:
    """A connection on which an item was asked for."""
    body = msgspec.json.encode({"session": remote.session})
    head = ["POST /v1/lists/work/claims HTTP/1.1", "host: localhost", "content-type: application/json", *headers]
    found = socket.create_connection((served.client.host, served.client.port), timeout=SECONDS)
    found.sendall("\r\n".join([*head, f"content-length: {len(body)}", "", ""]).encode() + body)
    return found


@contextmanager
def nothing_claimed_meanwhile(url: str, served: Serving, count: int) -> Iterator[None]:
    """Hold the list until the block ends, and end it when so many claims wait for that."""
    with Engine(url) as other, other.transaction() as tx:
        tx["work"].pause()
        tx["work"].resume()
        yield
        until(lambda: served.service.executor._pending == count)


def reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, AT_ONCE)
    connection.close()


def claimed(served: Serving) -> int:
    """How many items are claimed when all requests have ended."""
    until(lambda: not served.server.server_state.tasks)
    return served.service.engine["work"].counts().claimed


@pytest.mark.parametrize("leave", [reset, socket.socket.close], ids=["reset", "close"])
def test_items_whose_client_left_before_the_answer_are_free(
    served: Serving, url: str, leave: Callable[[socket.socket], None]
) -> None:
    served.client("POST", ITEMS, "".join(f"{number}\n" for number in range(MANY)))
    remote = Remote(served.client)
    with nothing_claimed_meanwhile(url, served, MANY):
        for connection in [asked(served, remote) for _ in range(MANY)]:
            leave(connection)
    assert claimed(served) == 0
    assert len(remote.keys(limit=MANY)) == MANY


def test_a_client_that_only_stops_sending_gets_its_items(served: Serving, url: str) -> None:
    served.client("POST", ITEMS, b"a\n")
    remote = Remote(served.client)
    with nothing_claimed_meanwhile(url, served, 1):
        connection = asked(served, remote)
        connection.shutdown(socket.SHUT_WR)
    with connection:
        answer = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert (b'"key":"a"' in answer, claimed(served)) == (True, 1)


def test_a_claim_under_an_idempotency_key_waits_for_its_client_to_ask_again(served: Serving, url: str) -> None:
    served.client("POST", ITEMS, b"a\nb\n")
    remote = Remote(served.client)
    with nothing_claimed_meanwhile(url, served, 1):
        reset(asked(served, remote, "idempotency-key: once"))
    assert claimed(served) == 1
    assert remote.keys(key="once") == ["a"]
