"""`rowlock pause`, `resume`, `rename`, `settings` and `drop`: lists as a whole."""

import pytest
from tests.faces.shell import Shell


@pytest.fixture
def fruit(quick: Shell) -> Shell:
    quick("add", "fruit", "apple", "pear")
    return quick


def test_a_list_is_paused_and_resumed(fruit: Shell) -> None:
    assert fruit("pause", "fruit").error == "fruit is paused\n"
    assert fruit("status").out.startswith("fruit\tpaused\t")
    assert fruit("resume", "fruit").error == "fruit is open\n"


def test_pausing_twice_is_no_error(fruit: Shell) -> None:
    fruit("pause", "fruit")
    assert fruit("pause", "fruit").error == "fruit was paused already\n"


@pytest.mark.parametrize("command", [["pause"], ["resume"], ["drop", "-y"], ["rename", "new"], ["settings"]])
def test_an_unknown_list_is_reported(fruit: Shell, command: list[str]) -> None:
    name, *rest = command
    ran = fruit(name, "friut", *rest)
    assert (ran.status, "did you mean 'fruit'?" in ran.error) == (3, True)


def test_a_list_is_renamed_with_its_items(fruit: Shell) -> None:
    assert fruit("rename", "fruit", "basket").error == "fruit is now basket\n"
    assert fruit("ls", "basket", "-k").lines == ["apple", "pear"]


def test_a_name_that_is_taken_is_refused(fruit: Shell) -> None:
    fruit("add", "basket", "x")
    ran = fruit("rename", "fruit", "basket")
    assert (ran.status, "there is a list 'basket' already" in ran.error) == (4, True)


def test_dropping_without_a_terminal_needs_a_yes(fruit: Shell) -> None:
    ran = fruit("drop", "fruit")
    assert (ran.status, "give --yes" in ran.error) == (2, True)
    assert len(fruit("ls", "fruit").lines) == 2


def test_a_list_is_dropped_with_a_yes(fruit: Shell) -> None:
    assert fruit("drop", "fruit", "-y").out == "dropped\t2\n"
    assert fruit("status").out == ""


def test_a_dry_run_of_drop_only_counts(fruit: Shell) -> None:
    assert fruit("drop", "fruit", "--dry-run").out == "dropped\t2\ndry_run\t1\n"
    assert len(fruit("ls", "fruit").lines) == 2


def test_settings_are_set_and_shown(any_quick: Shell) -> None:
    any_quick("settings", "fruit", "attempts=5", "keep_results=true", "backoff=1s..10m")
    shown = any_quick("settings", "fruit").lines
    assert {"attempts\t5\tlist", "keep_results\ttrue\tlist", "keep_for\t7d\tdefault"} <= set(shown)


def test_settings_that_are_not_set_show_what_workers_use(fruit: Shell) -> None:
    assert {"attempts\t5\tdefault", "backoff\t1s..10m\tdefault"} <= set(fruit("settings", "fruit").lines)


def test_a_setting_without_a_value_goes_back_to_its_default(fruit: Shell) -> None:
    fruit("settings", "fruit", "attempts=5", "keep_for=1d")
    shown = fruit("settings", "fruit", "attempts=", "keep_for=").lines
    assert {"attempts\t5\tdefault", "keep_for\t7d\tdefault"} <= set(shown)


def test_no_limit_of_attempts_differs_from_the_default(fruit: Shell) -> None:
    assert "attempts\t0\tlist" in fruit("settings", "fruit", "attempts=0").lines


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ("atempts=5", "did you mean 'attempts'?"),
        ("attempts", "a setting must be NAME=VALUE, got 'attempts'"),
        ("attempts=many", "attempts must be a whole number, got many"),
        ("attempts=-1", "attempts must be 0 to 1000000000, got -1"),
        ("manual=perhaps", "manual must be true or false, got perhaps"),
        ("keep_for=long", "a duration must be a number with a unit, got 'long'"),
    ],
)
def test_a_wrong_setting_is_refused(fruit: Shell, change: str, wrong: str) -> None:
    ran = fruit("settings", "fruit", change)
    assert ran.status == 2
    assert wrong in ran.error
