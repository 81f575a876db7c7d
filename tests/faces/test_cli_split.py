"""`rowlock split`, and `ls` of one range: what comes out, in a pipe, as JSON and on a terminal."""

import pytest
from tests.faces.shell import Shell

from rowlock import Engine


@pytest.fixture
def fruit(any_quick: Shell) -> Shell:
    with Engine(any_quick.environment["ROWLOCK_DATABASE_URL"]) as engine:
        engine["fruit"].add(["apple", "fig", "kiwi", "pear", "plum"])
    return any_quick


def test_lines_are_after_upto_and_count(fruit: Shell) -> None:
    assert fruit("split", "fruit", "2").out == "\tfig\t2\nfig\tplum\t3\n"


def test_ranges_as_json_are_one_document(fruit: Shell) -> None:
    assert fruit("split", "fruit", "2", "--json").document == {
        "list": "fruit",
        "ranges": [{"after": "", "upto": "fig", "count": 2}, {"after": "fig", "upto": "plum", "count": 3}],
    }


def test_a_range_can_be_listed(fruit: Shell) -> None:
    assert fruit("ls", "fruit", "-k", "--after", "apple", "--upto", "kiwi").lines == ["fig", "kiwi"]
    assert fruit("ls", "fruit", "-k", "--upto", "kiwi", "-n", "2").lines == ["apple", "fig"]


def test_an_empty_list_has_no_lines(fruit: Shell) -> None:
    fruit("done", "fruit", "apple", "fig", "kiwi", "pear", "plum")
    assert (fruit("split", "fruit", "2").status, fruit("split", "fruit", "2").out) == (0, "")


def test_an_unknown_list_is_not_found(fruit: Shell) -> None:
    ran = fruit("split", "friut", "2")
    assert (ran.status, ran.out) == (3, "")
    assert "friut" in ran.error


@pytest.mark.parametrize("parts", ["0", "10001", "two"])
def test_a_wrong_number_of_parts_is_a_wrong_use(fruit: Shell, parts: str) -> None:
    ran = fruit("split", "fruit", parts)
    assert (ran.status, ran.out) == (2, "")
    assert "N" in ran.error


def test_a_terminal_shows_a_table(shell: Shell) -> None:
    shell("add", "fruit", "apple", "fig", "kiwi")
    lines = [line.split() for line in shell.screen("split", "fruit", "2").splitlines()]
    assert lines == [["AFTER", "UPTO", "COUNT"], ["apple", "1"], ["apple", "kiwi", "2"]]
