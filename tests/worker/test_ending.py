"""A worker that ends by itself: only when nothing is ready, nothing is claimed and nothing is in flight."""

import threading
from collections.abc import Callable, Iterator

import pytest
from tests.client.process import serving_process
from tests.waiting import WAIT_SECONDS

from rowlock import Client, Engine, Item, Move, Retry, Then, Worker
from rowlock.environment import Environment
from rowlock.outcomes import Outcome
from rowlock.testing import drain

ITEMS = 8
TURNS = 3


def move_or_retry(item: Item) -> Outcome | None:
    """Ask for another turn at once until the item has had all of its turns."""
    turn, key = (item.data or 0) + 1, int(item.key)
    if turn < TURNS:
        return Move(data=turn)
    return Retry("again", after=0) if key % 2 and not item.attempts else None


def run_until_idle(source: Engine | Client) -> int:
    """Work a list whose items come back at once, until the worker says that it is idle; how many items are left."""
    source["again"].add(map(str, range(ITEMS)))
    worker = Worker(source, concurrency=4, flush="1ms")
    worker.on("again", move_or_retry, attempts=100)
    worker.run(until="idle", signals=False)
    return source["again"].counts().total


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    """A client of a server in a process of its own."""
    with serving_process(url) as process, Client(process.url) as client:
        yield client


class Looks:
    """Random numbers that tell when the worker has looked for work in vain, and put its next look far off."""

    def __init__(self) -> None:
        self.empty = threading.Event()
        self._worker = threading.current_thread()

    def __call__(self) -> float:
        if threading.current_thread() is self._worker:
            self.empty.set()
        return 10_000.0


@pytest.mark.parametrize("outcome", [Move(data=1), Retry("again", after=0)], ids=["move", "retry"])
@pytest.mark.parametrize("end", [lambda worker: worker.run(until="idle", signals=False), drain], ids=["run", "drain"])
def test_an_item_that_comes_back_after_an_empty_look_is_worked_before_the_end(
    url: str, outcome: Outcome, end: Callable[[Worker], object]
) -> None:
    looks = Looks()
    with Engine(url, environment=Environment(random=looks)) as engine:
        engine["work"].add("a")
        worker, turns = Worker(engine), []

        @worker.on("work", attempts=5)
        def handle(item: Item) -> Outcome | None:
            turns.append(item.key)
            assert looks.empty.wait(WAIT_SECONDS)  # the worker has seen that nothing else is ready
            return outcome if len(turns) == 1 else None

        end(worker)
        assert (turns, engine["work"].counts().total) == (["a", "a"], 0)


def test_an_item_that_comes_of_a_settlement_is_worked_before_the_end(url: str) -> None:
    looks = Looks()
    with Engine(url, environment=Environment(random=looks)) as engine:
        engine["parts"].add("a")
        engine["parts"].seal(then=Then("whole", key="b"))
        worker, turns = Worker(engine), []

        @worker.on("*")
        def handle(item: Item) -> None:
            turns.append(item.key)
            assert looks.empty.wait(WAIT_SECONDS)

        worker.run(until="idle", signals=False)
        assert turns == ["a", "b"]


@pytest.mark.parametrize("runs", [10, pytest.param(200, marks=pytest.mark.torture)])
def test_no_worker_ends_while_items_come_back_at_once(engine: Engine, runs: int) -> None:
    assert [run_until_idle(engine) for _ in range(runs)] == [0] * runs


@pytest.mark.parametrize("runs", [3, pytest.param(200, marks=pytest.mark.torture)])
def test_no_remote_worker_ends_while_items_come_back_at_once(client: Client, runs: int) -> None:
    assert [run_until_idle(client) for _ in range(runs)] == [0] * runs


def test_what_others_hold_and_what_a_limit_holds_back_is_not_waited_for(engine: Engine) -> None:
    engine["slow"].add(["a", "b"])
    engine["slow"].settings(rate="1/1h")
    engine["theirs"].add("c")
    engine["theirs"].settings(exclusive=True)
    engine["paused"].add("d")
    engine["paused"].pause()
    worker, turns = Worker(engine, holder="ours"), []
    worker.on("*", lambda item: turns.append(item.key))
    with engine.session(holder="other") as session:
        claim = session.take("theirs")
        assert claim is not None
        worker.run(until="idle", signals=False)
        assert turns == ["a"]


def test_a_worker_ends_when_a_session_of_the_same_holder_has_the_list(engine: Engine) -> None:
    engine["work"].settings(exclusive=True)
    engine["work"].add(["a", "b"])
    with engine.session(holder="nightly") as session:
        assert session.take("work", limit=1) is not None
        worker = Worker(engine, holder="nightly")
        worker.on("work", lambda _: None)
        worker.run(until="idle", signals=False)
        assert engine["work"].progress().done == 0
