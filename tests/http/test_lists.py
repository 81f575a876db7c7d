"""Lists over HTTP: made, looked at, changed under a condition, forgotten."""

import pytest
from tests.http.serving import Client, Serving

JSON = {"accept": "application/json"}


def test_put_makes_a_list_and_then_changes_it(ask: Client) -> None:
    made = ask("PUT", "/v1/lists/work", {"attempts": 3, "backoff": "1s..5s"}, **JSON)
    assert (made.status, made.json["settings"]) == (201, {"attempts": 3, "backoff": "1s..5s"})
    again = ask("PUT", "/v1/lists/work", {"keep_results": True}, **JSON)
    assert (again.status, again.json["settings"]) == (200, {"keep_results": True})


def test_patch_changes_what_is_named(ask: Client) -> None:
    ask("PUT", "/v1/lists/work", {"attempts": 3, "backoff": "1s..5s"})
    assert ask.json("PATCH", "/v1/lists/work", {"attempts": 7})["settings"] == {"attempts": 7, "backoff": "1s..5s"}
    assert ask("PATCH", "/v1/lists/none", {"attempts": 7}).status == 404


@pytest.mark.parametrize("settings", [{"atempts": 3}, {"attempts": -1}, {"attempts": "x"}, {"backoff": "soon"}])
def test_a_setting_that_cannot_be_is_refused(ask: Client, settings: dict[str, object]) -> None:
    ask("PUT", "/v1/lists/work", {"attempts": 3})
    assert ask("PATCH", "/v1/lists/work", settings).status == 400
    assert ask("PUT", "/v1/lists/work", settings).status in (400, 422)
    assert ask.json("GET", "/v1/lists/work")["settings"] == {"attempts": 3}


def test_a_change_lands_only_on_the_version_that_was_read(ask: Client) -> None:
    tag = ask("PUT", "/v1/lists/work", {"attempts": 3}).headers["etag"]
    ask("POST", "/v1/lists/work/items", b"a\n")  # what is on the list is not its settings
    assert ask("PATCH", "/v1/lists/work", {"attempts": 4}, if_match=tag).status == 200
    late = ask("PATCH", "/v1/lists/work", {"attempts": 5}, if_match=tag)
    assert (late.status, late.json["code"], late.json["version"]) == (412, "stale-version", 3)
    assert ask("DELETE", "/v1/lists/work", if_match=tag).status == 412
    assert ask.json("GET", "/v1/lists/work")["settings"]["attempts"] == 4


def test_a_version_may_be_named_by_its_number(ask: Client) -> None:
    version = ask.json("PUT", "/v1/lists/work", {"attempts": 3})["version"]
    assert ask("PATCH", "/v1/lists/work", {"attempts": 4}, if_match=f'"{version}"').status == 200
    assert ask("PATCH", "/v1/lists/work", {"attempts": 4}, if_match="yesterday").status == 400


def test_star_means_there_or_not_there(ask: Client) -> None:
    assert ask("PUT", "/v1/lists/work", {}, if_match="*").status == 412
    assert ask("PUT", "/v1/lists/work", {}, if_none_match="*").status == 201
    assert ask("PUT", "/v1/lists/work", {}, if_none_match="*").status == 412
    assert ask("PUT", "/v1/lists/work", {}, if_match="*").status == 200


def test_what_has_not_changed_is_not_sent_again(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\n")
    tag = ask("GET", "/v1/lists/work").headers["etag"]
    unchanged = ask("GET", "/v1/lists/work", if_none_match=tag)
    assert (unchanged.status, unchanged.body, unchanged.headers["etag"]) == (304, b"", tag)
    ask("POST", "/v1/lists/work/items", b"b\n")
    assert ask("GET", "/v1/lists/work", if_none_match=tag).status == 200
    assert ask("GET", "/v1/lists/work", if_none_match=tag, **JSON).status == 200


def test_a_page_leads_to_the_next(ask: Client) -> None:
    for name in "abc":
        ask("PUT", f"/v1/lists/{name}", {})
    first = ask("GET", "/v1/lists?count=2", **JSON)
    assert ([each["name"] for each in first.json["lists"]], first.json["next"]) == (["a", "b"], "b")
    assert first.headers["link"] == '</v1/lists?count=2&after=b>; rel="next"'
    last = ask("GET", "/v1/lists?count=2&after=b", **JSON)
    assert ([each["name"] for each in last.json["lists"]], last.json["next"]) == (["c"], None)
    assert "link" not in last.headers


def test_lists_are_rows_in_text_and_lines_in_ndjson(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\nb\n")
    assert ask("GET", "/v1/lists").text == "work\topen\t0\t2\t0\t0\t0\t0\t0\t0%\n"
    [line] = ask("GET", "/v1/lists", accept="application/x-ndjson").lines
    assert (line["name"], line["counts"]["ready"]) == ("work", 2)
    assert "ready\t2\n" in ask("GET", "/v1/lists/work").text


def test_pause_and_resume_say_whether_they_changed_anything(ask: Client) -> None:
    ask("PUT", "/v1/lists/work", {})
    answers = [ask.json("POST", f"/v1/lists/work/{verb}")["changed"] for verb in ("pause", "pause", "resume")]
    assert answers == [True, False, True]
    assert ask("POST", "/v1/lists/none/pause").status == 404


def test_a_list_can_be_dropped_and_renamed(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", b"a\nb\n")
    assert ask.json("POST", "/v1/lists/work/rename", {"name": "done/work"})["name"] == "done/work"
    assert ask("GET", "/v1/lists/work").status == 404
    assert ask.json("DELETE", "/v1/lists/done%2Fwork") == {"dropped": 2}
    assert ask("DELETE", "/v1/lists/done%2Fwork").status == 404


def test_a_list_is_split_into_ranges(ask: Client) -> None:
    ask("POST", "/v1/lists/work/items", "\n".join(f"{number:02}" for number in range(10)))
    parts = ask.json("GET", "/v1/lists/work/ranges?parts=3")["ranges"]
    assert sum(part["count"] for part in parts) == 10
    assert ask("GET", "/v1/lists/work/ranges").status == 400


def test_failures_are_grouped(served: Serving) -> None:
    engine, ask = served.service.engine, served.client
    engine["work"].add(["a", "b"])
    with engine.session() as session:
        claim = session.take("work")
        assert claim is not None
        for item in claim:
            claim.fail(item, f"timed out after {item.position} s")
        claim.settle()
    [group] = ask.json("GET", "/v1/lists/work/failures")["failures"]
    assert (group["count"], group["shape"]) == (2, "timed out after # s")
