"""What a browser does with pages: keys, no JavaScript, a prefix, hostile text, a database that goes away."""

from pathlib import Path

import pytest
from tests.dashboard.conftest import OpenPage, address
from tests.http.serving import Serving, serving, serving_app, until
from tests.servers import NoServer, Server

from rowlock import Engine
from rowlock.http import Service

SCRIPTS = (
    "<script>alert({})</script>",
    "<img src=x onerror=alert({})>",
    '"><svg onload=alert({})>',
    "'-alert({})-'",
    "javascript:alert({})",
    "</textarea><script>alert({})</script>",
    "{{{{ 7 - {} }}}}<b>",
    "{{% for x in y %}}{}",
    '" autofocus onfocus="alert({})',
    "<a href='javascript:alert({})'>x</a>",
    "--><style>h1{{display:none}}</style>{}",
    "=cmd|' /C calc'!A{}",
    "../../{}",
    "%00%0d%0aset-cookie:x={}",
    "<iframe srcdoc='<script>alert({})</script>'>",
)
HOSTILE = [text.format(number) for number in range(20) for text in SCRIPTS]


def fill_with_hostile_text(engine: Engine) -> list[str]:
    """Use the texts as keys, errors and holders, and some as names of lists; return those names."""
    names = HOSTILE[: len(SCRIPTS)]
    for name in names:
        engine[name].add(HOSTILE[:3])
    engine["work"].settings(gates=tuple(HOSTILE[:3]))
    engine["work"].add([{"key": text, "data": {text: text}} for text in HOSTILE])
    with engine.session(holder=HOSTILE[0]) as session:
        claim = session.take("work", limit=len(HOSTILE))
        assert claim is not None
        for item, text in zip(claim.items, HOSTILE, strict=True):
            claim.fail(item, text)
        claim.settle()
    engine.session(holder=HOSTILE[2]).open()
    return names


def test_hostile_text_stays_text(small: Serving, open_page: OpenPage) -> None:
    assert len(HOSTILE) == 300
    names = fill_with_hostile_text(small.service.engine)
    page = open_page(address(small))
    for path in ("/lists/work", "/lists/work/items", "/lists/work/failures", "/lists/work/drop", "/docs"):
        page.goto(address(small, path))
        assert page.locator("h1").first.is_visible()
    page.goto(address(small, "/lists/work/items?q=state:failed"))
    links = page.locator("td.key a")
    assert links.count() == 50
    for number in (0, 20, 49):
        key = links.nth(number).inner_text()
        links.nth(number).click()
        assert page.locator("h1").inner_text() == key
        page.go_back()
    for name in names[:3]:
        page.goto(address(small))
        page.get_by_role("row").get_by_role("link", name=name, exact=True).first.click()
        assert page.locator("h1").inner_text() == name
    page.goto(address(small, "/search?q=%3Cscript%3Ealert(1)%3C/script%3E&notice=%3Cimg+src=x+onerror=alert(2)%3E"))
    assert page.complaints == []


def test_a_spreadsheet_gets_no_formulas(small: Serving) -> None:
    small.service.engine["work"].add(["=1+1", "@x", "plain"])
    lines = small.client("GET", "/lists/work/items.csv").text.splitlines()
    assert [line.partition(",")[0] for line in lines[1:]] == ["'=1+1", "'@x", "plain"]


def test_everything_works_without_javascript(small: Serving, open_page: OpenPage) -> None:
    page = open_page(address(small), java_script_enabled=False)
    page.get_by_label("List", exact=True).fill("work")
    page.get_by_label("Items, one key to a line").fill("a\nb\nc")
    page.get_by_role("button", name="Add items").click()
    page.get_by_role("button", name="Pause this list").click()
    page.get_by_role("button", name="Resume this list").click()
    page.get_by_label("Items at once").fill("7")
    page.get_by_role("button", name="Change the settings").click()
    page.get_by_role("link", name="Items", exact=True).click()
    page.get_by_label("Select b").check()
    page.get_by_role("button", name="Mark as done…").click()
    page.get_by_role("button", name="Mark as done: 1 item of work").click()
    page.get_by_role("link", name="c", exact=True).click()
    page.get_by_label("Data, as JSON").fill('{"n": 1.5}')
    page.get_by_label("Priority").fill("2")
    page.get_by_role("button", name="Save this item").click()
    engine = small.service.engine
    assert engine["work"].settings().concurrency == 7
    assert [(item.key, item.priority, item.raw_data) for item in engine["work"]] == [
        ("a", 5, None),
        ("c", 2, '{"n":1.5}'),
    ]
    page.goto(address(small, "/lists/work/drop"))
    page.get_by_label("Type the name").fill("wrong")
    page.get_by_role("button", name="Drop work with 2 items").click()
    page.get_by_label("Type the name").fill("work")
    page.get_by_role("button", name="Drop work with 2 items").click()
    assert page.locator(".notice").inner_text() == "Dropped work with 2 items."
    assert engine.lists() == []


