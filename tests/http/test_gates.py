"""Gates over HTTP: looked at, opened by hand, sealed, ended and opened again."""

import pytest
from tests.http.serving import Client, Serving


def test_a_list_goes_on_to_a_gate_by_number_or_name(ask: Client) -> None:
    ask("PUT", "/v1/lists/work", {"manual": True, "gates": ["fetch", "parse", "store"]})
    assert ask.json("PUT", "/v1/lists/work/gate", {"gate": "parse"}) == {"changed": True}
    assert ask.json("PUT", "/v1/lists/work/gate", {"gate": 1}) == {"changed": False}
    found = ask.json("GET", "/v1/lists/work/gates")["gates"]
    assert [(each["number"], each["name"], each["state"]) for each in found] == [
        (0, "fetch", "passed"),
        (1, "parse", "open"),
        (2, "store", "shut"),
    ]


def test_gates_are_rows_of_text(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\nb\n")
    assert ask("GET", "/v1/lists/work/gates").text == "0\t\topen\t2\t0\t0\t0\n"


def test_no_gate_is_opened_past_items(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\n")
    reply = ask("PUT", "/v1/lists/work/gate", {"gate": 1})
    assert (reply.status, reply.json["code"], reply.json["left"]) == (409, "gate-shut", 1)


def test_a_sealed_list_takes_no_more_until_it_is_reopened(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\n")
    assert ask.json("POST", "/v1/lists/work/seal") == {"changed": True}
    assert ask("POST", "/v1/lists/work/items", b"b\n").status == 409
    assert ask.json("POST", "/v1/lists/work/reopen") == {"changed": True}
    assert ask("POST", "/v1/lists/work/items", b"b\n").status == 200


def test_what_follows_a_sealed_list_is_added_when_nothing_is_left(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\n")
    ask.json("POST", "/v1/lists/work/seal", {"then": {"list": "report", "key": "k", "data": {"n": 1}}})
    ask("POST", "/v1/lists/work/items/delete", b"a\n")
    assert ask.json("GET", "/v1/lists/work")["state"] == "complete"
    assert ask.json("GET", "/v1/lists/report/items/k")["data"] == {"n": 1}


def test_a_list_is_ended_by_hand(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\n")
    assert [ask.json("POST", "/v1/lists/work/complete")["changed"] for _ in range(2)] == [True, False]
    assert ask.json("GET", "/v1/lists/work")["state"] == "complete"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "gates", None),
        ("PUT", "gate", {"gate": 1}),
        ("POST", "complete", None),
        ("POST", "reopen", None),
    ],
)
def test_a_list_that_is_not_there_has_no_gates(ask: Client, method: str, path: str, body: object) -> None:
    assert ask(method, f"/v1/lists/none/{path}", body).status == 404


@pytest.mark.parametrize("gate", [-1, "nowhere", 2**40, None])
def test_a_gate_that_cannot_be_is_refused(ask: Client, gate: object) -> None:
    ask("POST", "/v1/lists/work/items", b"a\n")
    assert ask("PUT", "/v1/lists/work/gate", {"gate": gate}).status in (400, 422)


def test_a_foreign_list_cannot_be_made_to_follow(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    engine["own/a"].add("a")
    held = f"Bearer {engine.tokens.create('operator', lists=['own/']).text}"
    refused = ask("POST", "/v1/lists/own%2Fa/seal", {"then": {"list": "foreign/b"}}, authorization=held)
    assert (refused.status, engine["own/a"].info().sealed) == (403, False)
    assert ask("POST", "/v1/lists/own%2Fa/seal", {"then": {"list": "own/b"}}, authorization=held).status == 200


def test_what_is_done_to_gates_is_recorded(served: Serving) -> None:
    served.service.engine["work"].add("a")
    served.client("POST", "/v1/lists/work/seal", x_request_id="r-1")
    [record] = served.service.engine.audit()
    assert (record.verb, record.list, record.request) == ("gates.seal", "work", "r-1")
