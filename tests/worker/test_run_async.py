"""A worker beside an event loop of the program: its async handlers run on that loop, and a cancellation stops it."""

import asyncio

import pytest
from tests.waiting import WAIT_SECONDS
from tests.worker.running import sound

from rowlock import AsyncEngine, Engine, Item, Worker


def test_async_handlers_run_on_the_loop_of_the_program(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"])
    worker = Worker(engine)
    loops: list[asyncio.AbstractEventLoop] = []

    @worker.on("work")
    async def handle(_: Item) -> None:
        await asyncio.sleep(0)
        loops.append(asyncio.get_running_loop())

    async def main() -> asyncio.AbstractEventLoop:
        await worker.run_async(until="done")
        return asyncio.get_running_loop()

    loop = asyncio.run(main())
    assert loops == [loop] * 3
    assert sound(engine)


def test_a_worker_of_an_async_engine_works(url: str) -> None:
    async def main() -> list[str]:
        done: list[str] = []
        async with AsyncEngine(url) as engine:
            await engine["work"].add(["a", "b"])
            worker = Worker(engine)
            worker.on("work", lambda item: done.append(item.key))
            await worker.run_async(until="done")
            assert (await engine["work"].counts()).total == 0
        return sorted(done)

    assert asyncio.run(main()) == ["a", "b"]


def test_a_cancellation_lets_running_handlers_finish(engine: Engine) -> None:
    engine["work"].add(["a", "b"])
    worker = Worker(engine, concurrency=1)

    async def main() -> None:
        begun, let_go = asyncio.Event(), asyncio.Event()

        @worker.on("work")
        async def handle(_: Item) -> None:
            begun.set()
            await let_go.wait()

        running = asyncio.create_task(worker.run_async())
        await asyncio.wait_for(begun.wait(), WAIT_SECONDS)
        running.cancel()
        await asyncio.sleep(0)
        let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(main())
    assert (engine["work"].progress().done, engine["work"].counts().ready) == (1, 1)
    assert sound(engine)


def test_a_second_cancellation_does_not_wait_for_handlers(engine: Engine) -> None:
    engine["work"].add("a")
    worker = Worker(engine, grace=WAIT_SECONDS)

    async def main() -> bool:
        begun, cancelled = asyncio.Event(), False

        @worker.on("work")
        async def handle(_: Item) -> None:
            nonlocal cancelled
            begun.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled = True
                raise

        running = asyncio.create_task(worker.run_async())
        await asyncio.wait_for(begun.wait(), WAIT_SECONDS)
        running.cancel()
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        return cancelled

    assert asyncio.run(main())
    assert (engine["work"].counts().ready, engine["work"].show("a").attempts) == (1, 0)
    assert sound(engine)
