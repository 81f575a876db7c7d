"""`rowlock token` and `rowlock audit`: the token alone on stdout, once; and who did what."""

import getpass
import os
import platform

import pytest
from tests.faces.shell import QuickShell, Ran, Shell

from rowlock import Engine, tokens

ME = f"{getpass.getuser()}@{platform.node()}"


def recorded(shell: Shell, *arguments: str) -> list[list[str]]:
    """Each record but for its time."""
    return [line.split("\t")[1:] for line in shell("audit", *arguments).lines]


def test_a_token_is_alone_on_stdout(any_shell: Shell) -> None:
    ran = any_shell("token", "create", "--role", "worker", "--lists", "mail/", "--expires", "30d")
    assert (tokens.well_formed(ran.out.removesuffix("\n")), ran.out.count("\n")) == (True, 1)
    assert ran.error.startswith("token 1: worker of lists that begin with mail/ until 2")


def test_quiet_says_nothing_but_the_token(quick: QuickShell) -> None:
    ran = quick("-q", "token", "create", "--role", "viewer")
    assert (tokens.well_formed(ran.out.strip()), ran.error) == (True, "")


def test_the_printed_token_lets_its_holder_in(quick: QuickShell) -> None:
    text = quick("token", "create", "--role", "operator", "--label", "ann").out.strip()
    with Engine(str(quick.folder / "rowlock.db")) as engine:
        assert engine.tokens.authenticate(text).label == "ann"


def test_a_token_is_one_document_in_json(quick: QuickShell) -> None:
    made = quick("token", "create", "--role", "viewer", "--json").document
    assert isinstance(made, dict)
    assert (tokens.well_formed(made["token"]), made["role"], made["state"], made["id"]) == (True, "viewer", "live", 1)


def test_a_list_of_tokens_shows_no_token(any_quick: QuickShell) -> None:
    text = any_quick(
        "token", "create", "--role", "worker", "--lists", "a/", "--lists", "b/", "--label", "ann"
    ).out.strip()
    ran = any_quick("token", "ls")
    fields = ran.lines[0].split("\t")
    assert fields[:5] == ["1", tokens.masked(text), "worker", "a/ b/", "live"]
    assert (fields[-1], text[:20] in ran.out + any_quick("token", "ls", "--json").out) == ("ann", False)


def test_a_revoked_token_is_listed_only_on_demand(any_quick: QuickShell) -> None:
    any_quick("token", "create", "--role", "viewer")
    said = any_quick("token", "revoke", "1").error
    again = any_quick("token", "revoke", "1").error
    assert (said, again) == ("token 1 is revoked\n", "token 1 was revoked already\n")
    shown = [line.split("\t")[4] for line in any_quick("token", "ls", "--all").lines]
    assert (any_quick("token", "ls").out, shown) == ("", ["revoked"])


def test_more_tokens_than_a_page_are_all_listed(quick: QuickShell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rowlock.cli.invocation.ROWS_PER_PAGE", 2)
    with Engine(str(quick.folder / "rowlock.db")) as engine:
        for _ in range(5):
            engine.tokens.create("viewer")
    assert len(quick("token", "ls").lines) == 5


def test_on_a_terminal_there_is_a_table(shell: Shell) -> None:
    shell("token", "create", "--role", "admin")
    headings, row = shell.screen("token", "ls").splitlines()
    assert (headings.split()[:4], row.split()[2]) == (["ID", "TOKEN", "ROLE", "LISTS"], "admin")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["create"], 2, "missing option '--role'. Choose from: viewer, worker"),
        (["create", "--role", "boss"], 2, "'boss' is not one of"),
        (["create", "--role", "admin", "--lists", "a"], 2, "an admin token must not be limited to lists"),
        (["create", "--role", "viewer", "--expires", "soon"], 2, "a duration must be a number with a unit, got 'soon'"),
        (["create", "--role", "viewer", "--expires", "2020-01-01T00:00Z"], 2, "expires must be later than now"),
        (["create", "--role", "viewer", "--expires", "2030-01-01"], 2, "must have a time zone"),
        (["revoke", "9"], 3, "there is no token 9"),
        (["revoke", "rl_x"], 2, "not a valid integer"),
    ],
)
def test_an_error_is_one_sentence(quick: QuickShell, arguments: list[str], status: int, words: str) -> None:
    quick("add", "work", "a")
    ran = quick("token", *arguments)
    assert (ran.status, ran.out, words in ran.error) == (status, "", True)


def test_listing_tokens_makes_no_database(quick: QuickShell) -> None:
    assert (quick("token", "ls").status, (quick.folder / "rowlock.db").exists()) == (3, False)


