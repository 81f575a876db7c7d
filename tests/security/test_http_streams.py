"""Bytes that are nearly HTTP: the server answers below 500 or hangs up, changes nothing foreign, and goes on."""

import re
import socket
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.http.serving import Serving, serving
from tests.torture import scaled
from tests.waiting import WAIT_SECONDS

from rowlock import Engine

EXAMPLES = 80
HEADS = (
    b"GET /v1/lists HTTP/1.1\r\n",
    b"POST /v1/lists/work/items HTTP/1.1\r\n",
    b"DELETE /v1/lists/canary HTTP/1.1\r\n",
    b"PUT /v1/lists/work/items/a HTTP/1.0\r\n",
    b"GET http://127.0.0.1/v1/lists HTTP/1.1\r\n",
    b"OPTIONS * HTTP/1.1\r\n",
    b"POST /v1/lists/work/itemsHTTP/1.1\r\n",
    b"PRI * HTTP/2.0\r\n",
)
FIELDS = (
    b"Host: 127.0.0.1\r\n",
    b"Content-Length: 2\r\n",
    b"Content-Length: 2, 3\r\n",
    b"Content-Length: -1\r\n",
    b"Content-Length: 99999999999999999999\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: xchunked\r\n",
    b"Transfer-Encoding : chunked\r\n",
    b"Content-Encoding: gzip\r\n",
    b"Content-Type: application/x-ndjson\r\n",
    b"Expect: 100-continue\r\n",
    b"Connection: Upgrade\r\nUpgrade: websocket\r\n",
    b"Authorization: Bearer rl_x\r\n",
    b"X: a\r\n b\r\n",
    b"\x00: a\r\n",
    b"a\nb: c\r\n",
)
BODIES = (
    b"a\n",
    b"2\r\na\n\r\n0\r\n\r\n",
    b"ffffffffffffffffff\r\n",
    b"-1\r\n",
    b"0\r\nX: y\r\n\r\n",
    b"\x1f\x8b\x08\x00",
)
# The service needs a token, and no stream has one: nothing may be carried out.
PARTS = st.one_of(st.sampled_from([*HEADS, *FIELDS, *BODIES, b"\r\n", b"\n"]), st.binary(max_size=12))
REQUESTS = st.tuples(
    st.sampled_from(HEADS), st.lists(st.sampled_from(FIELDS), max_size=5), st.lists(PARTS, max_size=4)
).map(lambda parts: parts[0] + b"".join(parts[1]) + b"\r\n" + b"".join(parts[2]))
STREAMS = st.one_of(REQUESTS, st.lists(PARTS, max_size=12).map(b"".join))
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    with Engine(tmp_path_factory.mktemp("streams") / "work.db") as engine:
        engine.tokens.create("admin")  # so that nothing is open
        engine["canary"].add(["a", "b"])
        with serving(engine) as found:
            yield found


def answered(served: Serving, stream: bytes) -> bytes:
    """Send all bytes, say that no more come, and return all that is answered."""
    with socket.create_connection((served.client.host, served.client.port), timeout=WAIT_SECONDS) as connection:
        answer = b""
        try:
            connection.sendall(stream)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                answer += piece
        except (ConnectionResetError, BrokenPipeError):
            pass  # it hung up while there was more to read
        return answer


def check(served: Serving, stream: bytes) -> None:
    answer = answered(served, stream)
    assert not answer or _STATUS.match(answer), answer[:100]
    assert [status for status in _STATUS.findall(answer) if int(status) >= 500 or status == b"200"] == []


@given(stream=STREAMS)
@settings(
    max_examples=EXAMPLES, database=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_a_stream_that_is_nearly_http_is_answered_or_cut_off(served: Serving, stream: bytes) -> None:
    check(served, stream)


@pytest.mark.torture
@given(stream=STREAMS)
@settings(max_examples=scaled(10_000), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_stream_that_is_nearly_http_is_answered_or_cut_off(served: Serving, stream: bytes) -> None:
    check(served, stream)


def test_after_all_that_the_server_goes_on_and_nothing_is_changed(served: Serving) -> None:
    for head in HEADS:
        for field in FIELDS:
            for body in BODIES:
                check(served, head + FIELDS[0] + field + b"\r\n" + body)
    assert served.client("GET", "/livez").status == 200
    assert [item.key for item in served.service.engine["canary"]] == ["a", "b"]
    assert [each.name for each in served.service.engine.lists()] == ["canary"]
