"""Items over HTTP: added, paged, looked at and changed, in lines and in JSON."""

from datetime import UTC, datetime

import pytest
from tests.http.serving import Client

ITEMS = "/v1/lists/work/items"
NDJSON = "application/x-ndjson"


def test_lines_are_keys(ask: Client) -> None:
    assert ask("POST", ITEMS, b"b\n\r\n  \na\r\n\xc3\xa9 x\n").text == "added\t3\nexisting\t0\n"
    assert ask("POST", ITEMS, b"a\nc").text == "added\t1\nexisting\t1\n"
    assert ask("GET", ITEMS).text == "a\t0\tready\nb\t0\tready\nc\t0\tready\né x\t0\tready\n"


def test_json_carries_more_than_keys(ask: Client) -> None:
    new = {"key": "b", "data": {"size": [1, None]}, "due": "5m", "gate": 1, "priority": 0}
    assert ask.json("POST", ITEMS, {"items": ["a", new]}) == {"added": 2, "existing": 0}
    shown = ask.json("GET", f"{ITEMS}/b")
    assert (shown["data"], shown["gate"], shown["priority"]) == ({"size": [1, None]}, 1, 0)
    assert (shown["list"], shown["failures"], ask.json("GET", f"{ITEMS}/a")["state"]) == ("work", [], "ready")


@pytest.mark.parametrize("due", ["2100-01-01T00:00:00Z", "2100-01-01T01:00:00+01:00"])
def test_a_moment_may_be_given(ask: Client, due: str) -> None:
    ask.json("POST", ITEMS, {"items": [{"key": "a", "due": due}]})
    assert ask.json("GET", f"{ITEMS}/a")["due"] == "2100-01-01T00:00:00Z"


@pytest.mark.parametrize("due", ["2100-01-01T00:00:00", "2100-13-01T00:00:00Z", "soon", -1])
def test_a_moment_that_cannot_be_is_refused(ask: Client, due: object) -> None:
    reply = ask("POST", ITEMS, {"items": [{"key": "a", "due": due}]})
    assert (reply.status, reply.json["code"]) == (400, "invalid-duration")


def test_what_items_have_in_common_stands_in_the_query(ask: Client) -> None:
    ask("POST", f"{ITEMS}?priority=0&gate=2&due=1h", b"a\n")
    ask("POST", f"{ITEMS}?priority=1", {"items": [{"key": "b", "priority": 3}, "c"]})
    found = [(item["key"], item["priority"], item["gate"]) for item in ask("GET", ITEMS, accept=NDJSON).lines]
    assert found == [("a", 0, 2), ("b", 3, 0), ("c", 1, 0)]


def test_strict_refuses_what_is_there(ask: Client) -> None:
    ask("POST", ITEMS, b"a\n")
    reply = ask("POST", f"{ITEMS}?strict=1", b"b\na\n", accept="application/json")
    assert (reply.status, reply.json["code"], reply.json["key"]) == (409, "already-there", "a")
    assert ask("GET", ITEMS).text == "a\t0\tready\n"


def test_one_wrong_line_adds_nothing(ask: Client) -> None:
    reply = ask("POST", ITEMS, b"a\nb\n" + b"x" * 513 + b"\n", accept="application/json")
    assert (reply.status, reply.json["code"], reply.json["line"]) == (400, "invalid-key", 3)
    assert ask("GET", ITEMS).status == 404


def test_a_page_leads_to_the_next(ask: Client) -> None:
    ask("POST", ITEMS, "\n".join(f"k {number}" for number in range(5)))
    keys, path = [], f"{ITEMS}?count=2&state=ready"
    while path:
        reply = ask("GET", path)
        keys += [line.split("\t")[0] for line in reply.text.splitlines()]
        path = reply.headers.get("link", "").partition(">")[0][1:]
    assert keys == [f"k {number}" for number in range(5)]


