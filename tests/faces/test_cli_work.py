"""`rowlock work`: commands for items, their words, what they are told and how their exit status is read."""

import re
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.faces.shell import PROGRAM, QuickShell, Ran, Shell
from tests.faces.waiting import started
from tests.waiting import WAIT_SECONDS

ONE_TRY = ("--attempts", "1")
QUICK_TRIES = ("--backoff", "1ms", "--attempts", "3")


def sh(script: str) -> tuple[str, ...]:
    return ("--", "sh", "-c", script)


def states(quick: Shell, name: str = "names") -> list[str]:
    return quick("ls", name).lines


@pytest.fixture
def names(quick: QuickShell) -> QuickShell:
    """A list of one item."""
    quick("add", "names", "img/a b.jpg")
    return quick


@pytest.mark.parametrize("given", [["--", "true"], ["--http", "http://localhost:1/"]])
def test_a_timeout_of_nothing_is_refused(names: QuickShell, given: list[str]) -> None:
    ran = names("work", "names", "--timeout", "0s", *given)
    assert (ran.status, ran.error.startswith("rowlock: timeout must be more than 0")) == (2, True)


def test_each_item_is_done_by_its_command(any_shell: Shell) -> None:
    any_shell("add", "names", given="".join(f"{number}\n" for number in range(20)))
    ran = any_shell("work", "names", "-j", "3", "--", "echo", "did", "{}")
    assert ran.status == 0
    assert sorted(ran.lines) == sorted(f"did {number}" for number in range(20))
    assert ran.error.startswith("done 20 · failed 0 · retried 0 in ")
    assert states(any_shell) == []


def test_nothing_to_do_is_no_error(names: Shell) -> None:
    names("done", "names", "img/a b.jpg")
    assert names("work", "names", "--", "false").status == 0


