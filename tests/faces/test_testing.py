"""Helpers for the tests of those who use rowlock, tried as they would: in a folder of theirs, by their pytest."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rowlock import Engine, Fail, Item, Worker
from rowlock.testing import MovableClock, assert_added, assert_counts, assert_empty, assert_failed, drain, throwaway

THEIR_TEST = """
from rowlock import Retry, Worker
from rowlock.testing import assert_counts, assert_empty


def test_what_failed_is_tried_again(rowlock_engine, rowlock_clock, rowlock_drain):
    mail = rowlock_engine["mail"]
    mail.add(["ann", "bob"])
    worker = Worker(rowlock_engine)

    @worker.on("mail", attempts=2, backoff="1m")
    def send(item):
        if item.key == "bob" and item.attempts == 0:
            raise OSError("the post office is closed")

    assert rowlock_drain(worker) == {"done": 1, "retried": 1}
    assert_counts(mail, delayed=1)
    rowlock_clock.advance("1m")
    assert rowlock_drain(worker) == {"done": 1}
    assert_empty(mail)


def test_every_test_has_a_database_of_its_own(rowlock_engine):
    assert rowlock_engine.lists() == []
"""

THEIR_WRONG_TEST = """
from rowlock.testing import assert_empty


def test_nothing_is_left(rowlock_engine):
    rowlock_engine["mail"].add("ann")
    assert_empty(rowlock_engine["mail"])
"""

THEIR_OTHER_TEST = """
import sys


def test_we_do_not_use_rowlock():
    assert "rowlock.testing.plugin" in sys.modules
    assert not {"msgspec", "rowlock.engine", "rowlock.worker", "sqlite3"} & set(sys.modules)
"""


def pytest_in(folder: Path, text: str) -> "subprocess.CompletedProcess[str]":
    """Run a test file in a folder of its own."""
    (folder / "test_theirs.py").write_text(text)
    # Other plugins bring packages of their own.
    plain = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:hypothesispytest"]
    return subprocess.run(plain, cwd=folder, capture_output=True, text=True)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with throwaway() as engine:
        yield engine


def test_the_fixtures_are_there_by_themselves(tmp_path: Path) -> None:
    ran = pytest_in(tmp_path, THEIR_TEST)
    assert "2 passed" in ran.stdout, ran.stdout


@pytest.mark.torture
def test_a_failed_assertion_says_what_is_true_and_points_at_the_test(tmp_path: Path) -> None:
    ran = pytest_in(tmp_path, THEIR_WRONG_TEST)
    assert "E       AssertionError: the list 'mail' is not empty; on it: ○ ready 'ann'" in ran.stdout
    assert "test_theirs.py:7: AssertionError" in ran.stdout


@pytest.mark.torture
def test_who_does_not_use_the_plugin_does_not_pay_for_it(tmp_path: Path) -> None:
    ran = pytest_in(tmp_path, THEIR_OTHER_TEST)
    assert "1 passed" in ran.stdout, ran.stdout


def test_the_fixtures_have_our_name() -> None:
    from rowlock.testing import plugin

    fixtures = [name for name, value in vars(plugin).items() if "ixture" in type(value).__name__]
    assert sorted(fixtures) == ["rowlock_clock", "rowlock_drain", "rowlock_engine"]


def test_a_throwaway_database_is_gone_afterwards() -> None:
    with throwaway() as engine:
        engine["names"].add("a")
        file = Path(engine.database.address.target)
        assert file.exists()
    assert not file.parent.exists()


def test_a_movable_clock_moves_when_told() -> None:
    clock = MovableClock()
    with throwaway(clock=clock) as engine:
        engine["names"].add("later", due="5m")
        assert_counts(engine["names"], delayed=1)
        clock.advance("5m")
        assert_counts(engine["names"], ready=1, delayed=0)


def test_a_drain_tells_what_happened_and_leaves_no_hook_behind(engine: Engine) -> None:
    engine["names"].add(["good", "bad"])
    worker = Worker(engine)
    heard: list[str] = []
    worker.after(lambda item, outcome, verdict: heard.append(item.key))

    @worker.on("names")
    def handle(item: Item) -> Fail | None:
        return Fail("no good") if item.key == "bad" else None

    assert drain(worker) == {"done": 1, "failed": 1}
    assert drain(worker) == {}
    assert sorted(heard) == ["bad", "good"]


def test_keys_that_were_added_are_there(engine: Engine) -> None:
    engine["names"].add(["a", "b"])
    assert_added(engine["names"], "a")
    assert_added(engine["names"], ["a", "b"])


def test_keys_that_were_not_added_are_named(engine: Engine) -> None:
    engine["names"].add("a")
    with pytest.raises(AssertionError, match="'x', 'y' are not on the list 'names'; on it: ○ ready 'a'"):
        assert_added(engine["names"], ["a", "x", "y"])


def test_a_list_that_was_never_made_is_empty(engine: Engine) -> None:
    assert_empty(engine["nowhere"])
    with pytest.raises(AssertionError, match="'x' is not on the list 'nowhere'; nothing is on it"):
        assert_added(engine["nowhere"], "x")


def test_a_long_list_is_not_shown_whole(engine: Engine) -> None:
    engine["names"].add(f"{number:02}" for number in range(20))
    with pytest.raises(AssertionError, match=r"'09', …$"):
        assert_empty(engine["names"])


def test_wrong_counts_are_told_with_what_is_true(engine: Engine) -> None:
    engine["names"].add(["a", "b"])
    assert_counts(engine["names"], ready=2, total=2)
    with pytest.raises(AssertionError, match="'names' has 2 ready instead of 1, 0 failed instead of 1; on it: "):
        assert_counts(engine["names"], ready=1, failed=1, total=2)


@pytest.fixture
def failed(engine: Engine) -> Engine:
    engine["names"].add(["bad", "good"])
    with engine.session() as session:
        for claim in session.claim("names", limit=1):
            if claim.items[0].key == "bad":
                claim.fail(claim.items[0], "no such file")
                break
    return engine


def test_a_failed_item_is_known_by_what_it_said(failed: Engine) -> None:
    assert_failed(failed["names"], "bad")
    assert_failed(failed["names"], "bad", saying="no such")
    with pytest.raises(AssertionError, match="failed, but not saying 'timed out': it said 'no such file'"):
        assert_failed(failed["names"], "bad", saying="timed out")


def test_an_item_that_has_not_failed_is_told_as_it_is(failed: Engine) -> None:
    with pytest.raises(AssertionError, match="'good' of 'names' has not failed: it is ○ ready"):
        assert_failed(failed["names"], "good")
    with pytest.raises(AssertionError, match="'gone' is not on the list 'names'"):
        assert_failed(failed["names"], "gone")
