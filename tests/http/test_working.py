"""A service that works: it sends items to the processors of their lists while it serves."""

import socket

from tests.http.serving import Client, serving
from tests.races.killing import until
from tests.receivers import Heard, free_port, receiver, said

from rowlock import Engine, Worker

ALLOWED = ("localhost",)


def worker(engine: Engine) -> Worker:
    made = Worker(engine, concurrency=2)
    made.process("*", allow=ALLOWED)
    return made


def answer(heard: Heard, _: socket.socket) -> bytes:
    return said({}) if heard.path == "/health" else said({"done": True})


def test_items_of_lists_with_a_processor_are_sent(engine: Engine) -> None:
    with receiver(answer) as processor, serving(engine, worker=worker(engine)) as served:
        served.client.json("PUT", "/v1/lists/hooks", {"processor": {"url": processor.url}})
        served.client("POST", "/v1/lists/hooks/items", "a\nb\n")
        served.client("POST", "/v1/lists/others/items", "c\n")
        until(lambda: engine["hooks"].progress().done == 2)
    assert {heard.headers["rowlock-key"] for heard in processor.heard} == {"a", "b"}
    assert engine["others"].counts().ready == 1


def test_health_names_a_processor_that_is_ill(engine: Engine) -> None:
    with receiver(answer) as processor, serving(engine, worker=worker(engine)) as served:
        settings = {"processor": {"url": processor.url, "health": f"http://localhost:{processor.port}/health"}}
        served.client.json("PUT", "/v1/lists/well", settings)
        assert served.client("GET", "/v1/health").status == 200
        settings = {"processor": {"url": processor.url, "health": f"http://localhost:{free_port()}/health"}}
        served.client.json("PUT", "/v1/lists/ill", settings)
        reply = served.client("GET", "/v1/health", accept="application/json")
    assert (reply.status, reply.json["status"]) == (503, "ill")
    assert [each["name"] for each in reply.json["checks"] if not each["well"]] == ["processor of ill"]


def test_a_service_without_a_worker_is_as_well_as_its_database(ask: Client) -> None:
    assert ask("GET", "/v1/health").text == "ok\tdatabase\nok\n"
