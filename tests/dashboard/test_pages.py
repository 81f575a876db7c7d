"""Every page in a browser: accessible in both themes, within 360 pixels, without a complaint of the policy."""

import gzip
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.dashboard.conftest import COLOURS, OpenPage, accessibility_violations, address
from tests.http.serving import Serving, serving

from rowlock import Engine
from rowlock.dashboard import PAGES as ENTRIES
from rowlock.dashboard.rendering import ASSETS, STATIC

PAGES = [
    "/",
    "/login",
    "/search?q=a",
    "/docs",
    "/help",
    "/lists/thumbs",
    "/lists/thumbs/items",
    "/lists/thumbs/items/0.jpg",
    "/lists/thumbs/failures",
    "/lists/thumbs/drop",
    "/sessions",
    "/schedules",
    "/schedules/nightly",
    "/topics",
    "/topics/comics",
    "/counters",
    "/system",
    "/lists/nowhere",
]
CUT = """[...document.querySelectorAll("main section, main .scroll, .totals div")]
.filter((part) => part.scrollWidth > part.clientWidth + 1).map((part) => part.outerHTML.slice(0, 200))"""
"""The parts of a page that hold more than fits into their width."""
FIRST_LOAD_BYTES = 60 * 1024
VENDORED = {"htmx-2.0.11.min.js": "d6fdc75f204e6bde"}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server with some of everything."""
    with Engine(tmp_path_factory.mktemp("pages") / "work.db") as engine:
        engine["mail/in"].add(["a.json", "b c", "d/e"])
        engine["thumbs"].settings(gates=("download-pictures", "scale"))
        engine["thumbs"].add([{"key": f"{number}.jpg", "data": {"n": number}} for number in range(9)])
        engine["thumbs"].add("later.jpg", gate="scale")
        engine.schedule("nightly").set("thumbs", cron="0 3 * * *")
        engine.schedule("nightly").trigger()
        engine.topic("comics").define(series="text")
        engine.topic("comics").subscribe("fan", series="Tintin")
        engine.counter("invoices/2026").next()
        session = engine.session(holder="worker").open()
        claim = session.take("thumbs", limit=3)
        assert claim is not None
        for item in claim.items:
            claim.fail(item, "Status 404")
        claim.settle()
        session.take("thumbs", limit=1)
        with serving(engine) as found:
            yield found


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_accessible_in_both_themes_and_fits_a_telephone(
    filled: Serving, open_page: OpenPage, path: str
) -> None:
    page = open_page(address(filled, path), color_scheme="light")
    light = accessibility_violations(page)
    page.emulate_media(color_scheme="dark")
    dark = accessibility_violations(page, COLOURS)
    page.set_viewport_size({"width": 360, "height": 740})
    overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    cut = page.evaluate(CUT)
    missing = [each for each in page.complaints if "404" not in each]  # one of the pages is not there
    assert (light, dark, overflow, cut, missing) == ([], [], 0, [], [])


def test_the_first_load_is_small(filled: Serving) -> None:
    texts = {path: filled.client("GET", path, accept="text/html").text for path in PAGES}
    files = {path: set(re.findall(r'"(/static/[^"]+)"', text)) for path, text in texts.items()}
    known = {file: filled.client("GET", file, accept_encoding="gzip").body for file in set().union(*files.values())}
    sizes = {
        path: len(gzip.compress(texts[path].encode())) + sum(len(known[file]) for file in files[path]) for path in PAGES
    }
    assert {path: size for path, size in sizes.items() if size > FIRST_LOAD_BYTES} == {}


def test_vendored_files_are_those_that_were_published() -> None:
    files = {path.name: path for path in (STATIC / "vendor").iterdir() if path.suffix in (".js", ".css")}
    assert {name: _digest(path) for name, path in files.items()} == VENDORED


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def test_static_files_are_kept_for_good_and_have_their_type(filled: Serving) -> None:
    name = next(name for name in ASSETS if name.endswith(".css"))
    reply = filled.client("GET", f"/static/{name}")
    assert reply.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert reply.headers["content-type"] == "text/css; charset=utf-8"
    assert filled.client("GET", "/static/other.css").status == 404


def test_a_page_has_twins_as_json_and_csv(filled: Serving) -> None:
    shown = filled.client("GET", "/overview.json").json
    assert {each["name"] for each in shown["lists"]} == {"mail/in", "thumbs"}
    assert filled.client("GET", "/overview.csv").text.startswith("name,state,")


@pytest.mark.parametrize("ending", [".json", ".csv"])
def test_every_page_with_rows_has_twins(filled: Serving, ending: str) -> None:
    paths = [
        page.path.replace("{list}", "thumbs") for page in ENTRIES if page.method == "GET" and page.role is not None
    ]
    asked = ["/overview" if path == "/" else path for path in paths if "{" not in path]
    statuses = {path: filled.client("GET", path + ending).status for path in asked}
    assert set(statuses.values()) == {200}, statuses


def test_a_page_allows_no_script_or_style_within_it(filled: Serving) -> None:
    reply = filled.client("GET", "/")
    policy: Any = reply.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"<style|<script>|\son\w+=|\sstyle=", reply.text)


def test_a_name_that_ends_like_a_twin_has_a_page_and_twins(filled: Serving) -> None:
    page = filled.client("GET", "/lists/mail%2Fin/items").text
    assert 'href="/lists/mail%2Fin/items/a%2Ejson"' in page
    assert "<h1>a.json</h1>" in filled.client("GET", "/lists/mail%2Fin/items/a%2Ejson").text
    assert filled.client("GET", "/lists/mail%2Fin/items/a%2Ejson.json").json["item"]["key"] == "a.json"
    assert filled.client("GET", "/lists/mail%2Fin/items/a.json").status == 404


def test_a_filter_that_cannot_be_read_says_what_is_allowed(filled: Serving) -> None:
    asked = ("stat:failed", "state:broken", "attempts:many", "gate:nowhere", "key:a key:b")
    pages = [filled.client("GET", f"/lists/thumbs/items?q={quote(text)}") for text in asked]
    assert [page.status for page in pages] == [400] * 5
    assert "did you mean state:?" in pages[0].text
    assert "ready, delayed, gated, claimed, failed" in pages[1].text


def test_a_filter_finds_items_by_all_its_conditions(filled: Serving) -> None:
    asked = ("state:failed attempts:>0 error:404", 'key:"0.jpg"', "gate:scale", "attempts:>1", "later")
    found = [filled.client("GET", f"/lists/thumbs/items.json?q={quote(text)}").json["items"] for text in asked]
    assert [[item["key"] for item in items] for items in found] == [
        ["0.jpg", "1.jpg", "2.jpg"],
        ["0.jpg"],
        ["later.jpg"],
        [],
        ["later.jpg"],
    ]


def test_the_system_page_sees_no_risk_in_connections_that_claimed_without_a_flush(filled: Serving) -> None:
    findings = filled.client("GET", "/system.json").json["system"]["findings"]
    assert [each["name"] for each in findings if each["state"] == "risk"] == []
