"""What a browser does with pages: keys, no JavaScript, a prefix, hostile text, a database that goes away."""

from pathlib import Path
from urllib.parse import quote

import pytest
from tests.dashboard.conftest import OpenPage, address
from tests.http.serving import Serving, serving, serving_app, until
from tests.servers import NoServer, Server

from rowlock import Engine
from rowlock.dashboard import PAGES
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


WITHOUT_SLASH = next(text for text in HOSTILE if "/" not in text and "<" in text)


def fill_with_hostile_text(engine: Engine) -> None:
    """Use the texts as names of lists, schedules, topics and counters, and as keys, data, errors, holders and gates."""
    for name in HOSTILE:
        engine[name].add(HOSTILE[:3])
    engine["work"].settings(gates=tuple(HOSTILE[:3]))
    engine["work"].add([{"key": text, "data": {text: text}} for text in HOSTILE])
    with engine.session(holder=HOSTILE[0]) as session:
        claim = session.take("work", limit=len(HOSTILE))
        assert claim is not None
        for item, text in zip(claim.items, HOSTILE, strict=True):
            claim.fail(item, text)
        claim.settle()
    for text in HOSTILE[: len(SCRIPTS)]:
        engine.schedule(text).set(text, every="1h", key=text)
        engine.schedule(text).trigger()
        engine.counter(text).next()
    topic = engine.topic(WITHOUT_SLASH)
    topic.define(series="text")
    topic.subscribe_many([(text, {"series": text}) for text in HOSTILE])


def every_page() -> list[str]:
    """Every page of the table, for a list, key, schedule and topic with a hostile name; and all pages of long lists."""
    named = {"list": HOSTILE[0], "key": HOSTILE[1], "schedule": HOSTILE[2], "topic": WITHOUT_SLASH}
    paths = [entry.path for entry in PAGES if entry.method == "GET"]
    found = [path.format(**{name: quote(text, safe="") for name, text in named.items()}) for path in paths]
    hostile = quote(HOSTILE[0])
    return [
        *found,
        *(f"/?offset={number}" for number in (100, 200)),
        *(f"/lists/work/items?after={quote(after)}" for after in sorted(HOSTILE)[49::50]),
        "/lists/work/failures",
        f"/lists/work/items/{quote(HOSTILE[3], safe='')}",
        f"/lists/work/items?q={hostile}",
        f"/search?q={hostile}&notice={hostile}",
    ]


def test_hostile_text_stays_text_on_every_page(small: Serving, open_page: OpenPage) -> None:
    assert len(HOSTILE) == 300
    engine = small.service.engine
    fill_with_hostile_text(engine)
    page = open_page(address(small))
    for path in every_page():
        page.goto(address(small, path))
        assert page.locator("h1").first.is_visible(), path
    for half in (HOSTILE[:150], HOSTILE[150:]):
        sessions = [engine.session(holder=holder, beats=False).open() for holder in half]
        sessions[0].take("work", limit=1)
        page.goto(address(small, "/sessions"))
        assert set(page.locator("#sessions tbody th").all_inner_texts()) == {text.strip() for text in half}
        for session in sessions:
            session.close()
    refused = [each for each in page.complaints if "400" not in each and "404" not in each]  # some filters are none
    assert refused == []


def test_links_lead_to_things_with_hostile_names(small: Serving, open_page: OpenPage) -> None:
    engine = small.service.engine
    for name in HOSTILE[: len(SCRIPTS)]:
        engine[name].add(name)
    page = open_page(address(small))
    for name in HOSTILE[1:4]:
        page.goto(address(small))
        page.get_by_role("row").get_by_role("link", name=name, exact=True).first.click()
        assert page.locator("h1").inner_text() == name
        page.get_by_role("link", name="Items", exact=True).click()
        page.locator("td.key a").click()
        assert page.locator("h1").inner_text() == name


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
