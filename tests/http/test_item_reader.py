"""Single items that many look at in the same moment: each hears of its own, whatever is wrong with the others'."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import psycopg
import pytest
from tests.http.serving import SECONDS, Client, Reply, Serving

from rowlock import Engine, RowlockError
from rowlock.db import Tx
from rowlock.db.driver import SocketConnection
from rowlock.http import executor
from rowlock.http.executor import ItemReader, VerbExecutor
from rowlock.item_resources import show_many
from rowlock.model import ItemDetails

WANTED = {
    "one/plain": (200, "ready"),
    "one/later": (200, "delayed"),
    "one/broken": (200, "ready"),
    "one/missing": (404, "no-such-item"),
    "one/" + "x" * 513: (400, "invalid-key"),
    "two/plain": (200, "gated"),
    "none/plain": (404, "no-such-list"),
    "one/%C3%A4%2F%20%27": (200, "ready"),
}


def fill(engine: Engine) -> None:
    engine["one"].add(["plain", "ä/ '"], data={"size": 3})
    engine["one"].add("later", due="1h")
    engine["one"].add("broken")
    engine["one"].increment(["broken"], error="no hope")
    engine["two"].add("first")
    engine["two"].add("plain", gate=3)


def told(reply: Reply) -> tuple[int, str]:
    return reply.status, reply.json["state" if reply.status == 200 else "code"]


def test_everybody_hears_of_what_they_asked_for(served: Serving) -> None:
    fill(served.service.engine)
    paths = [f"/v1/lists/{place.replace('/', '/items/', 1)}" for place in WANTED] * 20

    def ask(path: str) -> Reply:
        return served.client("GET", path, accept="application/json")

    with ThreadPoolExecutor(16) as threads:
        found = [told(reply) for reply in threads.map(ask, paths)]
    assert found == list(WANTED.values()) * 20


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_a_file_that_is_slow_is_read_by_others_meanwhile(served: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(served.service.engine)
    ask = partial(served.client, "GET", "/v1/lists/one/items/plain", accept="application/json")
    monkeypatch.setattr(executor, "SLOW_READ_SECONDS", -1.0)  # however quick a read is, it was slow
    monkeypatch.setattr(executor, "SLOW_PAUSE_SECONDS", 3600.0)
    assert [told(ask()) for _ in range(2)] == [(200, "ready")] * 2  # the first opens the file, the second is slow
    begun, go_on = threading.Semaphore(0), threading.Event()

    def slow_show_many(tx: Tx, places: Sequence[executor.Place]) -> list[ItemDetails | RowlockError]:
        begun.release()
        assert go_on.wait(SECONDS)
        return show_many(tx, places)

    monkeypatch.setattr(executor, "show_many", slow_show_many)
    with ThreadPoolExecutor(2) as threads:
        replies = []
        for _ in range(2):
            replies.append(threads.submit(ask))
            assert begun.acquire(timeout=SECONDS)
        alive = served.client("GET", "/livez").status
        go_on.set()
        assert (alive, [told(reply.result(SECONDS)) for reply in replies]) == (200, [(200, "ready")] * 2)


@pytest.mark.parametrize("dialect", ["postgres"])
def test_a_line_that_was_cut_is_opened_anew(served: Serving, url: str) -> None:
    fill(served.service.engine)
    ask = partial(served.client, "GET", "/v1/lists/one/items/plain", accept="application/json")
    assert told(ask()) == (200, "ready")
    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity "
            "where datname = current_database() and pid <> pg_backend_pid()"
        )
    assert [told(ask()) for _ in range(3)] == [(200, "ready")] * 3


def test_nobody_waits_for_another_request_to_be_answered(engine: Engine) -> None:
    fill(engine)

    async def read_again_and_again(reader: ItemReader) -> list[str]:
        return [(await reader.item("one", "plain")).key for _ in range(20)]

    async def read_beside_each_other() -> list[list[str]]:
        executor = VerbExecutor(engine, waiting=10)
        reader = ItemReader(executor, waiting=10)
        try:
            async with asyncio.timeout(SECONDS):
                await reader.item("one", "plain")  # opens a connection: those after it are quick
                return await asyncio.gather(*[read_again_and_again(reader) for _ in range(3)])
        finally:
            reader.close()
            executor.close()

    assert asyncio.run(read_beside_each_other()) == [["plain"] * 20] * 3


@pytest.mark.parametrize("dialect", ["sqlite"])
def test_many_items_of_a_file_are_read_a_few_at_a_time(engine: Engine) -> None:
    engine["one"].add([f"{number}" for number in range(100)])

    async def read_at_once() -> list[int]:
        verbs = VerbExecutor(engine, waiting=200)
        reader = ItemReader(verbs, waiting=200)
        await reader.item("one", "0")
        answered: list[int] = []

        async def look(number: int) -> None:
            await reader.item("one", f"{number}")
            answered[-1] += 1

        async def serve_others() -> None:
            while sum(answered) < 100:
                answered.append(0)
                await asyncio.sleep(0)

        await asyncio.gather(serve_others(), *[look(number) for number in range(100)])
        reader.close()
        verbs.close()
        return answered

    # On a busy machine a second query may run beside a slow one.
    at_most = executor.MAX_CONCURRENT_QUERIES * executor.MAX_ITEMS_PER_EMBEDDED_QUERY
    assert max(asyncio.run(read_at_once())) <= at_most


class Sending:
    """Stands before a real connection and counts its pipelines."""

    def __init__(self, connection: SocketConnection, sent: list[int]) -> None:
        self._connection = connection
        self._sent = sent

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def send_pipeline(self, works: Sequence[Callable[[], Any]]) -> list[Any]:
        self._sent.append(len(works))
        return self._connection.send_pipeline(works)


def test_what_is_asked_for_during_a_query_is_the_next_one(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    monkeypatch.setattr(executor, "SLOW_QUERY_SECONDS", 2 * SECONDS)

    async def ask_during_a_query(engine: Engine, other: psycopg.Connection[Any]) -> None:
        verbs = VerbExecutor(engine, waiting=10)
        reader = ItemReader(verbs, waiting=10)
        await reader.item("one", "plain")  # opens a connection
        sent.clear()
        other.execute("lock table rowlock_items in access exclusive mode")
        first = asyncio.ensure_future(reader.item("one", "plain"))
        while not sent:
            await asyncio.sleep(0)
        later = [asyncio.ensure_future(reader.item("one", "plain")) for _ in range(3)]
        await asyncio.sleep(0)  # they have asked
        other.rollback()
        await asyncio.gather(first, *later)
        reader.close()
        verbs.close()

    with Engine(postgres_url, wrap=partial(Sending, sent=sent)) as engine, psycopg.connect(postgres_url) as other:
        fill(engine)
        asyncio.run(ask_during_a_query(engine, other))
    assert len(sent) == 2


def test_an_item_is_shown_with_how_it_has_failed(served: Serving) -> None:
    fill(served.service.engine)
    shown = served.client.json("GET", "/v1/lists/one/items/broken")
    assert ([each["message"] for each in shown["failures"]], shown["data"]) == (["no hope"], None)
    assert served.client.json("GET", "/v1/lists/one/items/plain")["data"] == {"size": 3}


def test_a_look_is_never_older_than_the_question(served: Serving) -> None:
    ask: Client = served.client
    for number in range(50):
        ask("PUT", "/v1/lists/one/items/a", {"data": number})
        assert ask.json("GET", "/v1/lists/one/items/a")["data"] == number


def test_one_statement_looks_for_all(engine: Engine) -> None:
    fill(engine)
    plain, missing, again = engine.read(show_many, [("one", "plain"), ("one", "missing"), ("one", "plain")])
    assert (plain.key, plain == again, getattr(missing, "code", None)) == ("plain", True, "no-such-item")
