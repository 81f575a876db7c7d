"""Async handles do what the plain ones do, and a cancelled await leaves nothing half done."""

import asyncio
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.waiting import WAIT_SECONDS

from rowlock import AsyncEngine, Engine, Invalid, List, NotFound, Verdict
from rowlock.aio import AsyncList, AsyncSession


def awaited(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Run a test on an event loop of its own."""

    @functools.wraps(test)
    def run(**fixtures: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**fixtures), 60))

    return run


class Gate:
    """A history that holds up one operation until it is let go: what is cancelled then is under way for certain."""

    def __init__(self) -> None:
        self.held = ""
        self.reached = threading.Event()
        self.opened = threading.Event()
        self.closed = threading.Event()

    def __call__(self, event: dict[str, Any]) -> None:
        if (event["operation"], event["phase"]) == (self.held, "ok"):
            self.reached.set()
            assert self.opened.wait(WAIT_SECONDS)
        if (event["operation"], event["phase"]) == ("sessions.close", "ok"):
            self.closed.set()

    async def cancel_at(self, operation: str, work: Awaitable[Any]) -> None:
        """Start the work and cancel it when its operation has landed, before it is told so."""
        self.held = operation
        running = asyncio.ensure_future(work)
        await asyncio.to_thread(self.reached.wait, 30)
        running.cancel()
        self.opened.set()
        with pytest.raises(asyncio.CancelledError):
            await running


@pytest.fixture
def gate() -> Gate:
    return Gate()


@pytest.fixture
def aengine(url: str, gate: Gate) -> Iterator[AsyncEngine]:
    engine = AsyncEngine(url, history=gate)
    yield engine
    engine.plain.close()


@pytest.fixture
def on_file(sqlite_url: str) -> Iterator[AsyncEngine]:
    engine = AsyncEngine(sqlite_url)
    yield engine
    engine.plain.close()


@awaited
async def test_items_are_added_and_read(aengine: AsyncEngine) -> None:
    names = aengine["names"]
    answer = await names.add(["a", "b"], data={"size": 3})
    assert (answer.added, answer.existing) == (2, 0)
    assert (await names.show("a")).data == {"size": 3}
    assert [item.key for item in await names.page()] == ["a", "b"]
    assert [item.key async for item in names] == ["a", "b"]
    assert [item.key async for item in names.items(after="a", page=1)] == ["b"]
    assert [info.name for info in await aengine.lists()] == ["names"]


@awaited
async def test_a_refusal_is_the_same_error(aengine: AsyncEngine) -> None:
    with pytest.raises(NotFound):
        await aengine["nowhere"].info()
    with pytest.raises(Invalid):
        await aengine["names"].add(["two\nlines"])


@awaited
async def test_a_renamed_list_knows_its_name(aengine: AsyncEngine) -> None:
    names = aengine["names"]
    await names.add("a")
    await names.rename("others")
    assert (names.name, repr(names)) == ("others", "AsyncList('others')")
    assert (await names.counts()).ready == 1


@awaited
async def test_claims_are_settled_one_after_the_other(aengine: AsyncEngine) -> None:
    names = aengine["names"]
    await names.add(f"{number}" for number in range(10))
    async with aengine.session() as session:
        async for claim in session.claim(names, limit=4):
            for item in claim:
                claim.done(item)
    assert (await names.progress()).done == 10
    assert await aengine.sessions() == []


@awaited
async def test_outcomes_said_before_a_break_are_settled(aengine: AsyncEngine) -> None:
    names = aengine["names"]
    await names.add(f"{number}" for number in range(10))
    async with aengine.session() as session:
        async for claim in session.claim(names, limit=4):
            for item in claim:
                claim.done(item)
            break
    assert (await names.progress()).done == 4
    assert (await names.counts()).ready == 6


@awaited
async def test_a_claim_in_a_block_is_settled_at_its_end(aengine: AsyncEngine) -> None:
    await aengine["names"].add(["a", "b"])
    async with aengine.session() as session:
        claim = await session.take("names", limit=2)
        assert claim is not None
        async with claim:
            claim.done(claim.items[0])
        assert claim.settled
        assert (await aengine["names"].counts()).ready == 1


@awaited
async def test_a_claim_can_be_settled_in_a_transaction(aengine: AsyncEngine) -> None:
    await aengine["names"].add("a")
    async with aengine.session() as session:
        claim = await session.take(aengine["names"])
        assert claim is not None
        claim.done(claim.items[0])
        async with aengine.transaction() as tx:
            await tx["after"].add("a")
            assert await claim.settle(using=tx) == {"a": Verdict.DONE}
    assert (await aengine["after"].counts()).ready == 1


@awaited
async def test_a_transaction_commits_at_the_end_of_its_block(aengine: AsyncEngine) -> None:
    async with aengine.transaction() as tx:
        await tx["names"].add("a")
        assert [item.key async for item in tx["names"]] == ["a"]
        await aengine["names"].add("b", using=tx)
    assert (await aengine["names"].counts()).ready == 2


@awaited
async def test_an_exception_leaves_nothing_of_a_transaction(aengine: AsyncEngine) -> None:
    async def write() -> None:
        async with aengine.transaction() as tx:
            await tx["names"].add("b")
            await tx["names"].show("nowhere")

    await aengine["names"].add("a")
    with pytest.raises(NotFound):
        await write()
    assert [item.key async for item in aengine["names"]] == ["a"]


@awaited
async def test_a_cancelled_block_leaves_nothing_of_its_transaction(aengine: AsyncEngine) -> None:
    async def write(written: asyncio.Event) -> None:
        async with aengine.transaction() as tx:
            await tx["names"].add("b")
            written.set()
            await asyncio.Event().wait()

    await aengine["names"].add("a")
    written = asyncio.Event()
    running = asyncio.create_task(write(written))
    await written.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await aengine["names"].add("c")
    assert [item.key async for item in aengine["names"]] == ["a", "c"]


@awaited
async def test_a_cancelled_verb_is_finished_by_its_thread(aengine: AsyncEngine, gate: Gate) -> None:
    await gate.cancel_at("items.add", aengine["names"].add("a"))
    await aengine["names"].add("b")
    assert (await aengine["names"].counts()).ready == 2


@awaited
async def test_a_session_whose_opening_was_cancelled_is_closed(aengine: AsyncEngine, gate: Gate) -> None:
    await gate.cancel_at("sessions.open_session", aengine.session().__aenter__())
    await asyncio.to_thread(gate.closed.wait, 30)
    assert await aengine.sessions() == []


@awaited
async def test_a_claim_whose_caller_has_gone_is_released(aengine: AsyncEngine, gate: Gate) -> None:
    await aengine["names"].add(["a", "b"])
    async with aengine.session() as session:
        await gate.cancel_at("claims.take_thoroughly", anext(session.claim("names")))
        assert (await aengine["names"].counts()).ready == 2


@awaited
async def test_a_close_is_finished_before_its_cancellation_is_raised(aengine: AsyncEngine, gate: Gate) -> None:
    session = await aengine.session().open()
    await gate.cancel_at("sessions.close", session.close())
    assert gate.closed.is_set()


@awaited
async def test_one_engine_serves_several_loops(aengine: AsyncEngine) -> None:
    def elsewhere(key: str) -> None:
        asyncio.run(aengine["names"].add(key))

    await aengine["names"].add("a")
    await asyncio.to_thread(elsewhere, "b")
    assert (await aengine["names"].counts()).ready == 2


@awaited
async def test_an_async_engine_can_be_made_of_a_plain_one(engine: Engine) -> None:
    aengine = AsyncEngine.over(engine)
    await aengine["names"].add("a")
    assert engine["names"].counts().ready == 1
    assert aengine.plain is engine


def test_signatures_and_descriptions_are_those_of_the_plain_methods() -> None:
    assert [*inspect.signature(AsyncList.add).parameters] == [*inspect.signature(List.add).parameters]
    assert AsyncList.add.__doc__ == List.add.__doc__
    assert AsyncSession.take.__qualname__ == "AsyncSession.take"
    assert inspect.iscoroutinefunction(AsyncList.add)


@awaited
async def test_a_write_beside_ones_own_transaction_is_refused(on_file: AsyncEngine) -> None:
    async with on_file.transaction() as tx:
        await tx["names"].add("a")
        with pytest.raises(Invalid, match="has a transaction open"):
            await on_file["names"].add("b")
        with pytest.raises(Invalid, match="has a transaction open"):
            async with on_file.transaction():
                pass
    assert (await on_file["names"].counts()).ready == 1


@awaited
async def test_a_transaction_whose_beginning_was_cancelled_is_ended(on_file: AsyncEngine) -> None:
    await on_file.make_ready()
    waiting = on_file.transaction()
    with on_file.plain.transaction():
        entering = asyncio.ensure_future(waiting.__aenter__())
        await asyncio.sleep(0)
        entering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await entering
    async with on_file.transaction() as tx:
        await tx["names"].add("a")
    assert (await on_file["names"].counts()).ready == 1


@awaited
async def test_many_transactions_run_one_after_the_other(on_file: AsyncEngine) -> None:
    async def write(number: int) -> None:
        async with on_file.transaction() as tx:
            await tx["names"].add(f"{number}")
            await asyncio.sleep(0)
            await tx["others"].add(f"{number}")

    await on_file.make_ready()
    await asyncio.gather(*(write(number) for number in range(50)), *(on_file["more"].add("x") for _ in range(50)))
    assert (await on_file["names"].counts()).ready == 50
    assert (await on_file["others"].counts()).ready == 50
