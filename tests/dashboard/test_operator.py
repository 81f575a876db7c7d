"""What an operator does by hand: notices count right, forms that cannot apply are gone, pages stay live."""

from typing import Any
from urllib.parse import urlencode

import pytest
from tests.dashboard.conftest import OpenPage, address
from tests.http.serving import Reply, Serving, until

FORM = "application/x-www-form-urlencoded"
PLACES = """() => {
    const found = ["td.key a", "tbody .tick input"].map((each) => document.querySelector(each));
    const [key, tick] = found.map((each) => each.getBoundingClientRect());
    return [key.right, tick.left, key.width];
}"""
"""Where the key of an item ends, where the box that selects it begins, and how wide the key is."""


def post(served: Serving, path: str, **fields: str) -> Reply:
    return served.client("POST", path, urlencode(fields), content_type=FORM)


def shown(served: Serving, path: str) -> str:
    return served.client("GET", path, accept="text/html").text


def fail_one_item(served: Serving) -> None:
    with served.service.engine.session() as session:
        claim = session.take("work", limit=1)
        assert claim is not None
        claim.fail(claim.items[0], "boom")
        claim.settle()


def test_a_notice_about_one_item_is_in_the_singular(served: Serving, open_page: OpenPage) -> None:
    page = open_page(address(served))
    page.get_by_label("List", exact=True).fill("work")
    page.get_by_label("Items, one key to a line").fill("a")
    page.get_by_role("button", name="Add items").click()
    page.get_by_text("Added 1 item to work.").wait_for()
    page.get_by_label("Items, one key to a line").fill("a\nb")
    page.get_by_role("button", name="Add items").click()
    page.get_by_text("Added 1 item to work. Already there: 1.").wait_for()
    fail_one_item(served)
    page.goto(address(served, "/lists/work/failures"))
    page.get_by_role("button", name="Retry 1…").click()
    page.get_by_role("button", name="Retry: 1 item of work").click()
    page.get_by_text("Retried: 1 item.").wait_for()
    page.goto(address(served, "/lists/work/items/a"))
    page.get_by_role("button", name="Mark this item as done…").click()
    page.get_by_role("button", name="Mark as done: 1 item of work").click()
    page.get_by_text("Marked as done: 1 item.").wait_for()
    page.goto(address(served, "/lists/work/drop"))
    page.get_by_label("Type the name").fill("work")
    page.get_by_role("button", name="Drop work with 1 item").click()
    page.get_by_text("Dropped work with 1 item.").wait_for()


@pytest.mark.parametrize("items", ["", " \n\t\r\n"])
def test_pasting_nothing_is_refused_and_makes_no_list(served: Serving, items: str) -> None:
    reply = post(served, "/add", list="work", items=items)
    assert (reply.status, "items must hold at least one key" in reply.text) == (400, True)
    assert served.service.engine.lists() == []


def test_the_links_to_data_keep_the_filter_of_the_page(served: Serving, open_page: OpenPage) -> None:
    served.service.engine["work"].add(["a", "b", "c"])
    fail_one_item(served)
    page = open_page(address(served, f"/lists/work/items?{urlencode({'q': 'state:ready key:b', 'notice': 'Done.'})}"))
    links = {name: page.get_by_role("link", name=name, exact=True).get_attribute("href") for name in ("JSON", "CSV")}
    assert links == {
        "JSON": "/lists/work/items.json?q=state%3Aready+key%3Ab",
        "CSV": "/lists/work/items.csv?q=state%3Aready+key%3Ab",
    }
    found = [each["key"] for each in served.client("GET", links["JSON"]).json["items"]]
    assert found == ["b"]
    assert 'href="/overview.csv"' in shown(served, "/")


