"""Options of `rowlock work` that users of xargs and GNU parallel know: output, order, limits, patterns."""

import os
import signal
from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Shell, says
from tests.faces.waiting import is_asleep, lines, started, until
from tests.waiting import WAIT_SECONDS

from rowlock import Invalid
from rowlock.cli.work_handlers import parse_halt
from rowlock.outcomes import Done, Retry
from rowlock.worker.exec.throttle import Throttle, parse_load, parse_size

ONE_TRY = ("--attempts", "1")
QUICK_TRIES = ("--backoff", "1ms", "--attempts", "2")
FIRST_WAITS = "case {} in a) until test -e last; do sleep 0.01; done;; c) touch last;; esac; echo {}"
"""The first command ends after the last has begun."""


@pytest.fixture
def names(quick: QuickShell) -> QuickShell:
    """A list of three items."""
    quick("add", "names", "a", "b", "c")
    return quick


def test_kept_order_is_that_of_the_list_although_the_first_ends_last(shell: Shell, names: Shell) -> None:
    assert shell("work", "names", "-j", "3", "-k", "--shell", FIRST_WAITS).lines == ["a", "b", "c"]


def test_lines_are_shown_while_a_command_runs(shell: Shell, names: Shell) -> None:
    script = "echo {} began; until test -e go; do sleep 0.01; done; printf ended"
    with started(shell, "work", "names", "-j", "1", "--line-buffer", "--tag", "--shell", script) as working:
        assert working.stdout.readline() == b"a\ta began\n"
        shell.write("go", "")
        assert working.stdout.read().decode() == "a\tended\nb\tb began\nb\tended\nc\tc began\nc\tended"


