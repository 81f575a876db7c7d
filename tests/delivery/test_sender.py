"""Requests to a real server on this machine: what is sent, on which connection, and to whom not."""

import os
import signal
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.receivers import CERTIFICATE, Heard, receiver, said
from tests.waiting import WAIT_SECONDS

from rowlock import verify
from rowlock.delivery import connections
from rowlock.delivery.addresses import Resolver
from rowlock.delivery.http_sender import OutgoingRequest, Sender
from rowlock.delivery.signatures import key
from rowlock.errors import HostNotAllowed, Invalid, NoAnswer
from rowlock.forks import PerProcess
from rowlock.http_url import parse

SECRET = "whsec_" + "A" * 43 + "="
GOOD = said({"done": True})
CHILD_SECONDS = int(WAIT_SECONDS / 2)
MESSAGE = OutgoingRequest("item_1", b'{"a": 1}', {"rowlock-key": "a"})


@pytest.fixture
def sender() -> Iterator[Sender]:
    """A sender that may speak to this machine."""
    made = Sender(allow=["localhost"])
    yield made
    made.close()


def test_a_request_arrives_complete_and_signed(sender: Sender) -> None:
    with receiver(GOOD) as server:
        answer = sender.post(
            parse(f"{server.url}?x=1"), OutgoingRequest("item_1", b'{"a": 1}', {"x-own": "ü"}, (key(SECRET),))
        )
    [heard] = server.heard
    assert (answer.status, answer.line, answer.body) == (200, "200 OK", b'{"done":true}')
    assert (heard.method, heard.path, heard.body) == ("POST", "/work?x=1", b'{"a": 1}')
    assert heard.headers["host"] == f"localhost:{server.port}"
    assert heard.headers["x-own"] == "ü"
    assert heard.headers["accept-encoding"] == "identity"
    assert verify(heard.body, heard.headers, secrets=SECRET) == "item_1"


def test_a_connection_is_reused(sender: Sender) -> None:
    with receiver(GOOD) as server:
        for _ in range(20):
            sender.post(parse(server.url), MESSAGE)
    assert (len(server.heard), server.connections) == (20, 1)


def test_each_thread_uses_one_connection(sender: Sender) -> None:
    together = threading.Barrier(8)

    def answer(heard: Heard, _: socket.socket) -> bytes:
        together.wait(WAIT_SECONDS)
        return said(heard.json)

    answers: list[Any] = []

    def send(number: int) -> None:
        for turn in range(5):
            body = f"[{number}, {turn}]".encode()
            answers.append((body, sender.post(parse(server.url), OutgoingRequest("x", body)).body.replace(b",", b", ")))

    with receiver(answer) as server:
        threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_SECONDS)
    assert len(answers) == 40
    assert all(sent == got for sent, got in answers)
    assert server.connections == 8


def test_a_connection_that_the_server_closes_is_replaced(sender: Sender) -> None:
    with receiver(said({}, connection="close")) as server:
        for _ in range(3):
            sender.post(parse(server.url), MESSAGE)
    assert (len(server.heard), server.connections) == (3, 3)


def test_a_connection_that_was_closed_while_idle_does_not_fail_the_request(sender: Sender) -> None:
    def answer(_: Heard, connection: socket.socket) -> None:
        connection.sendall(GOOD)

    with receiver(answer) as server:
        for _ in range(5):
            assert sender.post(parse(server.url), MESSAGE).ok
    assert len(server.heard) == 5


def test_a_reused_connection_that_closes_is_retried_on_a_new_one(sender: Sender) -> None:
    heard_on: dict[int, int] = {}

    def answer(_: Heard, connection: socket.socket) -> bytes | None:
        port = connection.getpeername()[1]
        heard_on[port] = heard_on.get(port, 0) + 1
        return GOOD if heard_on[port] == 1 else None

    with receiver(answer) as server:
        assert sender.post(parse(server.url), MESSAGE).ok
        assert sender.post(parse(server.url), MESSAGE).ok
    assert sorted(heard_on.values()) == [1, 2]


def test_a_get_request_leaves_no_connection_open(sender: Sender) -> None:
    with receiver(GOOD) as server:
        for _ in range(2):
            assert sender.get(parse(server.url)).ok
        assert sender._pool.take(parse(server.url).origin) is None
    assert server.connections == 2


