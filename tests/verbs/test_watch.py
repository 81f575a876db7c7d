"""A watch of a list shows its progress until nothing is left that is worked by itself."""

import asyncio
from collections.abc import Callable

import pytest
from tests.http.serving import serving

from rowlock import AsyncEngine, Client, Engine, Invalid, NotFound
from rowlock.environment import Environment
from rowlock.errors import InvalidTransaction
from rowlock.progress import ProgressSnapshot


class Pauses:
    """An environment in which each pause takes two seconds, and does something to the list meanwhile."""

    def __init__(self, url: str, *work: Callable[[Engine], object]) -> None:
        self._url = url
        self._work = list(work)
        self.now = 0.0
        self.seconds: list[float] = []
        self.environment = Environment(monotonic=lambda: self.now, sleep=self._pause)

    def _pause(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self.now += 2
        with Engine(self._url) as other:
            self._work.pop(0)(other)


def done(*keys: str) -> Callable[[Engine], object]:
    """Work that takes items off the list `work`."""
    return lambda engine: engine["work"].done(keys)


def fail_one(engine: Engine) -> None:
    """Fail the first item of the list `work` for good."""
    with engine.session() as session:
        claim = session.take("work", limit=1)
        assert claim is not None
        claim.fail(next(iter(claim)), "no")
        claim.settle()


def watched(url: str, *work: Callable[[Engine], object]) -> list[ProgressSnapshot]:
    """The snapshots of a list `work`, in whose pauses this happens."""
    with Engine(url, environment=Pauses(url, *work).environment) as engine:
        return list(engine["work"].watch())


def test_a_watch_begins_at_once_and_ends_when_all_is_done(engine: Engine, url: str) -> None:
    engine["work"].add(["a", "b", "c"])
    seen = watched(url, done("a"), done("b", "c"))
    assert [(each.done, each.left, each.total) for each in seen] == [(0, 3, 3), (1, 2, 3), (3, 0, 3)]


def test_a_watch_tells_the_rate_and_when_the_list_will_be_done(engine: Engine, url: str) -> None:
    engine["work"].add(["a", "b", "c"])
    seen = watched(url, done("a"), done("b", "c"))
    assert [(each.rate, each.eta) for each in seen] == [(0, None), (0.5, 4.0), (0.75, 0.0)]


def test_what_was_done_before_the_watch_does_not_count(engine: Engine, url: str) -> None:
    engine["work"].add(["a", "b"])
    engine["work"].done("a")
    assert [(each.done, each.total) for each in watched(url, done("b"))] == [(0, 1), (1, 1)]


def test_a_watch_ends_when_only_failed_items_and_what_waits_for_them_are_left(engine: Engine, url: str) -> None:
    engine["work"].add("a")
    engine["work"].add("later", gate=1)
    first, last = watched(url, fail_one)
    assert (first.left, last.failed, last.counts.failed, last.counts.gated) == (2, 1, 1, 1)


def test_a_paused_list_is_watched_until_it_is_done(engine: Engine, url: str) -> None:
    engine["work"].add("a")
    engine["work"].pause()
    assert len(watched(url, lambda other: other["work"].resume(), done("a"))) == 3


def test_a_watch_of_a_complete_list_is_one_snapshot(engine: Engine, url: str) -> None:
    engine["work"].add("a")
    engine["work"].complete()
    assert [each.left for each in watched(url)] == [1]


def test_a_watch_pauses_as_long_as_asked(engine: Engine, url: str) -> None:
    engine["work"].add("a")
    pauses = Pauses(url, done("a"))
    with Engine(url, environment=pauses.environment) as watching:
        list(watching["work"].watch(every="30s"))
    assert pauses.seconds == [30]


def test_a_watch_of_no_list_is_refused(engine: Engine) -> None:
    with pytest.raises(NotFound, match="work"):
        next(engine["work"].watch())


def test_a_watch_without_a_pause_is_refused(engine: Engine) -> None:
    with pytest.raises(Invalid, match="every must be 100ms to 1m, got 0"):
        next(engine["work"].watch(every=0))


def test_a_list_of_a_transaction_is_not_watched(engine: Engine) -> None:
    with engine.transaction() as tx, pytest.raises(InvalidTransaction, match="cannot be watched"):
        next(tx["work"].watch())


def test_an_async_engine_watches(engine: Engine, url: str) -> None:
    engine["work"].add(["a", "b"])

    async def watch() -> list[int]:
        async with AsyncEngine(url, environment=Pauses(url, done("a"), done("b")).environment) as watching:
            return [each.left async for each in watching["work"].watch()]

    assert asyncio.run(watch()) == [2, 1, 0]


def test_a_client_watches(engine: Engine, url: str) -> None:
    engine["work"].add(["a", "b"])
    environment = Pauses(url, done("a"), done("b")).environment
    with serving(engine) as server, Client(f"http://127.0.0.1:{server.client.port}", environment=environment) as client:
        assert [each.left for each in client["work"].watch()] == [2, 1, 0]
