"""How `rowlock work` ends: by signals, by being killed, beside others; and how it ends its commands."""

import re
import signal
import subprocess
from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Shell, says
from tests.faces.waiting import is_alive, lines, started, until
from tests.waiting import WAIT_SECONDS

# Says that it began, waits until the test lets it go on, says that it is done.
PATIENT = 'echo "$ROWLOCK_KEY $$" >> began; while [ ! -e go ]; do sleep 0.02; done; echo "$ROWLOCK_KEY" >> done'
# The same, with a process of its own that would go on for ever and does not mind being asked to end.
STUBBORN = "(trap '' TERM; echo $$ >> began; exec 2>&-; while :; do sleep 0.02; done) & echo $! >> company; wait"
QUICK_DEATH = ("--expiry", "1s")


@pytest.fixture
def patient(quick: QuickShell) -> QuickShell:
    """A shell on a list of four."""
    quick("add", "names", "a", "b", "c", "d")
    return quick


def began(folder: Path) -> list[str]:
    return [line.split()[1] for line in lines(folder / "began")]


def work(shell: Shell, script: str, *options: str) -> AbstractContextManager["subprocess.Popen[bytes]"]:
    return started(shell, "work", "names", *options, "--", "sh", "-c", script)


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_lets_commands_finish_and_hands_back_the_rest(
    shell: Shell, patient: Shell, number: signal.Signals, status: int
) -> None:
    with work(shell, PATIENT, "-j", "2") as working:
        until(lambda: len(began(shell.folder)) == 2)
        working.send_signal(number)
        # One of the two may have begun before it is counted.
        assert says(working, "running finish or go back (10 s; Ctrl-C again stops now)")
        shell.write("go", "")
        assert working.wait(WAIT_SECONDS) == status
    assert len(lines(shell.folder / "done")) == 2
    assert [line.split("\t")[1:] for line in patient("ls", "names").lines] == [["0", "ready"]] * 2


def test_a_complete_list_hands_out_nothing_and_is_reported(shell: Shell, patient: Shell) -> None:
    patient("complete", "names")
    ran = shell("work", "names", "--", "true")
    told = "4 items of names left: the list is complete; reopen it with: rowlock reopen names"
    assert (ran.status, ran.error.splitlines()[-1]) == (0, told)


def test_a_stop_with_nothing_left_does_not_ask_for_more(shell: Shell, patient: Shell) -> None:
    with work(shell, "true", "--wait") as working:
        until(lambda: patient("status", "names").out.split("\t")[8] == "4")
        working.send_signal(signal.SIGINT)
        assert says(working, "nothing is left")


def test_a_second_signal_stops_commands_and_hands_all_back(shell: Shell, patient: Shell) -> None:
    with work(shell, PATIENT, "-j", "2") as working:
        until(lambda: len(began(shell.folder)) == 2)
        working.send_signal(signal.SIGINT)
        assert says(working, "stopping")
        working.send_signal(signal.SIGINT)
        assert working.wait(WAIT_SECONDS) == 130
    assert [process for process in began(shell.folder) if is_alive(process)] == []
    assert patient("ls", "names").lines == [f"{key}\t0\tready" for key in "abcd"]


def test_the_same_command_goes_on_after_a_signal(shell: Shell, patient: Shell) -> None:
    with work(shell, PATIENT, "-j", "2") as working:
        until(lambda: len(began(shell.folder)) == 2)
        working.send_signal(signal.SIGINT)
        assert says(working, "stopping")
        shell.write("go", "")
        working.wait(WAIT_SECONDS)
    assert shell("work", "names", "--", "sh", "-c", PATIENT).status == 0
    assert sorted(lines(shell.folder / "done")) == ["a", "b", "c", "d"]


def test_ctrl_c_on_a_terminal_does_not_reach_the_commands(shell: Shell, patient: Shell) -> None:
    terminal = shell.on_terminal("work", "names", "-j", "1", "--", "sh", "-c", f"trap 'echo hit' INT; {PATIENT}")
    until(lambda: began(shell.folder))
    terminal.sendintr()
    terminal.expect_exact("stopping: 1 running finish or go back")
    shell.write("go", "")
    rest = terminal.read()
    terminal.close()
    assert (terminal.exitstatus, "hit" in rest) == (130, False)
    assert lines(shell.folder / "done") == ["a"]


