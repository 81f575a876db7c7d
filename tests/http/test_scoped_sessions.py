"""Sessions under tokens with prefixes: each is there for those who may see all its lists, and for nobody else."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.http.serving import Client, Reply, Serving
from tests.http.test_waiting import until, waits
from tests.http.working import Remote
from tests.waiting import WAIT_SECONDS


class Holder(Client):
    """A client that shows a token."""

    def __init__(self, served: Serving, *prefixes: str, role: str = "worker") -> None:
        super().__init__(served.client.port)
        self.made = served.service.engine.tokens.create(role, lists=prefixes)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        return super().__call__(method, path, body, **{"authorization": f"Bearer {self.made.text}", **headers})


@pytest.fixture
def filled(served: Serving) -> Serving:
    for name in ("own", "foreign"):
        served.service.engine[name].add(["a", "b"])
    return served


def test_a_worker_with_a_prefix_works_its_lists(filled: Serving) -> None:
    worker = Remote(Holder(filled, "own"))
    claimed = worker.claim("own", limit=2)
    assert worker.settle(claimed["claim"], done=["a", "b"]).status == 200
    assert filled.service.engine["own"].progress().done == 2


def test_a_worker_with_a_prefix_does_not_learn_when_other_lists_end(filled: Serving) -> None:
    worker = Remote(Holder(filled, "own"))
    claim = worker.claim("own")["claim"]
    assert worker.settle(claim, move=[{"key": "a", "until": "foreign"}]).status == 403
    trip = {
        "session": worker.session,
        "settle": [{"claim": claim, "outcomes": [{"position": 1, "outcome": "move", "until": "foreign"}]}],
    }
    [landed] = worker.ask("POST", "/v1/claims", trip).json["settled"]
    assert (landed["problem"]["status"], filled.service.engine["own"].counts().delayed) == (403, 0)


def test_a_worker_with_a_prefix_claims_nothing_else(filled: Serving) -> None:
    worker = Remote(Holder(filled, "own"))
    reply = worker.ask("POST", "/v1/lists/foreign/claims", {"session": worker.session})
    assert (reply.status, filled.service.engine["foreign"].counts().claimed) == (403, 0)


def test_the_session_of_another_is_not_there(filled: Serving) -> None:
    theirs, mine = Remote(Holder(filled, "foreign")), Remote(Holder(filled, "own"))
    claimed = theirs.claim("foreign", limit=1)
    path = f"/v1/sessions/{theirs.session}"
    assert mine.ask("PUT", path, {}).status == mine.ask("PUT", "/v1/sessions/nothing", {}).status == 409
    assert mine.ask.json("DELETE", path) == mine.ask.json("DELETE", "/v1/sessions/nothing") == {"closed": False}
    taking = mine.ask("POST", "/v1/lists/own/claims", {"session": theirs.session}, accept="application/json")
    assert (taking.status, taking.json["code"]) == (409, "stale-session")
    stolen = mine.ask("PUT", f"/v1/claims/{claimed['claim']}", {"session": theirs.session, "done": ["a"]})
    assert (stolen.status, "stale-claim" in stolen.text) == (409, True)
    assert theirs.settle(claimed["claim"], done=["a"]).status == 200


def test_a_session_without_a_prefix_is_not_there_for_those_with_one(filled: Serving) -> None:
    whole, mine = Remote(Holder(filled)), Remote(Holder(filled, "own"))
    assert mine.ask("PUT", f"/v1/sessions/{whole.session}", {}).status == 409
    assert whole.ask("PUT", f"/v1/sessions/{mine.session}", {}).status == 200


def test_only_sessions_of_ones_own_lists_are_told(filled: Serving) -> None:
    own, part, foreign = (Remote(Holder(filled, prefix), holder=prefix) for prefix in ("own", "own/a", "foreign"))
    with filled.service.engine.session(holder="direct"):
        viewer, admin = Holder(filled, "own", role="viewer"), Holder(filled, role="admin")
        assert [each["holder"] for each in viewer.json("GET", "/v1/sessions")["sessions"]] == ["own", "own/a"]
        assert len(admin.json("GET", "/v1/sessions")["sessions"]) == 4
    assert len({own.session, part.session, foreign.session}) == 3


def test_a_claim_that_waited_longer_than_its_token_lived_is_handed_back(served: Serving) -> None:
    engine = served.service.engine
    holder = Holder(served, "own")
    worker = Remote(holder)
    with ThreadPoolExecutor(1) as threads:
        asked = {"session": worker.session, "wait": "60s"}
        waiting = threads.submit(holder, "POST", "/v1/lists/own/claims", asked)
        until(lambda: waits(served, 1, "own"))
        engine.tokens.revoke(holder.made.info.id)
        engine["own"].add("a")
        assert waiting.result(WAIT_SECONDS).status == 401
    assert engine["own"].counts().ready == 1