def test_a_chart_beside_some_lists_is_of_all_and_its_links_keep_the_search(
    served: Serving, open_page: OpenPage
) -> None:
    for name in ("mail & post/in", "mail & post/out", "work"):
        served.service.engine[name].add("a")
    page = open_page(address(served, "/?contains=mail%20%26"))
    page.get_by_role("heading", name="Throughput of all lists").wait_for()
    page.get_by_role("link", name="7 days").click()
    page.locator("[aria-current=true]", has_text="7 days").wait_for()
    assert page.locator("#lists tbody th").all_inner_texts() == ["mail & post/in", "mail & post/out"]


def test_only_gates_that_are_shut_can_be_opened(served: Serving) -> None:
    work = served.service.engine["work"]
    work.settings(gates=("fetch", "scale", "send"))
    work.add([{"key": "a"}, {"key": "b", "gate": "send"}])
    options = [f">{name}</option>" in shown(served, "/lists/work") for name in ("fetch", "scale", "send")]
    work.done("a")
    work.open_gate("send")
    assert (options, "Open this gate" in shown(served, "/lists/work")) == ([False, True, True], False)


def test_a_sealed_list_has_no_form_that_adds_but_says_why_one_was_refused(served: Serving) -> None:
    work = served.service.engine["work"]
    work.add("a")
    work.seal()
    refused = post(served, "/lists/work/add", items="late-key")
    assert "Add items" not in shown(served, "/lists/work")
    assert ("sealed and takes no new items" in refused.text, "late-key" in refused.text) == (True, True)


def test_a_paused_schedule_says_that_its_next_ticks_need_it_to_be_resumed(served: Serving) -> None:
    nightly = served.service.engine.schedule("nightly")
    nightly.set("work", cron="0 3 * * *")
    before = shown(served, "/schedules/nightly")
    nightly.pause()
    after = shown(served, "/schedules/nightly")
    assert ("if it is resumed" in before, "if it is resumed" in after) == (False, True)


def test_an_admin_finds_the_command_that_creates_a_token_also_when_there_are_some(served: Serving) -> None:
    token = served.service.engine.tokens.create("admin").text
    text = served.client("GET", "/system", accept="text/html", authorization=f"Bearer {token}").text
    assert ("token create --role" in text, "There is no token" in text) == (True, False)


def test_on_a_telephone_rows_are_blocks_whose_parts_do_not_collide(served: Serving, open_page: OpenPage) -> None:
    served.service.engine["work"].add("k" * 120)
    fail_one_item(served)
    page = open_page(address(served, "/lists/work/items"), viewport={"width": 360, "height": 740})
    key_right, tick_left, width = page.evaluate(PLACES)
    assert (key_right <= tick_left, width > 180) == (True, True)
    page.goto(address(served, "/lists/work/failures"))
    label = "getComputedStyle(document.querySelector('td:has(form)'), '::before').display"
    assert page.evaluate(label) == "none"


def test_a_page_asks_every_ten_seconds_where_streams_do_not_get_through(served: Serving, open_page: OpenPage) -> None:
    page = open_page("about:blank")
    page.clock.install()
    page.route("**/live", lambda route: route.fulfill(status=503))
    with page.expect_response("**/live"):
        page.goto(address(served))
    served.service.engine["work"].add("a")
    page.clock.run_for(9_000)
    assert page.get_by_role("link", name="work", exact=True).count() == 0
    page.clock.run_for(2_000)
    page.get_by_role("link", name="work", exact=True).wait_for()


def test_a_hidden_page_follows_nothing_and_is_read_again_when_it_is_shown(served: Serving, open_page: OpenPage) -> None:
    page = open_page(address(served))
    until(lambda: served.service.open_pages == 1)
    hide(page, is_hidden=True)
    until(lambda: served.service.open_pages == 0)
    served.service.engine["work"].add("a")
    hide(page, is_hidden=False)
    page.get_by_role("link", name="work", exact=True).wait_for()
    until(lambda: served.service.open_pages == 1)


def hide(page: Any, *, is_hidden: bool) -> None:
    """Tell the page that its tab was hidden or shown, as a browser with a window does."""
    page.evaluate(
        "hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});"
        " document.dispatchEvent(new Event('visibilitychange')); }",
        is_hidden,
    )
