"""Workers and limits: no more at once than allowed, nobody left waiting, and nobody who spins."""

import asyncio
import threading
from collections import Counter
from typing import Any

import pytest
from tests.waiting import WAIT_SECONDS
from tests.worker.running import eventually, running, sound, work_off

from rowlock import Engine, Item, Worker

FAMILIES = "abcd"
ITEMS = [f"{family}/{number:02}" for number in range(10) for family in FAMILIES]


class Notes:
    """Handlers that note how many run at once, of all and of each family."""

    def __init__(self) -> None:
        self.most: Counter[str] = Counter()
        self.done: list[str] = []
        self._now: Counter[str] = Counter()
        self._lock = threading.Lock()

    def begin(self, item: Item) -> None:
        with self._lock:
            for what in ("all", item.key[0]):
                self._now[what] += 1
                self.most[what] = max(self.most[what], self._now[what])

    def end(self, item: Item) -> None:
        with self._lock:
            self._now.subtract(["all", item.key[0]])
            self.done.append(item.key)

    def plain(self, item: Item) -> None:
        self.begin(item)
        threading.Event().wait(0.002)
        self.end(item)

    async def later(self, item: Item) -> None:
        self.begin(item)
        await asyncio.sleep(0.002)
        self.end(item)


def together(engine: Engine, handler: Any) -> None:
    """Two workers until nothing is left."""
    workers = [Worker(engine, concurrency=8) for _ in range(2)]
    for worker in workers:
        worker.on("work", handler)
    threads = [threading.Thread(target=work_off, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("kind", ["plain", "later"])
def test_no_more_run_at_once_than_the_list_allows(engine: Engine, kind: str) -> None:
    engine["work"].settings(concurrency=3)
    engine["work"].add(ITEMS)
    notes = Notes()
    together(engine, getattr(notes, kind))
    assert (notes.most["all"] <= 3, sorted(notes.done), sound(engine)) == (True, sorted(ITEMS), True)


@pytest.mark.parametrize("kind", ["plain", "later"])
def test_no_more_of_a_family_run_at_once_than_allowed(engine: Engine, kind: str) -> None:
    engine["work"].settings(concurrency_by={"separator": "/", "limit": 1})
    engine["work"].add(ITEMS)
    notes = Notes()
    together(engine, getattr(notes, kind))
    assert [notes.most[family] for family in FAMILIES] == [1] * 4
    assert (sorted(notes.done), sound(engine)) == (sorted(ITEMS), True)
    assert [[key for key in notes.done if key[0] == family] for family in FAMILIES] == [
        [key for key in ITEMS if key[0] == family] for family in FAMILIES
    ]


def test_as_many_run_at_once_as_the_list_allows(engine: Engine) -> None:
    engine["work"].settings(concurrency=3)
    engine["work"].add(ITEMS)
    begun = threading.Barrier(3)
    worker = Worker(engine, concurrency=8)
    first = set(ITEMS[:3])
    worker.on("work", lambda item: begun.wait(WAIT_SECONDS) * 0 or None if item.key in first else None)
    work_off(worker)
    assert (begun.broken, engine["work"].progress().done) == (False, 40)


def test_a_rate_is_waited_for_and_the_work_goes_on(engine: Engine) -> None:
    engine["work"].settings(rate="15/1s")
    engine["work"].add(ITEMS)
    notes = Notes()
    together(engine, notes.plain)
    assert (sorted(notes.done), sound(engine)) == (sorted(ITEMS), True)


def test_batches_are_cut_to_what_is_allowed(engine: Engine) -> None:
    engine["work"].settings(concurrency=7)
    engine["work"].add(ITEMS)
    sizes: list[int] = []
    worker = Worker(engine, concurrency=1)
    worker.on("work", lambda items: sizes.append(len(items)), batch=100)
    work_off(worker)
    assert (max(sizes), sum(sizes)) == (7, 40)


def test_a_worker_does_not_spin_at_a_limit(url: str) -> None:
    asked: list[Any] = []
    with Engine(url) as counted, Engine(url, history=asked.append) as engine:
        counted["work"].settings(concurrency=1)
        counted["work"].add(ITEMS)
        go, begun = threading.Event(), threading.Event()
        worker = Worker(engine, concurrency=8)

        @worker.on("work")
        def handle(_: Item) -> None:
            begun.set()
            go.wait(WAIT_SECONDS)

        with running(worker):
            assert begun.wait(WAIT_SECONDS)
            asked.clear()
            threading.Event().wait(1.0)
            claimed = [event for event in asked if "claims.take_thoroughly" in str(event)]
            go.set()
            assert eventually(lambda: not counted["work"].counts().total)
    assert len(claimed) <= 10  # an asking and its answer are two; once a second, and as it reached the limit
