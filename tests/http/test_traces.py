"""The traceparent of a request is stored with what it adds, and told in claims."""

import pytest
from tests.http.serving import Client
from tests.http.working import Remote

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"a\n", "text/plain"),
        (b'{"items":["a"]}', "application/json"),
        (b'{"key":"a","data":1}\n', "application/x-ndjson"),
    ],
)
def test_what_a_request_adds_has_its_trace(ask: Client, body: bytes, kind: str) -> None:
    ask("POST", "/v1/lists/work/items", body, content_type=kind, traceparent=TRACE)
    assert ask.json("GET", "/v1/lists/work/items/a")["trace"] == TRACE
    [item] = Remote(ask).claim()["items"]
    assert item["trace"] == TRACE


def test_an_item_that_is_put_has_it_and_keeps_it(ask: Client) -> None:
    made = ask.json("PUT", "/v1/lists/work/items/a", {"data": 1}, traceparent=TRACE)
    again = ask.json("PUT", "/v1/lists/work/items/a", {"data": 2}, traceparent=TRACE.replace("b7", "c8"))
    assert (made["trace"], again["trace"]) == (TRACE, TRACE)


def test_the_routes_of_iidy_store_it_too(ask: Client) -> None:
    ask("POST", "/iidy/v1/lists/work/a", traceparent=TRACE)
    assert ask.json("GET", "/v1/lists/work/items/a")["trace"] == TRACE


@pytest.mark.parametrize("wrong", ["", "x", TRACE.upper(), "ff" + TRACE[2:], TRACE + "-x"])
def test_a_wrong_one_is_as_good_as_none(ask: Client, wrong: str) -> None:
    assert ask("POST", "/v1/lists/work/items", b"a\n", traceparent=wrong).status == 200
    assert ask.json("GET", "/v1/lists/work/items/a")["trace"] is None
