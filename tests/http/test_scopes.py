"""Prefixes hold also where a list names others: what its completion adds, and what its items wait for."""

import pytest
from tests.http.serving import Reply, Serving

from rowlock.model import Then


@pytest.fixture
def held(served: Serving) -> str:
    """What an operator of the lists that begin with own/ sends; one of them is followed by a foreign list too."""
    engine = served.service.engine
    engine["own/a"].settings(then=[Then("own/b"), Then("foreign/canary")])
    return f"Bearer {engine.tokens.create('operator', lists=['own/']).text}"


def follows(served: Serving) -> list[str]:
    return [each.list for each in served.service.engine["own/a"].settings().then]


def patched(served: Serving, held: str, *then: dict[str, object]) -> Reply:
    return served.client("PATCH", "/v1/lists/own%2Fa", {"then": list(then)}, authorization=held)


@pytest.mark.parametrize("kind", ["application/json", "application/x-ndjson"])
@pytest.mark.parametrize("path", ["/v1/lists", "/v1/lists/own%2Fa"])
def test_a_foreign_list_that_follows_is_not_told(served: Serving, held: str, path: str, kind: str) -> None:
    reply = served.client("GET", path, accept=kind, authorization=held)
    assert (reply.status, "own/b" in reply.text, "canary" in reply.text) == (200, True, False)


def test_a_foreign_list_cannot_be_made_to_follow(served: Serving, held: str) -> None:
    reply = patched(served, held, {"list": "foreign/other"})
    assert (reply.status, "foreign/other" in follows(served)) == (403, False)


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_what_was_not_seen_is_not_taken_away(served: Serving, held: str, method: str) -> None:
    changed = {"then": [{"list": "own/d"}]}
    reply = served.client(method, "/v1/lists/own%2Fa", changed, accept="application/json", authorization=held)
    assert [each["list"] for each in reply.json["settings"]["then"]] == ["own/d"]
    assert follows(served) == ["own/d", "foreign/canary"]


def test_what_follows_stays_when_something_else_is_changed(served: Serving, held: str) -> None:
    served.client("PATCH", "/v1/lists/own%2Fa", {"attempts": 3}, authorization=held)
    assert follows(served) == ["own/b", "foreign/canary"]


@pytest.mark.parametrize("then", [7, "x", [7], [{"list": ""}], [{"nothing": "x"}], None])
def test_what_cannot_follow_is_refused(served: Serving, held: str, then: object) -> None:
    reply = served.client("PATCH", "/v1/lists/own%2Fa", {"then": then}, authorization=held)
    assert (reply.status in (400, 422), follows(served)) == (True, ["own/b", "foreign/canary"])


def test_without_prefixes_everything_is_told_and_set(served: Serving, held: str) -> None:
    whole = f"Bearer {served.service.engine.tokens.create('operator').text}"
    assert "canary" in served.client("GET", "/v1/lists/own%2Fa", accept="application/json", authorization=whole).text
    assert patched(served, whole, {"list": "foreign/other"}).status == 200
    assert follows(served) == ["foreign/other"]
