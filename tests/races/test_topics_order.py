"""Whoever is subscribed when a record commits is told of it, and nobody else, however transactions overlap."""

import threading
import time
from collections.abc import Iterator

import pytest

from rowlock import Engine, topics
from rowlock.topics import records

NAMES = 24


@pytest.fixture(params=["postgres_url", "isolated_url"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """PostgreSQL, where transactions overlap; at its default isolation and at its strictest."""
    with Engine(request.getfixturevalue(request.param)) as engine:
        engine.topic("comics").define(series="text")
        yield engine


@pytest.fixture
def isolated_url(postgres_url: str) -> str:
    return f"{postgres_url}&isolation=serializable"


def told(engine: Engine, number: int) -> list[str]:
    while not engine.run(records.match_page, number):
        pass
    return [item.key for item in engine[topics.list_of("comics", number)] if item.gate == records.NOTIFY]


def test_a_subscription_that_commits_after_the_record_is_not_told(engine: Engine) -> None:
    comics = engine.topic("comics")
    with engine.transaction() as tx:
        tx.topic("comics").subscribe("slow", series="Saga")
        number = comics.publish({"series": "Saga"})
    assert told(engine, number) == []


def test_a_subscription_that_commits_before_the_record_is_told(engine: Engine) -> None:
    comics = engine.topic("comics")
    with engine.transaction() as tx:
        number = tx.topic("comics").publish({"series": "Saga"})
        comics.subscribe("quick", series="Saga")
    assert told(engine, number) == ["quick"]


def test_who_has_unsubscribed_before_the_record_commits_is_not_told(engine: Engine) -> None:
    comics = engine.topic("comics")
    comics.subscribe("ann", series="Saga")
    with engine.transaction() as tx:
        number = tx.topic("comics").publish({"series": "Saga"})
        comics.unsubscribe("ann")
    assert told(engine, number) == []


def test_who_unsubscribes_after_the_record_commits_is_told(engine: Engine) -> None:
    comics = engine.topic("comics")
    comics.subscribe("ann", series="Saga")
    with engine.transaction() as tx:
        tx.topic("comics").unsubscribe("ann")
        number = comics.publish({"series": "Saga"})
    assert told(engine, number) == ["ann"]


def test_upkeep_meanwhile_takes_nothing_from_a_record(engine: Engine) -> None:
    comics = engine.topic("comics")
    comics.subscribe("ann", series="Saga")
    with engine.transaction() as tx:
        number = tx.topic("comics").publish({"series": "Saga"})
        engine.upkeep()
        comics.subscribe("bob", series="Saga")
        engine.upkeep()
    comics.unsubscribe("ann")
    comics.subscribe("late", series="Saga")
    engine.upkeep()
    assert told(engine, number) == ["ann", "bob"]


@pytest.mark.parametrize("engine", ["postgres_url"], indirect=True)  # at the strictest one of the two must begin anew
def test_nobody_waits_for_a_transaction_of_somebody_else(engine: Engine) -> None:
    comics = engine.topic("comics")
    with engine.transaction() as slow:
        slow.topic("comics").publish({"series": "Saga"})
        slow.topic("comics").subscribe("slow", series="Saga")
        with engine.transaction() as other:
            other.topic("comics").subscribe("quick", series="Saga")
            other.topic("comics").publish({"series": "Saga"})
        number = comics.publish({"series": "Saga"})
        assert told(engine, number) == ["quick"]


class Crowd:
    """Publishers and people who change their minds, with what each did and when."""

    def __init__(self, engine: Engine) -> None:
        self._comics = engine.topic("comics")
        self._stop = threading.Event()
        self.changes: dict[str, list[tuple[float, float, bool]]] = {f"{number}": [] for number in range(NAMES)}
        self.published: list[tuple[float, float, int]] = []

    def publish(self) -> None:
        while not self._stop.is_set():
            begin = time.monotonic()
            number = self._comics.publish({"series": "Saga"})
            self.published.append((begin, time.monotonic(), number))

    def change(self, first: int) -> None:
        for name in [*self.changes][first::3] * 3:
            for wanted in (True, False):
                begin = time.monotonic()
                self._comics.subscribe(name, series="Saga") if wanted else self._comics.unsubscribe(name)
                self.changes[name].append((begin, time.monotonic(), wanted))

    def run(self) -> None:
        publishers = [threading.Thread(target=self.publish) for _ in range(2)]
        changers = [threading.Thread(target=self.change, args=(first,)) for first in range(3)]
        for thread in (*publishers, *changers):
            thread.start()
        for thread in changers:
            thread.join()
        self._stop.set()
        for thread in publishers:
            thread.join()


def test_publishers_and_subscribers_at_once_agree_on_an_order(engine: Engine) -> None:
    crowd = Crowd(engine)
    crowd.run()
    assert len(crowd.published) > 2
    for begin, end, number in crowd.published:
        found = set(told(engine, number))
        wrong = [name for name, each in crowd.changes.items() if (name in found) not in possible(each, begin, end)]
        assert wrong == []


def possible(history: list[tuple[float, float, bool]], begin: float, end: float) -> set[bool]:
    """Whether somebody may be told of what was published in that time: what was surely so, or may have been."""
    before = [wanted for _, ended, wanted in history if ended <= begin]
    meanwhile = [wanted for began, ended, wanted in history if ended > begin and began < end]
    return {before[-1] if before else False, *meanwhile}
