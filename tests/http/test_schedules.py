"""Schedules over HTTP: set, changed under a condition, paused, triggered, forgotten, held to prefixes."""

from typing import Any

import pytest
from tests.http.serving import Client, Serving

JSON = {"accept": "application/json"}
NIGHTLY: dict[str, Any] = {"list": "reports", "cron": "0 3 * * *", "zone": "Europe/Berlin"}
PATH = "/v1/schedules/nightly"


def test_put_makes_a_schedule_and_then_changes_it(ask: Client) -> None:
    made = ask("PUT", PATH, {**NIGHTLY, "data": {"n": 1}, "catch_up": "all"}, **JSON)
    assert (made.status, made.json["data"], made.json["catch_up"]) == (201, {"n": 1}, "all")
    assert (made.json["cron"], made.json["zone"], made.json["paused"]) == ("0 3 * * *", "Europe/Berlin", False)
    changed = ask("PUT", PATH, {"list": "reports", "every": "15m"}, **JSON)
    assert (changed.status, changed.json["every"], changed.json["data"]) == (200, 900, None)


def test_post_makes_a_schedule_and_takes_no_other_of_its_name(ask: Client) -> None:
    assert ask("POST", "/v1/schedules", {"name": "nightly", **NIGHTLY}).status == 201
    assert ask("POST", "/v1/schedules", {"name": "nightly", **NIGHTLY}).status == 200
    other = ask("POST", "/v1/schedules", {"name": "nightly", "list": "reports", "every": 60})
    assert (other.status, other.json["code"]) == (409, "name-taken")
    assert ask.json("GET", PATH)["cron"] == "0 3 * * *"


@pytest.mark.parametrize("plan", [NIGHTLY, {"list": "a", "every": 90, "start": "2030-01-31T12:00:00Z", "data": [1]}])
def test_what_is_shown_can_be_sent_back(ask: Client, plan: dict[str, Any]) -> None:
    shown = ask.json("PUT", PATH, plan)
    told = ("list", "cron", "every", "zone", "start", "key", "data", "gate", "priority", "catch_up")
    assert shown["change"] == "added"
    assert ask.json("PUT", PATH, {name: shown[name] for name in told}) == {**shown, "change": "unchanged"}


def test_a_change_lands_only_on_the_version_that_was_read(ask: Client) -> None:
    tag = ask("PUT", PATH, NIGHTLY).headers["etag"]
    assert ask("PUT", PATH, {**NIGHTLY, "priority": 1}, if_match=tag).status == 200
    late = ask("PUT", PATH, {**NIGHTLY, "priority": 2}, if_match=tag)
    assert (late.status, late.json["code"]) == (412, "stale-version")
    assert ask("DELETE", PATH, if_match=tag).status == 412
    assert ask("PUT", PATH, NIGHTLY, if_none_match="*").status == 412
    assert ask("PUT", "/v1/schedules/other", NIGHTLY, if_match="*").status == 412
    assert ask.json("GET", PATH)["priority"] == 1


def test_what_has_not_changed_is_not_sent_again(ask: Client) -> None:
    ask("PUT", PATH, NIGHTLY)
    tag = ask("GET", PATH).headers["etag"]
    assert ask("GET", PATH, if_none_match=tag).status == 304


def test_a_schedule_is_paused_resumed_and_forgotten(ask: Client) -> None:
    ask("PUT", PATH, NIGHTLY)
    assert [ask.json("POST", f"{PATH}/pause")["changed"] for _ in range(2)] == [True, False]
    assert ask.json("GET", PATH)["next_at"] is None
    assert [ask.json("POST", f"{PATH}/resume")["changed"] for _ in range(2)] == [True, False]
    assert ask.json("DELETE", PATH) == {"removed": "nightly"}
    assert [ask(method, PATH).status for method in ("GET", "DELETE")] == [404, 404]


def test_a_trigger_puts_an_item_on_the_list(ask: Client) -> None:
    ask("PUT", PATH, {**NIGHTLY, "key": "once", "data": 7})
    assert ask.json("POST", f"{PATH}/trigger") == {"added": 1, "existing": 0}
    assert ask.json("GET", "/v1/lists/reports/items/once")["data"] == 7


def test_a_trigger_under_a_key_is_done_once(ask: Client) -> None:
    ask("PUT", PATH, {**NIGHTLY, "key": "once"})
    first = ask.json("POST", f"{PATH}/trigger", idempotency_key="k")
    ask("POST", "/v1/lists/reports/items/delete", b"once\n")
    assert ask.json("POST", f"{PATH}/trigger", idempotency_key="k") == first
    assert ask("GET", "/v1/lists/reports/items").text == ""


