"""One session used by several threads or tasks: each item is handed out once, and none is kept from the others."""

import asyncio
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.waiting import WAIT_SECONDS

from rowlock import AsyncEngine, Engine, Session

pytestmark = pytest.mark.parametrize("dialect", ["sqlite", "postgres"])

KEYS = [f"{number:03}" for number in range(200)]
THREADS = 6


class FirstClaim:
    """A history that keeps the answer of the first claim back until it is let go."""

    def __init__(self) -> None:
        self.landed = threading.Event()
        self.let_go = threading.Event()

    def __call__(self, event: dict[str, Any]) -> None:
        if event["operation"].startswith("claims.take") and event["phase"] == "ok" and not self.landed.is_set():
            self.landed.set()
            assert self.let_go.wait(WAIT_SECONDS)


@pytest.fixture
def first() -> FirstClaim:
    return FirstClaim()


@pytest.fixture
def recorded(url: str, first: FirstClaim) -> Iterator[Engine]:
    with Engine(url, history=first) as engine:
        engine["work"].add(KEYS)
        yield engine


def work_all(session: Session) -> list[str]:
    """The keys that one thread gets and settles."""
    keys: list[str] = []
    for claim in session.claim("work", limit=2):
        for item in claim:
            claim.done(item)
            keys.append(item.key)
    return keys


def test_a_claim_does_not_end_one_that_another_thread_waits_for(recorded: Engine, first: FirstClaim) -> None:
    with recorded.session() as session, ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(session.take, "work", limit=3)
        assert first.landed.wait(WAIT_SECONDS)
        second = session.take("work", limit=3)
        first.let_go.set()
        claims = [claim for claim in (waiting.result(), second) if claim is not None]
        assert [item.key for claim in claims for item in claim] == KEYS[:6]


def test_threads_that_share_a_session_work_each_item_once(engine: Engine) -> None:
    engine["work"].add(KEYS)
    with engine.session() as session, ThreadPoolExecutor(THREADS) as threads:
        worked = list(threads.map(work_all, [session] * THREADS))
    assert Counter(key for keys in worked for key in keys) == Counter(KEYS)
    assert engine["work"].counts().total == 0


def test_a_take_that_follows_a_cancelled_one_leaves_no_item_claimed(recorded: Engine, first: FirstClaim) -> None:
    async def cancel_and_repeat() -> list[str]:
        keys: list[str] = []
        async with AsyncEngine.over(recorded).session() as session:
            cancelled = asyncio.ensure_future(session.take("work", limit=3))
            await asyncio.to_thread(first.landed.wait, WAIT_SECONDS)
            cancelled.cancel()
            await asyncio.wait([cancelled])
            second = await session.take("work", limit=3)
            first.let_go.set()
            async with second:
                keys += [item.key for item in second.items]
                for item in second.items:
                    second.done(item)
            while len(keys) < len(KEYS):  # what the cancelled one has claimed is given back by a thread
                async for claim in session.claim("work"):
                    keys += [item.key for item in claim.items]
                    for item in claim.items:
                        claim.done(item)
        return keys

    keys = asyncio.run(asyncio.wait_for(cancel_and_repeat(), WAIT_SECONDS))
    assert sorted(keys) == KEYS
