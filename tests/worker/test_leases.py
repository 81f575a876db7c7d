"""Workers and exclusive lists: each is worked by one at a time, in order, and nobody has more than a share."""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.waiting import WAIT_SECONDS
from tests.worker.running import eventually, running, said, sound, work_off

from rowlock import Engine, Item, Retry, Worker
from rowlock.environment import Environment

NINE = [f"feeds/{number}" for number in range(9)]
KEYS = [f"{number:02}" for number in range(30)]


def fill(engine: Engine, names: list[str], keys: list[str]) -> None:
    for name in names:
        engine[name].settings(exclusive=True)
        engine[name].add(keys)


def leases(engine: Engine) -> list[int]:
    """How many lists each session has, the fewest first."""
    return sorted(len(info.leases) for info in engine.sessions())


class Notes:
    """Handlers that note what they run, and that it is alone in its list."""

    def __init__(self) -> None:
        self.seen: dict[str, list[str]] = {name: [] for name in NINE}
        self.together: list[str] = []
        self._at_work: Counter[str] = Counter()
        self._lock = threading.Lock()

    def begin(self, item: Item) -> None:
        with self._lock:
            self.seen[item.list].append(item.key)
            self._at_work[item.list] += 1
            if self._at_work[item.list] > 1:
                self.together.append(item.list)

    def end(self, item: Item) -> None:
        with self._lock:
            self._at_work[item.list] -= 1

    def plain(self, item: Item) -> None:
        self.begin(item)
        self.end(item)

    async def later(self, item: Item) -> None:
        self.begin(item)
        await asyncio.sleep(0)
        self.end(item)

    def batch(self, items: list[Item]) -> None:
        for item in items:
            self.begin(item)
            self.end(item)