def test_a_terminal_shows_how_far_it_is(shell: Shell, patient: Shell) -> None:
    terminal = shell.on_terminal("work", "names", "-j", "1", "--", "sh", "-c", PATIENT)
    terminal.expect_exact("0 done, 4 left  0%")
    shell.write("go", "")
    terminal.expect(r"done 4 · failed 0 · retried 0 in ")
    terminal.read()
    terminal.close()
    assert terminal.exitstatus == 0


def test_a_command_past_its_time_is_ended_with_all_it_started(shell: Shell, patient: Shell) -> None:
    ran = shell("work", "names", "-j", "4", "--attempts", "1", "--timeout", "2s", "--", "sh", "-c", STUBBORN)
    company = lines(shell.folder / "company")
    assert ran.status == 1
    assert len(company) == 4
    assert [process for process in company if is_alive(process)] == []
    assert patient("failures", "names").lines == ["names\t4\ttimeout\ttimed out after #s\ta"]


def test_what_took_too_long_says_so(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", "a")
    shell("work", "names", "--attempts", "1", "--timeout", "50ms", "--", "sh", "-c", "exec sleep 3600")
    [failure] = quick("show", "names", "a", "--json").document["failures"]
    assert (failure["kind"], failure["message"]) == ("timeout", "timed out after 0.05s")


def test_commands_die_with_a_worker_that_is_killed(shell: Shell, patient: Shell) -> None:
    with work(shell, STUBBORN, "-j", "3") as working:
        until(lambda: len(lines(shell.folder / "company")) == 3)
        working.kill()
    until(lambda: not any(map(is_alive, lines(shell.folder / "company"))))


def test_what_a_killed_worker_left_is_done_by_the_next(any_shell: Shell) -> None:
    keys = [f"{number:02}" for number in range(40)]
    any_shell("add", "names", *keys)
    script = (
        'echo "$ROWLOCK_KEY" >> began; [ $(wc -l < began) -lt 10 ] || [ -e go ] || { echo >> stuck; exec sleep 3600; }'
    )
    with work(any_shell, script, "-j", "2", *QUICK_DEATH) as working:
        until(lambda: len(lines(any_shell.folder / "stuck")) == 2)
        until(lambda: done(any_shell) == len(lines(any_shell.folder / "began")) - 2)
        working.kill()
    any_shell.write("go", "")
    ran = any_shell("work", "names", "-j", "4", *QUICK_DEATH, "--", "sh", "-c", script)
    times = Counter(lines(any_shell.folder / "began"))
    assert ran.status == 0
    assert any_shell("ls", "names").out == ""
    assert sorted(times) == keys
    # The two that ran when it died ran again, nothing else did.
    assert sorted(times.values()) == [1] * 38 + [2] * 2


def done(shell: Shell) -> int:
    return shell("status", "names", "--json").document["progress"]["done"]


def test_two_workers_share_the_work(any_shell: Shell) -> None:
    keys = [f"{number:03}" for number in range(120)]
    any_shell("add", "names", *keys)
    append = "-j", "2", "--stdin"
    with work(any_shell, "cat >> one", *append) as one, work(any_shell, "cat >> two", *append) as two:
        assert (one.wait(WAIT_SECONDS), two.wait(WAIT_SECONDS)) == (0, 0)
    first, second = lines(any_shell.folder / "one"), lines(any_shell.folder / "two")
    assert sorted(first + second) == keys


def test_waiting_continues_with_items_added_later(shell: Shell, patient: Shell) -> None:
    with work(shell, "cat >> done", "--wait", "--stdin") as working:
        until(lambda: len(lines(shell.folder / "done")) == 4)
        patient("add", "names", "e")
        until(lambda: "e" in lines(shell.folder / "done"))
        working.send_signal(signal.SIGTERM)
        assert working.wait(WAIT_SECONDS) == 143


def test_a_paused_list_is_waited_for(shell: Shell, patient: Shell) -> None:
    patient("pause", "names")
    with work(shell, "cat >> done", "--wait", "--stdin") as working:
        until(lambda: patient("sessions").lines)
        assert lines(shell.folder / "done") == []
        patient("resume", "names")
        until(lambda: len(lines(shell.folder / "done")) == 4)
        working.send_signal(signal.SIGINT)
        assert working.wait(WAIT_SECONDS) == 130


def test_in_a_pipe_no_bar_is_drawn(shell: Shell, patient: Shell) -> None:
    ran = shell("work", "names", "--", "true")
    assert re.fullmatch(r"done 4 · failed 0 · retried 0 in [\d.]+ s\n", ran.error)
