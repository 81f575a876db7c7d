"""What comes over the wire and is not quite as it should be: heads, chunks, and clients that say no more."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.http.serving import SECONDS, Serving, serving, until

from rowlock import Engine, List
from rowlock.api.server_limits import ServerLimits
from rowlock.http.protocol import timeouts

pytestmark = pytest.mark.own_protocol

ITEMS = b"/v1/lists/work/items"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Engine(str(tmp_path_factory.mktemp("wire") / "work.db")) as engine, serving(engine) as found:
        engine["long"].add(f"{number:0400}" for number in range(20_000))
        yield found


def said(served: Serving, *pieces: bytes, silent: bool = False) -> bytes:
    """What comes back until the server hangs up; a silent client has closed its side before."""
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        for piece in pieces:
            sock.sendall(piece)
        if silent:
            sock.shutdown(socket.SHUT_WR)
        return read(sock)


def read(sock: socket.socket) -> bytes:
    found = bytearray()
    try:
        while more := sock.recv(1 << 20):
            found += more
    except ConnectionError:
        pass
    return bytes(found)


@pytest.mark.parametrize(
    "head",
    [
        b"GET /livez HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nhost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /livez HTTP/1.1\r\n\r\n",
    ],
    ids=["twice", "another", "none"],
)
def test_a_request_has_one_host(served: Serving, head: bytes) -> None:
    assert said(served, head)[:12] == b"HTTP/1.1 400"


def test_a_refusal_of_a_head_has_no_body(served: Serving) -> None:
    answer = said(served, b"HEAD /livez HTTP/1.1\r\n\r\n")
    assert (answer[:12], answer[-4:], b"content-length: " in answer) == (b"HTTP/1.1 400", b"\r\n\r\n", True)


def test_nonsense_after_a_head_is_no_head(served: Serving) -> None:
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sock.sendall(b"HEAD /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert sock.recv(65_536)[:12] == b"HTTP/1.1 200"
        sock.sendall(b"\x00 nonsense\r\n\r\n")
        assert b"\r\n\r\nerror invalid-head: " in read(sock)


@pytest.mark.parametrize(
    "start",
    [
        b"POST %b HTTP/1.1\r\nhost: localhost\r\nx: " % ITEMS,
        b"POST %b HTTP/1.1\r\ncontent-length: 9000000\r\n\r\n" % ITEMS,
    ],
    ids=["head", "body"],
)
def test_who_reads_only_after_sending_all_reads_why_it_was_refused(served: Serving, start: bytes) -> None:
    assert said(served, start, *[b"x" * 100_000] * 40)[:10] == b"HTTP/1.1 4"


def test_of_what_follows_a_refusal_not_much_is_read(served: Serving) -> None:
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sock.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        assert read(sock)[:12] == b"HTTP/1.1 400"
        with pytest.raises(ConnectionError):
            sock.sendall(b"x" * 60_000_000)


def test_who_does_not_hang_up_after_a_refusal_is_cut_off(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "LINGER_SECONDS", 0.0)
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sock.sendall(b"GET /livez HTTP/1.1\r\n\r\n")
        assert read(sock)[:12] == b"HTTP/1.1 400"
        until(lambda: not served.server.server_state.connections)


def test_who_does_not_read_is_kept_little_and_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "SHUTDOWN_READ_SECONDS", 0.0)
    monkeypatch.setattr(timeouts, "SWEEP_SECONDS", 0.02)
    with Engine(str(tmp_path / "work.db")) as engine, socket.socket() as sock:
        engine["fat"].add({"key": f"{number:03}", "data": "x" * 100_000} for number in range(90))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with serving(engine) as lazy:
            sock.connect((lazy.client.host, lazy.client.port))
            sock.sendall(b"GET /v1/lists/fat/items HTTP/1.1\r\nhost: localhost\r\naccept: application/x-ndjson\r\n\r\n")
            until(lambda: any(each.flow.write_paused for each in lazy.server.server_state.connections))
            [unread] = lazy.server.server_state.connections
            assert unread.transport.get_write_buffer_size() < 1_000_000
        assert not lazy.server.server_state.connections


def test_an_old_client_need_not_name_a_host(served: Serving) -> None:
    assert said(served, b"GET /livez HTTP/1.0\r\n\r\n")[:12] == b"HTTP/1.1 200"


def test_who_has_said_all_is_answered(served: Serving) -> None:
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\na\n" % ITEMS
    assert b"added\t" in said(served, head, silent=True)
    assert said(served, b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n" * 3, silent=True).count(b" 200 ") == 3


def test_who_has_said_all_reads_a_long_answer_to_its_end(served: Serving) -> None:
    head = b"GET /v1/lists/long/items HTTP/1.1\r\nhost: localhost\r\naccept: text/plain\r\n\r\n"
    answer = said(served, head, silent=True)
    assert (b"%0400d" % 19_999 in answer, answer.endswith(b"0\r\n\r\n")) == (True, True)


def test_who_has_said_all_and_waits_for_work_hears_that_there_is_none(served: Serving) -> None:
    session = served.client.json("POST", "/v1/sessions", {})["session"].encode()
    body = b'{"session": "%b", "wait": "60s"}' % session
    head = b"POST /v1/lists/none/claims HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    answer = said(served, b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body), silent=True)
    assert (answer[:12], b'"items":[]' in answer) == (b"HTTP/1.1 200", True)


def test_who_watches_and_says_no_more_is_let_go(served: Serving) -> None:
    answer = said(served, b"GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n", silent=True)
    assert answer[:12] == b"HTTP/1.1 200"
    until(lambda: served.service.watchers == 0)


def test_what_follows_a_body_is_no_header(served: Serving) -> None:
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n2\r\nb\n\r\n0\r\n" % ITEMS
    trailer = b"authorization: Bearer rl_nonsense\r\nx-request-id: trailing\r\n\r\n"
    answer = said(served, head + trailer, silent=True)
    assert (answer[:12], b"trailing" in answer) == (b"HTTP/1.1 200", False)


@pytest.mark.parametrize("start", [b"2;x=", b"2\r\nb\n\r\n0\r\nx: "], ids=["extension", "trailer"])
def test_framing_without_end_is_cut_off(served: Serving, start: bytes) -> None:
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n" % ITEMS
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sending = threading.Thread(target=pour, args=(sock, head + start))
        sending.start()
        assert read(sock)[:12] in (b"HTTP/1.1 413", b"HTTP/1.1 400", b"")
        sending.join(SECONDS)
        assert not sending.is_alive()


def pour(sock: socket.socket, start: bytes) -> None:
    """Sixty megabytes of nothing, or as much as is taken."""
    try:
        sock.sendall(start)
        for _ in range(1_000):
            sock.sendall(b"x" * 60_000)
    except OSError:
        return


def test_small_chunks_are_taken(served: Serving) -> None:
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n" % ITEMS
    answer = said(served, head, b"1\r\nc\r\n" * 400 + b"0\r\n\r\n")
    assert answer[:12] == b"HTTP/1.1 200"


LIVEZ = b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n"
LAST = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


def test_requests_that_come_together_are_answered_in_their_order(served: Serving) -> None:
    long = b"GET /v1/lists/long/items HTTP/1.1\r\nhost: localhost\r\naccept: text/plain\r\n\r\n"
    add = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-length: 6\r\n\r\norder\n" % ITEMS
    nowhere = b"GET /nowhere HTTP/1.1\r\nhost: localhost\r\n\r\n"
    answer = said(served, long + LIVEZ + add + nowhere + LAST)
    marks = [b"%0400d" % 19_999, b"status\tok", b"added\t", b"HTTP/1.1 404", b"connection: close"]
    found = [answer.find(mark) for mark in marks]
    assert (-1 in found, found == sorted(found), answer.count(b"HTTP/1.1 ")) == (False, True, 5)


def test_what_was_asked_before_nonsense_is_answered(served: Serving) -> None:
    answer = said(served, LIVEZ * 2 + b"\x00 nonsense\r\n\r\n")
    assert (answer.count(b"HTTP/1.1 200"), answer.count(b"HTTP/1.1 ")) == (2, 2)


def test_who_asks_too_much_at_once_may_ask_the_rest_again(served: Serving) -> None:
    answer = said(served, LIVEZ * 200)
    answers = answer.split(b"HTTP/1.1 ")[1:]
    assert len(answers) < 200
    assert [each[:3] for each in answers] == [b"200"] * len(answers)
    assert [b"connection: close" in each for each in answers] == [False] * (len(answers) - 1) + [True]


def test_who_leaves_is_missed_whatever_else_they_asked(served: Serving) -> None:
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sock.sendall(b"GET /v1/events HTTP/1.1\r\nhost: localhost\r\n\r\n" + LIVEZ)
        until(lambda: served.service.watchers == 1)
    until(lambda: served.service.watchers == 0)


@pytest.mark.parametrize("upgrade", [b"websocket", b"h2c"])
def test_who_asks_for_another_protocol_is_read_to_the_end(served: Serving, upgrade: bytes) -> None:
    asks = b"connection: close, upgrade\r\nupgrade: %b\r\n" % upgrade
    head = b"POST /v1/lists/%b/items HTTP/1.1\r\nhost: localhost\r\n%bcontent-length: 4\r\n\r\na\nb\n" % (upgrade, asks)
    assert b"added\t2" in said(served, head)


def test_nothing_after_a_refusal_is_done(served: Serving) -> None:
    served.service.engine["kept"].add("a")
    delete = b"DELETE /v1/lists/kept HTTP/1.1\r\nhost: localhost\r\n\r\n"
    answer = said(served, b"GET /livez HTTP/1.1\r\n\r\n" + delete)
    assert (answer[:12], answer.count(b"HTTP/1.1 "), len(served.service.engine["kept"].page())) == (
        b"HTTP/1.1 400",
        1,
        1,
    )


def test_what_is_wrong_with_a_body_is_not_told_to_those_before(served: Serving) -> None:
    add = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-length: 7\r\n\r\nbefore\n" % ITEMS
    wrong = b"POST %b HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n" % ITEMS
    answer = said(served, add + wrong)
    assert (b"added\t1" in answer, answer.count(b"HTTP/1.1 ")) == (True, 1)


def test_a_head_that_comes_with_the_end_of_a_body_is_not_taken_for_a_long_one(served: Serving) -> None:
    long = b"".join(b"%0499d\n" % number for number in range(100))
    add = b"POST %b HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%b" % (ITEMS, len(long), long)
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sock.sendall(add + LAST[:30])
        assert b"added\t" in sock.recv(65_536)
        sock.sendall(LAST[30:])
        assert read(sock)[:12] == b"HTTP/1.1 200"


@pytest.mark.parametrize("target", [b"http://localhost", b"http://localhost/"])
def test_an_address_may_be_named_in_full(served: Serving, target: bytes) -> None:
    head = b"GET %b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n" % target
    assert b"<h1>Overview</h1>" in said(served, head)


@pytest.mark.parametrize("coding", [b"gzip, chunked", b"gzip", b"chunked, chunked"])
def test_a_body_comes_plain_or_in_chunks(served: Serving, coding: bytes) -> None:
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: %b\r\n\r\n" % (ITEMS, coding)
    assert said(served, head + b"0\r\n\r\n")[:12] == b"HTTP/1.1 400"


def test_who_waits_behind_another_request_is_not_idle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "SWEEP_SECONDS", 0.02)
    limits = ServerLimits(idle_seconds=0.1)
    with Engine(str(tmp_path / "work.db")) as engine, serving(engine, limits) as narrow:
        session = narrow.client.json("POST", "/v1/sessions", {})["session"].encode()
        body = b'{"session": "%b", "wait": "300ms"}' % session
        head = b"POST /v1/lists/none/claims HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        claim = b"%bconnection: close\r\ncontent-length: %d\r\n\r\n%b" % (head, len(body), body)
        assert said(narrow, LIVEZ + claim).count(b"HTTP/1.1 200") == 2


def test_room_that_was_made_is_given_back(tmp_path: Path) -> None:
    limits = ServerLimits(connections=2, connections_per_address=1)
    with Engine(str(tmp_path / "work.db")) as engine, serving(engine, limits) as narrow:
        for _ in range(5):
            with socket.create_connection((narrow.client.host, narrow.client.port), timeout=SECONDS) as idle:
                until(lambda: said(narrow, LAST)[:12] == b"HTTP/1.1 200")
                assert read(idle) == b""


def test_nothing_but_http_is_spoken(served: Serving) -> None:
    head = b"GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
    assert said(served, head + b"\x81\x05hello")[:12] == b"HTTP/1.1 200"


def test_an_old_client_reads_a_long_answer_until_the_end(served: Serving) -> None:
    answer = said(served, b"GET /v1/lists/long/items HTTP/1.0\r\naccept: text/plain\r\n\r\n")
    head, _, body = answer.partition(b"\r\n\r\n")
    assert (b"chunked" in head, len(body.splitlines())) == (False, 20_000)


def test_who_waits_to_be_told_to_go_on_is_told(served: Serving) -> None:
    head = b"POST %b HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\nconnection: close\r\n" % ITEMS
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sock.sendall(head + b"content-length: 3\r\n\r\n")
        assert sock.recv(1_000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"go\n")
        assert read(sock)[:12] == b"HTTP/1.1 200"


CHANGES = {
    "an item is deleted": b"DELETE /v1/lists/kept/items/a",
    "a list is dropped": b"DELETE /v1/lists/kept",
    "a list is completed": b"POST /v1/lists/kept/complete",
    "a list is paused": b"POST /v1/lists/kept/pause",
    "a name is taken off": b"DELETE /iidy/v1/lists/kept/a",
    "a name is incremented": b"POST /iidy/v1/lists/kept/a?action=increment",
}


@pytest.fixture
def kept(served: Serving) -> Iterator[List]:
    """An open list with one item, `a`, that has not failed."""
    with Engine(served.service.engine.database.address.target) as engine:
        engine["kept"].add("a")
        yield engine["kept"]
        engine["kept"].drop()


@pytest.mark.parametrize("request_line", CHANGES.values(), ids=CHANGES)
def test_a_request_with_a_broken_first_chunk_changes_nothing(served: Serving, kept: List, request_line: bytes) -> None:
    head = b"%b HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n" % request_line
    assert said(served, head + b"ZZ\r\n")[:12] == b"HTTP/1.1 400"
    until(lambda: not served.server.server_state.tasks)
    assert (kept.info().state, kept.show("a").attempts) == ("open", 0)


@pytest.mark.parametrize("request_line", CHANGES.values(), ids=CHANGES)
def test_a_request_whose_body_breaks_later_changes_nothing(served: Serving, kept: List, request_line: bytes) -> None:
    head = (
        b"%b HTTP/1.1\r\nhost: localhost\r\nexpect: 100-continue\r\ntransfer-encoding: chunked\r\n\r\n" % request_line
    )
    with socket.create_connection((served.client.host, served.client.port), timeout=SECONDS) as sock:
        sock.sendall(head)
        assert sock.recv(1_000) == b"HTTP/1.1 100 Continue\r\n\r\n"  # the head was read before the rest is sent
        sock.sendall(b"2\r\nok\r\nZZ\r\n")
        assert read(sock)[:12] == b"HTTP/1.1 400"
    until(lambda: not served.server.server_state.tasks)
    assert (kept.info().state, kept.show("a").attempts) == ("open", 0)


def test_a_body_that_is_not_wanted_is_read_to_its_end(served: Serving, kept: List) -> None:
    head = b"DELETE /v1/lists/kept/items/a HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    answer = said(served, head + b"2\r\nok\r\n0\r\n\r\n" + LAST)
    assert (answer.count(b"HTTP/1.1 200"), kept.counts().total) == (2, 0)


def test_a_body_that_is_not_wanted_has_a_bound(tmp_path: Path) -> None:
    with Engine(str(tmp_path / "work.db")) as engine, serving(engine, ServerLimits(document_bytes=1_000)) as narrow:
        engine["kept"].add("a")
        chunk = b"3e9\r\n%b\r\n" % (b"x" * 1_001)
        head = b"DELETE /v1/lists/kept/items/a HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        assert said(narrow, head + chunk + b"0\r\n\r\n" + LAST)[:12] == b"HTTP/1.1 413"
        assert engine["kept"].counts().ready == 1
