"""How many statements a page takes, and whom the page of a list names as its workers."""

from collections.abc import Iterator

import pytest
from tests.http.serving import Serving, serving
from tests.statements import Statements

from rowlock import Engine

MAX_STATEMENTS = 5
PAGES = (
    "/",
    "/search?q=thumb",
    "/lists/thumbs",
    "/lists/thumbs/items",
    "/lists/thumbs/items/a",
    "/lists/thumbs/failures",
    "/sessions",
    "/schedules",
    "/schedules/nightly",
    "/topics",
    "/topics/comics",
    "/counters",
    "/system",
    "/docs",
    "/help",
)


@pytest.fixture
def statements() -> Statements:
    return Statements()


@pytest.fixture
def counted(url: str, statements: Statements) -> Iterator[Serving]:
    """A server whose statements are counted, without the upkeep that a server does beside its pages."""
    with Engine(url) as filled, Engine(url, wrap=statements) as engine:
        filled["thumbs"].settings(gates=("fetch", "scale"), exclusive=True, keep_results=True)
        filled["thumbs"].add(["a", "b"])
        filled["thumbs"].increment("a", error="an error")
        filled["mail"].add("c")
        filled.schedule("nightly").set("thumbs", cron="0 3 * * *")
        filled.topic("comics").define(series="text")
        filled.topic("comics").subscribe("fan", series="Tintin")
        with serving(engine) as found:
            found.service._background.stop()
            yield found


def test_a_page_takes_five_statements_at_most(counted: Serving, statements: Statements) -> None:
    taken = {}
    for path in PAGES:
        assert counted.client("GET", path, accept="text/html").status == 200  # the first fills caches
        statements.count = 0
        counted.client("GET", path, accept="text/html")
        taken[path] = statements.count
    assert {path: count for path, count in taken.items() if count > MAX_STATEMENTS} == {}
    assert taken["/lists/thumbs"] > 0


def test_the_page_of_a_list_names_only_sessions_that_work_it(counted: Serving) -> None:
    engine = counted.service.engine
    with engine.session(holder="other") as other, engine.session(holder="mine") as mine:
        other.take("mail", limit=1)
        mine.take("thumbs", limit=1)
        shown = counted.client("GET", "/lists/thumbs.json").json
    assert [(each["holder"], each["items"]) for each in shown["workers"]] == [("mine", 1)]
