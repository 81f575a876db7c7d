"""How many statements a page takes, and whom the page of a list names as its workers."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.http.serving import Serving, serving

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
    "/counters",
    "/system",
    "/docs",
    "/help",
)


class Statements:
    """Counts the statements that read, by all connections of an engine; tokens are not counted."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, connection: Any) -> "CountedConnection":
        return CountedConnection(connection, self)


class CountedConnection:
    """A connection whose queries are counted."""

    def __init__(self, connection: Any, statements: Statements) -> None:
        self._connection, self._statements = connection, statements

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def query(self, sql: str, *parameters: Any) -> Any:
        """Count a query and run it; to look up tokens belongs to no page."""
        self._statements.count += "rowlock_tokens" not in sql
        return self._connection.query(sql, *parameters)


@pytest.fixture
def statements() -> Statements:
    return Statements()


@pytest.fixture
def counted(url: str, statements: Statements) -> Iterator[Serving]:
    """A server whose statements are counted, without the upkeep that a server does beside its pages."""
    with Engine(url) as filled, Engine(url, wrap=statements) as engine:
        filled["thumbs"].settings(gates=("fetch", "scale"), exclusive=True)
        filled["thumbs"].add(["a", "b"])
        filled["mail"].add("c")
        filled.schedule("nightly").set("thumbs", cron="0 3 * * *")
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
