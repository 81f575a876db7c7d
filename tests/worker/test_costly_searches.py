"""Searches that take long: while an old snapshot is open one walks over all that was settled."""

import time
from itertools import count

from tests.worker.running import eventually, running

from rowlock import Engine, Worker
from rowlock.environment import Environment


def test_a_worker_whose_searches_take_long_still_finds_what_came_back(url: str) -> None:
    ticks = count()
    # Each look at the clock is a tenth of a second, so that every search seems to take long.
    slow = Environment(monotonic=lambda: time.monotonic() + 0.1 * next(ticks))
    with Engine(url, environment=slow) as engine:
        engine["work"].add(f"{number}" for number in range(20))
        with engine.session() as session:
            held = session.take("work", limit=10)
            worker = Worker(engine)
            worker.on("work", lambda _: None)
            with running(worker):
                assert eventually(lambda: engine["work"].progress().done == 10)
                engine["work"].add("late")
                assert eventually(lambda: engine["work"].progress().done == 11)
                assert held is not None
                session.close()
                assert eventually(lambda: engine["work"].progress().done == 21)


def test_a_worker_that_ends_when_nothing_is_ready_leaves_nothing_behind(url: str) -> None:
    ticks = count()
    slow = Environment(monotonic=lambda: time.monotonic() + 0.1 * next(ticks))
    with Engine(url, environment=slow) as engine:
        engine["work"].add(f"{number}" for number in range(20))
        engine["work"].add("urgent", priority=1)
        worker = Worker(engine)
        worker.on("work", lambda _: None)
        worker.run(until="idle", signals=False)
        assert engine["work"].progress().done == 21
