"""Uploads and downloads of any length: committed batch by batch, in bounded memory, packed or plain."""

import gzip
import http.client
import socket

import msgspec
import pytest
import zstandard
from tests.http.serving import Client, Serving, read, until
from tests.waiting import WAIT_SECONDS

ITEMS = "/v1/lists/work/items"
NDJSON = "application/x-ndjson"


def lines(count: int) -> bytes:
    return b"".join(b'"%06d"\n' % number for number in range(count))


def test_a_stream_is_committed_batch_by_batch(ask: Client) -> None:
    reports = ask("POST", ITEMS, lines(25_000), content_type=NDJSON).lines
    assert len(reports) == 3
    assert reports[-1] == {"lines": 25_000, "added": 25_000, "existing": 0}
    assert [report["added"] for report in reports] == sorted(report["added"] for report in reports)
    assert ask.json("GET", "/v1/lists/work")["counts"]["ready"] == 25_000


def test_a_stream_says_in_its_last_line_what_went_wrong(ask: Client) -> None:
    body = lines(12_000) + b'{"key":"x","priority":99}\n' + lines(5)
    reports = ask("POST", ITEMS, body, content_type=NDJSON).lines
    assert reports[-1]["code"] == "invalid"
    assert "line 12001" in reports[-1]["detail"]
    added = reports[-2]["added"]
    assert added == 10_000
    assert ask.json("GET", "/v1/lists/work")["counts"]["ready"] == added


def test_lines_of_text_may_be_streamed_too(ask: Client) -> None:
    body = b"".join(b"%06d\n" % number for number in range(12_000))
    reports = ask("POST", ITEMS, body, accept=NDJSON).lines
    assert reports[-1] == {"lines": 12_000, "added": 12_000, "existing": 0}


def test_where_no_stream_is_asked_for_all_is_one(ask: Client) -> None:
    body = lines(12_000) + b'{"key":"x","priority":99}\n'
    reply = ask("POST", ITEMS, body, content_type=NDJSON, accept="application/json")
    assert (reply.status, reply.json["code"]) == (400, "invalid")
    assert ask("GET", ITEMS).status == 404


def test_a_line_that_never_ends_is_cut_off(quick: Client) -> None:
    reply = quick("POST", "/v1/lists/long/items", b'"' + b"x" * 400_000, content_type=NDJSON)
    assert (reply.status, reply.json["code"]) == (413, "too-large")


def test_a_body_is_answered_while_it_comes(ask: Client) -> None:
    connection = http.client.HTTPConnection(ask.host, ask.port, timeout=WAIT_SECONDS)
    connection.putrequest("POST", ITEMS)
    connection.putheader("content-type", NDJSON)
    connection.putheader("transfer-encoding", "chunked")
    connection.endheaders()
    first = lines(20_000)
    connection.send(b"%x\r\n%s\r\n" % (len(first), first))
    response = connection.getresponse()
    assert msgspec.json.decode(response.readline())["added"] >= 10_000
    connection.send(b"0\r\n\r\n")
    assert msgspec.json.decode(response.read().splitlines()[-1])["added"] == 20_000
    connection.close()


PACKED = {"gzip": gzip.compress, "zstd": zstandard.compress}


@pytest.mark.parametrize("coding", PACKED)
@pytest.mark.parametrize("kind", ["text/plain", "application/json", NDJSON])
def test_a_body_may_be_packed(quick: Client, coding: str, kind: str) -> None:
    name = f"{coding}-{kind.replace('/', '-')}"
    plain = {"text/plain": b"a\nb\n", "application/json": b'{"items":["a","b"]}', NDJSON: b'"a"\n"b"\n'}[kind]
    reply = quick(
        "POST",
        f"/v1/lists/{name}/items",
        PACKED[coding](plain),
        content_type=kind,
        content_encoding=coding,
        accept="application/json",
    )
    assert reply.json == {"added": 2, "existing": 0}


