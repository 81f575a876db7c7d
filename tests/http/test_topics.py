"""Topics over HTTP: defined, subscribed to, published to; who was told, and why."""

from typing import Any

import msgspec
import pytest
from tests.http.serving import Client, Serving

from rowlock import Fail, Worker

FIELDS = {"series": "text", "issue": "integer"}
TOPIC = "/v1/topics/comics"


@pytest.fixture
def comics(ask: Client) -> Client:
    """A client of a server that has a topic."""
    assert ask("PUT", TOPIC, {"fields": FIELDS}).status == 201
    return ask


def lines(*values: Any) -> bytes:
    return b"".join(msgspec.json.encode(value) + b"\n" for value in values)


def work_off(served: Serving, outcome: Any = None) -> None:
    worker = Worker(served.service.engine)
    served.service.engine.topic("comics").deliver(worker, lambda _: outcome)
    worker.run(until="done", signals=False)


def test_a_topic_is_made_and_grows(comics: Client) -> None:
    more = comics("PUT", TOPIC, {"fields": {"price": "number"}, "keep_for": "90d"}, accept="application/json")
    assert (more.status, more.json["fields"]) == (200, {**FIELDS, "price": "number"})
    assert comics.json("GET", TOPIC) == {**more.json, "subscriptions": 0}
    assert comics.json("GET", "/v1/topics") == {"topics": [more.json], "next": None}
    assert comics("GET", "/v1/topics").text == "comics\t90d\tseries=text\tissue=integer\tprice=number\n"
    refused = comics("PUT", TOPIC, {"fields": {"price": "text"}})
    assert (refused.status, refused.json["code"]) == (409, "field-taken")


def test_who_subscribes_twice_has_one_subscription(comics: Client) -> None:
    wish = {"subscriber": 'ann "ü" @example.org', "predicates": {"series": "Saga"}}
    [first], [again] = (comics.json("POST", f"{TOPIC}/subscriptions", wish)["subscribed"] for _ in range(2))
    assert (first["id"], first["new"], again["new"]) == (again["id"], True, False)
    [shown] = comics.json("GET", f"{TOPIC}/subscriptions?subscriber=ann%20%22%C3%BC%22%20%40example.org")[
        "subscriptions"
    ]
    assert (shown["subscriber"], shown["predicates"]) == (wish["subscriber"], wish["predicates"])
    assert comics("DELETE", f"{TOPIC}/subscriptions/{first['id']}").text == "unsubscribed\t1\n"
    assert comics("DELETE", f"{TOPIC}/subscriptions/{first['id']}").text == "unsubscribed\t0\n"
    assert comics("DELETE", f"{TOPIC}/subscriptions/x").status == 400


def test_many_subscribe_at_once_or_none_of_them(comics: Client) -> None:
    wishes = [{"subscriber": f"{number}", "predicates": {"issue": number % 2}} for number in range(150)]
    kind = {"content_type": "application/x-ndjson", "accept": "application/json"}
    bad = comics(
        "POST", f"{TOPIC}/subscriptions", lines(*wishes, {"subscriber": "x", "predicates": {"year": 1}}), **kind
    )
    assert (bad.status, bad.json["code"]) == (400, "invalid-predicate")
    assert comics.json("GET", TOPIC)["subscriptions"] == 0
    assert len(comics("POST", f"{TOPIC}/subscriptions", lines(*wishes), **kind).json["subscribed"]) == 150
    page = comics("GET", f"{TOPIC}/subscriptions?count=100", accept="application/json")
    assert f'after={page.json["next"]}>; rel="next"' in page.headers["link"]
    assert len(comics.json("GET", f"{TOPIC}/subscriptions?after={page.json['next']}")["subscriptions"]) == 50
    found = comics.json("POST", f"{TOPIC}/matches?count=1000", {"record": {"issue": 1}})["subscriptions"]
    first = comics("POST", f"{TOPIC}/matches?count=1", {"record": {"issue": 1}}, accept="application/json")
    assert (first.json, first.headers.get("link")) == ({"subscriptions": found[:1], "next": None}, None)
    assert len(found) == 75
    assert comics.json("POST", f"{TOPIC}/unsubscribe", {"subscriber": "1", "predicates": {"issue": 0}}) == {
        "unsubscribed": 0
    }
    assert comics.json("POST", f"{TOPIC}/unsubscribe", {"subscriber": "1"}) == {"unsubscribed": 1}


def test_a_record_is_told_and_says_why(served: Serving, comics: Client) -> None:
    for subscriber in ("ann", "bob"):
        comics("POST", f"{TOPIC}/subscriptions", {"subscriber": subscriber, "predicates": {"series": "Sága"}})
    [published] = comics.json("POST", f"{TOPIC}/records", {"record": {"series": "Sága"}, "key": "saga"})["published"]
    work_off(served)
    newest, other = comics.json("GET", f"{TOPIC}/notifications")["notifications"]
    assert (newest["record_id"], newest["predicates"], newest["record"]) == (
        published["id"],
        {"series": "Sága"},
        {"series": "Sága"},
    )
    assert {newest["subscriber"], other["subscriber"]} == {"ann", "bob"}
    assert [each["matched"] for each in comics.json("GET", f"{TOPIC}/records")["records"]] == [2]
    page = comics("GET", f"{TOPIC}/notifications?count=1&delivered=true", accept="application/json")
    assert f"before={newest['number']}&delivered=true" in page.headers["link"]
    again = {"record": {"series": "Sága"}, "key": "saga"}
    assert comics.json("POST", f"{TOPIC}/forget", {"subscriber": "ann", "record": "saga"}) == {"changed": True}
    comics.json("POST", f"{TOPIC}/records", again)
    work_off(served)
    assert [each["subscriber"] for each in comics.json("GET", f"{TOPIC}/notifications")["notifications"]] == [
        "ann",
        "bob",
    ]


