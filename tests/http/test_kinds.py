"""An explicit Accept decides; else the answer is in the kind that was sent; a bare GET gets text."""

import pytest
from tests.http.serving import Client

TEXT, JSON, NDJSON = "text/plain; charset=utf-8", "application/json", "application/x-ndjson"


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", TEXT),
        ("", TEXT),
        ("application/json", JSON),
        ("application/x-ndjson", NDJSON),
        ("application/jsonl", NDJSON),
        ("text/plain", TEXT),
        ("text/*", TEXT),
        ("text/plain;q=0.1, application/json", JSON),
        ("application/json;q=0, text/plain", TEXT),
        ("text/html,application/xhtml+xml,*/*;q=0.8", TEXT),
        ("application/json, */*;q=0.1", JSON),
    ],
)
def test_a_get_is_answered_as_accept_says(quick: Client, accept: str, kind: str) -> None:
    assert quick("GET", "/v1/lists", accept=accept).headers["content-type"] == kind


@pytest.mark.parametrize(
    ("sent", "body", "kind"),
    [
        ("text/plain", b"a\n", TEXT),
        ("application/x-www-form-urlencoded", b"a\n", TEXT),
        ("", b"a\n", TEXT),
        ("application/json", b'{"items":["a"]}', JSON),
        ("application/json; charset=utf-8", b'{"items":["a"]}', JSON),
        ("application/x-ndjson", b'"a"\n', NDJSON),
    ],
)
def test_without_accept_the_answer_is_in_the_kind_that_was_sent(
    quick: Client, sent: str, body: bytes, kind: str
) -> None:
    reply = quick("POST", "/v1/lists/names/items", body, content_type=sent)
    assert (reply.status, reply.headers["content-type"]) == (200, kind)


def test_accept_goes_before_the_kind_that_was_sent(quick: Client) -> None:
    reply = quick("POST", "/v1/lists/both/items", b"a\nb\n", accept="application/json")
    assert reply.json == {"added": 2, "existing": 0}


def test_what_is_not_offered_is_refused(quick: Client) -> None:
    reply = quick("GET", "/v1/lists", accept="image/png")
    assert reply.status == 406
    assert reply.text.startswith("error not-offered: ")


@pytest.mark.parametrize("sent", ["image/png", "text/plain; charset=latin-1", "text/xml"])
def test_a_body_that_cannot_be_read_is_refused(quick: Client, sent: str) -> None:
    assert quick("POST", "/v1/lists/names/items", b"a", content_type=sent).status == 415


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize("body", [b'{"key": "a"}', b'[{"key": "a"}]', b' {"items": ["a"]}', b'{"key": 1}\n{"key": 2}'])
@pytest.mark.parametrize("accept", ["text/plain", "application/x-ndjson"])
def test_json_that_comes_as_a_form_is_not_taken_for_keys(quick: Client, body: bytes, accept: str) -> None:
    reply = quick("POST", "/v1/lists/forms/items", body, content_type=FORM, accept=accept)
    assert (reply.status, "Content-Type: application/json" in reply.text) == (415, True)
    assert quick("POST", "/v1/lists/forms/items/delete", body, content_type=FORM).status == 415
    assert quick("GET", "/v1/lists/forms/items").status == 404


def test_lines_that_come_as_a_form_are_keys_and_so_is_json_that_says_it_is_text(quick: Client) -> None:
    quick("POST", "/v1/lists/lines/items", b"a=b\n", content_type=FORM)
    quick("POST", "/v1/lists/lines/items", b'{"key": "a"}\n', content_type="text/plain")
    assert [item["key"] for item in quick.json("GET", "/v1/lists/lines/items")["items"]] == ["a=b", '{"key": "a"}']


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (b'{"key": 7}', "line 4 is not what is taken here: key must be text, not a whole number"),
        (b"{", "line 4 is not JSON: it ends too early"),
        (b'{"key": ""}', "line 4"),
        (b'{"key": "a", "priority": 77}', "line 4"),
        (b'{"key": "a", "due": "soon"}', "line 4"),
        (b'{"key": "a", "data": "%b"}' % (b"x" * 262_145), "line 4"),
    ],
)
@pytest.mark.parametrize("accept", ["application/json", "application/x-ndjson"])
def test_what_is_wrong_with_ndjson_names_the_line(quick: Client, line: bytes, wrong: str, accept: str) -> None:
    body = b'"first"\n\n{"key": "third"}\n%b\n"fifth"\n' % line
    reply = quick("POST", "/v1/lists/wrong/items", body, content_type="application/x-ndjson", accept=accept)
    assert (wrong in reply.text, '"line":4' in reply.text) == (True, True), reply.text
    assert quick("GET", "/v1/lists/wrong/items").status == 404


def test_what_is_wrong_with_ndjson_of_keys_names_the_line(quick: Client) -> None:
    reply = quick("POST", "/v1/lists/wrong/items/delete", b'"a"\n\n7\n', content_type="application/x-ndjson")
    assert (reply.status, "line 3 is not what is taken here" in reply.text) == (422, True), reply.text
