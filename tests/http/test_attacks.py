"""Hostile clients are refused or cut off; memory stays bounded, and other clients notice nothing."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator

import pytest
import zstandard
from tests.http.serving import until
from tests.http.victim import Victim, victim

MB = 1024 * 1024
BOUND = 32 * MB
ITEMS = "/v1/lists/work/items"


@pytest.fixture
def prey(sqlite_url: str) -> Iterator[Victim]:
    with victim(sqlite_url, header_seconds=2, body_seconds=2, reading_seconds=2, connections_per_address=200) as found:
        warm_up(found)
        yield found


def warm_up(prey: Victim) -> None:
    for _ in range(50):
        prey.client("POST", ITEMS, b"warm\n")
        prey.client("GET", f"{ITEMS}?count=1")


def connected(prey: Victim) -> socket.socket:
    found = socket.create_connection((prey.client.host, prey.client.port))
    found.settimeout(30)
    return found


def answer(to: socket.socket) -> bytes:
    """What comes until the other side hangs up."""
    said = b""
    try:
        while more := to.recv(65536):
            said += more
    except ConnectionError:
        pass
    to.close()
    return said


def is_open(each: socket.socket) -> bool:
    each.setblocking(False)
    try:
        while each.recv(65536):
            continue
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def unharmed(prey: Victim) -> None:
    start = time.monotonic()
    assert prey.client("POST", ITEMS, b"a\n").status == 200
    assert prey.client("GET", f"{ITEMS}?count=1").status == 200
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("said", [b"", b"GET /v1/lists HTTP/1.1\r\nhost: localhost\r\nx: "])
def test_five_hundred_slow_headers_harm_nobody(prey: Victim, said: bytes) -> None:
    before = prey.memory()
    slow = [connected(prey) for _ in range(500)]
    for each in slow:
        try:
            each.sendall(said)
        except ConnectionError:
            continue  # cut off to make room
    unharmed(prey)
    until(lambda: not any(is_open(each) for each in slow) or trickle(slow))
    assert prey.memory() - before < BOUND
    for each in slow:
        each.close()
    unharmed(prey)


def trickle(slow: list[socket.socket]) -> None:
    """A letter more on each, as an attacker would; says nothing itself."""
    for each in slow:
        try:
            each.send(b"y")
        except (ConnectionError, BlockingIOError):
            continue
    time.sleep(0.2)


def test_slow_bodies_are_cut_off(prey: Victim) -> None:
    slow = [connected(prey) for _ in range(100)]
    head = f"POST {ITEMS} HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100000\r\n\r\na\n".encode()
    for each in slow:
        each.sendall(head)
    unharmed(prey)
    assert {answer(each)[:12] for each in slow} == {b"HTTP/1.1 408"}
    assert prey.client("GET", f"{ITEMS}/a").status == 200  # of those who were not slow


def test_who_does_not_read_is_cut_off(prey: Victim) -> None:
    prey.client("POST", ITEMS, b"".join(b"%06d%s\n" % (number, b"x" * 400) for number in range(60_000)))
    lazy = [connected(prey) for _ in range(20)]
    for each in lazy:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        each.sendall(f"GET {ITEMS} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    unharmed(prey)
    until(lambda: prey.connections() == 0)
    assert all(len(answer(each)) < MB for each in lazy)


def flood(to: socket.socket, head: bytes, piece: bytes, count: int) -> None:
    try:
        to.sendall(head)
        for _ in range(count):
            to.sendall(piece)
    except OSError:
        return  # cut off


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/x-ndjson"])
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunked"])
def test_two_hundred_megabytes_are_refused(prey: Victim, kind: str, *, chunked: bool) -> None:
    before = prey.memory()
    size = "transfer-encoding: chunked" if chunked else f"content-length: {200 * MB}"
    head = f"POST {ITEMS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: {kind}\r\n{size}\r\n\r\n".encode()
    letters = b"x" * MB
    piece = b"%x\r\n%s\r\n" % (MB, letters) if chunked else letters
    sending = connected(prey)
    thread = threading.Thread(target=flood, args=(sending, head, piece, 200))
    thread.start()
    said = answer(sending)
    thread.join()
    assert said[:12] in (b"HTTP/1.1 413", b"HTTP/1.1 400", b"")
    assert prey.memory() - before < BOUND
    unharmed(prey)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/x-ndjson"])
def test_a_bomb_is_refused(prey: Victim, coding: str, kind: str) -> None:
    plain = b"x" * (200 * MB)
    bomb = gzip.compress(plain, 1) if coding == "gzip" else zstandard.compress(plain)
    before = prey.memory()
    reply = prey.client("POST", ITEMS, bomb, content_type=kind, content_encoding=coding)
    assert reply.status in (400, 413)
    assert prey.memory() - before < BOUND
    unharmed(prey)


def test_deep_json_is_refused(prey: Victim) -> None:
    before = prey.memory()
    for depth in (1_000, 100_000, 2_000_000):
        for body in (b"[" * depth, b'{"items":[{"key":"a","data":' + b'{"a":' * depth, b'{"x":' * depth):
            assert prey.client("POST", ITEMS, body, content_type="application/json").status in (400, 413, 422)
    assert prey.memory() - before < BOUND
    unharmed(prey)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\n" + b"x: y\r\n" * 20_000 + b"\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 10_000_000,
    ],
    ids=["path", "header", "headers", "endless"],
)
def test_large_headers_are_refused(prey: Victim, head: bytes) -> None:
    sending = connected(prey)
    flood(sending, head, b"", 0)
    assert answer(sending)[:12] in (b"HTTP/1.1 431", b"")
    unharmed(prey)


@pytest.mark.parametrize(
    "said",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        b"POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/lists/a/items HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /v1/lists HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
    ],
    ids=["tls", "version", "length", "both", "chunk", "upgrade"],
)
def test_nonsense_is_answered_or_cut_off(prey: Victim, said: bytes) -> None:
    sending = connected(prey)
    flood(sending, said, b"", 0)
    sending.shutdown(socket.SHUT_WR)
    assert answer(sending)[:10] in (b"", b"HTTP/1.1 4", b"HTTP/1.1 2")
    unharmed(prey)
