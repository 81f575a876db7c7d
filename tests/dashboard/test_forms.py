"""Forms that are refused: they keep what was typed and show why; roles are checked before a form is read."""

import html
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.dashboard.conftest import OpenPage, address
from tests.http.serving import Reply, Serving, serving

from rowlock import Engine

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server with one list, which nothing here changes."""
    with Engine(tmp_path_factory.mktemp("forms") / "work.db") as engine:
        engine["work"].settings(gates=("fetch", "scale"))
        engine["work"].add("a")
        with serving(engine) as found:
            yield found


def post(served: Serving, path: str, **fields: str) -> Reply:
    return served.client("POST", path, urlencode(fields), content_type=FORM)


@pytest.mark.parametrize(
    ("path", "fields", "error"),
    [
        ("/add", {"list": "", "items": "keep-me"}, "list must not be empty"),
        ("/lists/work/add", {"items": "keep-me\n" + "x" * 2_000}, "key"),
        ("/lists/work/settings", {"rate": "keep-me"}, "rate"),
        ("/lists/work/settings", {"others": '{"keep-me": 1'}, "other settings must be a JSON object"),
        ("/lists/work/rename", {"name": "keep-me" * 100}, "name"),
        ("/lists/work/drop", {"name": "keep-me"}, "name must be that of the list"),
        ("/lists/work/items/a", {"data": "{keep-me", "data_before": "", "priority": "5"}, "data must be JSON"),
        ("/lists/work/items/a", {"due": "keep-me"}, "a duration must be"),
        ("/lists/work/items", {"q": "key:keep-me", "change": "retry", "scope": "selection"}, "no item is selected"),
    ],
)
def test_a_form_that_is_refused_keeps_what_was_typed(
    served: Serving, path: str, fields: dict[str, str], error: str
) -> None:
    reply = post(served, path, **fields)
    text = html.unescape(reply.text)
    _, _, alert = text.partition('role="alert" tabindex="-1" autofocus>')
    shown, _, rest = alert.partition("</p>")
    assert (reply.status, error in shown, "keep-me" in rest) == (400, True, True)
    assert 'id="refresh"' not in text  # it would read the address of the form


def test_a_filter_that_is_refused_stays_in_its_box(served: Serving) -> None:
    reply = served.client("GET", "/lists/work/items?q=stat:failed")
    assert (reply.status, 'value="stat:failed"' in reply.text, "did you mean state:?" in reply.text) == (
        400,
        True,
        True,
    )
    assert (
        served.client("GET", "/lists/work/items.json?q=stat:failed", accept="application/json").json["code"]
        == "invalid-query"
    )


def test_a_form_for_a_list_that_is_not_there_says_so(served: Serving) -> None:
    reply = post(served, "/lists/nowhere/rename", name="other")
    assert (reply.status, "nowhere" in reply.text) == (404, True)


def test_in_a_browser_the_error_is_focused_and_the_form_can_be_sent_again(served: Serving, open_page: OpenPage) -> None:
    page = open_page(address(served, "/lists/work/items/a"))
    page.get_by_label("Data, as JSON").fill("{oops")
    page.get_by_role("button", name="Save this item").click()
    alert = page.get_by_role("alert").filter(has_text="data must be JSON")
    alert.wait_for()
    assert alert.evaluate("element => element === document.activeElement")
    page.get_by_label("Data, as JSON").fill('{"n": 1}')
    page.get_by_role("button", name="Save this item").click()
    page.locator(".notice", has_text="Saved.").wait_for()
    assert served.service.engine["work"].show("a").data == {"n": 1}


def test_roles_are_checked_before_a_form_is_read(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine, serving(engine) as found:
        engine["work"].add("a")
        tokens = {role: engine.tokens.create(role).text for role in ("viewer", "worker", "operator")}
        paths = {"viewer": "/add", "worker": "/lists/work/settings", "operator": "/lists/work/drop"}
        replies = {
            role: found.client("POST", path, b"\xff", content_type="text/plain", authorization=f"Bearer {tokens[role]}")
            for role, path in paths.items()
        }
    assert {role: reply.status for role, reply in replies.items()} == dict.fromkeys(paths, 403)
