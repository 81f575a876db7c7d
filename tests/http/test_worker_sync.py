"""Trips: workers on other machines settle and claim in one request, by position, and are answered again."""

from typing import Any

import pytest
from tests.http.serving import Client, Serving
from tests.http.working import Remote

ITEMS = "/v1/lists/work/items"
TOKEN = "0123456789abcdef" * 2


def travel(remote: Remote, **trip: Any) -> Any:
    return remote.ask.json("POST", "/v1/claims", {"session": remote.session, **trip})


def claim(remote: Remote, *, token: str = TOKEN, limit: int = 10, **wanted: Any) -> Any:
    wanted = {"list": "work", "token": token, "limit": limit, **wanted}
    return travel(remote, claim=wanted)["claimed"]


def positions(claimed: Any) -> list[int]:
    return [item["position"] for item in claimed["items"]]


def test_a_trip_settles_and_claims(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\nc\nd\n")
    remote = Remote(ask)
    first = claim(remote, limit=2)
    home = travel(
        remote,
        settle=[{"claim": TOKEN, "done": positions(first)}],
        claim={"list": "work", "token": TOKEN[::-1], "limit": 10},
    )
    assert home["settled"] == [{"verdicts": ["done", "done"]}]
    assert [item["key"] for item in home["claimed"]["items"]] == ["c", "d"]


def test_each_outcome_is_written(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\nc\nd\n")
    remote = Remote(ask, holder="far away")
    a, b, c, d = positions(claim(remote))
    outcomes = [
        {"position": a, "outcome": "done"},
        {"position": b, "outcome": "retry", "error": "slow", "kind": "TimeoutError", "after": 3600},
        {"position": c, "outcome": "move", "gate": 2, "data": [1]},
        {"position": d, "outcome": "fail", "error": "broken"},
    ]
    settle = [{"claim": TOKEN, "outcomes": outcomes, "close": True}]
    home = travel(remote, settle=settle)
    assert home == travel(remote, settle=settle)
    assert home["settled"] == [{"verdicts": ["done", "retried", "moved", "failed"]}]
    states = {item["key"]: (item["state"], item["gate"], item["data"]) for item in ask.json("GET", ITEMS)["items"]}
    assert states == {"b": ("delayed", 0, None), "c": ("gated", 2, [1]), "d": ("failed", 0, None)}
    [failure] = ask.json("GET", f"{ITEMS}/b/failures")["failures"]
    assert (failure["kind"], failure["message"], failure["holder"]) == ("TimeoutError", "slow", "far away")


def test_a_claim_of_the_same_name_is_the_same_claim(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\nc\n")
    remote = Remote(ask)
    first = claim(remote, limit=2)
    assert positions(claim(remote, limit=2)) == positions(first)
    assert [item["key"] for item in claim(remote, token=TOKEN[::-1])["items"]] == ["c"]


def test_one_settlement_that_cannot_be_takes_nobody_with_it(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    remote = Remote(ask)
    [position] = positions(claim(remote, limit=1))
    settle = [
        {"claim": "f" * 32, "done": [1]},
        {"claim": TOKEN, "outcomes": [{"position": position, "outcome": "move", "gate": -1}]},
        {"claim": TOKEN, "done": [position]},
    ]
    stale, wrong, landed = travel(remote, settle=settle)["settled"]
    assert (stale["problem"]["code"], wrong["problem"]["code"]) == ("stale-claim", "invalid-outcome")
    assert landed == {"verdicts": ["done"]}


def test_nobody_settles_what_was_not_handed_to_them(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    mine, others = Remote(ask), Remote(ask)
    claim(mine, limit=1)
    [theirs] = positions(claim(others, token=TOKEN[::-1]))
    assert travel(mine, settle=[{"claim": TOKEN, "done": [theirs]}])["settled"] == [{"verdicts": ["gone"]}]
    assert (
        travel(mine, settle=[{"claim": TOKEN[::-1], "done": [theirs]}])["settled"][0]["problem"]["code"]
        == "stale-claim"
    )
    assert len(ask.json("GET", ITEMS)["items"]) == 2


def test_what_cannot_be_claimed_is_told_beside_what_was_settled(ask: Client) -> None:
    ask("POST", ITEMS, b"a\n")
    remote = Remote(ask)
    done = positions(claim(remote))
    wanted = {"list": "work", "token": "short", "limit": 10}
    home = travel(remote, settle=[{"claim": TOKEN, "done": done}], claim=wanted)
    assert home["settled"] == [{"verdicts": ["done"]}]
    assert home["problem"]["code"] == "invalid"


def test_a_claim_is_looked_at_and_ended_from_elsewhere(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    remote = Remote(ask)
    claim(remote, noted=True)
    path = f"/v1/claims/{TOKEN}?session={remote.session}"
    assert [item["key"] for item in ask.json("GET", path)["items"]] == ["a", "b"]
    assert ask.json("DELETE", path) == {"closed": True}
    assert ask.json("DELETE", path) == {"closed": False}
    assert ask("GET", path, accept="application/json").json["code"] == "stale-claim"


@pytest.mark.parametrize("session", ["short", "g" * 32, "A" * 32])
def test_a_sessions_id_that_cannot_be_is_refused(ask: Client, session: str) -> None:
    assert ask("POST", "/v1/sessions", {"session": session}).status == 400


def test_a_session_that_is_opened_again_is_the_same(ask: Client) -> None:
    for _ in range(2):
        assert ask.json("POST", "/v1/sessions", {"session": TOKEN, "holder": "me"})["session"] == TOKEN
    assert len(ask.json("GET", "/v1/sessions")["sessions"]) == 1


def test_a_token_with_prefixes_works_its_own_lists_only(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    engine["mine/work"].add(["a", "b"])
    engine["others"].add("x")
    bearer = {"authorization": f"Bearer {engine.tokens.create('worker', lists='mine/').text}"}
    admin = {"authorization": f"Bearer {engine.tokens.create('admin').text}"}
    session = ask.json("POST", "/v1/sessions", {"session": TOKEN}, **bearer)["session"]

    def asked(name: str, **headers: str) -> Any:
        wanted = {"list": name, "token": engine.environment.token(), "limit": 1}
        return ask(
            "POST", "/v1/claims", {"session": session, "claim": wanted}, accept="application/json", **headers
        ).json

    assert asked("mine/work", **bearer)["claimed"]["items"][0]["key"] == "a"
    assert asked("others", **bearer)["problem"]["code"] == "not-allowed"
    foreign = ask.json("POST", "/v1/sessions", {}, **admin)["session"]
    trip = {"session": foreign, "settle": [{"claim": TOKEN, "done": [1]}]}
    assert ask("POST", "/v1/claims", trip, **bearer).status == 409
    assert ask("POST", "/v1/sessions", {"session": foreign}, **bearer).status == 409