def test_a_json_page_is_bounded_and_says_where_the_next_begins(ask: Client) -> None:
    ask("POST", ITEMS, "\n".join(f"{number:05}" for number in range(1001)))
    page = ask.json("GET", ITEMS)
    assert (len(page["items"]), page["next"]) == (1000, "00999")
    assert ask.json("GET", f"{ITEMS}?after=00999")["next"] is None
    assert len(ask("GET", ITEMS).text.splitlines()) == 1001
    assert len(ask("GET", ITEMS, accept=NDJSON).lines) == 1001


def test_a_page_of_none_is_none(ask: Client) -> None:
    ask("POST", ITEMS, b"a\n")
    assert ask("GET", f"{ITEMS}?count=0").text == ""
    assert ask.json("GET", f"{ITEMS}?count=0") == {"items": [], "next": None}
    assert [ask("GET", f"/v1/lists/none/items{query}").status for query in ("", "?count=0", "?count=5")] == [404] * 3


def test_any_key_can_stand_in_a_path(ask: Client) -> None:
    for key in ("a/b", "..", ".", "50%", "a b", "é", "delete", "?x=1#y"):
        ask.json("POST", ITEMS, {"items": [key]})
    for key in ("a%2Fb", "%2E%2E", "%2E", "50%25", "a%20b", "%C3%A9", "delete", "%3Fx=1%23y"):
        assert ask("GET", f"{ITEMS}/{key}").status == 200, key


def test_put_adds_an_item_or_gives_it_other_data(ask: Client) -> None:
    made = ask("PUT", f"{ITEMS}/a", {"data": 1, "priority": 0}, accept="application/json")
    assert (made.status, made.json["data"], made.json["priority"]) == (201, 1, 0)
    again = ask("PUT", f"{ITEMS}/a", {"data": {"b": 2}}, accept="application/json", if_match=made.headers["etag"])
    assert (again.status, again.json["data"], again.json["priority"]) == (200, {"b": 2}, 0)
    late = ask("PUT", f"{ITEMS}/a", {"data": 3}, if_match=made.headers["etag"])
    assert late.status == 412
    assert ask("PUT", f"{ITEMS}/a", {"data": 3}, if_none_match="*").status == 412
    assert ask("PUT", f"{ITEMS}/a", {"gate": 7}).status == 409
    assert ask.json("GET", f"{ITEMS}/a")["data"] == {"b": 2}


def test_patch_changes_what_is_named(ask: Client) -> None:
    made = ask("PUT", f"{ITEMS}/a", {"data": 1, "priority": 3}, accept="application/json")
    changed = ask.json("PATCH", f"{ITEMS}/a", {"priority": 0}, if_match=made.headers["etag"])
    assert (changed["data"], changed["priority"]) == (1, 0)
    assert ask("PATCH", f"{ITEMS}/a", {"data": 2}, if_match=made.headers["etag"]).status == 412
    assert ask.json("PATCH", f"{ITEMS}/a", {"due": "1h"})["state"] == "delayed"
    assert ask("PATCH", f"{ITEMS}/a", {}).status == 400
    assert ask("PATCH", f"{ITEMS}/none", {"data": 1}).status == 404


def test_what_a_worker_has_in_hand_is_not_changed(ask: Client) -> None:
    ask("POST", ITEMS, b"a\n")
    session = ask.json("POST", "/v1/sessions", {})["session"]
    ask.json("POST", "/v1/lists/work/claims", {"session": session})
    reply = ask("PUT", f"{ITEMS}/a", {"data": 1})
    assert (reply.status, reply.json["code"]) == (409, "item-claimed")