@pytest.mark.parametrize("coding", PACKED)
def test_a_packed_body_that_is_cut_off_is_refused(quick: Client, coding: str) -> None:
    body = PACKED[coding](b"abc\n" * 1000)[:-5]
    assert quick("POST", "/v1/lists/torn/items", body, content_encoding=coding).status == 400
    assert quick("POST", "/v1/lists/torn/items", b"nonsense", content_encoding=coding).status == 400
    assert quick("GET", "/v1/lists/torn").status == 404


def test_gzip_of_several_members_is_read_to_its_end(quick: Client) -> None:
    body = gzip.compress(b"a\n") + gzip.compress(b"b\n")
    assert quick("POST", "/v1/lists/members/items", body, content_encoding="gzip").text == "added\t2\nexisting\t0\n"


def test_another_packing_is_refused(quick: Client) -> None:
    assert quick("POST", "/v1/lists/br/items", b"x", content_encoding="br").status == 415


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize("path", [ITEMS, f"{ITEMS}?count=2000"])
def test_an_answer_is_packed_for_who_likes_that(ask: Client, coding: str, path: str) -> None:
    ask("POST", ITEMS, b"".join(b"%06d\n" % number for number in range(2000)))
    reply = ask("GET", path, accept_encoding=f"{coding}, br")
    assert reply.headers["content-encoding"] == coding
    unpack = gzip.decompress if coding == "gzip" else unpacked
    assert unpack(reply.body) == ask("GET", path).body
    assert len(reply.body) < 20_000


def test_a_compressed_answer_is_known_by_its_tag(ask: Client) -> None:
    ask("PUT", f"{ITEMS}/large", {"data": "x" * 2000})
    reply = ask("GET", f"{ITEMS}/large", accept_encoding="gzip")
    assert (reply.headers["content-encoding"], reply.headers["etag"][:3]) == ("gzip", 'W/"')
    assert ask("GET", f"{ITEMS}/large", accept_encoding="gzip", if_none_match=reply.headers["etag"]).status == 304
    assert ask("PUT", f"{ITEMS}/large", {"data": 1}, if_match=reply.headers["etag"]).status == 200


def test_what_is_small_is_not_compressed(ask: Client) -> None:
    ask("PUT", f"{ITEMS}/small", {"data": "x"})
    assert "content-encoding" not in ask("GET", f"{ITEMS}/small", accept_encoding="gzip").headers


def unpacked(body: bytes) -> bytes:
    return zstandard.ZstdDecompressor().decompressobj().decompress(body)


def test_several_requests_share_a_connection(ask: Client) -> None:
    connection = http.client.HTTPConnection(ask.host, ask.port, timeout=WAIT_SECONDS)
    for number in range(3):
        connection.request("POST", ITEMS, b"%d\n" % number)
        assert read(connection).status == 200
    connection.request("GET", ITEMS)
    assert len(read(connection).text.splitlines()) == 3
    connection.close()


def test_a_download_that_nobody_reads_any_more_is_not_gone_on_with(served: Serving) -> None:
    served.service.engine["work"].add(f"{number:06}" + "x" * 400 for number in range(30_000))
    reading = socket.create_connection((served.client.host, served.client.port))
    reading.sendall(f"GET {ITEMS} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
    assert reading.recv(1000).startswith(b"HTTP/1.1 200")
    until(lambda: served.server.server_state.tasks)
    reading.close()
    until(lambda: not served.server.server_state.tasks)


def test_items_with_much_data_come_in_pages_that_fit_in_memory(served: Serving) -> None:
    large, keys = "x" * 200_000, [f"{number:03}" for number in range(90)]
    served.service.engine["large"].add({"key": key, "data": large} for key in keys)
    found, after = [], ""
    while after is not None:
        page = served.client.json("GET", f"/v1/lists/large/items?count=1000&after={after}")
        assert len(page["items"]) < 80
        found += [item["key"] for item in page["items"]]
        after = page["next"]
    assert found == keys
    streamed = served.client("GET", "/v1/lists/large/items", accept="application/x-ndjson").lines
    assert [(item["key"], item["data"]) for item in streamed] == [(key, large) for key in keys]