def test_words_are_filled_in(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", "--", "echo", "{}", "{name}", "{stem}", "{attempt}", "{list}", "{{other}}")
    assert ran.out == "img/a b.jpg a b.jpg a b 1 names {other}\n"


def test_a_command_without_a_placeholder_gets_the_key_as_its_last_word(shell: Shell, names: Shell) -> None:
    assert shell("work", "names", "printf", "<%s>").out == "<img/a b.jpg>"


def test_stdin_is_asked_for(shell: Shell, names: Shell) -> None:
    assert shell("work", "names", "--stdin", "--", "cat").out == "img/a b.jpg\n"


def test_options_after_the_first_word_belong_to_the_command(shell: Shell, names: Shell) -> None:
    names("add", "names", "b")
    assert shell("work", "-j", "1", "names", "--tag", "echo", "-n", "-k", "--tag").out == (
        "img/a b.jpg\t-k --tag img/a b.jpg\nb\t-k --tag b"
    )


def test_an_option_of_work_after_the_command_gets_a_warning(names: QuickShell) -> None:
    warned = names("work", "names", "echo", "--attempts", "--tag").error
    assert warned.count("warning:") == 1
    assert "warning: --attempts is passed to echo; put options of work before the command" in warned


def test_two_dashes_say_that_such_an_option_is_meant(names: QuickShell) -> None:
    assert "warning" not in names("work", "names", "--", "echo", "--attempts").error


def test_a_line_for_the_shell_is_one_word(names: QuickShell) -> None:
    ran = names("work", "names", "--shell", "exit 1", "--attempts", "1")
    assert ran.status == 2
    assert "the command of --shell must be one word, got '--attempts' after 'exit 1'" in ran.error
    assert "put options before the command" in ran.error


def test_a_command_does_not_read_our_stdin(shell: Shell, names: Shell) -> None:
    assert shell("work", "names", *sh("cat; : {}"), given="not for you\n").out == ""


def test_a_command_knows_its_item_by_its_environment(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", "a b", "--data", '{"size": 3}')
    ran = shell(
        "work", "names", *sh('echo "$ROWLOCK_LIST/$ROWLOCK_KEY/$ROWLOCK_ATTEMPT/$ROWLOCK_DATA/${#ROWLOCK_CLAIM}"')
    )
    assert ran.out == 'names/a b/1/{"size":3}/32\n'


def test_a_command_gets_the_number_of_the_attempt(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", *QUICK_TRIES, *sh("echo try {attempt}; test {attempt} = 3"))
    assert (ran.status, ran.lines) == (0, ["try 1", "try 2", "try 3"])
    assert "done 1 · failed 0 · retried 2 in " in ran.error


def test_a_shell_reads_a_line_only_with_the_option(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", "--shell", "--", "echo {stem} | tr a A; echo '{list}'")
    assert ran.out == "A b\nnames\n"


def test_a_line_that_would_run_keys_is_refused_before_anything_is_claimed(names: Shell, tmp_path: Path) -> None:
    names("add", "names", f"$(touch {tmp_path}/canary)")
    ran = names("work", "names", "--shell", "--", "bash -c 'echo {}'")
    assert (ran.status, ran.out) == (2, "")
    assert ran.error.splitlines() == [
        "rowlock: a placeholder stands in what bash may read as code: a key could run as a command",
        "  read it from the environment there, as in: bash -c 'echo \"$ROWLOCK_KEY\"'; "
        "or give it as an argument of its own after the code: bash -c 'echo \"$1\"' _ {}",
    ]
    assert not (tmp_path / "canary").exists()
    assert names("status", "names", "--json").document["counts"]["claimed"] == 0


def failed(quick: Shell, ran: Ran) -> tuple[int, str, str]:
    shown = quick("show", "names", "img/a b.jpg", "--json").document
    newest = shown["failures"][0]
    return ran.status, newest["kind"], newest["message"]


@pytest.mark.parametrize(
    ("script", "kind", "message"),
    [
        ("echo no such page >&2; exit 3", "exit 3", "no such page"),
        ("exit 4", "exit 4", "exit status 4"),
        ("kill -9 $$", "signal 9", "killed by signal 9 (SIGKILL)"),
        ("nosuchprogram-at-all 2>/dev/null", "exit 127", "exit status 127: command not found"),
        ("printf '%05000d' 7 >&2; exit 1", "exit 1", "…" + "0" * 3998 + "7"),
    ],
)
def test_another_status_is_a_failed_attempt(names: Shell, script: str, kind: str, message: str) -> None:
    assert failed(names, names("work", "names", *ONE_TRY, *sh(script))) == (1, kind, message)


def test_an_item_fails_when_its_attempts_are_used_up(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", *QUICK_TRIES, "--", "false")
    assert ran.status == 1
    assert "done 0 · failed 1 · retried 2 in " in ran.error
    assert "1 item of names failed; see: rowlock failures names" in ran.error
    assert states(names) == ["img/a b.jpg\t3\tfailed"]


def test_without_a_limit_an_item_is_tried_until_it_is_done(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", "--backoff", "0s", "--attempts", "0", "--", "test", "{attempt}", "-gt", "6")
    assert (ran.status, "done 1 · failed 0 · retried 6 in " in ran.error) == (0, True)


def test_status_65_fails_at_once(names: Shell) -> None:
    ran = names("work", "names", *sh("echo broken >&2; exit 65"))
    assert failed(names, ran) == (1, "exit 65", "broken")
    assert states(names) == ["img/a b.jpg\t1\tfailed"]


def test_status_75_is_tried_later_and_does_not_count(names: Shell) -> None:
    script = "echo {attempt} >> tries; test $(wc -l < tries) = 3 || exit 75"
    ran = names("work", "names", "--later", "1ms", *ONE_TRY, *sh(script))
    assert (ran.status, (names.folder / "tries").read_text()) == (0, "1\n1\n1\n")


def test_a_program_that_goes_missing_is_the_items_failure(names: Shell) -> None:
    ran = names("work", "names", *ONE_TRY, "--", "./{stem}.sh")
    assert failed(names, ran) == (1, "exit 127", "'./{stem}.sh' cannot be run: no such file or directory")


@pytest.mark.parametrize(
    ("words", "wrong"),
    [
        (("nosuchprogram-at-all", "{}"), "there is no program 'nosuchprogram-at-all'"),
        (("./plain", "{}"), "'./plain' is not executable"),
        (("echo {}",), "there is no program 'echo {}'"),
        ((), "work needs a command"),
    ],
)
def test_a_wrong_command_is_refused_before_anything_is_claimed(
    names: Shell, words: tuple[str, ...], wrong: str
) -> None:
    names.write("plain", "no program")
    ran = names("work", "names", "--", *words)
    assert ran.status == 2
    assert wrong in ran.error
    assert states(names) == ["img/a b.jpg\t0\tready"]


def test_an_unknown_list_is_refused_with_the_nearest_name(names: Shell) -> None:
    ran = names("work", "nmes", "--", "true")
    assert ran.status == 3
    assert "did you mean 'names'?" in ran.error


def test_a_paused_list_is_refused(names: Shell) -> None:
    names("pause", "names")
    ran = names("work", "names", "--", "true")
    assert ran.status == 4
    assert "the list 'names' is paused" in ran.error
    assert "rowlock resume names" in ran.error


def test_a_list_that_is_paused_meanwhile_ends_the_work(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", *"abcdefgh")
    pause = " ".join(f"'{word}'" for word in (*PROGRAM, "pause", "names"))
    ran = shell("work", "names", "-j", "1", *sh(f"{pause}; : {{}}"))
    assert ran.status == 4
    assert "the list 'names' is paused" in ran.error
    assert states(quick) != []


def test_an_unreachable_database_is_reported(quick: QuickShell) -> None:
    ran = quick("work", "names", "--", "true", ROWLOCK_DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert ran.status == 5
    assert "Traceback" not in ran.error


@pytest.mark.parametrize(("size", "lines"), [("2", 3), ("10", 1)])
def test_a_batch_is_one_command(shell: Shell, quick: QuickShell, size: str, lines: int) -> None:
    quick("add", "names", "a", "b c", "d", "e", "f")
    ran = shell("work", "names", "-j", "1", "--batch", size, "--", "printf", "<%s>", "{}", "\n")
    assert ran.status == 0
    assert "".join(ran.lines).count("<") == 5 + lines
    assert len(ran.lines) == 2 * lines


def test_a_batch_that_is_too_long_for_a_command_is_halved(quick: QuickShell) -> None:
    quick.write("many", "".join(f"{number:0500}\n" for number in range(5_000)))
    quick("add", "names", "-f", "many")
    ran = quick("work", "names", "-j", "1", "--batch", "10000", "--shell", "--", "echo $# >> counts; true {}")
    assert (ran.status, states(quick)) == (0, [])
    assert sorted((quick.folder / "counts").read_text().split()) == ["2500", "2500"]


def test_a_batch_on_stdin_is_one_to_a_line(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", "a", "b c", "d")
    assert sorted(shell("work", "names", "--batch", "9", "--stdin", "--", "cat").lines) == ["a", "b c", "d"]


def test_a_batch_that_fails_is_a_failed_attempt_of_each(quick: QuickShell) -> None:
    quick("add", "names", "a", "b")
    ran = quick("work", "names", "--batch", "9", *ONE_TRY, *sh("echo broken >&2; exit 3"))
    assert ran.status == 1
    assert states(quick) == ["a\t1\tfailed", "b\t1\tfailed"]
    assert quick("failures", "names").lines == ["names\t2\texit 3\tbroken\ta"]


def test_outputs_are_kept_under_safe_names(quick: QuickShell) -> None:
    quick("add", "names", "a/b c", "../x", "\N{GRINNING FACE}")
    ran = quick("work", "names", "--keep-output", "kept/here", *sh('echo "out $ROWLOCK_KEY"; echo problem >&2; : {}'))
    kept = quick.folder / "kept" / "here" / "names"
    assert ran.status == 0
    assert (kept / "a%2Fb c.out").read_text() == "out a/b c\n"
    assert (kept / "\N{GRINNING FACE}.err").read_text() == "problem\n"
    assert len(list(kept.iterdir())) == 6
    assert not (quick.folder / "kept" / "x.out").exists()


def test_a_folder_that_cannot_be_made_is_refused(names: Shell) -> None:
    names.write("kept", "a file")
    assert names("work", "names", "--keep-output", "kept/here", "--", "true").status == 2
    assert states(names) == ["img/a b.jpg\t0\tready"]


def test_outputs_of_two_items_never_share_a_line(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", *[f"{number}" for number in range(30)])
    script = "for each in 1 2 3 4 5; do printf '%s' {}-; printf '%s' {}+ >&2; done"
    ran = shell("work", "names", "-j", "8", "-q", *sh(script))
    assert sorted(ran.lines) == sorted(f"{number}-" * 5 for number in range(30))
    assert sorted(ran.error.splitlines()) == sorted(f"{number}+" * 5 for number in range(30))


def test_a_single_output_is_passed_on_byte_by_byte(shell: Shell, names: Shell) -> None:
    assert shell("work", "names", "--", "printf", "no end").out == "no end"


def test_the_last_reader_going_ends_the_work(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", *[f"{number}" for number in range(50)])
    with started(shell, "work", "names", "-j", "2", "--", "echo", "{}") as working:
        working.stdout.close()
        assert working.wait(WAIT_SECONDS) == 141
    assert len(states(quick)) > 0


def test_a_command_that_leaves_something_running_does_not_hold_us_up(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", *sh("sleep 300 & echo $!"))
    assert (ran.status, len(ran.lines)) == (0, 1)
    subprocess.run(["kill", ran.lines[0]], check=True)


def test_logs_tell_of_each_command(shell: Shell, names: Shell) -> None:
    ran = shell("-v", "work", "names", "--", "true")
    assert re.search(r'info command ended list=names key="img/a b.jpg" attempt=1 items=1 outcome=done', ran.error)


def test_logs_may_be_json(shell: Shell, names: Shell) -> None:
    ran = shell("work", "names", "-v", "--log-format", "json", "--", "true")
    [line] = [line for line in ran.error.splitlines() if line.startswith("{")]
    assert msgspec.json.decode(line)["key"] == "img/a b.jpg"


def test_quiet_says_nothing(names: Shell) -> None:
    assert names("work", "names", "-q", "--", "true") == Ran(0, "", "")


def test_a_trace_goes_from_add_to_the_command(shell: Shell) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    shell("add", "traced", "a", TRACEPARENT=trace)
    assert shell("work", "traced", *sh('echo "$TRACEPARENT"')).out == f"{trace}\n"


def test_a_command_for_many_items_has_the_trace_that_they_share(shell: Shell) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    shell("add", "traced", "a", "b", TRACEPARENT=trace)
    assert shell("work", "traced", "--batch", "2", *sh('echo "$TRACEPARENT"')).out == f"{trace}\n"
    shell("add", "traced", "a", TRACEPARENT=trace)
    shell("add", "traced", "b")
    assert shell("work", "traced", "--batch", "2", *sh('echo "$TRACEPARENT"')).out == "\n"


def test_what_a_command_printed_is_the_result_of_its_item(any_shell: Shell) -> None:
    any_shell("add", "prints", "hello", '{"size": 3}', "[1, 2")
    any_shell("settings", "prints", "keep_results=true")
    any_shell("work", "prints", "--", "printf", "%s\\n")
    found = [msgspec.json.decode(line) for line in any_shell("results", "prints", "--ndjson").lines]
    assert {each["key"]: each["result"] for each in found} == {
        "hello": "hello",
        '{"size": 3}': {"size": 3},
        "[1, 2": "[1, 2",
    }


def test_the_output_of_a_batch_is_the_result_of_no_item(any_shell: Shell) -> None:
    any_shell("add", "prints", "a", "b")
    any_shell("settings", "prints", "keep_results=true")
    any_shell("work", "prints", "-n", "2", "--", "echo")
    found = [msgspec.json.decode(line) for line in any_shell("results", "prints", "--ndjson").lines]
    assert [each["result"] for each in found] == [None, None]