@pytest.fixture
def worked(any_quick: QuickShell) -> QuickShell:
    any_quick("add", "work", "a", "b", "c")
    return any_quick


def test_what_is_done_by_hand_is_recorded(worked: QuickShell) -> None:
    worked("pause", "work")
    worked("resume", "work")
    worked("retry", "work", "a")
    worked("abandon", "work", "a", "b")
    worked("settings", "work", "attempts=3")
    worked("rename", "work", "play")
    worked("drop", "play", "--yes")
    assert recorded(worked) == [
        [ME, "lists.drop", "play", "1", ""],
        [ME, "lists.rename", "work", "", '{"to":"play"}'],
        [ME, "lists.change_settings", "work", "", '{"changes":{"attempts":3}}'],
        [ME, "items.abandon", "work", "2", ""],
        [ME, "items.retry", "work", "0", ""],
        [ME, "lists.resume", "work", "1", ""],
        [ME, "lists.pause", "work", "1", ""],
    ]


def test_how_a_list_goes_on_and_ends_is_recorded(worked: QuickShell) -> None:
    worked("gate", "work")
    worked("gate", "work", "0")
    worked("seal", "work")
    worked("complete", "work")
    worked("reopen", "work")
    verbs = [fields[1] for fields in reversed(recorded(worked))]
    assert verbs == ["gates.open_gate", "gates.seal", "gates.complete", "gates.reopen"]


def test_schedules_and_counters_that_are_changed_by_hand_are_recorded(worked: QuickShell) -> None:
    worked("schedule", "add", "tick", "work", "--every", "1h")
    worked("schedule", "pause", "tick")
    worked("schedule", "rm", "tick")
    worked("counter", "raise", "numbers", "5")
    worked("counter", "next", "numbers")
    verbs = [fields[1] for fields in reversed(recorded(worked))]
    assert verbs == ["schedules.define", "schedules.pause", "schedules.remove", "counters.raise_to"]


def test_all_failed_items_at_once_are_recorded_by_their_verb(worked: QuickShell) -> None:
    worked("settings", "work", "attempts=1")
    worked("work", "work", "-j1", "--", "false")
    worked("retry", "work", "--failed")
    assert recorded(worked, "-n", "1")[0] == [ME, "items.retry", "work", "3", ""]


def test_what_workers_do_and_what_only_looks_is_not_recorded(worked: QuickShell) -> None:
    worked("done", "work", "a")
    worked("increment", "work", "b")
    worked("settings", "work")
    worked("retry", "work", "b", "--dry-run")
    worked("abandon", "work", "--failed", "--dry-run")
    worked("drop", "work", "--dry-run")
    assert recorded(worked) == []


def test_records_of_one_list_and_of_the_last_while(worked: QuickShell) -> None:
    worked("add", "play", "a")
    worked("pause", "work")
    worked("pause", "play")
    assert [fields[2] for fields in recorded(worked, "--list", "play", "--since", "1h")] == ["play"]


def test_records_in_json(worked: QuickShell) -> None:
    worked("pause", "work")
    document = worked("audit", "--json").document
    assert isinstance(document, dict)
    [record] = document["records"]
    assert (record["who"], record["verb"], record["list"], record["count"]) == (ME, "lists.pause", "work", 1)


def test_how_long_records_are_kept_can_be_configured(worked: QuickShell) -> None:
    worked("pause", "work", ROWLOCK_AUDIT_KEEP="0s")
    worked("resume", "work")
    worked("upkeep")
    assert [fields[1] for fields in recorded(worked)] == ["lists.resume"]


def test_a_wrong_time_to_keep_records_changes_nothing(worked: QuickShell) -> None:
    ran: Ran = worked("pause", "work", ROWLOCK_AUDIT_KEEP="long")
    assert (ran.status, worked("status", "work").out.split("\t")[1]) == (2, "open")


def test_a_user_without_a_name_is_recorded_by_number(quick: QuickShell, monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> str:
        raise KeyError

    monkeypatch.setattr(getpass, "getuser", nobody)
    quick("add", "work", "a")
    quick("pause", "work")
    assert recorded(quick)[0][0].partition("@")[0] == str(os.getuid())


def test_a_refused_service_makes_no_file(quick: QuickShell) -> None:
    for command in ("up", "serve"):
        ran = quick(command, "--host", "0.0.0.0", "--port", "0")
        assert (ran.status, "without access tokens" in ran.error) == (4, True)
    assert list(quick.folder.iterdir()) == []
