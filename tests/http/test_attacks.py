"""Hostile clients are refused or cut off; memory stays bounded, and other clients notice nothing."""

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from functools import cache

import pytest
import zstandard
from tests.http.serving import until
from tests.http.victim import Victim, victim
from tests.waiting import WAIT_SECONDS

pytestmark = pytest.mark.own_protocol

MB = 1024 * 1024
BOUND = 32 * MB
ITEMS = "/v1/lists/work/items"


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Victim, int]]:
    """A server that has to stand all of this, and how much memory it held before."""
    url = str(tmp_path_factory.mktemp("attacked") / "work.db")
    with victim(url, header_seconds=1, body_seconds=1, reading_seconds=1, connections_per_address=200) as found:
        warm_up(found)
        yield found, found.memory()


@pytest.fixture
def prey(attacked: tuple[Victim, int]) -> Iterator[Victim]:
    """The server; at no moment of any attack does it hold much more than before the first."""
    found, before = attacked
    found.forget_peak()
    yield found
    assert found.peak() - before < BOUND
    unharmed(found)


def warm_up(prey: Victim) -> None:
    for _ in range(50):
        prey.client("POST", ITEMS, b"warm\n")
        prey.client("GET", f"{ITEMS}?count=1")


def connected(prey: Victim, buffer: int | None = None) -> socket.socket:
    found = socket.socket()
    if buffer is not None:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    found.settimeout(WAIT_SECONDS)
    found.connect((prey.client.host, prey.client.port))
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
    until(lambda: answers(prey, "POST", ITEMS, b"a\n"))
    until(lambda: answers(prey, "GET", f"{ITEMS}?count=1"))


def answers(prey: Victim, method: str, path: str, body: bytes = b"") -> bool:
    try:
        return prey.client(method, path, body).status == 200
    except ConnectionError:
        return False  # on a busy machine this process may pause for a second before it sends, and is cut off


@pytest.mark.parametrize("said", [b"", b"GET /v1/lists HTTP/1.1\r\nhost: localhost\r\nx: "])
def test_five_hundred_slow_headers_harm_nobody(prey: Victim, said: bytes) -> None:
    slow = [connected(prey) for _ in range(500)]
    for each in slow:
        try:
            each.sendall(said)
        except ConnectionError:
            continue  # cut off to make room
    unharmed(prey)
    until(lambda: not any(is_open(each) for each in slow) or trickle(slow))
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
    unharmed(prey)


@cache
def bomb(coding: str) -> bytes:
    """Two hundred megabytes, packed."""
    plain = b"x" * (200 * MB)
    return gzip.compress(plain, 1) if coding == "gzip" else zstandard.compress(plain)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/x-ndjson"])
def test_a_bomb_is_refused(prey: Victim, coding: str, kind: str) -> None:
    reply = prey.client("POST", ITEMS, bomb(coding), content_type=kind, content_encoding=coding)
    assert reply.status in (400, 413)
    unharmed(prey)


def test_deep_json_is_refused(prey: Victim) -> None:
    for depth in (1_000, 100_000, 2_000_000):
        for body in (b"[" * depth, b'{"items":[{"key":"a","data":' + b'{"a":' * depth, b'{"x":' * depth):
            assert prey.client("POST", ITEMS, body, content_type="application/json").status in (400, 413, 422)
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


def be_lazy(prey: Victim) -> None:
    lazy = [connected(prey, buffer=4096) for _ in range(3)]
    for each in lazy:
        each.sendall(b"GET /v1/lists/long/items HTTP/1.1\r\nhost: localhost\r\n\r\n")
    unharmed(prey)
    until(lambda: prey.connections() == 0)
    assert all(len(answer(each)) < MB for each in lazy)


def test_who_does_not_read_is_cut_off(attacked: tuple[Victim, int]) -> None:
    prey, _ = attacked
    lines = b"".join(b"%06d%s\n" % (number, b"x" * 500) for number in range(14_000))
    assert prey.client("POST", "/v1/lists/long/items", lines).status == 200
    be_lazy(prey)
    # Only the database's own caches, which have their bounds, are larger now; and they are once.
    before = prey.memory()
    prey.forget_peak()
    be_lazy(prey)
    assert prey.peak() - before < BOUND
