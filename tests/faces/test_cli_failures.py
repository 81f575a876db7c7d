"""What went wrong, by what was said; retried or given up by what it says; housekeeping, and looking again and again."""

import signal

import msgspec
import pytest
from tests.faces.shell import QuickShell, Shell
from tests.faces.waiting import started, until
from tests.waiting import WAIT_SECONDS

from rowlock import Engine, sessions

SAID = {"a": "error 404 of page 7", "b": "error 404 of page 8", "c": "timed out"}


@pytest.fixture
def failed(any_quick: QuickShell, url: str) -> QuickShell:
    """Three failed items on a list, and one that is ready."""
    any_quick("add", "names", "a", "b", "c")
    with Engine(url) as engine, engine.session() as session:
        for claim in session.claim("names"):
            for item in claim:
                claim.fail(item, SAID[item.key])
    any_quick("add", "names", "d")
    any_quick("add", "others", "x")
    return any_quick


def test_failures_are_grouped_by_what_they_say(failed: QuickShell) -> None:
    expected = ["names\t2\tfail\terror 404 of page #\ta", "names\t1\tfail\ttimed out\tc"]
    assert failed("failures", "names").lines == expected
    assert failed("failures").lines == expected
    assert failed("failures", "others").lines == []
    assert failed("failures", "names", "--json").document["failures"][0]["count"] == 2


def test_failures_of_an_unknown_list_are_refused(failed: QuickShell) -> None:
    assert failed("failures", "nmes").status == 3


def test_what_says_something_is_retried(failed: QuickShell) -> None:
    assert failed("retry", "names", "--error", "404", "--dry-run").lines == ["retried\t2", "dry_run\t1"]
    assert failed("retry", "names", "--error", "404").lines == ["retried\t2"]
    assert failed("ls", "names").lines == ["a\t0\tready", "b\t0\tready", "c\t1\tfailed", "d\t0\tready"]


def test_items_whose_error_contains_a_text_are_abandoned(failed: QuickShell) -> None:
    assert failed("abandon", "names", "--error", "timed").status == 2
    assert failed("abandon", "names", "--error", "timed", "--yes").lines == ["abandoned\t1"]
    assert failed("ls", "names", "-k").lines == ["a", "b", "d"]


def test_signs_of_a_pattern_are_plain_text(failed: QuickShell) -> None:
    assert failed("retry", "names", "--error", "%").lines == ["retried\t0"]


@pytest.mark.parametrize("words", [("--error", ""), ("a", "--error", "404")])
def test_a_confused_retry_is_refused(failed: QuickShell, words: tuple[str, ...]) -> None:
    assert failed("retry", "names", *words).status == 2


def test_a_person_sees_a_table(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", "a")
    shell("work", "names", "-q", "--", "sh", "-c", "exit 65")
    shown = shell.screen("failures")
    assert shown.splitlines()[0].split() == ["LIST", "ITEMS", "KIND", "ERROR", "FOR", "EXAMPLE"]
    assert "exit status 65" in shown
    assert "no session is open" in shell.screen("sessions")


def test_upkeep_says_what_it_did(any_quick: QuickShell, url: str) -> None:
    with Engine(url) as engine:
        engine.run(sessions.open_session, "0" * 32, holder="ann", expiry=1, beats=False)
    assert any_quick("upkeep").lines == [
        "expired\t1",
        "promoted\t0",
        "opened\t0",
        "folded\t0",
        "pruned\t0",
        "ticked\t0",
        "stuck\t0",
    ]


def test_watching_gives_a_line_each_second(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", "a")
    with started(shell, "status", "names", "--watch", "--json") as watching:
        ready = (msgspec.json.decode(line)["counts"]["ready"] for line in watching.stdout)
        assert next(ready) == 1
        quick("add", "names", "b")
        assert next(number for number in ready if number != 1) == 2
        watching.send_signal(signal.SIGINT)
        assert (watching.wait(WAIT_SECONDS), watching.stderr.read()) == (130, b"")


def test_watching_on_a_terminal_draws_anew(shell: Shell, quick: QuickShell) -> None:
    quick("add", "names", "a")
    terminal = shell.on_terminal("status", "--watch")
    terminal.expect_exact("LIST")
    quick("add", "more", "a")
    terminal.expect_exact("more")
    terminal.sendintr()
    terminal.read()
    terminal.close()
    assert terminal.exitstatus == 130


def test_waiting_too_long_is_seen() -> None:
    with pytest.raises(AssertionError):
        until(lambda: False, seconds=0)


def _raise_for(engine: Engine, key: str) -> None:
    engine["raised"].add(key)
    with engine.session() as session:
        for claim in session.claim("raised"):
            for item in claim:
                try:
                    raise OSError("no \x1b[31manswer")
                except OSError as error:
                    claim.fail(item, error)


def test_failures_show_tracebacks_when_asked(any_quick: QuickShell, url: str) -> None:
    with Engine(url) as engine:
        _raise_for(engine, "a")
    assert "Traceback" not in any_quick("failures", "raised").out
    shown = any_quick("failures", "raised", "-v").out
    assert "raised a was raised at:\n  Traceback (most recent call last):\n" in shown
    assert ("in _raise_for" in shown, shown.endswith("  OSError: no \\x1b[31manswer\n")) == (True, True)
    [group] = any_quick("failures", "raised", "-v", "--json").document["failures"]
    assert "in _raise_for" in group["traceback"]


def test_an_item_is_shown_with_its_traceback(any_quick: QuickShell, url: str) -> None:
    with Engine(url) as engine:
        _raise_for(engine, "a")
    [line] = [line for line in any_quick("show", "raised", "a").lines if line.startswith("traceback\t")]
    assert "in _raise_for" in msgspec.json.decode(line.partition("\t")[2])
    assert "in _raise_for" in any_quick("show", "raised", "a", "--json").document["failures"][0]["traceback"]


def test_a_person_sees_where_the_last_failure_was_raised(shell: Shell, url: str) -> None:
    with Engine(str(shell.folder / "rowlock.db")) as engine:
        _raise_for(engine, "a")
    shown = shell.screen("show", "raised", "a")
    assert "attempt 1 was raised at:\n  Traceback (most recent call last):\n" in shown
    assert "OSError: no \\x1b[31manswer" in shown