def test_the_next_ticks_are_told_in_its_zone(ask: Client) -> None:
    ask("PUT", PATH, NIGHTLY)
    ticks = ask.json("GET", f"{PATH}/ticks?count=3")["ticks"]
    assert [tick[10:19] for tick in ticks] == ["T03:00:00"] * 3
    assert ask("GET", f"{PATH}/ticks").text.count("\n") == 5
    assert ask("GET", f"{PATH}/ticks?count=100000").status == 400


def test_schedules_are_listed_by_pages(ask: Client) -> None:
    for name in ("b", "a", "c"):
        ask("PUT", f"/v1/schedules/{name}", {"list": "work", "every": "1d", "start": "2090-01-01T00:00:00Z"})
    page = ask.json("GET", "/v1/schedules?count=2")
    assert ([each["name"] for each in page["schedules"]], page["next"]) == (["a", "b"], "b")
    assert ask("GET", "/v1/schedules?after=b").text == "c\twork\tevery 86400s\topen\t2090-01-01T00:00:00+00:00\t\t\n"


@pytest.mark.parametrize(
    "wrong",
    [
        {"cron": "never"},
        {"cron": "0 0 31 2 *"},
        {"cron": None},
        {"zone": "Nowhere"},
        {"every": "1m"},
        {"key": "{what}"},
        {"start": "soon"},
        {"start": "5m"},
        {"catch_up": "some"},
        {"priority": 77},
        {"list": "a*"},
        {"crown": "x"},
    ],
)
def test_what_cannot_be_is_refused_and_nothing_written(quick: Client, wrong: dict[str, Any]) -> None:
    assert quick("PUT", "/v1/schedules/wrong", {**NIGHTLY, **wrong}).status in (400, 422)
    assert quick("GET", "/v1/schedules/wrong").status == 404


@pytest.fixture
def held(served: Serving) -> str:
    """What an operator of names that begin with own/ sends; one schedule of such a name is for a foreign list."""
    engine = served.service.engine
    engine.schedule("own/sly").set("foreign/canary", every="1w")
    engine.schedule("own/good").set("own/list", every="1w")
    engine.schedule("other").set("own/list", every="1w")
    return f"Bearer {engine.tokens.create('operator', lists=['own/']).text}"


def test_who_has_prefixes_sees_schedules_whose_name_and_list_are_theirs(served: Serving, held: str) -> None:
    reply = served.client("GET", "/v1/schedules", authorization=held, **JSON)
    assert ([each["name"] for each in reply.json["schedules"]], "canary" in reply.text) == (["own/good"], False)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("DELETE", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/trigger"), ("GET", "/ticks")],
)
@pytest.mark.parametrize("name", ["own%2Fsly", "other"])
def test_a_foreign_schedule_is_out_of_reach(served: Serving, held: str, name: str, method: str, path: str) -> None:
    reply = served.client(method, f"/v1/schedules/{name}{path}", authorization=held)
    assert (reply.status, "canary" in reply.text) == (403, False)


def test_nobody_reaches_into_a_foreign_list_by_a_schedule(served: Serving, held: str) -> None:
    ask = served.client
    into = {"list": "foreign/canary", "every": "1w"}
    assert ask("PUT", "/v1/schedules/own%2Fnew", into, authorization=held).status == 403
    assert ask("POST", "/v1/schedules", {"name": "own/new", **into}, authorization=held).status == 403
    assert ask("POST", "/v1/schedules", {**into, "name": "new", "list": "own/a"}, authorization=held).status == 403
    assert ask("PUT", "/v1/schedules/own%2Fsly", {**into, "list": "own/a"}, authorization=held).status == 403
    assert ask("POST", "/v1/schedules", {**into, "name": "own/new", "list": "own/a"}, authorization=held).status == 201


def test_a_name_that_is_mistyped_is_not_mended_with_a_foreign_one(served: Serving, held: str) -> None:
    assert "did you mean" not in served.client("GET", "/v1/schedules/own%2Fgoods", authorization=held).text


def test_what_is_done_to_schedules_is_recorded(served: Serving) -> None:
    served.client("PUT", PATH, NIGHTLY)
    served.client("POST", f"{PATH}/pause")
    found = [(each.verb, each.details) for each in served.service.engine.audit()]
    assert found == [("schedules.pause", {"schedule": "nightly"}), ("schedules.define", {"schedule": "nightly"})]