def test_a_malformed_record_among_good_ones(comics: Client) -> None:
    given = lines({"record": {"issue": 1}}, {"record": {"issue": "one"}}, {"record": {"issue": 3}})
    kind = {"content_type": "application/x-ndjson", "accept": "application/json"}
    refused = comics("POST", f"{TOPIC}/records", given, **kind)
    assert (refused.status, refused.json["code"], refused.json["record"]) == (400, "invalid-record", 2)
    assert comics.json("GET", f"{TOPIC}/records")["records"] == []
    first, bad, third = comics("POST", f"{TOPIC}/records?partial=true", given, **kind).json["published"]
    assert (bad["id"], "got 'one'" in bad["error"]) == (None, True)
    assert [each["id"] for each in comics.json("GET", f"{TOPIC}/records")["records"]] == [third["id"], first["id"]]


def test_asked_again_under_its_key_nothing_is_published_again(comics: Client) -> None:
    asked = [comics("POST", f"{TOPIC}/records", {"record": {"issue": 1}}, idempotency_key="k") for _ in range(2)]
    assert asked[0].json == asked[1].json
    assert asked[1].headers["idempotency-replayed"] == "true"
    assert len(comics.json("GET", f"{TOPIC}/records")["records"]) == 1


def test_who_could_not_be_told_is_tried_again(served: Serving, comics: Client) -> None:
    comics("POST", f"{TOPIC}/subscriptions", {"subscriber": "ann"})
    comics("POST", f"{TOPIC}/records", {"record": {}})
    work_off(served, Fail("no such address"))
    assert comics("GET", f"{TOPIC}/failures").text == "topics/comics/1\tann\n"
    assert comics.json("POST", f"{TOPIC}/retry") == {"retried": 1}
    work_off(served)
    assert comics("GET", f"{TOPIC}/failures").text == ""
    assert len(comics.json("GET", f"{TOPIC}/notifications?delivered=true")["notifications"]) == 1


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/v1/topics/comic", None, 404, "no-such-topic"),
        ("PUT", "/v1/topics/a%2Fb", {"fields": {}}, 400, "invalid-name"),
        ("PUT", TOPIC, {"fields": {"x": "float"}}, 400, "invalid-field"),
        ("POST", f"{TOPIC}/subscriptions", {"predicates": {}}, 422, "invalid-shape"),
        ("POST", f"{TOPIC}/subscriptions", {"subscriber": "a", "predicates": {"seris": "x"}}, 400, "invalid-predicate"),
        ("POST", f"{TOPIC}/records", {"record": {"issue": 1.5}}, 400, "invalid-record"),
        ("POST", "/v1/topics/none/records", {"record": {}}, 404, "no-such-topic"),
    ],
)
def test_what_cannot_be_is_refused(quick: Client, method: str, path: str, body: Any, status: int, code: str) -> None:
    quick("PUT", TOPIC, {"fields": FIELDS})
    reply = quick(method, path, body, accept="application/json")
    assert (reply.status, reply.json["code"]) == (status, code)


def test_a_token_for_the_lists_of_a_topic_is_for_the_topic(served: Serving, comics: Client) -> None:
    engine = served.service.engine
    engine.topic("comical").define(canary="text")
    held = f"Bearer {engine.tokens.create('worker', lists=['topics/comics/']).text}"
    assert [each["name"] for each in comics.json("GET", "/v1/topics", authorization=held)["topics"]] == ["comics"]
    assert comics.json("POST", f"{TOPIC}/records", {"record": {}}, authorization=held)["published"]
    assert comics("GET", "/v1/topics/comical", authorization=held).status == 403


def test_what_curl_sends_without_a_label_is_a_document(comics: Client) -> None:
    form, wish = "application/x-www-form-urlencoded", b'{"subscriber": "ann", "predicates": {"series": "Saga"}}'
    assert comics("POST", f"{TOPIC}/subscriptions", wish, content_type=form).status == 200
    assert (
        comics("POST", f"{TOPIC}/records", b'{"record": {"series": "Saga", "issue": 1}}', content_type=form).status
        == 200
    )


@pytest.mark.parametrize("query", ["after=9223372036854775808", "subscriber=%00"])
def test_what_no_database_can_look_for_is_nobodys_fault_but_the_askers(comics: Client, query: str) -> None:
    told = comics("GET", f"{TOPIC}/subscriptions?{query}", accept="application/json")
    # Beyond all numbers there is nothing: one database says so, the other cannot be asked.
    assert told.status == 400 or told.json["subscriptions"] == []
