"""Servers that are down, slow, lying or mad: there is no answer, a reason, and nothing else happens."""

import gzip
import socket
import threading
import time
import tracemalloc
from collections.abc import Callable, Iterator

import pytest
from tests.receivers import Answer, Heard, free_port, receiver, said
from tests.waiting import WAIT_SECONDS

from rowlock.delivery.http_sender import OutgoingRequest, Sender
from rowlock.errors import NoAnswer
from rowlock.http_url import parse

MESSAGE = OutgoingRequest("item_1", b'{"a": 1}')
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"transfer-encoding: chunked\r\n\r\n"
BOMB = gzip.compress(bytes(50_000_000))


@pytest.fixture
def sender() -> Iterator[Sender]:
    """A sender that may speak to this machine."""
    made = Sender(allow=["localhost"])
    yield made
    made.close()


def then_close(*parts: bytes) -> Answer:
    def answer(_: Heard, connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)

    return answer


def endless(start: bytes, part: bytes) -> Answer:
    def answer(_: Heard, connection: socket.socket) -> None:
        connection.sendall(start)
        while True:
            connection.sendall(part)

    return answer


def trickle(text: bytes) -> Answer:
    """A byte now and then: each in time, all of them never."""

    def answer(_: Heard, connection: socket.socket) -> None:
        never = threading.Event()
        for byte in text:
            connection.sendall(bytes([byte]))
            never.wait(0.02)

    return answer


def silent(_: Heard, connection: socket.socket) -> None:
    connection.recv(1)


