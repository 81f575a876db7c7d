"""Lists and items do what plain dictionaries would do, whatever is asked of them and in whatever order."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from tests.machines.oracle import Oracle
from tests.machines.running import run_machine
from tests.servers import quick_place
from tests.shelf import Shelf
from tests.torture import scaled

from rowlock import Engine, tallies
from rowlock.errors import AlreadyThere, GatePassed, NameTaken, NoSuchItem, NoSuchList, StaleVersion

NAMES = st.sampled_from(["work", "play", "Zoo"])
KEYS = st.sampled_from(["a", "B", "é", "10", "9", "a b", "🦊", "'"])
MANY = st.lists(KEYS, max_size=8)
DATA = st.none() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=5) | st.lists(st.booleans())
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {
            "key": KEYS,
            "data": DATA,
            "due": st.sampled_from([0, 0, 1, 60, 3600]),
            "gate": st.sampled_from([0, 0, 0, 1, 2]),
            "priority": st.integers(0, 9),
        }
    ),
    max_size=8,
)
CHANGES = st.fixed_dictionaries(
    {"data": DATA}, optional={"due": st.sampled_from([None, 0, 60]), "priority": st.integers(0, 9)}
)
QUICK = {"max_examples": 20, "stateful_step_count": 25}
LONG = {"max_examples": scaled(500), "stateful_step_count": 60}

Make = Callable[[Callable[[], int]], Any]


class Lists(RuleBasedStateMachine):
    """Asks an engine and the oracle the same, and compares all there is after each step."""

    make: Make

    def __init__(self) -> None:
        super().__init__()
        self.oracle = Oracle()
        self.making = type(self).make(lambda: self.oracle.now)
        self.engine: Engine = self.making.__enter__()

    def teardown(self) -> None:
        self.making.__exit__(None, None, None)

    @rule(name=NAMES, keys=MANY)
    def add_keys(self, name: str, keys: list[str]) -> None:
        said = self.engine[name].add(keys)
        assert (said.added, said.existing) == self.oracle.add(name, [plain(key) for key in keys])

    @rule(name=NAMES, key=KEYS, due=st.sampled_from([0, 60]), data=DATA)
    def add_one(self, name: str, key: str, due: int, data: Any) -> None:
        said = self.engine[name].add(key, due=due, data=data)
        assert (said.added, said.existing) == self.oracle.add(name, [plain(key, due=due, data=data)])

    @rule(name=NAMES, entries=ENTRIES)
    def add_entries(self, name: str, entries: list[dict[str, Any]]) -> None:
        if self.oracle.passed(name, entries):
            with pytest.raises(GatePassed):
                self.engine[name].add(entries)
        else:
            said = self.engine[name].add(entries)
            assert (said.added, said.existing) == self.oracle.add(name, entries)

    @rule(name=NAMES, keys=MANY)
    def add_strictly(self, name: str, keys: list[str]) -> None:
        taken = self.oracle.lists[name].items if name in self.oracle.lists else {}
        if len(set(keys)) < len(keys) or set(keys) & set(taken):
            with pytest.raises(AlreadyThere):
                self.engine[name].add(keys, strict=True)
        else:
            self.engine[name].add(keys, strict=True)
            self.oracle.add(name, [plain(key) for key in keys])

    @rule(name=NAMES, keys=MANY, verb=st.sampled_from(["increment", "done", "abandon", "retry"]))
    def touch(self, name: str, keys: list[str], verb: str) -> None:
        assert getattr(self.engine[name], verb)(keys) == getattr(self.oracle, verb)(name, keys)

    @rule(name=NAMES, key=KEYS, changes=CHANGES, seen=st.sampled_from([None, 0, 0, 1]))
    def save(self, name: str, key: str, changes: dict[str, Any], seen: int | None) -> None:
        item = self.oracle.lists[name].items.get(key) if name in self.oracle.lists else None
        version = None if seen is None else (item.version if item else 1) + seen
        if item is None or seen == 1:
            with pytest.raises((NoSuchItem, NoSuchList) if item is None else StaleVersion):
                self.engine[name].save(key, version=version, **changes)
        else:
            assert self.engine[name].save(key, version=version, **changes).version == self.oracle.save(
                name, key, changes
            )

    @rule(seconds=st.sampled_from([0.5, 1, 59, 60, 3600, 7200]))
    def time_passes(self, seconds: float) -> None:
        self.oracle.now += round(seconds * 1000)

    @rule(name=NAMES, paused=st.booleans())
    def pause_or_resume(self, name: str, paused: bool) -> None:
        verb = self.engine[name].pause if paused else self.engine[name].resume
        if name not in self.oracle.lists:
            with pytest.raises(NoSuchList):
                verb()
        else:
            assert verb() == (self.oracle.lists[name].paused != paused)
            self.oracle.lists[name].paused = paused

    @rule(name=NAMES, to=NAMES)
    def rename(self, name: str, to: str) -> None:
        if self.oracle.rename(name, to):
            self.engine[name].rename(to)
        else:
            with pytest.raises((NoSuchList, NameTaken)):
                self.engine[name].rename(to)

    @rule(name=NAMES)
    def drop(self, name: str) -> None:
        if name in self.oracle.lists:
            assert self.engine[name].drop() == len(self.oracle.lists.pop(name).items)
        else:
            with pytest.raises(NoSuchList):
                self.engine[name].drop()

    @rule(limit=st.integers(1, 20))
    def fold(self, limit: int) -> None:
        self.engine.run(tallies.fold, limit=limit)

    @rule(name=NAMES, after=KEYS, limit=st.integers(0, 4), state=st.sampled_from(["ready", "delayed", "gated"]))
    def page(self, name: str, after: str, limit: int, state: str) -> None:
        if name not in self.oracle.lists:
            with pytest.raises(NoSuchList):
                self.engine[name].page(after=after, limit=limit, state=state)
            return
        page = self.engine[name].page(after=after, limit=limit, state=state)
        expected = [row[0] for row in self.oracle.page(name) if row[0].encode() > after.encode() and row[-1] == state]
        assert [item.key for item in page] == expected[:limit]

    @invariant()
    def lists_are_what_they_should_be(self) -> None:
        infos = {info.name: info for info in self.engine.lists()}
        assert list(infos) == sorted(self.oracle.lists, key=str.encode)
        for name, expected in self.oracle.lists.items():
            info = infos[name]
            assert msgspec.structs.asdict(info.counts) == self.oracle.counts(name)
            happened = (info.progress.added, info.progress.done, info.progress.retried, info.progress.abandoned)
            assert happened == (expected.added, expected.done, expected.retried, expected.abandoned)
            assert (info.state, info.gate) == ("paused" if expected.paused else "open", expected.gate)

    @invariant()
    def items_are_what_they_should_be(self) -> None:
        for name in self.oracle.lists:
            items = self.engine[name].page()
            assert [shown(item) for item in items] == self.oracle.page(name)
            in_line = [item.key for item in sorted(items, key=lambda item: item.position)]
            assert in_line == self.oracle.line(name)


def plain(key: str, due: int = 0, data: Any = None) -> dict[str, Any]:
    return {"key": key, "due": due, "data": data, "gate": None, "priority": 5}


def shown(item: Any) -> tuple[Any, ...]:
    due = None if item.due is None else round(item.due.timestamp() * 1_000)
    return item.key, item.gate, item.priority, item.attempts, due, item.data, item.version, str(item.state)


@contextmanager
def in_a_file(clock: Callable[[], int]) -> Iterator[Engine]:
    with (
        tempfile.TemporaryDirectory(prefix="rowlock-", dir=quick_place()) as folder,
        Engine(str(Path(folder, "work.db")), clock=clock) as engine,
    ):
        yield engine


def on_a_server(shelf: Shelf, scheme: str) -> Make:
    @contextmanager
    def make(clock: Callable[[], int]) -> Iterator[Engine]:
        with shelf.lent(scheme) as url, Engine(url, clock=clock) as engine:
            yield engine

    return make


def run(make: Make, size: dict[str, int]) -> None:
    run_machine(type("Lists", (Lists,), {"make": staticmethod(make)}), size)


def test_lists_in_a_file_do_what_dictionaries_would() -> None:
    run(in_a_file, QUICK)


def test_lists_on_postgres_do_what_dictionaries_would(shelf: Shelf) -> None:
    run(on_a_server(shelf, "postgresql"), QUICK)


@pytest.mark.torture
def test_lists_in_a_file_do_what_dictionaries_would_for_long() -> None:
    run(in_a_file, LONG)


@pytest.mark.torture
@pytest.mark.parametrize("scheme", ["postgresql", "cockroachdb"])
def test_lists_on_a_server_do_what_dictionaries_would_for_long(shelf: Shelf, scheme: str) -> None:
    run(on_a_server(shelf, scheme), LONG)