@pytest.mark.parametrize("kind", ["plain", "later", "batch"])
def test_the_items_of_an_exclusive_list_run_one_after_the_other_in_order(engine: Engine, kind: str) -> None:
    fill(engine, NINE, KEYS)
    notes = Notes()
    options: dict[str, Any] = {"batch": 7} if kind == "batch" else {}
    workers = [Worker(engine, concurrency=4) for _ in range(2)]
    for worker in workers:
        worker.on("feeds/*", getattr(notes, kind), **options)
    threads = [threading.Thread(target=work_off, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert notes.seen == dict.fromkeys(NINE, KEYS)
    assert (notes.together, sound(engine)) == ([], True)


def test_an_exclusive_list_leaves_the_other_slots_to_other_lists(engine: Engine) -> None:
    fill(engine, ["feeds/0"], KEYS)
    engine["other"].add(["x", "y"])
    begun, go = threading.Barrier(3), threading.Event()
    worker = Worker(engine, concurrency=3)

    @worker.on("*")
    def handle(_: Item) -> None:
        if not go.is_set():
            begun.wait(WAIT_SECONDS)
            go.set()

    work_off(worker)
    assert (go.is_set(), engine["feeds/0"].progress().done, engine["other"].progress().done) == (True, 30, 2)


@pytest.mark.parametrize("kind", ["plain", "later"])
def test_what_is_retried_at_once_runs_before_all_that_stands_after_it(engine: Engine, kind: str) -> None:
    fill(engine, ["feeds/0"], KEYS)
    seen: list[str] = []
    worker = Worker(engine)

    def plain(item: Item) -> Retry | None:
        seen.append(item.key)
        return Retry("no", after=0) if item.key in ("02", "20") and item.attempts < 2 else None

    async def later(item: Item) -> Retry | None:
        await asyncio.sleep(0)
        return plain(item)

    worker.on("feeds/*", plain if kind == "plain" else later)
    work_off(worker)
    assert seen == sorted([*KEYS, "02", "02", "20", "20"])
    assert sound(engine)


def test_what_is_retried_later_lets_others_pass(engine: Engine) -> None:
    fill(engine, ["feeds/0"], ["a", "b", "c"])
    seen: list[str] = []
    worker = Worker(engine)

    @worker.on("feeds/*")
    def handle(item: Item) -> Retry | None:
        seen.append(item.key)
        return Retry("no", after="50ms") if item.key == "a" and not item.attempts else None

    work_off(worker)
    assert seen == ["a", "b", "c", "a"]


def test_an_item_past_its_time_lets_the_next_one_begin(engine: Engine) -> None:
    fill(engine, ["feeds/0"], ["a", "b", "c"])
    seen: list[str] = []
    go = threading.Event()
    worker = Worker(engine, concurrency=1)

    @worker.on("feeds/*", timeout="100ms", attempts=1)
    def handle(item: Item) -> None:
        seen.append(item.key)
        if item.key == "a":
            go.wait(WAIT_SECONDS)

    work_off(worker)
    go.set()
    assert (seen, said(engine, "a", "feeds/0")[0]) == (["a", "b", "c"], "timeout")


class Held:
    """Handlers that go on when they are let go, one after the other."""

    def __init__(self) -> None:
        self.begun: list[tuple[str, str]] = []
        self.go = threading.Semaphore(0)

    def __call__(self, item: Item) -> None:
        self.begun.append((item.list, item.key))
        self.go.acquire(timeout=WAIT_SECONDS)


def test_a_gentle_stop_gives_the_list_to_the_next_worker_at_once(engine: Engine) -> None:
    fill(engine, ["feeds/0"], KEYS)
    first, second = Held(), Held()
    ann, bob = Worker(engine, expiry="1h"), Worker(engine, expiry="1h")
    ann.on("feeds/*", first)
    bob.on("feeds/*", second)
    with running(ann) as thread:
        first.go.release(5)
        assert eventually(lambda: len(first.begun) == 6)
        with running(bob):
            ann.stop()
            first.go.release(50)
            thread.join(WAIT_SECONDS)
            assert eventually(lambda: second.begun)
            second.go.release(50)
            assert eventually(lambda: not engine["feeds/0"].counts().total)
    ran = [key for _, key in first.begun + second.begun]
    assert (ran, sound(engine)) == (KEYS, True)


def test_a_fourth_worker_gets_its_share_of_nine_lists(engine: Engine) -> None:
    # So many that none is worked off before the lists are shared, however slow the machine is.
    fill(engine, NINE, [f"{number:03}" for number in range(100)])
    holds = [Held() for _ in range(4)]
    workers = [Worker(engine, concurrency=3) for _ in holds]
    for worker, hold in zip(workers, holds, strict=True):
        worker.on("feeds/*", hold)
    with running(workers[0]), running(workers[1]), running(workers[2]):
        release = _letting_go(holds, engine, [3, 3, 3])
        with running(workers[3]):
            assert release
            assert _letting_go(holds, engine, [2, 2, 2, 3])
            for hold in holds:
                hold.go.release(1000)
            assert eventually(lambda: not any(engine[name].counts().total for name in NINE))
    ran = [each for hold in holds for each in hold.begun]
    assert (len(ran), set(Counter(ran).values()), sound(engine)) == (900, {1}, True)


def _letting_go(holds: list[Held], engine: Engine, wanted: list[int]) -> bool:
    """Let an item end now and then until the lists are shared so."""

    def shared() -> bool:
        for hold in holds:
            hold.go.release()
        return leases(engine) == wanted

    return eventually(_rarely(shared))


def _rarely(look: Callable[[], bool]) -> Callable[[], bool]:
    times = iter(range(10**9))
    return lambda: next(times) % 20 == 0 and look()


def test_hooks_tell_when_a_list_is_ours_and_when_no_more(engine: Engine) -> None:
    fill(engine, ["feeds/0"], ["a"])
    told: list[str] = []
    worker = Worker(engine)
    worker.on_lease(lambda name: told.append(f"have {name}"))
    worker.on_lease_end(lambda name: told.append(f"had {name}"))
    worker.on("feeds/*", lambda item: told.append(f"run {item.key}"))
    work_off(worker)
    assert told == ["have feeds/0", "run a", "had feeds/0"]


def test_a_list_that_becomes_exclusive_under_a_worker_is_worked_in_order(engine: Engine) -> None:
    engine["feeds/0"].add("first")
    hold = Held()
    seen: list[str] = []
    worker = Worker(engine, concurrency=4)

    @worker.on("feeds/*")
    def handle(item: Item) -> None:
        seen.append(item.key)
        if item.key == "first":
            hold(item)

    with running(worker):
        assert eventually(lambda: hold.begun)
        fill(engine, ["feeds/0"], KEYS)
        hold.go.release()
        assert eventually(lambda: not engine["feeds/0"].counts().total)
    assert seen == ["first", *KEYS]


def test_the_gates_of_an_exclusive_list_open_one_after_the_other(engine: Engine) -> None:
    engine["feeds/0"].settings(exclusive=True)
    for gate in (0, 1, 2):
        engine["feeds/0"].add([f"{gate}{key}" for key in "abc"], gate=gate)
    engine["feeds/0"].seal()
    seen: list[str] = []
    worker = Worker(engine)
    worker.on("feeds/*", lambda item: seen.append(item.key))
    work_off(worker)
    assert seen == [f"{gate}{key}" for gate in (0, 1, 2) for key in "abc"]
    assert (engine["feeds/0"].info().state, sound(engine)) == ("complete", True)


class PacedClock:
    """A clock that can nearly stand still, so that only what a test says takes time, however busy the machine is."""

    def __init__(self) -> None:
        self.pace = 0.001
        self._now = self._read_at = time.monotonic()
        self._lock = threading.Lock()

    def __call__(self) -> float:
        with self._lock:
            read_at = time.monotonic()
            self._now += (read_at - self._read_at) * self.pace
            self._read_at = read_at
            return self._now

    def advance(self, seconds: float) -> None:
        """Let that many seconds pass at once."""
        with self._lock:
            self._now += seconds


def test_a_worker_that_becomes_slow_gives_back_all_that_waits_of_an_exclusive_list(url: str) -> None:
    clock = PacedClock()
    blocked, released = threading.Event(), threading.Event()
    claimed: list[int] = []

    def slow(item: Item) -> None:
        clock.advance(0.001)
        held = [engine[name].counts().claimed for name in ("feed", "plain")]
        if not blocked.is_set() and min(held) > 20:
            claimed.append(held[0])
            clock.pace = 1.0
            blocked.set()
            released.wait()

    def fast(item: Item) -> None:
        clock.advance(0.001)

    with Engine(url, environment=Environment(monotonic=clock)) as engine:
        fill(engine, ["feed"], [f"{number:04}" for number in range(1_000)])
        engine["plain"].add(f"{number:04}" for number in range(2_000))
        worker = Worker(engine, concurrency=1)
        worker.on("plain", slow)
        worker.on("feed", fast)
        with running(worker):
            try:
                assert blocked.wait(WAIT_SECONDS)
                assert eventually(lambda: engine["feed"].counts().claimed < claimed[0])
            finally:
                released.set()
            assert eventually(lambda: engine["feed"].page(limit=1) == engine["plain"].page(limit=1) == [])
        assert sound(engine)