def test_the_error_of_a_failed_command_has_its_key(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", "-q", "-k", *ONE_TRY, "--shell", "echo one >&2; echo two >&2; test {} != b")
    assert ran.error == "one\ntwo\nb: one\nb: two\none\ntwo\n"


def test_the_job_log_names_every_attempt_and_the_last_failure(shell: Shell, names: Shell) -> None:
    shell("work", "names", "-j", "1", "--joblog", "log", *QUICK_TRIES, "--shell", "test {} != b || kill -9 $$")
    head, *rows = [line.split("\t") for line in lines(shell.folder / "log")]
    assert head[:9] == ["Seq", "Host", "Starttime", "JobRuntime", "Send", "Receive", "Exitval", "Signal", "Command"]
    assert sorted(row[6:8] + row[9:] for row in rows) == [
        ["0", "0", "a", "1", "done"],
        ["0", "0", "c", "1", "done"],
        ["0", "9", "b", "1", "retried"],
        ["0", "9", "b", "2", "failed"],
    ]


def test_halting_soon_lets_running_commands_finish_and_starts_no_more(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", "-j", "1", "--halt", "soon,fail=1", "--shell", "echo {}; false")
    assert (ran.status, ran.lines) == (1, ["a"])
    assert "halted: 1 of 1 attempts failed" in ran.error
    assert "3 items left; the same command continues from here" in ran.error


def test_halting_now_ends_running_commands_and_hands_their_items_back(shell: Shell, names: Shell) -> None:
    script = "touch {}; case {} in a) until test -e b -a -e c; do sleep 0.01; done; false;; *) sleep 3600;; esac"
    ran = shell("work", "names", "-j", "3", "--halt", "now,fail=1", *ONE_TRY, "--shell", script)
    assert ran.status == 1
    assert sorted(names("ls", "names").lines) == ["a\t1\tfailed", "b\t0\tready", "c\t0\tready"]


def test_a_share_of_failures_counts_from_three_on() -> None:
    halt = parse_halt("soon,fail=50%")
    assert [halt.reached(outcome) for outcome in (Retry("x"), Retry("x"), Done(), Retry("x"))] == [False] * 3 + [True]


@pytest.mark.parametrize("text", ["soon", "later,fail=1", "now,fail=0", "now,fail=101%"])
def test_a_wrong_limit_is_refused_with_the_right_form(text: str) -> None:
    with pytest.raises(Invalid, match="halt must be like soon,fail=3, got"):
        parse_halt(text)


def test_a_limit_of_thousands_of_digits_is_refused() -> None:
    with pytest.raises(Invalid, match="halt must be like soon,fail=3, got"):
        parse_halt("now,fail=" + "9" * 5_000)


def test_a_dry_run_prints_commands_and_changes_nothing(names: Shell) -> None:
    ran = names("work", "names", "--dry-run", "-n", "2", "--", "echo", "it's")
    assert ran.lines == ["""echo 'it'"'"'s' a b""", """echo 'it'"'"'s' c"""]
    assert len(names("ls", "names").lines) == 3


def test_a_pattern_works_all_lists_that_match(shell: Shell, quick: QuickShell) -> None:
    for name in ("a/one", "a/two", "b"):
        quick("add", name, "k")
    ran = shell("work", "a/*", "echo", "{list}")
    assert (ran.status, sorted(ran.lines)) == (0, ["a/one", "a/two"])
    assert quick("ls", "b").lines == ["k\t0\tready"]


def test_a_pattern_that_matches_no_list_is_refused(names: Shell) -> None:
    ran = names("work", "nothing/*", "true")
    assert (ran.status, ran.error.startswith("rowlock: no list matches 'nothing/*'")) == (3, True)


def test_kept_output_of_attempts_and_lists_is_never_overwritten(shell: Shell, quick: QuickShell) -> None:
    for name in ("one", "two"):
        quick("add", name, "k")
    shell("work", "*", "-j", "1", "--keep-output", "kept", *QUICK_TRIES, "--shell", "echo {list} {attempt}; false {}")
    kept = shell.folder / "kept"
    found = {str(path.relative_to(kept)): path.read_text() for path in kept.rglob("*.out")}
    assert found == {
        "one/k.out": "one 1\n",
        "one/k+2.out": "one 2\n",
        "two/k.out": "two 1\n",
        "two/k+2.out": "two 2\n",
    }


def test_an_item_without_a_field_fails_with_its_name(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", "a", "--data", '{"url": "x"}')
    quick("add", "names", "b")
    assert shell("work", "names", "echo", "{url}").out == "x\n"
    assert quick("failures", "names").lines == ["names\t1\tmissing field\tthe data of # has no field #\tb"]


def test_an_unknown_placeholder_is_refused_before_anything_is_claimed(names: Shell) -> None:
    ran = names("work", "names", "awk", "{print}")
    assert (ran.status, "the text itself {{print}}" in ran.error) == (2, True)
    assert [line.split("\t")[1] for line in names("ls", "names").lines] == ["0"] * 3


def test_the_next_run_says_for_whom_it_waits(shell: Shell, names: Shell) -> None:
    script = "echo >> began; exec sleep 3600; : {}"
    with started(shell, "work", "names", "-j", "3", "--expiry", "2s", "--shell", script) as killed:
        until(lambda: len(lines(shell.folder / "began")) == 3)
        killed.kill()
    with started(shell, "work", "names", "--", "true") as waiting:
        assert says(waiting, "3 items are held by a worker last seen")
        assert waiting.wait(WAIT_SECONDS) == 0


def test_commands_run_again_when_their_supervisor_is_killed(shell: Shell, names: Shell) -> None:
    script = "echo $PPID >> parents; until test -e go; do sleep 0.01; done; echo {} >> done"
    with started(shell, "work", "names", "-j", "3", "--shell", script) as working:
        until(lambda: len(lines(shell.folder / "parents")) == 3)
        before = set(lines(shell.folder / "parents"))
        until(lambda: is_asleep(min(before)))  # it has reported what it started
        os.kill(int(min(before)), signal.SIGKILL)
        until(lambda: set(lines(shell.folder / "parents")) - before)
        shell.write("go", "")
        assert working.wait(WAIT_SECONDS) == 0
    assert sorted(lines(shell.folder / "done")) == ["a", "b", "c"]


def test_a_program_is_found_again_when_it_has_moved(shell: Shell, names: Shell) -> None:
    shell.write("second/other", "")
    shell.write("first/moving", '#!/bin/sh\nmv first/moving second 2> moved\necho "$1"\n').chmod(0o755)
    path = f"{shell.folder}/first:{shell.folder}/second:{os.environ['PATH']}"
    assert shell("work", "names", "-j", "1", "moving", PATH=path).lines == ["a", "b", "c"]


def test_a_throttle_holds_back_by_load_and_memory_only_beside_others(tmp_path: Path) -> None:
    (tmp_path / "loadavg").write_text("3.50 1.00 1.00 1/100 1\n")
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable: 2048 kB\n")
    busy, idle = Throttle(load="3.5", proc=tmp_path), Throttle(load="3.6", proc=tmp_path)
    short, roomy = Throttle(memory="3M", proc=tmp_path), Throttle(memory="2M", proc=tmp_path)
    assert [each.admits(1) for each in (busy, idle, short, roomy)] == [False, True, False, True]
    assert [each.admits(0) for each in (busy, short)] == [True, True]


def test_a_system_without_proc_tells_its_load(tmp_path: Path) -> None:
    busy, idle = Throttle(load="0", proc=tmp_path), Throttle(load="1000000", proc=tmp_path)
    assert (busy.admits(1), idle.admits(1)) == (False, True)


def test_free_memory_is_refused_as_a_limit_on_a_system_that_does_not_tell_it(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"memory must be left out, .* got '2G'"):
        Throttle(memory="2G", proc=tmp_path)


def test_a_delay_holds_back_the_second_command() -> None:
    throttle = Throttle(delay="1h")
    assert [throttle.admits(0), throttle.admits(0)] == [True, False]


def test_sizes_and_loads_are_read() -> None:
    assert (parse_size("1.5k"), parse_size("2M"), parse_load("4")) == (1500, 2 << 20, 4.0)
    with pytest.raises(Invalid, match="memory must be a size"):
        parse_size("much")
    with pytest.raises(Invalid, match="load must be a number"):
        parse_load("-1")
