"""Whether the store and the processors are well, found out side by side."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from tests.receivers import Heard, free_port, receiver, said
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, Processor, Worker

WELL = said({})


@pytest.fixture
def down(dialect: str, tmp_path: Path) -> Engine:
    """An engine on a database that cannot be reached."""
    sqlite = str(tmp_path / "no" / "such" / "folder" / "work.db")
    return Engine(sqlite if dialect == "sqlite" else f"postgresql://nobody@127.0.0.1:{free_port()}/none")


def health(engine: Engine, url: str, seconds: float = 20.0) -> dict[str, str]:
    worker = Worker(engine)
    worker.process("work", Processor(url, health="/health"), allow=["localhost"])
    return worker.health(seconds=seconds)


def test_all_is_well(engine: Engine) -> None:
    with receiver(WELL) as server:
        assert health(engine, server.url) == {}
    assert [(heard.method, heard.path) for heard in server.heard] == [("GET", "/health")]


def test_an_ill_processor_is_named(engine: Engine) -> None:
    with receiver(said({}, "503 Service Unavailable")) as server:
        told = health(engine, server.url)
    assert told == {"processor of work": f"http://localhost:{server.port}/health says 503 Service Unavailable"}


@pytest.mark.parametrize("status", ["301 Moved Permanently", "404 Not Found", "500 Internal Server Error"])
def test_whatever_is_no_success_is_ill(engine: Engine, status: str) -> None:
    with receiver(said({}, status, location="http://localhost/")) as server:
        assert list(health(engine, server.url)) == ["processor of work"]


def test_a_processor_that_is_down_is_ill(engine: Engine) -> None:
    told = health(engine, f"http://localhost:{free_port()}/")
    assert told["processor of work"].endswith("gave no answer: connection refused")


def test_a_store_that_is_down_is_named(down: Engine) -> None:
    with receiver(WELL) as server:
        assert list(health(down, server.url)) == ["store"]


def test_both_are_named(down: Engine) -> None:
    assert list(health(down, f"http://localhost:{free_port()}/")) == ["store", "processor of work"]


def test_processors_of_lists_are_named_while_the_store_is_down(sqlite_url: str) -> None:
    with Engine(sqlite_url, patience=0.1) as engine, receiver(WELL) as server:
        engine["steps"].settings(processor={"url": server.url, "health": "/health"})
        worker = Worker(engine)
        worker.process("*", allow=["localhost"])
        before = worker.health(seconds=20)
        engine.database.close()
        Path(sqlite_url).write_bytes(b"not a database")
        while_down = list(worker.health(seconds=20))
    assert (before, while_down, list(worker.health(seconds=20))) == ({}, ["store"], ["store", "processor of steps"])


def test_who_is_silent_is_ill_when_the_time_is_over(engine: Engine) -> None:
    over = threading.Event()

    def silent(_: Heard, __: socket.socket) -> bytes:
        over.wait(WAIT_SECONDS)
        return WELL

    with receiver(silent) as server:
        told = health(engine, server.url, 0.3)
        over.set()
    assert list(told) == ["processor of work"]


def test_all_are_asked_at_once(engine: Engine) -> None:
    together = threading.Barrier(5)

    def answer(_: Heard, __: socket.socket) -> bytes:
        together.wait(WAIT_SECONDS)
        return WELL

    with receiver(answer) as server:
        for number in range(5):
            engine[f"list{number}"].settings(processor={"url": f"{server.url}/{number}", "health": f"/{number}"})
        worker = Worker(engine)
        worker.process("*", allow=["localhost"])
        assert worker.health(seconds=WAIT_SECONDS) == {}
    assert len(server.heard) == 5


def test_a_processor_without_a_health_address_counts_as_well(engine: Engine) -> None:
    worker = Worker(engine)
    worker.process("work", Processor("http://localhost:1/"), allow=["localhost"])
    assert worker.health() == {}


def test_a_worker_without_processors_asks_its_store(engine: Engine) -> None:
    assert Worker(engine).health() == {}


def test_only_the_processors_of_its_own_lists_matter_to_a_worker(engine: Engine) -> None:
    refused: Any = {"url": f"http://localhost:{free_port()}/", "health": "/"}
    engine["mine"].settings(processor=refused)
    engine["other"].settings(processor={**refused, "health": "/other"})
    worker = Worker(engine)
    worker.process("mine", allow=["localhost"])
    assert list(worker.health()) == ["processor of mine"]
