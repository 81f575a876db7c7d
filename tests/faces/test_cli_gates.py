"""`rowlock gate`, `seal`, `complete` and `reopen`: how a list goes on, and how it ends."""

import pytest
from tests.faces.shell import Shell


@pytest.fixture
def stages(quick: Shell) -> Shell:
    quick("settings", "work", "gates=first, second")
    quick("add", "work", "a", "b")
    quick("add", "work", "--gate", "second", "sum")
    return quick


def test_the_gates_are_shown_in_order(stages: Shell) -> None:
    assert stages("gate", "work").lines == ["0\tfirst\topen\t2\t0\t0\t0", "1\tsecond\tshut\t1\t0\t0\t0"]


def test_gates_are_printed_as_json(stages: Shell) -> None:
    document = stages("gate", "work", "--json").document
    assert [(each["number"], each["name"], each["counts"]["gated"]) for each in document] == [
        (0, "first", 0),
        (1, "second", 1),
    ]


def test_no_gate_opens_past_items(stages: Shell) -> None:
    ran = stages("gate", "work", "second")
    assert (ran.status, "the list 'work' has 2 items before gate 1" in ran.error) == (4, True)


def test_a_gate_is_opened_by_hand(stages: Shell) -> None:
    stages("settings", "work", "manual=true")
    stages("done", "work", "a", "b")
    assert stages("gate", "work", "second").error == "work is at gate second\n"
    assert stages("gate", "work", "1").error == "work was at gate 1 already\n"


@pytest.mark.parametrize("gate", ["third", "-1", "9999999999"])
def test_a_gate_that_cannot_be_is_refused(stages: Shell, gate: str) -> None:
    ran = stages("gate", "work", "--", gate)
    assert (ran.status, "gate must be" in ran.error) == (2, True)


def test_work_goes_through_all_gates_and_completes_what_is_sealed(shell: Shell) -> None:
    stages = shell
    stages("add", "work", "a", "b")
    stages("add", "work", "--gate", "1", "sum")
    assert stages("seal", "work", "--then", "after", "--key", "k", "--data", "[1]").error.startswith("work is sealed")
    assert "done 3" in stages("work", "work", "--", "true").error
    assert stages("status", "work").out.startswith("work\tcomplete\t1\t")
    assert [(each["key"], each["data"]) for each in stages("ls", "after", "--json").document["items"]] == [("k", [1])]


def test_an_empty_list_is_complete_when_it_is_sealed(quick: Shell) -> None:
    quick("add", "new", "a")
    quick("done", "new", "a")
    assert quick("seal", "new").error == "new is complete\n"
    assert quick("seal", "new").error == "new was sealed already\n"


def test_a_sealed_list_takes_no_items_until_it_is_reopened(stages: Shell) -> None:
    stages("seal", "work")
    ran = stages("add", "work", "c")
    assert (ran.status, "reopen it" in ran.error) == (4, True)
    assert stages("reopen", "work").error == "work is open\n"
    assert stages("add", "work", "c").lines == ["added\t1", "existing\t0"]


def test_a_list_is_ended_by_hand_with_what_is_left(stages: Shell) -> None:
    assert stages("complete", "work").error == "work is complete, with 3 items left on it\n"
    assert stages("complete", "work").error == "work was complete already\n"
    assert stages("claim", "work").out == ""


def test_what_follows_needs_a_list(stages: Shell) -> None:
    assert stages("seal", "work", "--key", "k").status == 2


@pytest.mark.parametrize("command", ["gate", "seal", "complete", "reopen"])
def test_an_unknown_list_is_reported(stages: Shell, command: str) -> None:
    ran = stages(command, "wrok")
    assert (ran.status, "did you mean 'work'?" in ran.error) == (3, True)


def test_what_follows_is_a_setting_too(stages: Shell) -> None:
    ran = stages("settings", "work", 'then={"list": "after"}', "gates=", "--json")
    assert (ran.document["then"], ran.document["gates"]) == ([{"list": "after"}], [])


@pytest.mark.parametrize("wrong", ["then=nonsense", 'then={"lits": "x"}', "then={", "gates=a,a", "gates=1"])
def test_settings_that_cannot_be_are_refused(stages: Shell, wrong: str) -> None:
    assert stages("settings", "work", wrong).status == 2
