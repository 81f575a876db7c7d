"""`rowlock schedule`: recurring work, set, looked at, ticked."""

import signal

import pytest
from tests.faces.shell import QuickShell, Shell
from tests.waiting import WAIT_SECONDS

LATER = "2999-01-01T00:00Z"


@pytest.fixture
def nightly(quick: QuickShell) -> QuickShell:
    quick("schedule", "add", "nightly", "reports", "--cron", "0 3 * * *", "--zone", "Europe/Berlin", "--start", LATER)
    return quick


def test_setting_says_what_it_did(any_quick: QuickShell) -> None:
    command = ("schedule", "add", "nightly", "reports", "--start", LATER, "--cron")
    assert any_quick(*command, "0 3 * * *").lines == ["nightly\tadded\t2999-01-01T03:00:00+00:00"]
    assert any_quick(*command, "0 3 * * *").lines == ["nightly\tunchanged\t2999-01-01T03:00:00+00:00"]
    assert any_quick(*command, "0 4 * * *").lines == ["nightly\tchanged\t2999-01-01T04:00:00+00:00"]


def test_setting_answers_in_json(any_quick: QuickShell) -> None:
    options = ("--every", "90m", "--data", '{"size": 3}', "--key", "{date}", "--catch-up", "all", "--priority", "2")
    told = any_quick("schedule", "add", "poll", "polls", "--start", LATER, *options, "--json").document
    assert isinstance(told, dict)
    wanted = {
        "change": "added",
        "name": "poll",
        "list": "polls",
        "every": 5400,
        "cron": None,
        "data": {"size": 3},
        "key": "{date}",
        "catch_up": "all",
        "priority": 2,
        "paused": False,
        "next_at": "2999-01-01T00:00:00Z",
        "version": 1,
    }
    assert wanted.items() <= told.items()


def test_schedules_are_listed(nightly: QuickShell) -> None:
    nightly("schedule", "add", "poll", "polls", "--every", "15m", "--start", LATER)
    assert nightly("schedule", "ls").lines == [
        "nightly\treports\t0 3 * * * Europe/Berlin\topen\t2999-01-01T02:00:00+00:00\t\t",
        "poll\tpolls\tevery 15m\topen\t2999-01-01T00:00:00+00:00\t\t",
    ]


def test_a_terminal_shows_the_time_of_the_zone(nightly: QuickShell) -> None:
    shown = nightly.screen("schedule", "ls")
    assert "nightly   reports  0 3 * * * Europe/Berlin  ● open  2999-01-01T03:00:00+01:00" in shown


def test_a_database_without_schedules_says_how_to_begin(quick: QuickShell) -> None:
    quick("add", "fruit", "apple")
    assert quick("schedule", "ls").out == ""
    assert "begin with: rowlock schedule add" in quick.screen("schedule", "ls")


def test_a_schedule_is_paused_resumed_and_removed(nightly: QuickShell) -> None:
    assert nightly("schedule", "pause", "nightly").error == "nightly is paused\n"
    assert nightly("schedule", "pause", "nightly").error == "nightly was paused already\n"
    assert "\tpaused\t\t" in nightly("schedule", "ls").out
    assert nightly("schedule", "resume", "nightly").error.startswith("nightly ticks again; the next tick is 2999-01-01")
    assert nightly("schedule", "resume", "nightly").error.startswith("nightly was not paused")
    assert nightly("schedule", "rm", "nightly").error == "nightly is removed\n"
    assert nightly("schedule", "ls").out == ""


@pytest.mark.parametrize("verb", ["pause", "resume", "rm", "trigger", "next"])
def test_an_unknown_schedule_is_reported(nightly: QuickShell, verb: str) -> None:
    ran = nightly("schedule", verb, "nihgtly")
    assert (ran.status, "did you mean 'nightly'?" in ran.error) == (3, True)


