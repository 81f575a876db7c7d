"""`rowlock save`: items changed by who has seen their version; and the same condition for lists."""

import pytest
from tests.faces.shell import QuickShell


@pytest.fixture
def fruit(any_quick: QuickShell) -> QuickShell:
    any_quick("add", "fruit", "apple", "pear", "--data", '{"size": 1}')
    return any_quick


def facts(shell: QuickShell, key: str = "apple") -> dict[str, str]:
    return dict(line.split("\t", 1) for line in shell("show", "fruit", key).lines)


def test_data_are_saved(fruit: QuickShell) -> None:
    assert fruit("save", "fruit", "apple", "--data", '{"size": 2}').lines == ["version\t2"]
    assert (facts(fruit)["data"], facts(fruit)["version"]) == ('{"size":2}', "2")
    fruit("save", "fruit", "apple", "--data", "null")
    assert facts(fruit)["data"] == ""


def test_priority_and_due_are_saved(fruit: QuickShell) -> None:
    fruit("save", "fruit", "apple", "--priority", "0", "--due", "1h")
    assert (facts(fruit)["priority"], facts(fruit)["state"]) == ("0", "delayed")
    fruit("save", "fruit", "apple", "--due", "0s")
    assert facts(fruit)["state"] == "ready"


def test_the_saved_item_is_printed_as_json(fruit: QuickShell) -> None:
    item = fruit("save", "fruit", "apple", "--data", "[1]", "--json").document
    assert isinstance(item, dict)
    assert (item["key"], item["data"], item["version"]) == ("apple", [1], 2)


def test_a_version_that_is_past_is_refused(fruit: QuickShell) -> None:
    assert fruit("save", "fruit", "apple", "--data", "1", "--version", "1").status == 0
    ran = fruit("save", "fruit", "apple", "--data", "2", "--version", "1")
    assert (ran.status, "is at version 2, not 1" in ran.error, facts(fruit)["data"]) == (4, True, "1")


def test_what_is_gone_is_not_made_again(fruit: QuickShell) -> None:
    fruit("done", "fruit", "apple")
    assert fruit("save", "fruit", "apple", "--data", "1").status == 3
    assert fruit("ls", "fruit", "-k").lines == ["pear"]


def test_what_a_worker_has_in_hand_is_refused(fruit: QuickShell) -> None:
    fruit("claim", "fruit")
    ran = fruit("save", "fruit", "apple", "--data", "1")
    assert (ran.status, "is claimed by a worker" in ran.error) == (4, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "no changes were given"),
        (["--data", "{"], "--data must be JSON"),
        (["--due", "soon"], "a duration must be a number with a unit"),
        (["--priority", "99"], "priority must be 0 to 9, got 99"),
        (["--version", "one", "--data", "1"], "not a valid integer"),
    ],
)
def test_what_cannot_be_is_refused(fruit: QuickShell, options: list[str], said: str) -> None:
    ran = fruit("save", "fruit", "apple", *options)
    assert (ran.status, said in ran.error) == (2, True)


@pytest.mark.parametrize(
    "command", [["pause"], ["resume"], ["rename", "basket"], ["drop", "-y"], ["settings", "attempts=2"]]
)
def test_lists_are_changed_only_as_they_were_seen(fruit: QuickShell, command: list[str]) -> None:
    verb, *more = command
    ran = fruit(verb, "fruit", *more, "--version", "7")
    assert (ran.status, "the list 'fruit' is at version 1, not 7" in ran.error) == (4, True)
    assert fruit(verb, "fruit", *more, "--version", "1").status == 0