BAD: dict[str, tuple[Answer | bytes, str]] = {
    "closes without a word": (then_close(), "closed"),
    "closes within the status": (then_close(b"HTTP/1.1 20"), "garbled"),
    "closes within the headers": (then_close(HEAD + b"content-le"), "ok"),
    "closes within the body": (then_close(said(b"x" * 100)[:-50]), "cut off"),
    "closes within a chunk": (then_close(CHUNKED + b"ff\r\nabc"), "cut off"),
    "closes before the last chunk": (then_close(CHUNKED + b"3\r\nabc\r\n"), "cut off"),
    "says nothing": (silent, "timeout"),
    "trickles its status": (trickle(b"HTTP/1.1 200 " + b"x" * 5000), "timeout"),
    "trickles its headers": (trickle(HEAD + b"a: b\r\n" * 5000), "timeout"),
    "trickles its body": (trickle(said(b"x" * 5000)), "timeout"),
    "trickles chunks": (trickle(CHUNKED + b"1\r\nx\r\n" * 5000), "timeout"),
    "promises more than it sends": (lambda *_: HEAD + b"content-length: 100\r\n\r\n{}", "timeout"),
    "is no HTTP": (then_close(b"220 smtp.example.org ESMTP\r\n"), "garbled"),
    "is random": (then_close(bytes(range(256)) * 20), "garbled"),
    "is NUL for ever": (endless(b"", bytes(65536)), "garbled"),
    "has an endless status": (endless(b"HTTP/1.1 200 ", b"x" * 65536), "garbled"),
    "has endless headers": (endless(HEAD, b"a: b\r\n" * 1000), "garbled"),
    "has one endless header": (endless(HEAD + b"a: ", b"x" * 65536), "garbled"),
    "goes on for ever": (endless(HEAD + b"\r\n", b"x" * 65536), "too large"),
    "goes on in chunks for ever": (endless(CHUNKED, (b"10\r\n" + b"x" * 16 + b"\r\n") * 1000), "too large"),
    "has one endless chunk": (endless(CHUNKED + b"fffffffffffff\r\n", b"x" * 65536), "too large"),
    "has a negative chunk": (endless(CHUNKED + b"-5\r\n", b"x" * 65536), "garbled or too large"),
    "has endless trailers": (endless(CHUNKED + b"0\r\n", b"a: b\r\n" * 1000), "too large"),
    "has a chunk of no number": (then_close(CHUNKED + b"zz\r\nabc"), "cut off"),
    "says continue for ever": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 100), "too large"),
    "promises 200 MB": (endless(HEAD + b"content-length: 209715200\r\n\r\n", b"x" * 65536), "too large"),
    "promises more than there are atoms": (
        then_close(HEAD + b"content-length: " + b"9" * 40 + b"\r\n\r\n"),
        "too large",
    ),
    "is a bomb": (said(BOMB, content_encoding="gzip"), "compressed"),
    "is compressed in a way of its own": (said(b"x", content_encoding="zstd, gzip"), "compressed"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_hostile_response_ends_in_time_with_a_reason_and_little_memory(sender: Sender, name: str) -> None:
    answer, reason = BAD[name]
    patience = 0.5 if reason == "timeout" else WAIT_SECONDS
    with receiver(answer) as server:
        tracemalloc.start()
        since = time.monotonic()
        try:
            found = ended(lambda: sender.post(parse(server.url), MESSAGE, seconds=patience))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        took = time.monotonic() - since
    assert found in reason.split(" or ")
    assert (took < 60, peak < 8_000_000) == (True, True)


def ended(ask: Callable[[], object]) -> str:
    try:
        ask()
    except NoAnswer as error:
        return str(error.fields["reason"])
    return "ok"


def test_a_server_that_is_down_is_reported_as_connection_refused(sender: Sender) -> None:
    with pytest.raises(NoAnswer) as failed:
        sender.post(parse(f"http://localhost:{free_port()}/x?token=hunter2"), MESSAGE)
    assert failed.value.what.endswith("/x?… gave no answer: connection refused")
    assert failed.value.fields["reason"] == "connection"


def test_an_unknown_host_is_reported(sender: Sender) -> None:
    with pytest.raises(NoAnswer, match="its host has no address"):
        sender.post(parse("http://nowhere.invalid/"), MESSAGE)


def test_a_server_that_never_accepts_the_connection_times_out(sender: Sender) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening:
        port = listening.getsockname()[1]
        full = [socket.socket() for _ in range(4)]
        for each in full:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        with pytest.raises(NoAnswer) as failed:
            sender.post(parse(f"http://localhost:{port}/"), MESSAGE, seconds=0.3)
        for each in full:
            each.close()
    assert failed.value.fields["reason"] == "timeout"


def test_a_server_that_never_reads_times_out(sender: Sender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        target = parse(f"http://localhost:{listening.getsockname()[1]}/")
        with pytest.raises(NoAnswer, match=r"timed out after 0\.5s"):
            sender.post(target, OutgoingRequest("x", b"x" * 50_000_000), seconds=0.5)


def test_a_response_before_the_end_of_the_request_is_read(sender: Sender) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def refuse() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(said({}, "413 Content Too Large", connection="close"))
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(65536):
                    pass

        threading.Thread(target=refuse, daemon=True).start()
        target = parse(f"http://localhost:{listening.getsockname()[1]}/")
        assert sender.post(target, OutgoingRequest("x", b"x" * 5_000_000)).status == 413


def test_a_self_signed_certificate_is_not_trusted(sender: Sender) -> None:
    with receiver(said({}), secure=True) as server, pytest.raises(NoAnswer, match="certificate is not trusted"):
        sender.post(parse(server.url), MESSAGE)
    assert server.heard == []


def test_a_server_without_tls_is_refused(sender: Sender) -> None:
    with receiver(said({})) as server, pytest.raises(NoAnswer) as failed:
        sender.post(parse(server.url.replace("http:", "https:")), MESSAGE, seconds=1)
    assert failed.value.fields["reason"] in ("tls", "timeout")


def test_a_second_response_to_one_request_is_not_read_as_the_next(sender: Sender) -> None:
    def twice(heard: Heard, _: socket.socket) -> bytes:
        return said(heard.json) + said({"poison": True})

    with receiver(twice) as server:
        answers = [sender.post(parse(server.url), OutgoingRequest("x", b"[%d]" % number)).body for number in range(5)]
    assert answers == [b"[0]", b"[1]", b"[2]", b"[3]", b"[4]"]
    assert server.connections == 5


def test_a_late_second_response_is_not_read_as_the_next(sender: Sender) -> None:
    sent = threading.Semaphore(0)

    def later(heard: Heard, connection: socket.socket) -> bytes:
        connection.sendall(said(heard.json))
        answered.acquire(timeout=WAIT_SECONDS)
        connection.sendall(said({"poison": True}))
        sent.release()
        return b""

    answered = threading.Semaphore(0)
    with receiver(later) as server:
        for number in range(3):
            assert sender.post(parse(server.url), OutgoingRequest("x", b"[%d]" % number)).body == b"[%d]" % number
            answered.release()
            assert sent.acquire(timeout=WAIT_SECONDS)
    assert server.connections == 3


def test_a_body_longer_than_its_content_length_is_cut(sender: Sender) -> None:
    with receiver(HEAD + b"content-length: 2\r\n\r\n{}{}{}{}") as server:
        bodies = [sender.post(parse(server.url), MESSAGE).body for _ in range(3)]
    assert (bodies, server.connections) == ([b"{}", b"{}", b"{}"], 3)


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_response_without_a_body_is_accepted(sender: Sender, status: str) -> None:
    with receiver(f"HTTP/1.1 {status}\r\n\r\n".encode()) as server:
        assert [sender.post(parse(server.url), MESSAGE).body for _ in range(2)] == [b"", b""]
    assert server.connections == 1


def test_a_reason_phrase_is_printable_and_bounded(sender: Sender) -> None:
    with receiver(b"HTTP/1.1 500 \x1b[31mred\r\ncontent-length: 0\r\n\r\n") as server:
        assert sender.post(parse(server.url), MESSAGE).line == "500 Internal Server Error"
    with receiver(b"HTTP/1.1 799 " + b"x" * 1000 + b"\r\ncontent-length: 0\r\n\r\n") as server:
        assert sender.post(parse(server.url), MESSAGE).line == "799 " + "x" * 100
