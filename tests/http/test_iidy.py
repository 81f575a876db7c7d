"""The routes of IIDY answer byte for byte as its users know them; what it got wrong is right."""

import http.client
import threading
from pathlib import Path

import pytest
from tests.http.serving import Client, Reply, serving
from tests.waiting import WAIT_SECONDS

from rowlock import Engine
from rowlock.api.server_limits import ServerLimits

LIST, BATCH = "/iidy/v1/lists/downloads", "/iidy/v1/batch/lists/downloads"
ONE = f"{LIST}/a.txt"
JSON = {"content_type": "application/json"}
TEXT = "text/plain; charset=utf-8"
NAMES = b"\n" + b"".join(b"%c.txt\n" % letter for letter in b"bcdefghi") + b"\n"


def said(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.text


def fill(ask: Client) -> None:
    assert said(ask("POST", BATCH, NAMES)) == (201, "ADDED 8\n")


def test_01_an_unknown_name_is_not_found(ask: Client) -> None:
    assert said(ask("GET", ONE)) == (404, "Not found.\n")


def test_02_a_name_is_added_and_read(ask: Client) -> None:
    assert said(ask("POST", ONE, b"ignored")) == (201, "ADDED 1\n")
    read = ask("GET", ONE)
    assert (said(read), read.headers["content-type"]) == ((200, "0\n"), TEXT)
    assert read.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", [f"{ONE}?action=increment", "/iidy/v1/increment/lists/downloads/a.txt"])
def test_03_and_04_an_attempt_is_counted_by_both_forms(ask: Client, path: str) -> None:
    ask("POST", ONE)
    assert [said(ask("POST", path)) for _ in range(2)] == [(200, "INCREMENTED 1\n")] * 2
    assert said(ask("GET", ONE)) == (200, "2\n")


def test_05_a_name_is_deleted_once(ask: Client) -> None:
    ask("POST", ONE)
    assert [said(ask("DELETE", ONE)) for _ in range(2)] == [(200, "DELETED 1\n"), (200, "DELETED 0\n")]


def test_06_an_unknown_name_is_not_incremented(ask: Client) -> None:
    assert said(ask("POST", f"{ONE}?action=increment")) == (200, "INCREMENTED 0\n")
    ask("POST", f"{LIST}/b.txt")
    assert said(ask("POST", f"{ONE}?action=increment")) == (200, "INCREMENTED 0\n")
    assert said(ask("GET", f"{BATCH}?count=10")) == (200, "b.txt 0\n")


def test_07_to_09_pages_follow_each_other(ask: Client) -> None:
    fill(ask)
    first = ask("GET", f"{BATCH}?count=2")
    assert said(first) == (200, "b.txt 0\nc.txt 0\n")
    assert first.headers["x-iidy-last-item"] == "c.txt"
    assert said(ask("GET", f"{BATCH}?count=2&after_id=c.txt")) == (200, "d.txt 0\ne.txt 0\n")
    rest = "f.txt 0\ng.txt 0\nh.txt 0\ni.txt 0\n"
    assert said(ask("GET", f"{BATCH}?count=4&after_id=e.txt")) == (200, rest)


@pytest.mark.parametrize("path", [f"{BATCH}?action=increment", "/iidy/v1/increment/batch/lists/downloads"])
def test_10_and_11_batches_are_incremented_and_deleted(ask: Client, path: str) -> None:
    fill(ask)
    assert said(ask("POST", path, b"b.txt\nc.txt\nd.txt\ne.txt")) == (200, "INCREMENTED 4\n")
    counted = "".join(f"{letter}.txt {int(letter < 'f')}\n" for letter in "bcdefghi")
    assert said(ask("GET", f"{BATCH}?count=100")) == (200, counted)
    assert said(ask("DELETE", BATCH, b"d.txt\ne.txt\nf.txt\ng.txt\n")) == (200, "DELETED 4\n")
    assert said(ask("GET", f"{BATCH}?count=100")) == (200, "b.txt 1\nc.txt 1\nh.txt 0\ni.txt 0\n")


def test_12_json_says_the_same(ask: Client) -> None:
    assert said(ask("GET", ONE, **JSON)) == (404, '{"error":"Not found."}\n')
    assert said(ask("POST", ONE, **JSON)) == (201, '{"added":1}\n')
    assert said(ask("GET", ONE, **JSON)) == (200, '{"item":"a.txt","attempts":0}\n')
    assert said(ask("DELETE", ONE, **JSON)) == (200, '{"deleted":1}\n')
    names = {"items": [f"{letter}.txt" for letter in "bcdefghi"]}
    assert said(ask("POST", BATCH, names)) == (201, '{"added":8}\n')
    page = ask("GET", f"{BATCH}?count=2", **JSON)
    entries = '{"listentries":[{"item":"b.txt","attempts":0},{"item":"c.txt","attempts":0}]}\n'
    assert said(page) == (200, entries)
    assert page.headers["content-type"] == "application/json; charset=utf-8"
    assert said(ask("POST", f"{BATCH}?action=increment", {"items": ["b.txt"]})) == (200, '{"incremented":1}\n')


@pytest.mark.parametrize("headers", [{}, JSON])
def test_13_no_body_is_no_names(ask: Client, headers: dict[str, str]) -> None:
    asked = [("POST", BATCH), ("POST", f"{BATCH}?action=increment"), ("DELETE", BATCH)]
    replies = [ask(method, path, b"", **headers) for method, path in asked]
    assert [reply.status for reply in replies] == [201, 200, 200]
    words = ['{"added":0}\n', '{"incremented":0}\n', '{"deleted":0}\n']
    assert [reply.text for reply in replies] == (words if headers else ["ADDED 0\n", "INCREMENTED 0\n", "DELETED 0\n"])


def test_14_a_page_needs_a_count(ask: Client) -> None:
    assert said(ask("GET", BATCH)) == (400, "Query arg not found: count\n")
    assert said(ask("GET", BATCH, **JSON)) == (400, '{"error":"Query arg not found: count"}\n')


def test_15_the_name_to_start_after_need_not_be_there(ask: Client) -> None:
    ask("POST", BATCH, b"a\nb\nc")
    assert said(ask("GET", f"{BATCH}?count=10&after_id=bb")) == (200, "c 0\n")


@pytest.mark.parametrize("path", [f"{BATCH}?count=10", f"{BATCH}?count=10&after_id=zzz", f"{BATCH}?count=0"])
def test_16_and_17_an_empty_page_is_empty(ask: Client, path: str) -> None:
    fill(ask)
    ask("DELETE", BATCH, NAMES if "after" not in path else b"")
    text, json = ask("GET", path), ask("GET", path, **JSON)
    assert (said(text), said(json)) == ((200, ""), (200, '{"listentries":[]}\n'))
    assert "x-iidy-last-item" not in text.headers


@pytest.mark.parametrize("count", ["abc", "-1", "1.5", "99999999999999999999"])
def test_18_a_count_that_cannot_be_is_refused(ask: Client, count: str) -> None:
    reply = ask("GET", f"{BATCH}?count={count}")
    assert reply.status == 400
    assert "count" in reply.text


def test_19_adding_again_is_no_error(ask: Client) -> None:
    ask("POST", ONE)
    ask("POST", f"{ONE}?action=increment")
    assert said(ask("POST", ONE)) == (200, "ADDED 0\n")
    assert said(ask("POST", BATCH, b"a.txt\nb.txt\nb.txt\n")) == (201, "ADDED 1\n")
    assert said(ask("GET", ONE)) == (200, "1\n")


@pytest.mark.parametrize("strict", ["1", "true"])
def test_adding_again_is_refused_in_strict_mode(ask: Client, strict: str) -> None:
    ask("POST", ONE)
    assert ask("POST", f"{ONE}?strict={strict}").status == 409
    assert ask("POST", f"{BATCH}?strict={strict}", b"z.txt\na.txt\n").status == 409
    assert said(ask("GET", f"{LIST}/z.txt")) == (404, "Not found.\n")
    assert ask("POST", f"{BATCH}?strict={strict}", b"y.txt\nz.txt\ny.txt\n").status == 409
    assert ask("POST", f"{BATCH}?strict={strict}", {"items": ["y.txt", "y.txt"]}).status == 409
    assert said(ask("POST", f"{BATCH}?strict={strict}", b"y.txt\nz.txt\n")) == (201, "ADDED 2\n")


def test_a_strict_mode_that_does_not_exist_is_refused(ask: Client) -> None:
    refused = (400, "For query arg strict, maybe is not one of 1, true, 0, false\n")
    assert [said(ask("POST", f"{path}?strict=maybe")) for path in (ONE, BATCH)] == [refused, refused]
    assert said(ask("GET", ONE)) == (404, "Not found.\n")


@pytest.mark.parametrize("body", [b" \n\t\r\n ", b"\n\n", b"a\n\n \nb\r\n"])
def test_22_blanks_are_no_names(ask: Client, body: bytes) -> None:
    count = 2 if b"a" in body else 0
    assert said(ask("POST", BATCH, body)) == (201, f"ADDED {count}\n")
    assert said(ask("GET", f"{BATCH}?count=9")) == (200, "a 0\nb 0\n" if count else "")


def test_27_order_is_by_bytes(ask: Client) -> None:
    ask("POST", BATCH, "b\nB\na\n10\n9\né")
    assert said(ask("GET", f"{BATCH}?count=9")) == (200, "10 0\n9 0\nB 0\na 0\nb 0\né 0\n")


def test_28_no_attempt_is_lost(ask: Client) -> None:
    ask("POST", ONE)

    def count() -> None:
        connection = http.client.HTTPConnection(ask.host, ask.port, timeout=WAIT_SECONDS)
        for _ in range(500):
            connection.request("POST", f"{ONE}?action=increment")
            connection.getresponse().read()
        connection.close()

    threads = [threading.Thread(target=count) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said(ask("GET", ONE)) == (200, "1000\n")


@pytest.mark.parametrize(
    ("body", "added"),
    [
        (b'{"items":[]}', 0),
        (b'{"items":null}', 0),
        (b"{}", 0),
        (b'{"items":["a","b"],"other":1}', 2),
        (b'{"items":["a","a"]}', 1),
    ],
)
def test_json_bodies_are_read_kindly(ask: Client, body: bytes, added: int) -> None:
    assert said(ask("POST", BATCH, body, **JSON)) == (201, f'{{"added":{added}}}\n')


@pytest.mark.parametrize("body", [b"null", b"[]", b"{", b'{"items":"a"}', b'{"items":[1]}', b'"a"', b"\xff"])
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_json_of_another_shape_is_refused(ask: Client, method: str, body: bytes) -> None:
    reply = ask(method, BATCH, body, **JSON)
    assert reply.status == 400
    assert reply.json["error"].startswith("Error trying to parse list of items from request body: ")


def test_json_with_a_charset_is_json(ask: Client) -> None:
    reply = ask("POST", BATCH, b'{"items":["a"]}', content_type="application/json; charset=utf-8")
    assert said(reply) == (201, '{"added":1}\n')


def test_any_other_type_is_text_and_accept_is_not_looked_at(ask: Client) -> None:
    assert said(ask("POST", BATCH, b"a\n", content_type="image/png", accept="application/json")) == (201, "ADDED 1\n")


def test_unknown_names_in_a_batch_are_not_counted_and_no_name_twice(ask: Client) -> None:
    ask("POST", BATCH, b"a\nb\n")
    assert said(ask("POST", f"{BATCH}?action=increment", b"a\na\nx\n")) == (200, "INCREMENTED 1\n")
    assert said(ask("DELETE", BATCH, b"a\na\nx\n")) == (200, "DELETED 1\n")


def test_a_name_may_hold_anything_that_a_line_can(ask: Client) -> None:
    for key in ("a%2Fb", "a%20b", "%2E%2E", "%C3%A9"):
        assert said(ask("POST", f"{LIST}/{key}")) == (201, "ADDED 1\n")
        assert said(ask("GET", f"{LIST}/{key}")) == (200, "0\n")
    assert said(ask("GET", f"{BATCH}?count=9")) == (200, ".. 0\na b 0\na/b 0\né 0\n")
    assert ask("GET", f"{BATCH}?count=9").headers["x-iidy-last-item"].encode("latin-1").decode() == "é"


def test_head_tells_whether_something_is_there(ask: Client) -> None:
    assert [ask("HEAD", path).status for path in (LIST, ONE)] == [404, 404]
    ask("POST", ONE)
    assert [ask("HEAD", path).status for path in (LIST, ONE)] == [200, 200]
    ask("DELETE", ONE)
    assert [ask("HEAD", path).status for path in (LIST, ONE)] == [404, 404]


def test_what_is_not_there_is_said_in_its_words(ask: Client) -> None:
    assert said(ask("GET", "/iidy/v1/nothing")) == (404, "404 page not found\n")
    wrong = ask("PUT", ONE, **JSON)
    assert (said(wrong), wrong.headers["allow"]) == (
        (405, '{"error":"Method Not Allowed"}\n'),
        "DELETE, GET, HEAD, POST",
    )


def test_an_unknown_action_is_refused(ask: Client) -> None:
    assert ask("POST", f"{ONE}?action=decrement").status == 400
    assert ask("GET", ONE).status == 404


def test_other_questions_are_not_looked_at(ask: Client) -> None:
    ask("POST", f"{ONE}?x=1")
    assert said(ask("GET", f"{BATCH}?count=1&count=9&pretty=1")) == (200, "a.txt 0\n")


@pytest.mark.parametrize(
    ("method", "headers", "most"),
    [("POST", {}, 64), ("POST", JSON, 16), ("DELETE", {}, 16)],
    ids=["lines added", "json", "lines deleted"],
)
def test_a_batch_is_bounded_as_other_bodies_are(
    tmp_path: Path, method: str, headers: dict[str, str], most: int
) -> None:
    with (
        Engine(str(tmp_path / "work.db")) as engine,
        serving(engine, ServerLimits(body_bytes=64, document_bytes=16)) as narrow,
    ):
        assert narrow.client(method, BATCH, b" " * most, **headers).status < 300
        assert narrow.client(method, BATCH, b" " * (most + 1), **headers).status == 413


def test_many_names_are_added_as_one(ask: Client) -> None:
    many = b"\n".join(b"%06d" % number for number in range(25_000))
    assert said(ask("POST", BATCH, b" \n  " + many + b"\r\n000001 \n")) == (201, "ADDED 25000\n")
    assert said(ask("GET", f"{BATCH}?count=1")) == (200, "000000 0\n")
    assert said(ask("POST", BATCH, b"new\n" + many + b"\n\xff"))[0] == 400
    assert said(ask("GET", f"{LIST}/new")) == (404, "Not found.\n")
