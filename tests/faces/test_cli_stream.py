"""`rowlock add --stream`: lines are on the list soon after they arrive, while the pipe stays open."""

import signal
import subprocess

import msgspec
from tests.faces.shell import Shell
from tests.waiting import WAIT_SECONDS, until


def test_a_line_is_added_while_the_pipe_is_still_open(any_shell: Shell) -> None:
    adding = any_shell.start("add", "fruit", "--stream")
    say(adding, b"apple\n")
    until(lambda: any_shell("ls", "fruit", "-k").out == "apple\n")
    say(adding, b"pear")
    assert adding.communicate(timeout=WAIT_SECONDS)[0] == b"added\t2\nexisting\t0\n"


def test_what_came_before_a_wrong_line_stays_added(shell: Shell) -> None:
    ran = shell("add", "fruit", "--stream", given="apple\n\npear\na\0b\nplum\n")
    assert ran.status == 2
    assert "in line 4 contains a NUL character" in ran.error
    assert "2 before it are on the list" in ran.error
    assert shell("ls", "fruit", "-k").lines == ["apple", "pear"]


def test_many_lines_are_added_in_several_batches(shell: Shell) -> None:
    ran = shell("add", "fruit", "--stream", given="".join(f"key-{number}\n" for number in range(2_500)))
    assert ran.lines == ["added\t2500", "existing\t0"]


def test_what_is_streamed_keeps_its_trace(any_shell: Shell) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    any_shell("add", "fruit", "--stream", given="apple\n", TRACEPARENT=trace)
    shown, listed = any_shell("show", "fruit", "apple", "--json"), any_shell("ls", "fruit", "--json")
    assert [msgspec.json.decode(shown.out)["trace"], msgspec.json.decode(listed.out)["items"][0]["trace"]] == [
        trace
    ] * 2


def test_an_interrupt_loses_nothing_that_was_read(shell: Shell) -> None:
    shell("add", "fruit", "seed")
    adding = shell.start("add", "fruit", "--stream")
    say(adding, b"apple\n")
    until(lambda: "apple" in shell("ls", "fruit").out)
    adding.send_signal(signal.SIGINT)
    error = adding.communicate(timeout=WAIT_SECONDS)[1]
    assert (adding.returncode, error) == (130, b"rowlock: interrupted\n")


def say(adding: "subprocess.Popen[bytes]", line: bytes) -> None:
    assert adding.stdin
    adding.stdin.write(line)
    adding.stdin.flush()
