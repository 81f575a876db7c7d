"""Pages of the chat application and of the shop, in a browser on each database."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from tests.apps.chatting import Chatting, chatting
from tests.apps.shopping import C1, C2, Shopping
from tests.dashboard.conftest import COLOURS, OpenPage, accessibility_violations
from tests.dashboard.test_browsing import HOSTILE as SCRIPTS
from tests.http.serving import Client, Reply

FORM = "application/x-www-form-urlencoded"
HOSTILE = "</textarea><img src=x onerror=alert(1)>\"'{{ 7 }}"
ALL_HOSTILE = "\n".join(SCRIPTS)


@pytest.fixture
def chat(url: str) -> Iterator[Chatting]:
    """A chat application on a fresh database."""
    with chatting(url) as found:
        yield found


def address(client: Client, path: str) -> str:
    return f"http://127.0.0.1:{client.port}{path}"


def post(client: Client, path: str, fields: dict[str, str], **headers: str) -> Reply:
    return client("POST", path, urlencode(fields), content_type=FORM, **headers)


def test_two_people_chat_by_a_link_that_one_of_them_shared(chat: Chatting, open_page: OpenPage) -> None:
    ann = open_page(address(chat.client, "/"), java_script_enabled=False)
    ann.get_by_role("link", name="Chat", exact=True).click()
    ann.get_by_label("Name").fill(HOSTILE)
    ann.get_by_role("button", name="Create this application").click()
    ann.get_by_role("button", name="Open a new chat").click()
    ann.get_by_label("Message", exact=True).fill("Is anybody there?")
    ann.get_by_role("button", name="Send").click()
    bob = open_page(ann.get_by_label("link to this chat").inner_text())
    bob.get_by_text("Is anybody there?").wait_for()
    post(chat.client, bob.evaluate("location.pathname"), {"body": HOSTILE})
    bob.get_by_text(HOSTILE, exact=True).last.wait_for()  # without a reload
    assert bob.complaints == []


def test_a_copy_is_added_and_sold_without_javascript(shop: Shopping, open_page: OpenPage) -> None:
    page = open_page(address(shop.ask, "/shop"), java_script_enabled=False)
    add = page.get_by_role("region", name="Add a copy to the stock")
    for name in ("Series", "Publisher"):
        add.get_by_label(name).fill(f"{name} {HOSTILE}")
    for name in ("Issue", "Year"):
        add.get_by_label(name).fill("7")
    add.get_by_role("button").click()
    sell = page.get_by_role("region", name="Sell")
    sell.get_by_label("e-mail").fill(" ")
    sell.get_by_role("button").click()
    assert "email must be a text" in page.get_by_role("alert").inner_text()
    sell.get_by_label("e-mail").fill("ann@example.org")
    sell.get_by_role("button").click()
    assert "it is yours" in page.locator(".notice").inner_text()
    assert [(sale["email"], sale["comic"]["issue"]) for sale in shop.get("/sales")] == [("ann@example.org", 7)]
    assert page.get_by_text("Nothing is in stock.").is_visible()


def test_a_form_that_is_sent_twice_sells_once(shop: Shopping) -> None:
    for comic in (C1, C1):
        shop.post("/comics", comic)
    sold = {"email": "ann", "comic": msgspec.json.encode(C1).decode(), "key": "k"}
    assert [post(shop.ask, "/shop/sell", sold).status for _ in range(2)] == [303, 303]
    assert len(shop.get("/sales")) == 1
    assert "comic must be one of the stock" in post(shop.ask, "/shop/sell", {**sold, "comic": "x"}).text


def test_a_form_that_is_sent_twice_adds_one_copy(shop: Shopping) -> None:
    copy = {**{name: str(value) for name, value in C1.items()}, "mint": "true", "key": "k"}
    assert [post(shop.ask, "/shop/stock", copy).status for _ in range(2)] == [303, 303]
    assert [each["copies"] for each in shop.get("/comics")] == [1]


def test_a_customer_is_subscribed_from_the_page_and_shown_masked(shop: Shopping) -> None:
    post(shop.ask, "/shop/subscribe", {"email": "ann@example.org", "series": "x-men", "mint": "true", "year": ""})
    shop.post("/comics", C2)
    shop.run()
    page = shop.ask("GET", "/shop").text
    assert (shop.told, "a***@example.org" in page, "ann@" in page) == ([("ann@example.org", "x-men")], True, False)


def test_a_viewer_sees_no_forms_and_a_page_of_another_site_writes_nothing(chat: Chatting) -> None:
    path = f"/chat{chat.new()}"
    tokens = {role: chat.engine.tokens.create(role).text for role in ("viewer", "worker")}
    cookies = {role: f"rowlock_token={token}" for role, token in tokens.items()}
    ours = address(chat.client, "")
    shown = {role: chat.client("GET", path, cookie=cookie).text for role, cookie in cookies.items()}
    assert ["Open a new chat" in shown[role] for role in ("viewer", "worker")] == [False, True]
    refused = [
        post(chat.client, path, {}, cookie=cookies["viewer"], origin=ours).status,
        post(chat.client, path, {}, cookie=cookies["worker"], origin="https://evil.example").status,
        post(chat.client, path, {}, cookie=cookies["worker"]).status,
    ]
    assert refused == [403, 403, 403]
    assert post(chat.client, path, {}, cookie=cookies["worker"], origin=ours).status == 303


def violations(page: Any) -> Any:
    """What is wrong with a page in both themes and on a telephone."""
    light = accessibility_violations(page)
    page.emulate_media(color_scheme="dark")
    dark = accessibility_violations(page, COLOURS)
    page.set_viewport_size({"width": 360, "height": 740})
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return light, dark, overflow, page.complaints


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_the_pages_of_chats_are_accessible_and_fit_a_telephone(chat: Chatting, open_page: OpenPage) -> None:
    app = chat.new(HOSTILE)
    chat.made(f"{app}/chats")
    chat.made(f"{app}/chats/1/messages", {"body": ALL_HOSTILE + "x" * 500})
    page = open_page(address(chat.client, "/chat"), color_scheme="light")
    for path in ("/chat", f"/chat{app}", f"/chat{app}/1"):
        page.emulate_media(color_scheme="light")
        page.goto(address(chat.client, path))
        assert violations(page) == ([], [], 0, [])


@pytest.mark.parametrize("dialect", ["sqlite"], indirect=True)
def test_the_page_of_the_shop_is_accessible_and_fits_a_telephone(shop: Shopping, open_page: OpenPage) -> None:
    link = shop.post("/subscriptions", {"email": "ann@example.org"})["unsubscribe"]
    shop.post("/comics", {**C1, "series": HOSTILE, "author": "x" * 300, "artist": ALL_HOSTILE})
    shop.run()
    for path in ("/shop", link):
        assert violations(open_page(address(shop.ask, path), color_scheme="light")) == ([], [], 0, [])
