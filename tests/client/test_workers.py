"""A worker that has only an address: whatever happens between it and the database, each item is settled once."""

import signal
import threading
from collections import Counter
from collections.abc import Iterator

import pytest
from tests.client.losing import Losing, losing
from tests.client.process import Process, serving_process
from tests.http.serving import Serving
from tests.worker.logs import collected
from tests.worker.running import eventually, running, work_off

from rowlock import Client, Engine, Item, Worker
from rowlock.errors import Invalid, NeedsDatabase, TokenRefused

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
NAMES = [f"k{number:03}" for number in range(200)]


@pytest.fixture
def pair(served: Serving) -> Iterator[tuple[Losing, Client]]:
    with losing(served.client.port) as found:
        yield found


def test_lost_answers_neither_settle_nor_hand_out_twice(pair: tuple[Losing, Client]) -> None:
    between, client = pair
    client["work"].add(NAMES)
    handled: Counter[str] = Counter()
    worker = Worker(client, concurrency=4)

    @worker.on("work", attempts=3, backoff="0s..0s")
    def handle(item: Item) -> None:
        handled[f"{item.key} {item.attempts}"] += 1
        if len(handled) % 20 == 1:
            between.lose = 1
        if item.key.endswith("7") and not item.attempts:
            raise ValueError

    work_off(worker)
    progress = client["work"].progress()
    assert (progress.done, progress.retried, client["work"].counts().total) == (200, 20, 0)
    assert (len(handled), set(handled.values())) == (220, {1})
    assert "POST /v1/claims" in between.lost


def test_a_handler_knows_the_trace_that_its_item_was_added_in(client: Client) -> None:
    client["work"].add("a", trace=TRACE)
    found, worker = [], Worker(client)
    worker.on("work")(lambda item: found.append(item.trace))
    work_off(worker)
    assert found == [TRACE]


def test_a_server_that_is_killed_under_a_worker_loses_nothing(sqlite_url: str) -> None:
    handled: Counter[str] = Counter()
    with serving_process(sqlite_url) as process, Client(process.url) as client:
        client["work"].add(NAMES)
        worker = Worker(client, concurrency=4)
        killed = threading.Event()

        @worker.on("work")
        def handle(item: Item) -> None:
            handled[item.key] += 1
            if len(handled) == 100 and not killed.is_set():
                killed.set()
                process.end(signal.SIGKILL)
                threading.Timer(0.3, process.start).start()

        work_off(worker)
        assert (client["work"].progress().done, client["work"].counts().total) == (200, 0)
        assert (len(handled), set(handled.values())) == (200, {1})


def test_items_added_while_a_worker_waits_are_run_soon(client: Client) -> None:
    done: list[str] = []
    worker = Worker(client)
    worker.on("in*", lambda item: done.append(item.key))
    with running(worker):
        assert eventually(client.sessions)
        for key in "abc":
            client["inbox"].add(key)
            assert eventually(lambda key=key: key in done)
    assert client.sessions() == []


def test_a_worker_with_an_unknown_token_fails_at_once(served: Serving) -> None:
    engine: Engine = served.service.engine
    engine.tokens.create("admin")
    with Client(f"http://127.0.0.1:{served.client.port}", token="rl_wrong") as client:
        worker = Worker(client)
        worker.on("work", lambda _: None)
        with pytest.raises(TokenRefused):
            worker.run(signals=False)


def test_a_worker_whose_token_is_revoked_ends_with_the_reason(served: Serving) -> None:
    engine: Engine = served.service.engine
    made = engine.tokens.create("worker")
    engine["work"].add("a")
    with Client(f"http://127.0.0.1:{served.client.port}", token=made.text, patience=0) as client:
        worker = Worker(client)

        @worker.on("work")
        def handle(_: Item) -> None:
            engine.tokens.create("admin")
            engine.tokens.revoke(made.info.id)

        with pytest.raises(TokenRefused):
            worker.run(signals=False)
    assert engine["work"].progress().done <= 1


def test_a_handler_that_writes_in_the_database_is_refused(client: Client) -> None:
    worker = Worker(client)
    with pytest.raises(NeedsDatabase):
        worker.on("work", lambda items, tx: None, batch=5)
    with pytest.raises(NeedsDatabase):
        worker.on("work", lambda item: None, within=lambda items, tx: None)
    with pytest.raises(Invalid, match="an Engine or a Client"):
        Worker("http://127.0.0.1")  # type: ignore[arg-type]


def test_a_remote_handler_that_raises_leaves_its_traceback(client: Client) -> None:
    client["work"].add("a")
    worker = Worker(client)

    @worker.on("work", attempts=1)
    def fail(_: Item) -> None:
        raise OSError("no answer \udcff")

    work_off(worker)
    assert "in fail" in (client["work"].failures("a")[0].traceback or "")


def test_a_worker_says_that_the_server_is_away_and_that_it_is_back(sqlite_url: str) -> None:
    server = Process(sqlite_url)
    try:
        with Client(server.url) as client, collected() as records:
            worker = Worker(client)
            worker.on("work/*", lambda _: None)
            with running(worker):
                assert eventually(lambda: records)
                server.start()
                assert eventually(lambda: len(records) == 2)
    finally:
        server.end()
    assert [record.getMessage() for record in records] == [
        f"waiting: nothing is heard of {server.url}: nobody listens there",
        f"working again: Client('{server.url}') answers",
    ]