def test_all_that_match_are_changed_and_not_only_a_page(small: Serving, open_page: OpenPage) -> None:
    engine = small.service.engine
    engine["work"].add([f"old/{number}" for number in range(120)] + ["new"])
    page = open_page(address(small, "/lists/work/items?q=key:old/"))
    page.get_by_label("all that match").check()
    page.get_by_role("button", name="Abandon…").click()
    assert page.locator("h1").inner_text() == "Abandon: 120 items?"
    assert page.locator("main li").count() == 5
    page.get_by_role("button", name="Abandon: 120 items of work").click()
    assert page.locator(".notice").inner_text() == "Abandoned: 120 items."
    assert [item.key for item in engine["work"]] == ["new"]


def test_keys_lead_through_the_pages(small: Serving, open_page: OpenPage) -> None:
    small.service.engine["alpha"].add("a")
    small.service.engine["beta"].add(["a", "b"])
    page = open_page(address(small))
    page.keyboard.press("/")
    page.keyboard.type("alpha")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="alpha").wait_for()
    page.keyboard.press("g")
    page.keyboard.press("o")
    page.locator("h1", has_text="Overview").wait_for()
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.locator("h1", has_text="alpha").wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("p")
    assert page.locator("#live-switch").inner_text() == "Paused"
    page.get_by_role("button", name="Theme").click()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.locator("#live-switch").inner_text() == "Paused"
    assert page.complaints == []


def test_it_is_mounted_under_a_prefix_in_fastapi(tmp_path: Path, open_page: OpenPage) -> None:
    fastapi = pytest.importorskip("fastapi", reason="FastAPI is not installed")
    with Engine(tmp_path / "work.db") as engine:
        app = fastapi.FastAPI()
        app.mount("/tools/rl", Service(engine, loopback=True))
        engine["mail/in"].add(["a", "b"])
        with serving_app(app) as client:
            page = open_page(f"http://127.0.0.1:{client.port}/tools/rl/")
            page.get_by_role("link", name="mail/in", exact=True).click()
            page.get_by_role("button", name="Pause this list").click()
            page.get_by_role("button", name="Resume this list").wait_for()
            page.locator("#states .s-ready").first.wait_for()
            engine["mail/in"].done("a")
            page.locator("#states", has_text="50 % done").wait_for()
            page.close()  # uvicorn waits for open streams
            assert (page.complaints, engine["mail/in"].info().state) == ([], "paused")


def test_a_page_says_that_the_server_is_away_and_shows_what_it_knew(tmp_path: Path, open_page: OpenPage) -> None:
    with Engine(tmp_path / "work.db") as engine:
        engine["work"].add("a")
        with serving(engine) as found:
            page = open_page(address(found))
            until(lambda: found.service.open_pages == 1)
        page.get_by_text("does not answer").wait_for()
        assert page.get_by_role("link", name="work", exact=True).is_visible()
        assert page.evaluate("document.body.classList.contains('stale')")


def test_a_page_says_that_the_database_is_away_and_that_it_is_back(open_page: OpenPage) -> None:
    try:
        server = Server().start()
    except NoServer as why:
        pytest.skip(str(why))
    try:
        with Engine(server.url(), patience=0.2) as engine:
            engine.migrate()
            engine["work"].add("a")
            with serving(engine) as found:
                page = open_page(address(found))
                until(lambda: found.service.open_pages == 1)
                server.kill()
                page.get_by_text("does not answer").wait_for()
                assert page.get_by_role("link", name="work", exact=True).is_visible()
                server.start()
                page.locator("body:not(.stale)").wait_for()
                page.goto("about:blank")
    finally:
        server.remove()
