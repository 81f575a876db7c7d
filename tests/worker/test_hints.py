"""Hints: a worker that hears which list has new items claims them before it polls."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, lists
from rowlock.db import Hint
from rowlock.environment import Environment
from rowlock.worker.backend import LocalBackend
from rowlock.worker.handlers import define
from rowlock.worker.planner import ListRotation, Load, Planner


class IdleWorker:
    """The rotation of a worker that knows the list `work`, with a clock that the test moves."""

    def __init__(self, url: str) -> None:
        self.now = 1000.0
        self.events: list[Any] = []
        self.engine = Engine(url, history=self.events.append, environment=Environment(monotonic=lambda: self.now))
        self.engine["work"].add("a")
        self.hint = Hint({self.engine.read(lists.get, "work").id})
        planner = Planner(1, monotonic=self.engine.environment.monotonic)
        session, handlers = self.engine.session(beats=False).open(), [define("*", lambda _: None)]
        backend = LocalBackend(self.engine)
        self.rotation = ListRotation(backend, session, handlers, planner=planner, on_lease=lambda *_: None)
        self.rotation.next(Load())
        self.rotation.drop("work")
        self.now += 10
        self.events.clear()

    @property
    def has_polled(self) -> bool:
        """Whether it has polled since it was idle."""
        return any(event["operation"] == "lists.awake" for event in self.events)


@pytest.fixture
def idle(url: str) -> Iterator[IdleWorker]:
    worker = IdleWorker(url)
    yield worker
    worker.engine.close()


@pytest.mark.parametrize(("dialect", "listeners"), [("postgres", 1), ("cockroach", 0)])
def test_cockroachdb_is_not_asked_for_notifications(engine: Engine, listeners: int) -> None:
    listener = engine.database.clone(connections=1, listening=True)
    try:
        assert listener.wait_for_hint(0) is None
        with engine.transaction() as tx:
            asked = "select 1 from pg_stat_activity where datname = current_database() and left(query, 6) = 'listen'"
            assert len(tx.execute(asked).fetchall()) == listeners
    finally:
        listener.close()


@pytest.mark.parametrize("dialect", ["postgres", "postgres16"])
@pytest.mark.parametrize("keys", ["a", ["a", "b"]])
def test_a_notification_names_the_list_that_has_new_items(engine: Engine, keys: Any) -> None:
    listener = engine.database.clone(connections=1, listening=True)
    try:
        listener.wait_for_hint(0)
        engine["work"].add(keys)
        found = engine.read(lists.get, "work")
        assert listener.wait_for_hint(WAIT_SECONDS) == Hint({found.id})
    finally:
        listener.close()


def test_a_list_that_a_hint_names_is_claimed_without_a_poll(idle: IdleWorker) -> None:
    idle.rotation.follow(idle.hint)
    plan = idle.rotation.next(Load())
    assert plan is not None
    assert (plan.list, idle.has_polled) == ("work", False)


def test_a_poll_follows_when_the_list_of_a_hint_is_empty(idle: IdleWorker) -> None:
    idle.rotation.follow(idle.hint)
    idle.rotation.next(Load())
    idle.rotation.drop("work")
    idle.rotation.next(Load())
    assert idle.has_polled


def test_hints_one_after_the_other_do_not_put_off_the_poll(idle: IdleWorker) -> None:
    for _ in range(20):
        idle.rotation.follow(idle.hint)
        idle.rotation.next(Load())
        idle.now += 0.005
    assert idle.has_polled


def test_a_hint_of_an_unknown_list_leads_to_a_poll(idle: IdleWorker) -> None:
    idle.rotation.follow(Hint({0}))
    idle.rotation.next(Load())
    assert idle.has_polled
