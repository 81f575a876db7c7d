"""The work of a record, cut off after each persisted step in turn: the end is the same, everybody is recorded once."""

from collections import Counter
from functools import partial
from itertools import count

import pytest
from tests.conftest import Clock
from tests.races.lives import Life

from rowlock import Engine, Notification, Worker
from rowlock.diagnostics import broken_rules
from rowlock.engine.notification_handler import Notifier

SUBSCRIBERS = [f"{number}" for number in range(5)]


def live(url: str, clock: Clock, steps: int, told: list[str]) -> bool:
    """Work until all is done, or for so many steps; whether all was done."""
    life = Life(steps)
    with Engine(url, clock=clock, wrap=life.wrap, patience=0.01) as engine:
        worker = Worker(engine, concurrency=2, grace="0s")
        notifier = Notifier(engine, partial(note, told), page=2)
        worker.on("topics/comics/*", notifier.handler, within=notifier.note_delivered, backoff="0s")
        return life.work(worker)


def note(told: list[str], notification: Notification) -> None:
    told.append(notification.subscriber)


# The shop's own test goes the same way on a server, over HTTP.
@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgres", marks=pytest.mark.torture)])
def test_the_end_is_the_same_after_whichever_step_the_worker_dies(url: str, clock: Clock) -> None:
    for steps in count(1):
        told: list[str] = []
        with Engine(url, clock=clock) as engine:
            comics = engine.topic("comics")
            comics.define(issue="integer")
            comics.subscribe_many([(name, {}) for name in SUBSCRIBERS])
            number = comics.publish({"issue": steps})
        whole = live(url, clock, steps, told)
        clock.advance(60)
        with Engine(url, clock=clock) as engine:
            engine.upkeep()  # the dead worker's session has ended
        assert live(url, clock, 1_000_000, told)
        with Engine(url, clock=clock) as engine:
            recorded = [each for each in engine.topic("comics").notifications() if each.record_id == number]
            assert Counter(each.subscriber for each in recorded) == Counter(SUBSCRIBERS)
            assert all(each.delivered_at for each in recorded)
            assert set(told) == set(SUBSCRIBERS)
            assert engine[f"topics/comics/{number}"].info().state == "complete"
            assert engine.read(broken_rules) == []
        if whole:
            assert steps > 10
            return
