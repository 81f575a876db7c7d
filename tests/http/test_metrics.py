"""What Prometheus reads, and what happens to lists as it happens."""

import http.client
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.http.serving import SECONDS, Client, Serving

from rowlock import Engine, Fail, Retry
from rowlock.roles import Role


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Each number by its name and labels."""
    return {
        (each.name, *each.labels.values()): each.value
        for family in text_string_to_metric_families(text)
        for each in family.samples
    }


def test_items_and_outcomes_are_told_by_list(engine: Engine, ask: Client) -> None:
    engine["work"].add(["a", "b", "c", "d"])
    with engine.session() as session:
        claim = session.take("work", limit=3)
        assert claim is not None
        first, second, third = claim
        claim.done(first)
        claim.say(second, Retry("no", after=3600))
        claim.say(third, Fail("no"))
        claim.settle()
        reply = ask("GET", "/metrics")
    found = samples(reply.text)
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    told = {state: found["rowlock_items", "work", state] for state in ("ready", "delayed", "claimed", "failed")}
    assert told == {"ready": 1, "delayed": 1, "claimed": 0, "failed": 1}
    assert found["rowlock_turns_total", "work", "done"] == 1
    assert (found["rowlock_sessions",], found["rowlock_lists",]) == (1, 1)
    assert found["rowlock_claim_seconds_total", "work"] >= 0


def test_requests_are_counted_by_route(ask: Client) -> None:
    ask("GET", "/v1/lists/nothing")
    ask("GET", "/nowhere")
    found = samples(ask("GET", "/metrics").text)
    assert found["rowlock_http_request_seconds_count", "GET /v1/lists/{list}", "404"] == 1
    assert found["rowlock_http_request_seconds_count", "none", "404"] == 1


def test_a_token_with_prefixes_is_told_of_its_own_lists_alone(engine: Engine, served: Serving) -> None:
    engine["mine/a"].add("x")
    engine["other"].add("y")
    token = engine.tokens.create(Role.VIEWER, lists=["mine/"]).text
    text = served.client("GET", "/metrics", authorization=f"Bearer {token}").text
    assert ("mine/a" in text, "other" in text, "http_request" in text) == (True, False, False)


@contextmanager
def listening(ask: Client, path: str = "/v1/events", **headers: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(ask.host, ask.port, timeout=SECONDS)
    connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    try:
        response = connection.getresponse()
        assert (response.status, response.getheader("content-type")) == (200, "text/event-stream")
        assert response.readline() == b"retry: 2000\n"
        yield response
    finally:
        connection.close()


def test_what_a_browser_asks_for_as_events_is_offered(ask: Client) -> None:
    with listening(ask, accept="text/event-stream"):
        pass
    assert ask("GET", "/v1/events?after=x", accept="text/event-stream").status == 400


def test_open_pages_take_no_place_of_clients_that_follow_events(
    served: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rowlock.http.events.MAX_WATCHERS", 1)
    with listening(served.client, "/live"), listening(served.client):
        assert served.client("GET", "/v1/events").status == 503


def next_event(response: http.client.HTTPResponse) -> tuple[str, dict[str, object]]:
    number = ""
    while line := response.readline():
        name, _, value = line.decode().strip().partition(": ")
        if name == "id":
            number = value
        if name == "data":
            return number, msgspec.json.decode(value)
    raise AssertionError("the stream has ended")


def test_what_happens_is_told_as_it_happens(engine: Engine, ask: Client) -> None:
    with listening(ask) as response:
        engine["work"].add(["a", "b"])
        _, added = next_event(response)
        engine["work"].done("a")
        _, done = next_event(response)
    assert (added["list"], added["added"], done["done"]) == ("work", 2, 1)


def test_who_comes_back_is_told_what_was_missed(engine: Engine, ask: Client) -> None:
    with listening(ask) as response:
        engine["work"].add("a")
        number, _ = next_event(response)
    engine["work"].add("b")
    engine["work"].add(["c", "d"])
    with listening(ask, last_event_id=number) as response:
        assert [next_event(response)[1]["added"] for _ in range(2)] == [1, 2]


def test_only_what_was_asked_for_is_told(engine: Engine, ask: Client) -> None:
    with listening(ask, "/v1/events?list=work") as response:
        engine["other"].add("a")
        engine["work"].add("a")
        assert next_event(response)[1]["list"] == "work"


def test_a_token_hears_of_its_own_lists_alone(engine: Engine, served: Serving) -> None:
    token = engine.tokens.create(Role.VIEWER, lists=["mine/"]).text
    with listening(served.client, authorization=f"Bearer {token}") as response:
        engine["other"].add("a")
        engine["mine/a"].add("a")
        assert next_event(response)[1]["list"] == "mine/a"


@pytest.mark.parametrize("last", ["x", "-1", "1.5"])
def test_a_number_that_was_never_given_is_refused(quick: Client, last: str) -> None:
    assert quick("GET", "/v1/events", last_event_id=last).status == 400


def test_a_stopping_service_lets_its_listeners_go(served: Serving) -> None:
    with listening(served.client) as response:
        served.service.stop()
        assert b"data" not in response.read()


def test_a_listener_whose_token_is_over_hears_no_more(engine: Engine, served: Serving) -> None:
    made = engine.tokens.create(Role.VIEWER)
    with listening(served.client, authorization=f"Bearer {made.text}") as response:
        engine.tokens.revoke(made.info.id)
        engine["work"].add("canary")
        rest = response.read()
    assert (b"token-refused" in rest, b"event: tally" in rest) == (True, False)


def test_a_token_with_prefixes_counts_the_sessions_that_it_may_see(engine: Engine, served: Serving) -> None:
    token = engine.tokens.create(Role.WORKER, lists=["mine/"]).text
    held = {"authorization": f"Bearer {token}"}
    with engine.session():
        served.client("POST", "/v1/sessions", {}, **held)
        found = samples(served.client("GET", "/metrics", **held).text)
    assert found["rowlock_sessions",] == 1
