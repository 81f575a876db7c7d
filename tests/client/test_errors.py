"""Each failure of a server, or of the connection to it, raises the error that describes it."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from tests.http.serving import Serving

from rowlock import Client, Engine, Invalid, NotFound, Unavailable
from rowlock.client.errors import error_of_response, errors_by_code
from rowlock.errors import (
    InvalidUrl,
    NeedsDatabase,
    NoSuchList,
    NotAllowed,
    RowlockError,
    ServerUnreachable,
    StaleVersion,
    TokenRefused,
)
from rowlock.http.problems import problem

SERVER = "http://there"


def test_every_error_arrives_with_its_class_and_fields() -> None:
    errors = [kind("what is so", "what to do", list="names", number=3) for kind in errors_by_code().values()]
    received = [
        error_of_response(error.http_status, msgspec.json.encode(problem(error, "r-1")), server=SERVER)
        for error in errors
    ]
    assert [described(error) for error in received] == [described(error) for error in errors]
    assert len(errors) > 60


def described(error: RowlockError) -> tuple[object, ...]:
    return type(error), error.what, error.hint, error.fields, str(error)


@pytest.mark.parametrize(
    ("status", "family"), [(400, Invalid), (404, NotFound), (503, Unavailable), (507, Unavailable)]
)
def test_an_error_of_a_later_release_is_of_its_family(status: int, family: type[RowlockError]) -> None:
    document = {"code": "not-yet-thought-of", "detail": "it is so", "hint": "", "status": status}
    error = error_of_response(status, msgspec.json.encode(document), server=SERVER)
    assert isinstance(error, family)
    assert error.what == "it is so"


def test_the_request_that_failed_can_be_found_in_the_servers_log(client: Client) -> None:
    with pytest.raises(NoSuchList) as caught:
        client["nowhere"].info()
    assert caught.value.__notes__[0].startswith("request ")


def test_a_stale_version_is_reported_with_the_current_one(client: Client) -> None:
    client["names"].settings(attempts=3)
    with pytest.raises(StaleVersion) as caught:
        client["names"].settings(attempts=4, version=7)
    assert caught.value.fields == {"asked": 7, "version": client["names"].info().version}


@pytest.mark.parametrize(
    "url", ["there", "ftp://there", "http://", "http://ann:secret@there", "http://there?token=secret", "http://th ere"]
)
def test_an_invalid_address_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidUrl) as caught:
        Client(url)
    assert "secret" not in str(caught.value)


def reason(url: str, **options: float) -> str:
    with pytest.raises(ServerUnreachable) as caught, Client(url, **options) as client:
        client.lists()
    assert url in caught.value.what
    assert caught.value.exit_status == 5
    return str(caught.value.fields["reason"])


def test_a_refused_connection_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    assert reason(f"http://127.0.0.1:{port}") == "refused"


def test_an_unknown_host_is_reported() -> None:
    assert reason("http://rowlock.invalid:8642") == "dns"


@contextmanager
def answering(answer: bytes | None) -> Iterator[str]:
    """Somebody who takes connections and says the same to each, or nothing at all."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    if answer is None:
                        connection.recv(1)  # until the other side has had enough
                    else:
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)


def test_a_timeout_is_reported() -> None:
    with answering(None) as url:
        assert reason(url, timeout=0.2) == "timeout"


def test_a_lost_connection_is_reported() -> None:
    with answering(b"") as url:
        assert reason(url) == "lost"


def test_an_answer_of_another_service_is_reported() -> None:
    page = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>"
    with answering(page) as url:
        assert reason(url) == "stranger"


def test_a_redirect_is_not_followed() -> None:
    moved = b"HTTP/1.1 301 Moved\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n"
    with answering(moved) as url:
        assert reason(url) == "stranger"


def test_a_server_without_tls_is_reported(served: Serving) -> None:
    assert reason(f"https://127.0.0.1:{served.client.port}") == "tls"


@pytest.mark.parametrize("what", ["transaction", "using"])
def test_a_transaction_is_refused_over_http(client: Client, what: str) -> None:
    with pytest.raises(NeedsDatabase):
        client.transaction() if what == "transaction" else client["names"].add("a", using=object())
    assert client.lists() == []


def test_a_verb_that_needs_the_database_is_refused(client: Client) -> None:
    client["names"].add("a")
    with pytest.raises(NeedsDatabase):
        client["names"].snapshot()


def test_a_token_is_sent_and_never_logged(served: Serving, caplog: pytest.LogCaptureFixture) -> None:
    engine: Engine = served.service.engine
    url = f"http://127.0.0.1:{served.client.port}"
    text = engine.tokens.create("worker", lists="mine/").text
    with caplog.at_level("DEBUG"), Client(url, token=text) as client:
        assert client["mine/a"].add("x").added == 1
        with pytest.raises(NotAllowed) as caught:
            client["others"].add("x")
        assert text not in repr(client) + str(caught.value) + repr(vars(client)) + caplog.text
    with Client(url) as client, pytest.raises(TokenRefused):
        client.lists()
    with Client(url, token=text[:-1]) as client, pytest.raises(TokenRefused) as refused:
        client.lists()
    assert text[:-1] not in str(refused.value)


def test_address_and_token_come_from_the_environment(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    engine: Engine = served.service.engine
    monkeypatch.setenv("ROWLOCK_SERVER", f"http://127.0.0.1:{served.client.port}")
    monkeypatch.setenv("ROWLOCK_TOKEN", engine.tokens.create("admin").text)
    with Client() as client:
        assert client["names"].add("a").added == 1


def test_a_token_sent_without_tls_to_another_machine_logs_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    Client("http://192.0.2.1", token="rl_secret")
    assert "can be read on its way" in caplog.text
    assert "rl_secret" not in caplog.text


def test_tokens_are_created_listed_and_revoked(client: Client) -> None:
    made = client.tokens.create("admin", label="ann", expires="1h")
    with Client(client.server, token=made.text) as admin:
        assert [each.label for each in admin.tokens.page()] == ["ann"]
        assert admin.tokens.revoke(admin.tokens.create("viewer").info.id)
        assert [(each.role, each.live) for each in admin.tokens.page(ended=True)] == [
            ("admin", True),
            ("viewer", False),
        ]
        admin["names"].settings(attempts=3)
        assert [record.verb for record in admin.audit(of="names")] == ["lists.change_settings"]
