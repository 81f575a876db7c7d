"""A copy of the subscriptions in memory follows what changes, and answers as the database does."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rowlock import Engine, topics
from rowlock.engine import Topic
from rowlock.topics import in_memory_matcher, matching
from rowlock.topics.in_memory_matcher import InMemoryMatcher

WITHOUT_NUMPY = """
import sys
sys.modules["numpy"] = None
from rowlock import Engine, RowlockError, Worker
with Engine("work.db") as engine:
    topic = engine.topic("comics")
    topic.define(issue="integer")
    worker = Worker(engine)
    topic.deliver(worker, print)
    try:
        topic.deliver(worker, print, in_memory=True)
    except RowlockError as error:
        print(error.code, error)
"""


@pytest.fixture
def comics(engine: Engine) -> Topic:
    topic = engine.topic("comics")
    topic.define(series="text", issue="integer")
    return topic


def test_the_copy_follows_changes(engine: Engine, comics: Topic) -> None:
    copy = InMemoryMatcher("comics")
    first = comics.subscribe("ann", series="Saga")
    assert engine.run(copy.matches, {"series": "Saga"}) == [first]
    second = comics.subscribe("bob", issue={"from": 1})
    comics.unsubscribe(first)
    assert engine.run(copy.matches, {"series": "Saga", "issue": 1}) == [second]
    comics.define(artist="text")
    third = comics.subscribe("cat", artist="Fiona")
    assert engine.run(copy.matches, {"artist": "Fiona", "issue": 0}) == [third]


def test_predicates_that_no_column_decides_are_rechecked(engine: Engine, comics: Topic) -> None:
    copy = InMemoryMatcher("comics")
    wanted = [comics.subscribe("ann", series={"prefix": "Amazing"}), comics.subscribe("bob", series="Amazing Fantasy")]
    comics.subscribe("cat", series={"prefix": "Amazin!"})
    record = {"series": "Amazing Fantasy"}
    assert sorted(engine.run(copy.matches, record)) == wanted
    wanted.append(comics.subscribe("dan", series={"prefix": "Amazing Fan"}))
    assert sorted(engine.run(copy.matches, record)) == wanted
    comics.unsubscribe(wanted[0])
    assert sorted(engine.run(copy.matches, record)) == wanted[1:]
    assert [each.id for each in comics.matches(record)] == wanted[1:]


def test_a_topic_without_subscriptions_matches_nothing(engine: Engine, comics: Topic) -> None:
    copy = InMemoryMatcher("comics")
    assert engine.run(copy.matches, {"series": "Saga"}) == []
    comics.unsubscribe(comics.subscribe("ann"))
    assert engine.run(copy.matches, {}) == []


def test_a_record_from_before_the_copy_is_left_to_the_database(engine: Engine, comics: Topic) -> None:
    comics.subscribe("ann")
    old, new = comics.publish({}), comics.publish({})
    copy = InMemoryMatcher("comics")
    assert (engine.read(copy.find, new), engine.read(copy.find, old)) == ([1], None)


def test_a_record_that_is_not_unmatched_is_left_alone(engine: Engine, comics: Topic) -> None:
    assert engine.read(InMemoryMatcher("comics").find, 4711) is None


def test_a_copy_that_is_too_far_behind_is_read_anew(
    engine: Engine, comics: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_memory_matcher, "MAX_MOMENTS_BEHIND", 2)
    copy = InMemoryMatcher("comics")
    assert engine.run(copy.matches, {}) == []
    numbers = [comics.subscribe(f"{number}") for number in range(5)]
    assert sorted(engine.run(copy.matches, {})) == numbers


def test_many_small_segments_are_merged(engine: Engine, comics: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory_matcher, "MAX_SEGMENTS", 3)
    copy = InMemoryMatcher("comics")
    for number in range(20):
        comics.subscribe(f"{number}", issue={"from": number})
        if number % 3 == 0:
            comics.unsubscribe(f"{number}")
        expected, _ = engine.read(matching.match, engine.read(topics.find, "comics"), {"issue": 10}, limit=100)
        assert sorted(engine.run(copy.matches, {"issue": 10})) == sorted(expected)


def test_many_subscriptions_are_read_in_pages(engine: Engine, comics: Topic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_memory_matcher, "ROWS_PER_PAGE", 7)
    comics.subscribe_many([(f"{number}", {"issue": [number, 50]}) for number in range(50)])
    assert len(engine.run(InMemoryMatcher("comics").matches, {"issue": 50})) == 50


def test_threads_can_share_a_copy(engine: Engine, comics: Topic) -> None:
    comics.subscribe_many([(f"{number}", {"issue": number % 10}) for number in range(200)])
    copy, found = InMemoryMatcher("comics"), []

    def ask(issue: int) -> None:
        found.append(len(engine.run(copy.matches, {"issue": issue})))

    threads = [threading.Thread(target=ask, args=(issue,)) for issue in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [20] * 10


def test_numpy_is_needed_only_for_matching_in_memory(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT_NUMPY], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert ran.stdout.startswith("extra-missing a matcher in memory needs the package numpy; run: pip install")
