"""`rowlock counter`: numbers for scripts."""

from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Shell

from rowlock import Engine
from rowlock.counters import MAX_NUMBER


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return QuickShell(tmp_path)


def test_a_number_is_a_line(shell: Shell) -> None:
    assert [shell("counter", "orders").out for _ in range(3)] == ["1\n", "2\n", "3\n"]


def test_several_numbers_are_their_first_and_their_last(shell: Shell) -> None:
    assert shell("counter", "orders", "--take", "1").lines == ["1\t1"]
    assert shell("counter", "orders", "--take", "10").lines == ["2\t11"]
    assert shell("counter", "orders", "--take", "5", "--json").document == {
        "counter": "orders",
        "first": 12,
        "last": 16,
    }


def test_a_counter_may_be_called_as_a_command(shell: Shell) -> None:
    assert [shell("counter", "next", name).out for name in ("ls", "show", "next")] == ["1\n", "1\n", "1\n"]
    assert shell("counter", "show", "ls").out == "1\n"


def test_counters_are_listed_by_name(shell: Shell) -> None:
    shell("counter", "b", "--take", "1234")
    shell("counter", "a")
    assert shell("counter", "ls").lines == ["a\t1", "b\t1234"]
    assert shell("counter", "ls", "--json").document == {
        "counters": [{"counter": "a", "value": 1}, {"counter": "b", "value": 1234}]
    }
    assert "b        1,234" in shell.screen("counter", "ls")


def test_all_of_very_many_counters_are_listed(shell: Shell) -> None:
    with Engine(str(shell.folder / "rowlock.db")) as engine, engine.transaction() as tx:
        for number in range(1001):
            tx.counter(f"{number:04}").next()
    assert len(shell("counter", "ls").lines) == 1001


def test_a_counter_is_raised_and_never_lowered(shell: Shell) -> None:
    assert shell("counter", "raise", "orders", "41").lines == ["value\t41"]
    assert shell("counter", "orders").out == "42\n"
    assert shell("counter", "raise", "orders", "7", "--json").document == {"value": 42}
    assert "orders continues with 43" in shell.screen("counter", "raise", "orders", "1")


def test_an_unused_counter_shows_0(shell: Shell) -> None:
    shell("counter", "other")
    assert shell("counter", "show", "orders").out == "0\n"
    assert shell("counter", "show", "other", "--json").document == {"counter": "other", "value": 1}


def test_looking_makes_no_database(shell: Shell) -> None:
    assert (shell("counter", "show", "orders").status, shell("counter", "ls").status) == (3, 3)
    assert list(shell.folder.glob("*.db")) == []


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("orders", "--take", "0"), 2, "--take"),
        (("orders", "--take", "many"), 2, "--take"),
        (("a*",), 2, "contains '*'"),
        (("raise", "orders", str(MAX_NUMBER + 1)), 2, "N"),
        (("raise", "orders", "-1"), 2, "-1"),
        (("orders", "other"), 2, "other"),
    ],
)
def test_what_cannot_be_is_refused(shell: Shell, arguments: tuple[str, ...], status: int, words: str) -> None:
    ran = shell("counter", *arguments)
    assert (ran.status, ran.out) == (status, "")
    assert words in ran.error


def test_a_counter_at_its_end_says_so(shell: Shell) -> None:
    shell("counter", "raise", "orders", str(MAX_NUMBER))
    ran = shell("counter", "orders")
    assert (ran.status, ran.out) == (4, "")
    assert "no 1 numbers left" in ran.error


def test_without_a_name_help_is_shown(shell: Shell) -> None:
    ran = shell("counter")
    assert (ran.status, ran.out, ran.error.splitlines()[0]) == (
        2,
        "",
        "Usage: rowlock counter [OPTIONS] NAME [--take N] | COMMAND …",
    )


def test_options_that_every_command_takes_may_stand_anywhere(shell: Shell) -> None:
    shell("-d", "here.db", "counter", "orders")
    shell("counter", "-d", "here.db", "orders")
    assert shell("counter", "orders", "-d", "here.db").out == "3\n"
