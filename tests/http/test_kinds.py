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
