"""What is wrong is said as RFC 9457 says it, or in one line; the words of a driver or a traceback are never said."""

import pytest
from tests.http.serving import Client


def test_a_problem_is_a_document(ask: Client) -> None:
    ask("POST", "/v1/lists/downloads/items", b"a\n")
    reply = ask("GET", "/v1/lists/downlods", accept="application/json", x_request_id="mine")
    assert reply.status == 404
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json == {
        "type": "https://rowlock.dev/docs/reference/errors#no-such-list",
        "title": "NoSuchList",
        "status": 404,
        "code": "no-such-list",
        "detail": "there is no list 'downlods'",
        "hint": "did you mean 'downloads'?",
        "request": "mine",
        "list": "downlods",
    }


def test_its_twin_is_one_line(ask: Client) -> None:
    reply = ask("GET", "/v1/lists/none/items/x")
    assert reply.status == 404
    assert reply.headers["content-type"] == "text/plain; charset=utf-8"
    expected = "error no-such-list: there is no list 'none' (hint: it is created when the first item is added)\n"
    assert reply.text == expected


@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
def test_a_path_that_is_not_there_is_a_problem_too(quick: Client, accept: str) -> None:
    reply = quick("GET", "/v1/list", accept=accept)
    assert (reply.status, reply.json["code"], reply.json["hint"]) == (404, "no-such-path", "did you mean /v1/lists?")


def test_a_slash_too_many_is_told(quick: Client) -> None:
    assert "leave out the slash" in quick("GET", "/v1/lists/").text


def test_a_wrong_method_names_the_right_ones(quick: Client) -> None:
    reply = quick("DELETE", "/v1/lists")
    assert (reply.status, reply.headers["allow"]) == (405, "GET, HEAD")


@pytest.mark.parametrize("query", ["cout=3", "count=x", "count=1&count=2", "count=-1", "after=%ff", "count=1000000000"])
def test_a_question_that_cannot_be_is_refused(quick: Client, query: str) -> None:
    assert quick("GET", f"/v1/lists/names/items?{query}").status == 400


def test_the_nearest_question_is_named(quick: Client) -> None:
    assert "did you mean 'count'?" in quick("GET", "/v1/lists/names/items?cout=3").text


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b"{", 400, "invalid-body"),
        (b"\xff\xfe", 400, "invalid-body"),
        (b'{"items":[{"key":"a","data":' + b"[" * 100_000, 400, "invalid-body"),
        (b"[]", 422, "invalid-shape"),
        (b'{"items":["a",7]}', 422, "invalid-shape"),
        (b'{"itms":["a"]}', 422, "invalid-shape"),
        (b"null", 422, "invalid-shape"),
        (b'{"items":["a"]} x', 400, "invalid-body"),
        (b'{"items":[""]}', 400, "invalid-key"),
        (b'{"items":["a\\u0000"]}', 400, "invalid-key"),
        (b'{"items":["a\\ud800"]}', 400, "invalid-body"),
    ],
)
def test_a_body_that_cannot_be_is_refused(quick: Client, body: bytes, status: int, code: str) -> None:
    reply = quick("POST", "/v1/lists/refused/items", body, content_type="application/json")
    assert (reply.status, reply.json["code"]) == (status, code)
    assert quick("GET", "/v1/lists/refused").status == 404


def test_a_path_that_is_not_text_is_refused(quick: Client) -> None:
    assert quick("GET", "/v1/lists/%ff").status == 400
