"""Answers that are lost on their way: what landed unheard is neither done twice nor held for ever."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from rowlock import Counts, Engine, OutcomeUnknown, Worker


class Deaf:
    """A connection that does everything, and does not hear the answer of some trips."""

    def __init__(self, connection: Any, lost: list[bool]) -> None:
        self._connection = connection
        self._lost = lost

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def pipeline(self, works: Sequence[Callable[[], Any]], **terms: Any) -> list[Any]:
        answers = self._connection.pipeline(works, **terms)
        if self._lost.pop(0):
            raise OutcomeUnknown("the answer was lost")
        return list(answers)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_claims_and_settlements_whose_answer_was_lost_do_no_harm(url: str) -> None:
    trips = [False, True, False, True, True] + [False] * 10_000
    done: list[str] = []
    with Engine(url, wrap=lambda connection: Deaf(connection, trips)) as engine:
        engine["work"].add(str(number) for number in range(100))
        worker = Worker(engine, concurrency=1)
        worker.on("work", lambda items: done.extend(item.key for item in items), batch=10)
        worker.run(until="done", signals=False)
        assert (engine["work"].counts(), engine["work"].progress().done) == (Counts(), 100)
    assert len(trips) < 10_000


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_a_session_whose_answers_were_lost_goes_on(url: str) -> None:
    trips = [False, True, False, True, True] + [False] * 10_000
    done: list[str] = []
    with Engine(url, wrap=lambda connection: Deaf(connection, trips)) as engine, engine.session() as session:
        engine["work"].add(str(number) for number in range(100))
        for claim in session.claim("work", limit=10):
            for item in claim:
                claim.done(item)
                done.append(item.key)
        assert (engine["work"].counts(), engine["work"].progress().done) == (Counts(), 100)
    assert (sorted(done), len(trips) < 10_000) == (sorted(str(number) for number in range(100)), True)
