"""Sessions, claims and settlements over HTTP: each item is settled once, whatever is asked twice or too late."""

from datetime import datetime

import pytest
from tests.http.serving import Client, Serving
from tests.http.working import Remote

ITEMS = "/v1/lists/work/items"


def test_a_worker_claims_and_settles(ask: Client) -> None:
    ask("POST", ITEMS, {"items": ["a", {"key": "b", "data": {"n": 1}}, "c", "d"]})
    remote = Remote(ask, holder="bash 7")
    claim = remote.claim(limit=10)
    assert [(item["key"], item["data"], item["attempts"]) for item in claim["items"]] == [
        ("a", None, 0),
        ("b", {"n": 1}, 0),
        ("c", None, 0),
        ("d", None, 0),
    ]
    settled = remote.settle(
        claim["claim"],
        done=["a"],
        retry=[{"key": "b", "error": "slow", "after": "1h"}],
        move=[{"key": "c", "gate": 2, "data": [1]}],
        fail=[{"key": "d", "error": "broken"}],
    )
    assert settled.json == {"verdicts": {"a": "done", "b": "retried", "c": "moved", "d": "failed"}}
    states = {item["key"]: (item["state"], item["gate"], item["data"]) for item in ask.json("GET", ITEMS)["items"]}
    assert states == {"b": ("delayed", 0, {"n": 1}), "c": ("gated", 2, [1]), "d": ("failed", 0, None)}
    [failure] = ask.json("GET", f"{ITEMS}/d")["failures"]
    assert (failure["message"], failure["holder"]) == ("broken", "bash 7")


def test_an_item_waits_for_another_list_at_a_gate_that_has_a_name(ask: Client) -> None:
    ask("POST", ITEMS, b"parent\n")
    ask("PATCH", "/v1/lists/work", {"gates": ["split", "join"]})
    ask("POST", "/v1/lists/parts/items", b"x\n")
    remote = Remote(ask)
    move = {"key": "parent", "gate": "join", "until": "parts"}
    assert remote.settle(remote.claim()["claim"], move=[move]).json == {"verdicts": {"parent": "moved"}}
    assert remote.keys() == []
    ask("POST", "/v1/lists/parts/complete")
    assert remote.keys() == ["parent"]


def test_nothing_ready_is_an_empty_claim(ask: Client) -> None:
    claim = Remote(ask).claim("none")
    assert (claim["claim"], claim["items"]) == (None, [])


