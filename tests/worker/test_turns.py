"""Turns: a worker serves its lists one after the other, and handles no more at once than it may."""

import asyncio
import threading
from typing import Any

import pytest
from tests.waiting import WAIT_SECONDS
from tests.worker.running import running, work_off

from rowlock import Engine, Item, Worker


def test_lists_are_served_in_turn(engine: Engine) -> None:
    engine["large"].add(f"{number:05}" for number in range(600))
    engine["small"].add(["a", "b"])
    order: list[str] = []
    worker = Worker(engine, concurrency=1)
    worker.on("*", lambda items: order.append(items[0].list), batch=10)
    work_off(worker)
    assert "small" in order[:4]


def test_a_list_that_wakes_later_does_not_wait_for_a_large_one_to_end(engine: Engine) -> None:
    engine["large"].add(f"{number:05}" for number in range(2000))
    order: list[str] = []
    worker = Worker(engine, concurrency=1)
    served = threading.Event()

    @worker.on("large", batch=1)
    def slowly(_: Any) -> None:
        order.append("large")
        if len(order) == 1:
            engine["small"].add("a")
        served.wait(0.002)

    @worker.on("small")
    def quickly(_: Item) -> None:
        order.append("small")
        worker.stop()

    worker.run(signals=False)
    assert ("small" in order, len(order) < 2000) == (True, True)


def test_a_list_is_served_while_a_batch_of_another_runs(engine: Engine) -> None:
    engine["large"].add(f"{number:03}" for number in range(100))
    begun, served = threading.Event(), threading.Event()
    worker = Worker(engine, concurrency=2)

    @worker.on("large", batch=100)
    def wait(_: Any) -> None:
        begun.set()
        served.wait(WAIT_SECONDS)

    worker.on("small", lambda _: served.set())
    with running(worker):
        assert begun.wait(WAIT_SECONDS)
        engine["small"].add("a")
        assert served.wait(WAIT_SECONDS / 2)


FAST_ITEMS = 2_000
"""Enough that a worker claims hundreds of items ahead."""


@pytest.mark.parametrize("kind", ["plain", "async"])
def test_what_was_claimed_ahead_is_given_back_when_handlers_become_slow(engine: Engine, kind: str) -> None:
    engine["large"].add(f"{number:05}" for number in range(5_000))
    order: list[str] = []
    worker = Worker(engine, concurrency=2)

    def begin() -> bool:
        order.append("large")
        if len(order) == FAST_ITEMS:
            engine["small"].add("a")
        return len(order) > FAST_ITEMS

    def plain(_: Item) -> None:
        if begin():
            threading.Event().wait(0.01)

    async def coroutine(_: Item) -> None:
        if begin():
            await asyncio.sleep(0.01)

    def stop(_: Item) -> None:
        order.append("small")
        worker.stop()

    worker.on("large", plain if kind == "plain" else coroutine)
    worker.on("small", stop)
    worker.run(signals=False)
    assert order.index("small") < FAST_ITEMS + 600
    assert (engine["large"].counts().claimed, engine["large"].progress().retried) == (0, 0)


def test_no_more_coroutines_run_at_once_than_the_worker_allows(engine: Engine) -> None:
    engine["work"].add(f"{number:03}" for number in range(500))
    running_now: list[str] = []
    most: list[int] = []
    worker = Worker(engine, concurrency=4)

    @worker.on("work")
    async def handle(item: Item) -> None:
        running_now.append(item.key)
        most.append(len(running_now))
        await asyncio.sleep(0.001)
        running_now.remove(item.key)

    work_off(worker)
    assert (max(most), len(most)) == (4, 500)
