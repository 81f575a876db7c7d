"""Counters over HTTP: numbers once each, also when an answer is lost; names by prefix."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.http.serving import Client, Serving

from rowlock.counters import MAX_NUMBER


def test_a_counter_gives_the_next_number_and_then_several(ask: Client) -> None:
    assert ask.json("POST", "/v1/counters/chats%2F42", {"take": 1}) == {"counter": "chats/42", "first": 1, "last": 1}
    assert ask.json("POST", "/v1/counters/chats%2F42", {"take": 3}) == {"counter": "chats/42", "first": 2, "last": 4}
    assert ask.json("GET", "/v1/counters/chats%2F42") == {"name": "chats/42", "value": 4}


def test_in_text_a_number_is_alone_on_its_line(ask: Client) -> None:
    assert [ask("POST", "/v1/counters/a", accept="text/plain").text for _ in range(2)] == ["1\n", "2\n"]
    assert ask("POST", "/v1/counters/a", {"take": 3}, accept="text/plain").text == "3\t5\n"
    assert ask("GET", "/v1/counters/a").text == "5\n"


def test_asked_again_under_its_key_it_gives_the_same(ask: Client) -> None:
    first, second = (ask("POST", "/v1/counters/a", {"take": 2}, idempotency_key="k") for _ in range(2))
    assert (first.json, "idempotency-replayed" in first.headers) == (second.json, False)
    assert second.headers["idempotency-replayed"] == "true"
    assert ask.json("POST", "/v1/counters/a", {"take": 1}, idempotency_key="l")["first"] == 3
    other = ask("POST", "/v1/counters/a", {"take": 5}, idempotency_key="k")
    assert (other.status, other.json["code"]) == (422, "key-reused")


def test_many_at_once_are_given_each_number_once(ask: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        given = list(pool.map(lambda _: ask.json("POST", "/v1/counters/a")["first"], range(64)))
    assert sorted(given) == list(range(1, 65))


def test_a_counter_is_raised_and_never_lowered(ask: Client) -> None:
    assert ask.json("POST", "/v1/counters/a/raise", {"to": 500}) == {"name": "a", "value": 500}
    assert ask.json("POST", "/v1/counters/a/raise", {"to": 7})["value"] == 500
    assert ask.json("POST", "/v1/counters/a")["first"] == 501


def test_counters_are_listed_by_pages(ask: Client) -> None:
    for name in ("b", "a", "c"):
        ask("POST", f"/v1/counters/{name}")
    page = ask("GET", "/v1/counters?count=2", accept="application/json")
    assert ([each["name"] for each in page.json["counters"]], page.json["next"]) == (["a", "b"], "b")
    assert 'rel="next"' in page.headers["link"]
    assert ask("GET", "/v1/counters?after=b").text == "c\t1\n"


@pytest.mark.parametrize("take", [0, -1, 10**10, "x", 1.5])
def test_what_cannot_be_taken_is_refused(ask: Client, take: object) -> None:
    assert ask("POST", "/v1/counters/a", {"take": take}).status in (400, 422)
    assert ask.json("GET", "/v1/counters/a")["value"] == 0


def test_a_counter_that_is_spent_says_so(ask: Client) -> None:
    ask("POST", "/v1/counters/a/raise", {"to": MAX_NUMBER})
    reply = ask("POST", "/v1/counters/a", {})
    assert (reply.status, reply.json["code"]) == (409, "counter-spent")


def test_prefixes_hold_for_counters(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    for name in ("foreign/a", "own/a"):
        engine.counter(name).next()
    held = f"Bearer {engine.tokens.create('worker', lists=['own/']).text}"
    assert ask.json("POST", "/v1/counters/own%2Fa", authorization=held)["first"] == 2
    assert ask("POST", "/v1/counters/foreign%2Fa", authorization=held).status == 403
    found = ask.json("GET", "/v1/counters", authorization=held)["counters"]
    assert [each["name"] for each in found] == ["own/a"]