def test_an_old_connection_is_not_reused(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_AGE_SECONDS", 0.0)
    with receiver(GOOD) as server:
        for _ in range(3):
            sender.post(parse(server.url), MESSAGE)
    assert server.connections == 3


def test_a_forked_child_does_not_use_connections_of_its_parent(sender: Sender) -> None:
    with receiver(GOOD) as server:
        sender.post(parse(server.url), MESSAGE)
        assert in_a_child(lambda: sender.post(parse(server.url), MESSAGE).ok)
        sender.post(parse(server.url), MESSAGE)
    assert (len(server.heard), server.connections) == (3, 2)


@pytest.mark.parametrize("part", [lambda sender: sender._resolver._lookups, lambda sender: sender._pool._idle])
def test_a_forked_child_does_not_wait_for_a_lock_of_its_parent(
    sender: Sender, part: Callable[[Sender], PerProcess[Any]]
) -> None:
    with receiver(GOOD) as server, part(sender).get().lock:  # held by a thread that the child does not have
        assert in_a_child(lambda: sender.post(parse(server.url), MESSAGE).ok)


def test_a_forked_child_does_not_wait_for_a_look_up_of_its_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over = threading.Event(), threading.Event()

    def slow(*_: Any, **__: Any) -> list[Any]:
        begun.set()
        over.wait(WAIT_SECONDS)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 1))]

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    resolver = Resolver()
    asking = threading.Thread(target=resolver.resolve, args=("slow.example", 1), kwargs={"seconds": WAIT_SECONDS})
    asking.start()
    assert begun.wait(WAIT_SECONDS)
    # The event is set in the child alone: the parent's look-up goes on.
    assert in_a_child(lambda: over.set() or resolver.resolve("slow.example", 1, seconds=CHILD_SECONDS))
    over.set()
    asking.join(WAIT_SECONDS)


def in_a_child(work: Callable[[], object]) -> bool:
    """Whether a forked child ends well, with something true; one that hangs is ended."""
    child = os.fork()
    if child == 0:
        signal.alarm(CHILD_SECONDS)
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitpid(child, 0)[1] == 0


def test_no_connection_is_opened_to_a_private_host() -> None:
    sender = Sender()
    with receiver(GOOD) as server, pytest.raises(HostNotAllowed):
        sender.post(parse(server.url), MESSAGE)
    assert server.connections == 0


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "0", "[::ffff:127.0.0.1]"]
)
def test_this_machine_is_private_however_its_address_is_written(host: str) -> None:
    sender = Sender(allow=["localhost"])
    with receiver(GOOD) as server:
        with pytest.raises(HostNotAllowed):
            sender.post(parse(f"http://{host}:{server.port}/"), MESSAGE)
        with pytest.raises(HostNotAllowed):
            sender.check(parse(f"http://{host}:{server.port}/"))
    assert server.connections == 0


def test_a_name_is_looked_up_once_for_check_and_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    # The second answer would be a private address: who looks up twice checks one and connects to the other.
    public = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("192.0.2.1", 9))]
    asked: list[str] = []

    def look_up(host: str, *_: Any, **__: Any) -> Any:
        asked.append(host)
        assert len(asked) == 1
        return public

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with pytest.raises(HostNotAllowed, match=r"192\.0\.2\.1"):
        Sender().post(parse("http://rebound.example/"), MESSAGE)
    assert asked == ["rebound.example"]


def test_the_resolved_address_is_the_one_that_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(GOOD) as server:
        here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: here)
        sender = Sender(allow=["named.example"])
        assert sender.post(parse("http://named.example:1/"), MESSAGE).ok
        sender.close()
    assert server.heard[0].headers["host"] == "named.example:1"


def test_a_slow_look_up_ends_at_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [over.wait(WAIT_SECONDS)][:0])
    with pytest.raises(NoAnswer, match=r"no connection within 0\.2s"):
        Sender().post(parse("http://slow.example/"), MESSAGE, seconds=0.2)
    over.set()


@pytest.mark.parametrize("variable", ["http_proxy", "HTTP_PROXY", "all_proxy", "https_proxy"])
def test_no_proxy_of_the_environment_is_used(sender: Sender, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    with receiver(GOOD) as server, receiver(GOOD) as proxy:
        monkeypatch.setenv(variable, f"http://localhost:{proxy.port}")
        assert sender.post(parse(server.url), MESSAGE).ok
    assert (server.connections, proxy.connections) == (1, 0)


def test_a_redirect_is_returned_and_not_followed(sender: Sender) -> None:
    with receiver(GOOD) as inner, receiver(said({}, "302 Found", location=inner.url)) as server:
        answer = sender.post(parse(server.url), MESSAGE)
    assert (answer.status, answer.ok, inner.connections) == (302, False, 0)


def test_a_header_value_cannot_add_another_header(sender: Sender) -> None:
    with receiver(GOOD) as server, pytest.raises(Invalid):
        sender.post(parse(server.url), OutgoingRequest("x", b"", {"a": "b\r\nc: d"}))
    assert server.connections == 0


def test_a_trusted_certificate_is_accepted(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    with receiver(GOOD, secure=True) as server:
        assert sender.post(parse(server.url), MESSAGE).ok
        assert sender.post(parse(server.url), MESSAGE).ok
    assert server.connections == 1


def test_a_certificate_for_another_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    sender = Sender(allow=["other.example"])
    with receiver(GOOD, secure=True) as server:
        here = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: here)
        with pytest.raises(NoAnswer, match="not trusted: Hostname mismatch") as failed:
            sender.post(parse("https://other.example/"), MESSAGE)
    assert failed.value.fields["reason"] == "tls"


def test_the_server_receives_the_host_name_in_the_tls_handshake(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
    told: list[str | None] = []
    with receiver(GOOD, secure=True) as server:
        assert isinstance(server._tls, ssl.SSLContext)
        server._tls.sni_callback = lambda _, name, __: told.append(name)
        sender.post(parse(server.url), MESSAGE)
    assert told == ["localhost"]
