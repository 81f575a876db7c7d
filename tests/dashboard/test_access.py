"""Signing in, roles, and writes of other sites."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from tests.dashboard.conftest import OpenPage, address
from tests.http.serving import Client, Reply, Serving, serving

from rowlock import Engine

FORM = "application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Serving, dict[str, str]]]:
    """A server with a token of each role."""
    with Engine(tmp_path_factory.mktemp("access") / "work.db") as engine:
        engine["own/work"].add(["a", "b"])
        engine["other"].add(["secret-key"])
        tokens = {role: engine.tokens.create(role).text for role in ("viewer", "worker", "operator", "admin")}
        tokens["scoped"] = engine.tokens.create("operator", lists=["own/"]).text
        with serving(engine) as found:
            yield found, tokens


def post(ask: Client, path: str, token: str, *, origin: str = "", **fields: str) -> Reply:
    """Send a form as a browser does that has signed in."""
    headers = {"content_type": FORM, "cookie": f"theme=x; rowlock_token={token}"}
    if origin:
        headers["origin"] = origin
    return ask("POST", path, urlencode(fields), **headers)


def test_a_person_signs_in_with_a_token_and_comes_to_the_page_they_wanted(
    closed: tuple[Serving, dict[str, str]], open_page: OpenPage
) -> None:
    served, tokens = closed
    page = open_page(address(served, "/lists/other/items?q=secret"))
    page.get_by_label("Access token").fill("rl_wrong")
    page.get_by_role("button", name="Sign in").click()
    assert "not a token" in page.locator("main [role=alert]").inner_text()
    page.get_by_label("Access token").fill(tokens["viewer"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="secret-key").wait_for()
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"], cookie["path"]) == (True, "Strict", "/")
    page.get_by_role("button", name="Sign out").click()
    page.get_by_label("Access token").wait_for()
    assert page.context.cookies() == []


@pytest.mark.parametrize(
    ("role", "buttons"),
    [
        ("viewer", []),
        ("worker", ["Add items"]),
        ("operator", ["Add items", "Pause this list", "Change the settings", "Rename"]),
        ("admin", ["Add items", "Pause this list", "Change the settings", "Rename", "Drop this list"]),
    ],
)
def test_a_page_shows_only_buttons_that_the_role_allows(
    closed: tuple[Serving, dict[str, str]], role: str, buttons: list[str]
) -> None:
    served, tokens = closed
    text = served.client("GET", "/lists/own%2Fwork", authorization=f"Bearer {tokens[role]}").text
    every = ["Add items", "Pause this list", "Change the settings", "Rename", "Drop this list"]
    assert [button for button in every if f">{button}" in text] == buttons


def test_a_form_is_refused_where_the_role_does_not_allow_it(closed: tuple[Serving, dict[str, str]]) -> None:
    served, tokens = closed
    ours = f"http://127.0.0.1:{served.client.port}"
    refused = post(served.client, "/lists/own%2Fwork/act", tokens["worker"], origin=ours, action="pause")
    done = post(served.client, "/lists/own%2Fwork/act", tokens["operator"], origin=ours, action="pause")
    assert (refused.status, done.status, done.headers["location"].partition("?")[0]) == (403, 303, "/lists/own%2Fwork")
    audited = served.client.json("GET", "/v1/audit", authorization=f"Bearer {tokens['admin']}")["records"]
    assert [each["verb"] for each in audited if each["verb"] == "lists.pause"] == ["lists.pause"]
    post(served.client, "/lists/own%2Fwork/act", tokens["operator"], origin=ours, action="resume")


@pytest.mark.parametrize("origin", ["", "https://evil.example", "null"])
def test_a_form_of_another_site_changes_nothing(closed: tuple[Serving, dict[str, str]], origin: str) -> None:
    served, tokens = closed
    for path in ("/lists/own%2Fwork/act", "/v1/lists/own%2Fwork/pause", "/logout"):
        reply = post(served.client, path, tokens["admin"], origin=origin, action="pause")
        assert reply.status == 403
    assert served.service.engine["own/work"].info().state == "open"


def test_a_token_for_some_lists_sees_only_these(closed: tuple[Serving, dict[str, str]]) -> None:
    served, tokens = closed
    bearer = f"Bearer {tokens['scoped']}"
    assert "other" not in served.client("GET", "/overview.csv", authorization=bearer).text
    assert served.client("GET", "/lists/other", authorization=bearer).status == 403
    assert served.client("GET", "/lists/own%2Fwork", authorization=bearer).status == 200


def test_without_a_token_every_page_leads_to_the_sign_in(closed: tuple[Serving, dict[str, str]]) -> None:
    served, _ = closed
    found = [served.client("GET", path) for path in ("/", "/lists/other?x=1", "/docs", "/help")]
    assert [reply.status for reply in found] == [303] * 4
    assert found[1].headers["location"] == "/login?next=%2Flists%2Fother%3Fx%3D1"
    assert served.client("GET", "/overview.json").status == 401


@pytest.mark.parametrize("target", ["//evil.example", "https://evil.example", "/\\evil.example", "/a\nb: c"])
def test_a_sign_in_leads_nowhere_else(closed: tuple[Serving, dict[str, str]], target: str) -> None:
    served, tokens = closed
    ours = f"http://127.0.0.1:{served.client.port}"
    form = urlencode({"token": tokens["viewer"], "next": target})
    reply = served.client("POST", "/login", form, content_type=FORM, origin=ours)
    assert (reply.status, reply.headers["location"]) == (303, "/")


def test_behind_a_proxy_with_tls_the_cookie_is_secure(closed: tuple[Serving, dict[str, str]]) -> None:
    served, tokens = closed
    headers = {"content_type": FORM, "sec_fetch_site": "same-origin", "x_forwarded_proto": "https"}
    reply = served.client("POST", "/login", urlencode({"token": tokens["viewer"]}), **headers)
    assert reply.headers["set-cookie"].endswith("; HttpOnly; SameSite=Strict; Secure")


def test_a_token_that_was_revoked_leads_to_the_sign_in(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine, serving(engine) as found:
        token = engine.tokens.create("viewer")
        cookie = f"rowlock_token={token.text}"
        assert found.client("GET", "/", cookie=cookie).status == 200
        engine.tokens.revoke(token.info.id)
        assert found.client("GET", "/", cookie=cookie).headers["location"] == "/login?next=%2F&refused=1"
