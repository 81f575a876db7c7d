"""The service mounted under a prefix of another application, which runs no lifespan for it."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route
from tests.http.serving import Client, serving_app, until

from rowlock import Engine, Worker
from rowlock.http import Service
from rowlock.http.requests import split_root_path

ITEMS = "/rl/v1/lists/work/items"

pytestmark = pytest.mark.own_protocol  # these servers speak uvicorn's already


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with Engine(tmp_path_factory.mktemp("mount") / "work.db") as engine:
        app = Starlette(routes=[Route("/v1/lists", outer), Mount("/rl", app=Service(engine, loopback=True))])
        with serving_app(app) as client:
            yield client


async def outer(_: Request) -> PlainTextResponse:
    return PlainTextResponse("of the outer application")


def test_routes_are_found_below_the_prefix_alone(ask: Client) -> None:
    assert ask("POST", ITEMS, b"a\nb\n").text == "added\t2\nexisting\t0\n"
    assert ask("GET", "/v1/lists").text == "of the outer application"
    assert (ask("GET", "/v1/lists/work/items").status, ask("GET", "/rl/rl/v1/lists").status) == (404, 404)


def test_a_key_may_hold_a_slash(ask: Client) -> None:
    assert ask("PUT", f"{ITEMS}/a%2Fb", {"data": 1}).status == 201
    assert ask.json("GET", f"{ITEMS}/a%2Fb")["key"] == "a/b"


def test_the_link_to_the_next_page_leads_there(ask: Client) -> None:
    ask("POST", "/rl/v1/lists/paged/items", b"a\nb\n")
    link = ask("GET", "/rl/v1/lists/paged/items?count=1").headers["link"]
    assert link.startswith("</rl/v1/lists/paged/items?")
    assert ask("GET", link[1 : link.index(">")]).text.startswith("b\t")


def test_what_was_made_is_where_it_is_said_to_be(ask: Client) -> None:
    made = ask("POST", "/rl/v1/sessions", {})
    assert made.headers["location"].startswith("/rl/v1/sessions/")
    assert ask("DELETE", made.headers["location"]).status == 200


def test_the_description_names_the_prefix(ask: Client) -> None:
    described = ask.json("GET", "/rl/openapi.json")
    assert (described["servers"], "/v1/lists" in described["paths"]) == ([{"url": "/rl"}], True)


def test_the_index_page_leads_to_what_is_below_the_prefix(ask: Client) -> None:
    page = ask("GET", "/rl/").text
    assert 'href="/rl/overview.json"' in page
    assert 'src="/rl/static/' in page


def test_a_prefix_that_a_proxy_has_removed_is_in_links(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine:
        app = Starlette(routes=[Mount("/rl", app=Service(engine, loopback=True))])
        with serving_app(app, root_path="/api") as ask:
            ask("POST", ITEMS, b"a\nb\n")
            assert ask("GET", f"{ITEMS}?count=1").headers["link"].startswith(f"</api{ITEMS}?")


def test_a_prefix_that_the_path_does_not_contain_is_in_links(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine:
        service = Service(engine, loopback=True)

        async def prefixed(scope: Any, receive: Any, send: Any) -> None:
            await service({**scope, "root_path": "/api"}, receive, send)

        with serving_app(prefixed) as ask:
            ask("POST", "/v1/lists/work/items", b"a\nb\n")
            link = ask("GET", "/v1/lists/work/items?count=1").headers["link"]
    assert link == '</api/v1/lists/work/items?count=1&after=a>; rel="next"'


def test_a_worker_starts_with_the_first_request(tmp_path: Path) -> None:
    with Engine(tmp_path / "work.db") as engine:
        worker, done = Worker(engine), threading.Event()
        worker.on("work", lambda _: done.set())
        with serving_app(Starlette(routes=[Mount("/rl", app=Service(engine, loopback=True, worker=worker))])) as ask:
            ask("POST", ITEMS, b"a\n")
            until(done.is_set)
        worker.stop()
        # Without a lifespan nobody waits for it, and the engine is closed next.
        until(lambda: not any(each.name == "rowlock http worker" for each in threading.enumerate()))


def test_an_outer_lifespan_stops_what_it_has_started(tmp_path: Path) -> None:
    before = set(threading.enumerate())
    with Engine(tmp_path / "work.db") as engine:
        service = Service(engine, loopback=True)
        app = Starlette(routes=[Mount("/rl", app=service)], lifespan=service.lifespan)
        with serving_app(app) as ask:
            assert ask("GET", "/rl/livez").status == 200
            assert any(each.name == "rowlock http upkeep" for each in set(threading.enumerate()) - before)
        assert not any(each.name.startswith("rowlock http") for each in set(threading.enumerate()) - before)


@pytest.mark.parametrize(
    ("root", "raw_path", "found"),
    [
        ("", b"/v1/lists", ("", b"/v1/lists")),
        ("/rl", b"/rl/v1/lists", ("/rl", b"/v1/lists")),
        ("/rl/", b"/rl/v1/a%2Fb", ("/rl", b"/v1/a%2Fb")),
        ("/rl", b"/rl", ("/rl", b"/")),
        ("/rl", b"/rlx/v1", ("/rl", b"/rlx/v1")),
        ("/a/ü", b"/a/%C3%BC/v1", ("/a/%C3%BC", b"/v1")),
        ("/api", b"/v1/lists", ("/api", b"/v1/lists")),
    ],
)
def test_the_path_below_the_prefix_is_found(root: str, raw_path: bytes, found: tuple[str, bytes]) -> None:
    assert split_root_path({"root_path": root, "raw_path": raw_path}) == found


def test_a_server_that_gives_no_raw_path_is_served_too() -> None:
    assert split_root_path({"root_path": "/rl", "path": "/rl/ü b"}) == ("/rl", b"/%C3%BC%20b")