def test_delete_takes_an_item_off(ask: Client) -> None:
    ask("POST", ITEMS, b"a\n")
    assert ask("DELETE", f"{ITEMS}/a", if_match='"7"').status == 412
    assert [ask("DELETE", f"{ITEMS}/a").text for _ in range(2)] == ["deleted\t1\n", "deleted\t0\n"]
    assert ask.json("GET", "/v1/lists/work")["progress"]["done"] == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"a\nb\nb\nx\n", "text/plain"),
        (b'{"keys":["a","b","b","x"]}', "application/json"),
        (b'"a"\n{"key":"b","state":"ready"}\n"x"\n', NDJSON),
    ],
)
@pytest.mark.parametrize("verb", ["delete", "increment", "abandon"])
def test_many_items_are_changed_at_once(ask: Client, verb: str, body: bytes, kind: str) -> None:
    ask("POST", ITEMS, b"a\nb\nc\n")
    said = {"delete": "deleted", "increment": "incremented", "abandon": "abandoned"}[verb]
    reply = ask("POST", f"{ITEMS}/{verb}", body, content_type=kind, accept="application/json")
    assert reply.json == {said: 2}


def test_an_increment_under_a_key_counts_once(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    replies = [ask("POST", f"{ITEMS}/increment", b"a\n", idempotency_key="k1") for _ in range(3)]
    assert [reply.text for reply in replies] == ["incremented\t1\n"] * 3
    assert [reply.headers.get("idempotency-replayed") for reply in replies] == [None, "true", "true"]
    assert ask.json("GET", f"{ITEMS}/a")["attempts"] == 1
    other = ask("POST", f"{ITEMS}/increment", b"b\n", idempotency_key="k1")
    assert (other.status, other.text.split(":")[0]) == (422, "error key-reused")
    ask("POST", f"{ITEMS}/increment?error=timeout", b"a\n")
    shown = ask.json("GET", f"{ITEMS}/a")
    assert (shown["attempts"], shown["failures"][0]["message"]) == (2, "timeout")


def fail(ask: Client, *keys: str, error: str = "broken") -> None:
    session = ask.json("POST", "/v1/sessions", {})["session"]
    claim = ask.json("POST", "/v1/lists/work/claims", {"session": session, "limit": 100})
    ask.json(
        "PUT",
        f"/v1/claims/{claim['claim']}",
        {"session": session, "fail": [{"key": key, "error": error} for key in keys], "close": True},
    )


def test_all_failed_items_are_retried_or_given_up(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\nc\nd\n")
    fail(ask, "a", "b")
    fail(ask, "c", error="timed out")
    assert ask("POST", f"{ITEMS}/retry?state=failed&dry_run=1").text == "would_be_retried\t3\n"
    assert ask.json("POST", f"{ITEMS}/retry?state=failed&error=timed") == {"retried": 1}
    assert ask.json("POST", f"{ITEMS}/delete?state=failed&dry_run=true") == {"deleted": 2, "dry_run": True}
    assert ask.json("POST", f"{ITEMS}/delete?state=failed") == {"deleted": 2}
    assert ask("GET", ITEMS).text == "c\t0\tready\nd\t0\tready\n"
    progress = ask.json("GET", "/v1/lists/work")["progress"]
    assert (progress["abandoned"], progress["done"]) == (2, 0)


def test_keys_and_all_failed_ones_are_not_asked_for_together(ask: Client) -> None:
    assert ask("POST", f"{ITEMS}/retry?state=failed", b"a\n").status == 400
    assert ask("POST", f"{ITEMS}/retry?error=x", b"a\n").status == 400
    assert ask("PATCH", ITEMS, {"priority": 1}).status == 400


def test_items_are_searched_counted_and_changed_by_a_filter(ask: Client) -> None:
    ask("POST", ITEMS, b"a1\na2\na3\nb1\n")
    fail(ask, "a1", "a2", error="timed out")
    assert ask("GET", "/v1/lists/work/search?prefix=a").text.splitlines()[0] == "a1\t1\tfailed\ttimed out"
    page = ask.json("GET", "/v1/lists/work/search?error=timed&count=1")
    assert ([item["key"] for item in page["items"]], page["next"]) == (["a1"], "a1")
    assert ask.json("GET", "/v1/lists/work/search/count?attempts=1") == {"count": 2, "next": None}
    assert ask.json("PATCH", f"{ITEMS}?prefix=b", {"priority": 1}) == {"saved": 1}
    assert ask.json("POST", f"{ITEMS}/retry?prefix=a&dry_run=1") == {"retried": 2, "dry_run": True}
    assert ask.json("POST", f"{ITEMS}/done?state=failed") == {"done": 2}
    assert ask.json("GET", "/v1/lists/work")["progress"]["done"] == 2


def test_overview_and_throughput_tell_what_is_wrong_and_what_was_done(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    ask("POST", f"{ITEMS}/done", b"a\n")
    overview = ask.json("GET", "/v1/overview?contains=or&count=5")
    assert [(each["name"], each["counts"]["ready"], each["done"]) for each in overview["lists"]] == [("work", 1, 1)]
    for path in ("/v1/throughput", "/v1/lists/work/throughput"):
        assert sum(step["done"] for step in ask.json("GET", f"{path}?span=15m")["steps"]) == 1
    assert len(ask("GET", "/v1/throughput?span=15m").text.splitlines()) == 16


def test_a_dry_run_counts_and_changes_nothing(ask: Client) -> None:
    ask("POST", ITEMS, b"a\nb\n")
    assert ask("POST", f"{ITEMS}/delete?dry_run=1", b"a\nx\n").text == "would_be_deleted\t1\n"
    assert ask("POST", f"{ITEMS}/retry?dry_run=1", b"a\n").text == "would_be_retried\t0\n"
    assert len(ask("GET", ITEMS).text.splitlines()) == 2


def test_results_are_kept_where_the_list_keeps_them(ask: Client) -> None:
    ask("PUT", "/v1/lists/work", {"keep_results": True})
    ask("POST", ITEMS, b"a\n")
    session = ask.json("POST", "/v1/sessions", {})["session"]
    claim = ask.json("POST", "/v1/lists/work/claims", {"session": session})["claim"]
    ask.json("PUT", f"/v1/claims/{claim}", {"session": session, "done": [{"key": "a", "result": {"size": 3}}]})
    [result] = ask.json("GET", f"{ITEMS}/a/results")["results"]
    assert (result["result"], result["attempts"]) == ({"size": 3}, 0)
    assert datetime.fromisoformat(result["settled_at"]).tzinfo == UTC


def test_a_page_is_no_larger_than_the_limits_say(ask: Client) -> None:
    most = ask.json("GET", "/v1/limits")["page_items"]
    ask("POST", ITEMS, b"a\n")
    assert ask("GET", f"/v1/lists/work/items?count={most}").status == 200
    assert ask("GET", f"/v1/lists/work/items?count={most + 1}").status == 400


@pytest.mark.parametrize(("levels", "code"), [(129, "invalid-data"), (5_000, "invalid-body")])
@pytest.mark.parametrize(
    ("method", "path", "body", "kind"),
    [
        ("POST", ITEMS, '{{"items": [{{"key": "b", "data": {}}}]}}', "application/json"),
        ("POST", ITEMS, '{{"key": "b", "data": {}}}', NDJSON),
        ("PUT", f"{ITEMS}/b", '{{"data": {}}}', "application/json"),
        ("PATCH", f"{ITEMS}/a", '{{"data": {}}}', "application/json"),
    ],
)
def test_data_nested_too_deeply_are_refused(
    quick: Client, levels: int, code: str, method: str, path: str, body: str, kind: str
) -> None:
    quick("POST", ITEMS, b"a\n")
    deep = body.format("[" * levels + "]" * levels)
    reply = quick(method, path, deep, content_type=kind, accept="application/json")
    assert (reply.status, reply.json["code"], "at most 128" in reply.json["detail"]) == (400, code, True)
    assert [(item["key"], item["data"]) for item in quick.json("GET", ITEMS)["items"]] == [("a", None)]
