"""Subscriptions come and go while records are published and matched: database, memory and plain reading agree."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests import random_predicates
from tests.machines.running import run_machine
from tests.servers import quick_place
from tests.shelf import Shelf
from tests.torture import scaled

from rowlock import Engine, topics
from rowlock.errors import InvalidPredicate
from rowlock.topics import maintenance, records
from rowlock.topics.in_memory_matcher import InMemoryMatcher
from rowlock.topics.predicates import canonical, checked, fits, text

Make = Callable[[], AbstractContextManager[Engine]]

NAMES = ["ann", "bob", "cat"]
BRIEF = {"max_examples": 15, "stateful_step_count": 25}
LONG = {"max_examples": scaled(250), "stateful_step_count": 60}
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)


class Topics(RuleBasedStateMachine):
    """A topic, and a dictionary of the predicates of each subscriber."""

    make: Make

    @initialize(seed=st.integers(0, 1000))
    def begin(self, seed: int) -> None:
        self._context = type(self).make()
        self.engine = self._context.__enter__()
        self.topic = self.engine.topic("comics")
        self.topic.define(random_predicates.FIELDS)
        self.wanted: dict[tuple[str, str], dict[str, Any]] = {}
        self.open: dict[int, set[str]] = {}
        self.eager, self.lazy = InMemoryMatcher("comics"), InMemoryMatcher("comics")
        self.chance = Random(seed)

    @rule(name=st.sampled_from(NAMES), asked=random_predicates.predicates())
    def subscribe(self, name: str, asked: dict[str, Any]) -> None:
        try:
            number = self.topic.subscribe(name, asked)
        except InvalidPredicate:
            return
        stored = canonical(random_predicates.FIELDS, asked)
        again = self.topic.subscribe(name, stored)
        assert again == number
        self.wanted[name, text(stored)] = stored

    @rule(name=st.sampled_from(NAMES), data=st.data())
    def unsubscribe(self, name: str, data: st.DataObject) -> None:
        theirs = [key for key in self.wanted if key[0] == name]
        if not theirs or data.draw(st.booleans()):
            assert self.topic.unsubscribe(name) == len(theirs)
        else:
            theirs = [data.draw(st.sampled_from(theirs))]
            assert self.topic.unsubscribe(name, self.wanted[theirs[0]]) == 1
        for key in theirs:
            del self.wanted[key]

    @rule(record=random_predicates.records())
    def publish(self, record: dict[str, Any]) -> None:
        number = self.topic.publish(record)
        self.open[number] = self.fitting(record)
        self.compare(number, self.eager)

    def fitting(self, record: dict[str, Any]) -> set[str]:
        value = checked(random_predicates.FIELDS, record)
        return {name for (name, _), asked in self.wanted.items() if fits(asked, value)}

    def compare(self, number: int, matcher: InMemoryMatcher) -> None:
        found = self.engine.read(matcher.find, number)
        if found is not None:
            assert len(found) == len(set(found))
            assert self.whose(found) == self.open[number]

    def whose(self, numbers: list[int]) -> set[str]:
        with self.engine.transaction() as tx:
            rows = tx.execute("select id, subscriber from rowlock_subscriptions").fetchall()
        return {name for number, name in rows if number in set(numbers)}

    @rule(data=st.data(), limit=st.sampled_from([1, 2, 1000]), how=st.sampled_from(["durable", "eager", "lazy"]))
    @precondition(lambda self: self.open)
    def match(self, data: st.DataObject, limit: int, how: str) -> None:
        number = data.draw(st.sampled_from(sorted(self.open)))
        matcher = {"eager": self.eager, "lazy": self.lazy}.get(how)
        found = None if matcher is None else self.engine.read(matcher.find, number)
        if matcher is not None:
            self.compare(number, matcher)
        while not self.engine.run(records.match_page, number, limit=limit, found=found):
            pass
        told = [item.key for item in self.engine[f"topics/comics/{number}"] if item.gate == 1]
        assert set(told) == self.open.pop(number)

    @rule(record=random_predicates.records())
    def ask(self, record: dict[str, Any]) -> None:
        found = {each.subscriber for each in self.topic.matches(record)}
        assert found == self.fitting(record)
        assert self.whose(self.engine.run(self.eager.matches, record)) == found

    @rule(keep=st.sampled_from([2, 100_000]))
    def sweep(self, keep: int) -> None:
        if keep == 2:
            self.eager, self.lazy = (
                InMemoryMatcher("comics"),
                InMemoryMatcher("comics"),
            )  # copies that are behind must be read anew
        self.engine.run(maintenance.delete_ended, keep=keep)

    @rule()
    def reindex(self) -> None:
        row = self.engine.read(topics.find, "comics")
        self.engine.run(maintenance.take_sample, row, chance=self.chance)
        self.engine.run(maintenance.reindex_some, chance=self.chance)

    @invariant()
    def everything_is_there(self) -> None:
        if hasattr(self, "wanted"):
            assert self.topic.count() == len(self.wanted)

    def teardown(self) -> None:
        if hasattr(self, "engine"):
            self._context.__exit__(None, None, None)


@contextmanager
def in_a_file() -> Iterator[Engine]:
    with (
        TemporaryDirectory(prefix="rowlock-", dir=quick_place()) as folder,
        Engine(str(Path(folder, "t.db"))) as engine,
    ):
        yield engine


def on_a_server(shelf: Shelf, scheme: str) -> Make:
    @contextmanager
    def make() -> Iterator[Engine]:
        with shelf.lent(scheme) as url, Engine(url) as engine:
            yield engine

    return make


def run(make: Make, size: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    # Small numbers, so that few subscriptions are a crowd.
    small = {
        "subscription_index.MAX_ROWS_PER_KEY": 3,
        "subscription_index.MAX_SIGNATURES": 12,
        "subscriptions.MAX_ROWS_COUNTED_PER_TERM": 2,
        "maintenance.MAX_ROWS_PER_KEY": 1,
        "maintenance.MIN_ROWS_SAVED": -1,
        "maintenance.MIN_OCCURRENCES": 1,
        "in_memory_matcher.MAX_TOMBSTONES": 1,
        "in_memory_matcher.MAX_SEGMENTS": 2,
        "in_memory_matcher.ROWS_PER_PAGE": 2,
    }
    for name, number in small.items():
        monkeypatch.setattr(f"rowlock.topics.{name}", number)
    run_machine(type("Topics", (Topics,), {"make": staticmethod(make)}), size, phases=PHASES)


def test_all_matchers_agree_in_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    run(in_a_file, BRIEF, monkeypatch)


@pytest.mark.parametrize("scheme", ["postgresql", "cockroachdb"])
def test_all_matchers_agree_on_a_server(shelf: Shelf, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(on_a_server(shelf, scheme), {**BRIEF, "max_examples": 6}, monkeypatch)


@pytest.mark.torture
def test_all_matchers_agree_in_a_file_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    run(in_a_file, LONG, monkeypatch)


@pytest.mark.torture
@pytest.mark.parametrize("scheme", ["postgresql", "cockroachdb"])
def test_all_matchers_agree_on_a_server_for_long(shelf: Shelf, scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run(on_a_server(shelf, scheme), LONG, monkeypatch)
