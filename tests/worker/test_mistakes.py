"""Mistakes that newcomers make with workers: each is answered by what is wrong and how to mend it."""

import asyncio
from typing import Any

import pytest
from tests.waiting import until
from tests.worker.logs import collected
from tests.worker.running import running, said, work_off

from rowlock import Client, Engine, Invalid, Worker
from rowlock.errors import AlreadyClosed, InvalidKey


@pytest.fixture(params=["sqlite"])
def dialect(request: pytest.FixtureRequest) -> str:
    """What is refused before a database is asked is refused on all."""
    return str(request.param)


@pytest.mark.parametrize("concurrency", ["4", 0, 1.5, True])
def test_concurrency_is_a_whole_number(engine: Engine, concurrency: Any) -> None:
    with pytest.raises(Invalid, match=f"concurrency must be at least 1, got {concurrency!r}; give a whole number"):
        Worker(engine, concurrency=concurrency)


def test_a_handler_without_a_list_is_refused(engine: Engine) -> None:
    def fetch(_: Any) -> None: ...

    with pytest.raises(Invalid, match=r"got the function 'fetch'; write @worker\.on\('downloads'\)"):
        Worker(engine).on(fetch)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda names: names.add([1, 2]), Invalid, r"got int 1; a key is text: give '1' \(line 1\)|give '1'"),
        (lambda names: names.add(7), Invalid, "got int 7; a key is text: give '7'"),
        (lambda names: names.done(5), InvalidKey, "got int 5; give '5'"),
        (lambda names: names.done([5]), InvalidKey, "is int, not text; write it as text: '5'"),
        (lambda names: names.done(b"a"), InvalidKey, "keys must be text or an iterable of text, got bytes"),
        (lambda names: names.page(limit="3"), Invalid, "limit must be 0 to 100000 items, got '3'; give a whole number"),
        (lambda names: names.page(after=3), InvalidKey, "after must be text"),
    ],
)
def test_a_wrong_argument_of_a_list_is_refused(engine: Engine, call: Any, error: type[Exception], text: str) -> None:
    engine["names"].add("a")
    with pytest.raises(error, match=text):
        call(engine["names"])
    assert engine["names"].counts().total == 1


def test_a_handler_that_returns_no_outcome_is_told_what_to_return(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda _: "sent", attempts=1)
    with collected() as records:
        work_off(worker)
    what = "a handler must return an outcome or None, got str 'sent'; return None, Done(…)"
    assert said(engine, "a")[1].startswith(what)
    assert what in records[0].getMessage()


def test_a_plain_handler_that_returns_a_coroutine_is_told_so(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine)
    worker.on("work", lambda _: asyncio.sleep(0), attempts=1)
    work_off(worker)
    assert "make the handler an async def" in said(engine, "a")[1]


def test_a_misspelt_list_is_named_once(engine: Engine) -> None:
    engine["downloads"].add("a")
    worker = Worker(engine)
    worker.on("downlods", lambda _: None)
    worker.on("other", lambda _: None)
    worker.on("more/*", lambda _: None)
    with collected() as records:
        with running(worker):
            until(lambda: records)
        Worker(engine)
    assert [record.getMessage() for record in records] == ["no list matches 'downlods'; did you mean 'downloads'?"]


def test_a_list_that_does_not_exist_is_named_by_a_worker_that_ends(engine: Engine) -> None:
    worker = Worker(engine)
    worker.on("downloads", lambda _: None)
    with collected() as records:
        worker.run(until="idle", signals=False)
    assert ["no list matches 'downloads'" in record.getMessage() for record in records] == [True]


def test_an_engine_that_is_closed_says_so(engine: Engine) -> None:
    engine["names"].add("a")
    engine.grouped["names"].add("b")
    engine.close()
    for names in (engine["names"], engine.grouped["names"]):
        with pytest.raises(AlreadyClosed, match="the engine is closed; make another engine"):
            names.add("c")
    with pytest.raises(AlreadyClosed), engine.transaction():
        pass


def test_a_worker_whose_engine_is_closed_ends_with_that_error(engine: Engine) -> None:
    engine["names"].add("a")
    worker = Worker(engine)
    worker.on("names", lambda _: engine.close())
    with pytest.raises(AlreadyClosed):
        worker.run(signals=False)


def test_a_client_that_is_closed_says_so() -> None:
    client = Client("http://127.0.0.1:9")
    client.close()
    with pytest.raises(AlreadyClosed, match="the client is closed"):
        client["names"].page()


def test_a_worker_says_that_the_server_is_away() -> None:
    with Client("http://127.0.0.1:9") as client, collected() as records:
        worker = Worker(client)
        worker.on("names", lambda _: None)
        with running(worker):
            until(lambda: records)
    assert [record.getMessage() for record in records] == [
        "waiting: nothing is heard of http://127.0.0.1:9: nobody listens there"
    ]
