"""Workers and a service behind a pooler with two connections: more of them than that, and all get their turn."""

import queue
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from tests.http.serving import serving
from tests.http.working import Remote
from tests.races.killing import BATCH, Gang, account, prepare, settled, until
from tests.worker.running import running

from rowlock import Engine, Worker

LISTENERS = """
select count(*) from pg_stat_activity where datname = current_database() and query = 'listen "rowlock"'
"""
SINGLES = """
worker = Worker(engine, concurrency=8)

@worker.on("work")
def handle(item):
    pass

worker.run(until="done")
engine.close()
"""


def drained(direct: str, pooled: str, program: str, *, items: int, processes: int) -> None:
    with Engine(direct) as engine:
        prepare(engine, items)
        assert Gang(pooled, program, processes).wait(300) == [0] * processes


def test_workers_of_several_processes_do_each_item_once(postgres_url: str, pooled_url: str) -> None:
    drained(postgres_url, pooled_url, BATCH, items=1_000, processes=2)
    with Engine(postgres_url) as engine:
        assert account(engine) == settled(1_000)


@pytest.mark.torture
@pytest.mark.parametrize("program", [BATCH, SINGLES], ids=["batches", "singles"])
def test_many_workers_drain_a_long_list(postgres_url: str, pooled_url: str, program: str) -> None:
    drained(postgres_url, pooled_url, program, items=20_000, processes=8)
    with Engine(postgres_url) as engine:
        assert (engine["work"].info().progress.done, engine["work"].counts().total) == (20_000, 0)


def test_a_waiting_worker_finds_what_is_added_without_a_hint(pooled_url: str) -> None:
    with Engine(pooled_url) as engine, Engine(pooled_url) as other:
        done: queue.Queue[str] = queue.Queue()
        worker = Worker(engine)
        worker.on("work", lambda item: done.put(item.key))
        with running(worker):
            for key in ("early", "late"):
                other["work"].add(key)
                assert done.get(timeout=60) == key


def test_a_service_answers_by_the_pooler(pooled_url: str) -> None:
    with Engine(pooled_url, statement_seconds=30) as engine, serving(engine) as served:
        ask = served.client
        ask("POST", "/v1/lists/work/items", {"items": ["a", "b", "c"]})
        looked = [ask.json("GET", f"/v1/lists/work/items/{key}")["key"] for key in "abcabc"]
        remote = Remote(ask)
        claim = remote.claim(limit=10)
        settled = remote.settle(claim["claim"], done=["a"], fail=[{"key": "b", "error": "broken"}])
        assert (looked, settled.json) == ([*"abcabc"], {"verdicts": {"a": "done", "b": "failed"}})


def listeners(url: str) -> int:
    with psycopg.connect(url) as direct:
        [(count,)] = direct.execute(LISTENERS).fetchall()
        return int(count)


def test_a_worker_listens_at_the_address_for_that(pooled_url: str, postgres_url: str) -> None:
    with Engine(pooled_url, listen_url=postgres_url) as engine:
        worker = Worker(engine)
        worker.on("work", lambda item: None)
        with running(worker):
            until(lambda: listeners(postgres_url) == 1)


def test_a_service_listens_at_the_address_for_that(pooled_url: str, postgres_url: str) -> None:
    with (
        Engine(pooled_url, listen_url=postgres_url) as engine,
        serving(engine) as served,
        ThreadPoolExecutor(1) as threads,
    ):
        waiting = threads.submit(Remote(served.client).keys, wait="60s")
        until(lambda: listeners(postgres_url) == 1)
        engine["work"].add("a")
        assert waiting.result() == ["a"]
