"""A service and a worker that run for long: they take no more memory than they did in the middle."""

import http.client
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from typing import Any

import msgspec
import psutil
import pytest
from tests.http.serving import Client, Reply, read
from tests.http.victim import victim
from tests.races.killing import Gang
from tests.torture import scaled
from tests.waiting import WAIT_SECONDS, until

from rowlock import Engine

pytestmark = [pytest.mark.own_protocol, pytest.mark.torture]

CALLERS, WARMING_CALLERS = 4, 40
"""Those of the first phase, more than the service has threads, let it start all of them."""
PHASES = 8
REQUESTS = scaled(6_000)
ITEMS = scaled(15_000)
MAX_NOISE_BYTES = 1_500_000
MAX_BYTES_PER_CALL = 30
"""What may remain of a request or an item, from the middle of a run to its end."""
MAX_BYTES_PER_CALL_OF_SQLITE = 250
"""Sixteen threads allocate pages of the file and free them: their heaps reach a plateau after 200,000 requests only."""
WORKING = """
from rowlock import Client, Done, Retry
worker = Worker({where}, concurrency=4)

@worker.on("work", attempts=3)
def handle(item):
    if item.key.endswith("7") and item.attempts == 0:
        raise ValueError(item.key)
    return Retry("again") if item.key.endswith("3") and item.attempts == 0 else Done(item.key)

worker.run()
"""
_numbers = count()


class Caller:
    """A client of the service on one connection."""

    def __init__(self, to: Client) -> None:
        self._connection = http.client.HTTPConnection(to.host, to.port, timeout=WAIT_SECONDS)
        self._number = next(_numbers)
        self._asked = 0

    def ask(self, method: str, path: str, body: Any = None, *, status: int = 200) -> Reply:
        """Ask, and read the whole answer."""
        self._connection.request(method, path, msgspec.json.encode(body), {"content-type": "application/json"})
        reply = read(self._connection)
        assert reply.status == status, reply.text
        self._asked += 1
        return reply

    def work(self, requests: int) -> None:
        """Add, look, claim and settle, and ask for what is not there."""
        with closing(self._connection):
            session = self.ask("POST", "/v1/sessions", {"expiry": "1h"}, status=201).json["session"]
            while self._asked < requests:
                key = f"{self._number}-{self._asked}"
                self.ask("POST", "/v1/lists/work/items", {"items": [f"{key}-a", {"key": f"{key}-b", "data": [key]}]})
                self.ask("GET", f"/v1/lists/work/items/{key}-none", status=404)
                self.ask("GET", "/v1/lists/work/items?count=5")
                claim = self.ask("POST", "/v1/lists/work/claims", {"session": session, "limit": 2}).json
                if claim["items"]:
                    done = [item["key"] for item in claim["items"]]
                    self.ask("PUT", f"/v1/claims/{claim['claim']}", {"session": session, "done": done})
                self.ask("GET", "/v1/lists")
            self.ask("DELETE", f"/v1/sessions/{session}")


def all_at_once(callers: int, work: Callable[[], None]) -> None:
    with ThreadPoolExecutor(callers) as threads:
        for running in [threads.submit(work) for _ in range(callers)]:
            running.result()


def assert_plateau(memory: list[int], calls_per_phase: int, most: int = MAX_BYTES_PER_CALL) -> None:
    """Fail if what is held after the last phase is more than after the middle one."""
    middle = len(memory) // 2
    calls = (len(memory) - 1 - middle) * calls_per_phase
    assert memory[-1] - memory[middle] < MAX_NOISE_BYTES + most * calls, memory


@pytest.mark.parametrize(
    ("dialect", "bounds", "most"),
    [
        # With caches of their usual size, of 16 MB for each of up to 17 connections, a file goes on filling them.
        ("sqlite", {"cache_pages": 100}, MAX_BYTES_PER_CALL_OF_SQLITE),
        ("postgres", {}, MAX_BYTES_PER_CALL),
    ],
)
def test_a_service_takes_no_more_memory_however_much_it_is_asked(url: str, bounds: dict[str, int], most: int) -> None:
    with victim(url, **bounds) as prey:
        memory = []
        for callers in (WARMING_CALLERS, *[CALLERS] * PHASES):
            all_at_once(callers, lambda each=REQUESTS // callers: Caller(prey.client).work(each))
            memory.append(prey.memory())
        assert_plateau(memory, REQUESTS, most)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_worker_takes_no_more_memory_however_much_it_works(url: str) -> None:
    keep_working(url, "engine")


def test_a_remote_worker_takes_no_more_memory_however_much_it_works(sqlite_url: str) -> None:
    with victim(sqlite_url) as prey:
        keep_working(sqlite_url, f'Client("http://{prey.client.host}:{prey.client.port}")')


def keep_working(url: str, where: str) -> None:
    with Engine(url) as engine:
        engine["work"].settings(keep_results=False)
        gang = Gang(url, WORKING.format(where=where), 1)
        memory = []
        for phase in range(PHASES):
            engine["work"].add(f"{phase}-{item}" for item in range(ITEMS))
            until(lambda: engine["work"].counts().total == 0)
            memory.append(psutil.Process(gang.processes[0].pid).memory_info().rss)
        gang.end()
        assert_plateau(memory, ITEMS)