@pytest.mark.parametrize("verb", [["pause", "nightly"], ["rm", "nightly"], ["add", "nightly", "x", "--every", "1h"]])
def test_a_version_that_is_past_is_refused(nightly: QuickShell, verb: list[str]) -> None:
    ran = nightly("schedule", *verb, "--version", "7")
    assert (ran.status, "is at version 1, not 7" in ran.error) == (4, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "must have cron or every, got neither"),
        (["--cron", "@daily", "--every", "1h"], "must have cron or every, got both"),
        (["--cron", "0 3 * *"], "4 fields"),
        (["--cron", "@daily", "--zone", "Berlin"], "did you mean 'Europe/Berlin'?"),
        (["--every", "1h", "--zone", "UTC"], "zone is only for cron"),
        (["--every", "soon"], "a duration must be a number with a unit"),
        (["--every", "1h", "--start", "soon"], "must be a date and time, got 'soon'"),
        (["--every", "1h", "--start", "2030-01-01"], "must have a time zone"),
        (["--every", "1h", "--data", "{"], "--data must be JSON"),
        (["--every", "1h", "--key", "{when}"], "an unknown placeholder"),
        (["--every", "1h", "--catch-up", "some"], "'skip', 'last', 'all'"),
        (["--every", "1h", "--priority", "10"], "priority must be 0 to 9, got 10"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_made(quick: QuickShell, options: list[str], said: str) -> None:
    ran = quick("schedule", "add", "poll", "polls", *options)
    assert (ran.status, said in ran.error) == (2, True)
    assert not (quick.folder / "rowlock.db").exists() or quick("schedule", "ls").out == ""


def test_a_wrong_list_name_is_refused(quick: QuickShell) -> None:
    ran = quick("schedule", "add", "poll", "polls*", "--every", "1h")
    assert (ran.status, "the list name 'polls*'" in ran.error) == (2, True)


def test_without_the_extra_one_line_says_what_to_install(quick: QuickShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "cronsim", None)
    ran = quick("schedule", "add", "poll", "polls", "--cron", "@daily")
    expected = "rowlock: cron needs the package cronsim\n  run: pip install 'rowlock[schedules]'\n"
    assert (ran.status, ran.error) == (5, expected)


def test_the_next_ticks_are_shown(nightly: QuickShell) -> None:
    assert nightly("schedule", "next", "nightly", "-n", "2").lines == [
        "2999-01-01T03:00:00+01:00\t2999-01-01T02:00:00+00:00",
        "2999-01-02T03:00:00+01:00\t2999-01-02T02:00:00+00:00",
    ]


def test_a_rhythm_is_tried_without_a_database(quick: QuickShell) -> None:
    rhythm = ("--cron", "30 2 * * *", "--zone", "America/New_York")
    ran = quick("schedule", "next", *rhythm, "--after", "2026-03-07T12:00Z", "-n", "2", "--json")
    assert ran.document == {"ticks": ["2026-03-08T03:00:00-04:00", "2026-03-09T02:30:00-04:00"]}
    assert not (quick.folder / "rowlock.db").exists()


def test_a_terminal_shows_a_recurrence_in_english(quick: QuickShell) -> None:
    shown = quick.screen("schedule", "next", "--cron", "0 9 * * MON-FRI", "--zone", "Europe/Berlin")
    assert "At 09:00 on Monday through Friday (Europe/Berlin)" in shown


def test_a_name_and_a_rhythm_exclude_each_other(nightly: QuickShell) -> None:
    assert nightly("schedule", "next", "nightly", "--every", "1h").status == 2


def test_a_triggered_schedule_adds_an_item(nightly: QuickShell) -> None:
    assert nightly("schedule", "trigger", "nightly").lines == ["added\t1", "existing\t0"]
    assert nightly("ls", "reports", "-k").out.startswith("nightly@2")


def test_the_group_alone_shows_its_help(quick: QuickShell) -> None:
    ran = quick("schedule")
    assert (ran.status, "Commands:\n  add" in ran.error) == (2, True)


def test_schedule_run_prints_added_items_and_stops_on_a_signal(any_shell: Shell) -> None:
    any_shell("schedule", "add", "poll", "polls", "--every", "1s")
    ticking = any_shell.start("schedule", "run")
    assert ticking.stdout
    assert ticking.stdout.readline().startswith(b"poll\tpolls\tpoll@2")
    ticking.send_signal(signal.SIGTERM)
    ticking.communicate(timeout=WAIT_SECONDS)
    assert ticking.returncode == 143
    assert any_shell("status", "polls").out.startswith("polls\topen")


def test_ticking_for_a_while_ends_by_itself(quick: QuickShell) -> None:
    quick("schedule", "add", "poll", "polls", "--every", "1h")
    assert (quick("schedule", "run", "--for", "10ms").status, quick("schedule", "run", "--for", "soon").status) == (
        0,
        2,
    )


def test_work_makes_and_does_what_is_due(shell: Shell) -> None:
    shell("schedule", "add", "poll", "polls", "--every", "1s", "--key", "a")
    working = shell.start("work", "polls", "--forever", "--", "echo", "{attempt}", "{}")
    assert working.stdout
    assert working.stdout.readline() == b"1 a\n"
    working.send_signal(signal.SIGTERM)
    working.communicate(timeout=WAIT_SECONDS)
