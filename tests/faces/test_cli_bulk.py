"""`rowlock done`, `increment`, `retry` and `abandon`: items changed by hand or by a script."""

import sqlite3

import pytest
from tests.faces.shell import Shell

from rowlock import Engine


@pytest.fixture
def fruit(any_quick: Shell) -> Shell:
    with Engine(any_quick.environment["ROWLOCK_DATABASE_URL"]) as engine:
        engine["fruit"].add(["apple", "pear", "plum"])
    return any_quick


@pytest.fixture
def failed(quick: Shell) -> Shell:
    """Three items, two of which have failed."""
    path = quick.folder / "rowlock.db"
    with Engine(str(path)) as engine:
        engine["fruit"].add(["apple", "pear", "plum"])
    database = sqlite3.connect(path, isolation_level=None)
    database.execute("update rowlock_items set failed_at = 1, attempts = 5 where key <> 'apple'")
    database.execute("insert into rowlock_tallies (list, gate, at, failed, failed_change) values (1, 0, 1, 2, 2)")
    database.close()
    return quick


def test_done_items_leave_the_list(fruit: Shell) -> None:
    assert fruit("done", "fruit", "apple", "plum").out == "done\t2\nmissing\t0\n"
    assert fruit("ls", "fruit", "-k").out == "pear\n"


def test_keys_are_read_from_a_pipe(fruit: Shell) -> None:
    assert fruit("abandon", "fruit", "-", given="apple\n\nplum\n").out == "abandoned\t2\nmissing\t0\n"


def test_an_attempt_is_noted_with_its_error(fruit: Shell) -> None:
    assert fruit("increment", "fruit", "apple", "--error", "404").lines[0] == "incremented\t1"
    assert fruit("show", "fruit", "apple").lines[-1].endswith("\t404")


def test_empty_standard_input_is_reported(quick: Shell) -> None:
    quick("add", "fruit", "apple")
    for words in (("retry", "fruit", "-"), ("retry", "fruit"), ("done", "fruit", "-")):
        ran = quick(*words, given="\n")
        assert (ran.status, ran.error) == (0, "no keys were given on standard input\n")
    assert quick("retry", "fruit", "-", "--quiet").error == ""


def test_what_is_not_there_is_counted_and_no_error(fruit: Shell) -> None:
    ran = fruit("done", "fruit", "apple", "grape", "apple")
    assert (ran.status, ran.out) == (0, "done\t1\nmissing\t1\n")


def test_all_that_match_a_filter_are_listed_and_changed(fruit: Shell) -> None:
    fruit("increment", "fruit", "pear", "--error", "404")
    assert fruit("ls", "fruit", "--prefix", "p", "-k").out == "pear\nplum\n"
    assert fruit("ls", "fruit", "--error", "404", "--attempts", "1", "-n", "5").out == "pear\t1\tready\n"
    assert fruit("done", "fruit", "--prefix", "p", "--state", "ready", "--dry-run").out == "done\t2\ndry_run\t1\n"
    assert fruit("abandon", "fruit", "--attempts", "1", "--yes").out == "abandoned\t1\n"
    assert fruit("ls", "fruit", "-k").out == "apple\nplum\n"


def test_throughput_is_a_line_for_each_minute(fruit: Shell) -> None:
    fruit("done", "fruit", "pear")
    lines = [line.split("\t") for line in fruit("throughput", "fruit", "--span", "15m").lines]
    assert (len(lines), sum(int(line[1]) for line in lines), sum(int(line[2]) for line in lines)) == (16, 3, 1)
    assert fruit("throughput", "--span", "15m").lines != []


def test_an_unknown_list_is_an_error(fruit: Shell) -> None:
    ran = fruit("done", "friut", "apple")
    assert (ran.status, "did you mean 'fruit'?" in ran.error) == (3, True)


def test_a_delayed_item_is_ready_when_retried(fruit: Shell) -> None:
    fruit("add", "fruit", "fig", "--due", "1h")
    assert fruit("retry", "fruit", "fig", "apple").out == "retried\t1\nmissing\t1\n"
    assert fruit("ls", "fruit", "--state", "delayed").out == ""


@pytest.mark.parametrize("command", ["done", "abandon"])
def test_a_dry_run_changes_nothing(quick: Shell, command: str) -> None:
    quick("add", "fruit", "apple", "pear")
    assert quick(command, "fruit", "apple", "grape", "--dry-run").lines[1:] == ["missing\t1", "dry_run\t1"]
    assert len(quick("ls", "fruit").lines) == 2


def test_a_wrong_key_in_a_pipe_is_named_by_its_line_and_nothing_changes(fruit: Shell) -> None:
    ran = fruit("done", "fruit", given="apple\n\na\0b\n")
    assert (ran.status, "in line 3 contains a NUL" in ran.error) == (2, True)
    assert len(fruit("ls", "fruit").lines) == 3


def test_more_keys_than_one_statement_takes_are_one_transaction(shell: Shell) -> None:
    keys = "".join(f"key-{number}\n" for number in range(25_000))
    shell("add", "many", given=keys)
    assert shell("done", "many", given=keys).lines == ["done\t25000", "missing\t0"]


def test_the_answer_can_be_json(quick: Shell) -> None:
    quick("add", "fruit", "apple")
    assert quick("done", "fruit", "apple", "--json").document == {"done": 1, "missing": 0}


@pytest.mark.parametrize("which", [["--failed"], ["--state", "failed"]])
def test_all_failed_items_are_retried(failed: Shell, which: list[str]) -> None:
    assert failed("retry", "fruit", *which).out == "retried\t2\n"
    assert failed("ls", "fruit").lines == ["apple\t0\tready", "pear\t0\tready", "plum\t0\tready"]


def test_all_failed_items_are_abandoned(failed: Shell) -> None:
    assert failed("abandon", "fruit", "--failed", "-y").out == "abandoned\t2\n"
    assert failed("ls", "fruit", "-k").out == "apple\n"


def test_all_failed_items_are_counted_by_a_dry_run(failed: Shell) -> None:
    assert failed("abandon", "fruit", "--failed", "--dry-run").out == "abandoned\t2\ndry_run\t1\n"
    assert len(failed("ls", "fruit", "--state", "failed").lines) == 2


def test_abandoning_all_failed_items_without_a_terminal_needs_yes(failed: Shell) -> None:
    assert failed("abandon", "fruit", "--failed").status == 2
    assert len(failed("ls", "fruit", "--state", "failed").lines) == 2


def test_keys_and_all_failed_together_are_refused(failed: Shell) -> None:
    assert failed("retry", "fruit", "apple", "--failed").status == 2
