"""Stopping, losing the session, pausing: what a worker does when it cannot simply go on."""

import os
import signal
import threading
from typing import Any

from tests.waiting import WAIT_SECONDS
from tests.worker.running import eventually, running, sound, work_off

from rowlock import Counts, Engine, Item, Turn, Worker, sessions


class Gate:
    """A handler that waits until it is let go, and notes what it was given."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.go = threading.Event()

    def __call__(self, item: Item) -> None:
        self.begun.append(item.key)
        self.go.wait(WAIT_SECONDS)


def test_a_gentle_stop_finishes_what_runs_and_hands_back_the_rest(engine: Engine) -> None:
    engine["work"].add(f"{number:03}" for number in range(20))
    gate = Gate()
    worker = Worker(engine, concurrency=2)
    worker.on("work", gate)
    with running(worker) as thread:
        assert eventually(lambda: len(gate.begun) == 2)
        worker.stop()
        gate.go.set()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    assert (engine["work"].counts(), engine["work"].progress().done, sound(engine)) == (Counts(ready=18), 2, True)
    assert sum(item.attempts for item in engine["work"]) == 0


def test_a_second_stop_does_not_wait_for_what_runs(engine: Engine) -> None:
    engine["work"].add(["a", "b", "c"])
    gate = Gate()
    worker = Worker(engine, concurrency=2, grace="1h")
    worker.on("work", gate)
    with running(worker) as thread:
        assert eventually(lambda: len(gate.begun) == 2)
        worker.stop()
        worker.stop(now=True)
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    gate.go.set()
    assert (engine["work"].counts(), sound(engine)) == (Counts(ready=3), True)


def test_what_takes_longer_than_the_grace_is_handed_back(engine: Engine) -> None:
    engine["work"].add("a")
    gate = Gate()
    worker = Worker(engine, grace="50ms")
    worker.on("work", gate)
    with running(worker) as thread:
        assert eventually(lambda: gate.begun)
        worker.stop()
        thread.join(WAIT_SECONDS)
        assert not thread.is_alive()
    gate.go.set()
    assert engine["work"].counts() == Counts(ready=1)


def test_a_failure_in_the_last_batch_before_the_end_is_written(engine: Engine) -> None:
    engine["work"].add("a")
    begun, go = threading.Event(), threading.Event()
    worker = Worker(engine)

    @worker.on("work", batch=5, attempts=1)
    def handle(_: Any) -> None:
        begun.set()
        go.wait(WAIT_SECONDS)
        raise ValueError("bad")

    with running(worker) as thread:
        assert begun.wait(WAIT_SECONDS)
        worker.stop()
        go.set()
        thread.join(WAIT_SECONDS)
    assert engine["work"].counts() == Counts(failed=1)


def test_signals_stop_a_worker_gently(engine: Engine) -> None:
    engine["work"].add("a")
    before = signal.getsignal(signal.SIGTERM)
    worker = Worker(engine)
    worker.on("work", lambda _: os.kill(os.getpid(), signal.SIGTERM))
    worker.run()
    assert (engine["work"].counts(), signal.getsignal(signal.SIGTERM)) == (Counts(), before)


def test_when_the_session_is_lost_nothing_is_settled_and_work_goes_on_under_a_new_one(engine: Engine) -> None:
    engine["work"].add("a")
    tokens: list[tuple[str, bool]] = []
    worker = Worker(engine, expiry="1s", concurrency=1)

    @worker.on("work")
    def handle(_: Item, turn: Turn) -> None:
        if not tokens:
            engine.run(sessions.close, engine.sessions()[0].id)
            tokens.append((turn.token, turn.cancelled.wait(WAIT_SECONDS)))
        else:
            tokens.append((turn.token, turn.cancelled.is_set()))

    with running(worker):
        assert eventually(lambda: engine["work"].progress().done == 1)
    assert (tokens[0][1], tokens[-1][1], len(dict(tokens))) == (True, False, len(tokens))
    assert sound(engine)


def test_what_a_batch_wrote_does_not_stay_when_the_session_was_lost(engine: Engine) -> None:
    engine["work"].add("a")
    calls: list[int] = []
    worker = Worker(engine, concurrency=1)

    @worker.on("work", batch=5)
    def handle(_: Any, tx: Any) -> None:
        if not calls:
            engine.run(sessions.close, engine.sessions()[0].id)
        calls.append(1)
        tx["seen"].add(f"call {len(calls)}")

    with running(worker):
        assert eventually(lambda: engine["work"].progress().done == 1)
    assert [item.key for item in engine["seen"]] == [f"call {len(calls)}"]


def test_a_paused_list_is_left_alone(engine: Engine) -> None:
    engine["work"].add("a")
    engine["work"].pause()
    worker = Worker(engine)
    worker.on("*", lambda _: None)
    with running(worker):
        engine["work"].add("b")
        engine["other"].add("a")
        assert eventually(lambda: engine["other"].progress().done == 1)
        assert engine["work"].counts() == Counts(ready=2)
        engine["work"].resume()
        assert eventually(lambda: engine["work"].counts() == Counts())


def test_a_worker_waits_for_delayed_items_until_all_is_done(engine: Engine) -> None:
    engine["work"].add("a", due="300ms")
    worker = Worker(engine)
    worker.on("work", lambda _: None)
    work_off(worker)
    assert (engine["work"].counts(), sound(engine)) == (Counts(), True)


def test_a_worker_that_runs_until_it_is_idle_leaves_delayed_items(engine: Engine) -> None:
    engine["work"].add("a", due="1h")
    worker = Worker(engine)
    worker.on("work", lambda _: None)
    worker.run(until="idle", signals=False)
    assert (engine["work"].counts(), sound(engine)) == (Counts(delayed=1), True)


def test_ten_thousand_items_of_which_a_tenth_fails_once_add_up(engine: Engine) -> None:
    engine["work"].add(f"{number:05}" for number in range(10_000))
    worker = Worker(engine)

    @worker.on("work", backoff="1ms")
    def handle(item: Item) -> None:
        if item.key.endswith("7") and item.attempts == 0:
            raise OSError("once")

    work_off(worker)
    progress = engine["work"].progress()
    assert (progress.added, progress.done, progress.retried, progress.failed) == (10_000, 10_000, 1_000, 0)
    assert (engine["work"].page(), sound(engine)) == ([], True)