def test_two_workers_never_hold_the_same_item(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\nc\n")
    assert Remote(ask).keys(limit=2) == ["a", "b"]
    assert Remote(ask).keys(limit=2) == ["c"]


def test_a_claim_that_is_answered_again_says_so(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    remote = Remote(ask)
    document = {"session": remote.session, "limit": 1}
    replies = [ask("POST", "/v1/lists/work/claims", document, idempotency_key="once") for _ in range(2)]
    assert [reply.headers.get("idempotency-replayed") for reply in replies] == [None, "true"]
    assert replies[0].body == replies[1].body


def test_a_settlement_asked_again_is_answered_as_before(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    remote = Remote(ask)
    claim = remote.claim(limit=2)["claim"]
    said = {"done": ["a"], "retry": ["b"], "close": True}
    assert [remote.settle(claim, **said).json for _ in range(3)] == [{"verdicts": {"a": "done", "b": "retried"}}] * 3
    assert ask.json("GET", "/v1/lists/work")["progress"]["done"] == 1


@pytest.mark.parametrize(("attempts", "verdict"), [(0, "retried"), (4, "retried"), (3, "failed"), (None, "retried")])
def test_a_retry_goes_by_the_limit_of_the_list_and_the_count_of_now(
    ask: Client, attempts: int | None, verdict: str
) -> None:
    ask("PUT", "/v1/lists/work", {"attempts": attempts})
    ask("POST", ITEMS, b"a\n")
    remote = Remote(ask)
    claim = remote.claim()["claim"]
    for _ in range(2):
        ask("POST", f"{ITEMS}/increment", {"keys": ["a"]})
    assert remote.settle(claim, retry=["a"]).json == {"verdicts": {"a": verdict}}


def test_the_same_words_under_another_claim_are_another_settlement(ask: Client) -> None:
    remote = Remote(ask)
    for _ in range(3):
        ask("POST", ITEMS, b"a\n")
        assert remote.settle(remote.claim()["claim"], done=["a"]).json == {"verdicts": {"a": "done"}}
    assert ask.json("GET", "/v1/lists/work")["progress"]["done"] == 3


@pytest.mark.parametrize(
    "path", ["/v1/lists/a%00b", "/v1/lists/a%00b/items", "/v1/counters/a%00", "/v1/schedules/a%00"]
)
def test_a_name_with_a_nul_is_refused(ask: Client, path: str) -> None:
    assert ask("GET", path).status == 400


def test_a_late_settlement_is_refused(ask: Client) -> None:
    ask("POST", ITEMS, b"a\n")
    late = Remote(ask)
    claim = late.claim()["claim"]
    late.close()
    assert Remote(ask).keys() == ["a"]
    reply = late.settle(claim, done=["a"])
    assert (reply.status, reply.json["code"]) == (409, "stale-claim")
    assert ask.json("GET", f"{ITEMS}/a")["state"] == "claimed"


def test_another_session_cannot_settle_it(ask: Client) -> None:
    ask("POST", ITEMS, b"a\n")
    claim = Remote(ask).claim()["claim"]
    assert Remote(ask).settle(claim, done=["a"]).status == 409


@pytest.mark.parametrize(
    "said",
    [
        {"done": ["a"], "fail": ["a"]},
        {"retry": [{"key": "a", "after": "soon"}]},
        {"move": [{"key": "a", "gate": -1}]},
    ],
)
def test_an_outcome_that_cannot_be_is_refused(ask: Client, said: dict[str, object]) -> None:
    ask("POST", ITEMS, b"a\n")
    remote = Remote(ask)
    assert remote.settle(remote.claim()["claim"], **said).status == 400
    assert ask.json("GET", f"{ITEMS}/a")["state"] == "claimed"


@pytest.mark.parametrize(
    "asked", [{"limit": 0}, {"limit": 10_001}, {"wait": "1h"}, {"wait": -1}, {"limit": "x"}, {"limt": 1}]
)
def test_a_claim_that_cannot_be_is_refused(ask: Client, asked: dict[str, object]) -> None:
    session = Remote(ask).session
    assert ask("POST", "/v1/lists/work/claims", {"session": session, **asked}).status in (400, 422)


def test_a_session_that_is_no_more_is_told(ask: Client) -> None:
    remote = Remote(ask)
    assert [remote.close().json, remote.close().json] == [{"closed": True}, {"closed": False}]
    ask("POST", ITEMS, b"a\n")
    lost = [remote.beat(), ask("POST", "/v1/lists/work/claims", {"session": remote.session})]
    assert [(reply.status, reply.json["code"]) for reply in lost] == [(409, "stale-session")] * 2


def test_sessions_tell_who_is_at_work(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    remote = Remote(ask, holder="web-1", expiry="10m", details={"version": 3})
    remote.claim(limit=2)
    [shown] = ask.json("GET", "/v1/sessions")["sessions"]
    assert (shown["id"], shown["holder"], shown["claims"], shown["items"]) == (remote.session, "web-1", 1, 2)
    assert shown["details"]["version"] == 3
    lives = datetime.fromisoformat(shown["expires_at"]) - datetime.fromisoformat(shown["opened_at"])
    assert lives.total_seconds() == 600
    assert ask("GET", "/v1/sessions").text.startswith(f"{remote.session}\tweb-1\t")


def test_a_beat_prolongs_a_session(ask: Client) -> None:
    remote = Remote(ask, expiry="1h")
    before = datetime.fromisoformat(remote.beat().json["expires_at"])
    longer = datetime.fromisoformat(remote.beat(expiry="2h").json["expires_at"])
    assert 3590 <= (longer - before).total_seconds() <= 3660


@pytest.mark.parametrize("opening", [{"expiry": "10ms"}, {"expiry": "2d"}, {"holder": "a\nb"}, {"holder": "x" * 300}])
def test_a_session_that_cannot_be_is_refused(ask: Client, opening: dict[str, str]) -> None:
    assert ask("POST", "/v1/sessions", opening).status == 400


def test_a_claim_under_a_key_is_made_once(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\nc\n")
    remote = Remote(ask)
    first, again = remote.claim(limit=2, key="k"), remote.claim(limit=2, key="k")
    assert (first["claim"], first["items"]) == (again["claim"], again["items"])
    assert remote.keys(key="other") == ["c"]


def test_what_a_lost_session_held_goes_to_others(served: Serving) -> None:
    ask = served.client
    ask("POST", ITEMS, b"a\n")
    Remote(ask, expiry="1s").claim()
    assert Remote(ask).keys(wait="30s") == ["a"]


def test_a_script_reads_lines(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    remote = Remote(ask)
    body = {"session": remote.session, "limit": 2}
    first, *keys = ask("POST", "/v1/lists/work/claims", body, accept="text/plain").text.splitlines()
    session, claim = first.split("\t")
    assert (session, keys) == (remote.session, ["a", "b"])
    settling = {"session": session, "done": ["a"], "retry": ["b"]}
    assert ask("PUT", f"/v1/claims/{claim}", settling, accept="text/plain").text == "a\tdone\nb\tretried\n"
