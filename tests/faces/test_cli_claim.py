"""`rowlock claim` and `ack`: a script does the work, and says what became of each item."""

import pytest
from tests.faces.shell import QuickShell, Ran

from rowlock import Engine, claims, sessions
from rowlock.claims import ClaimRequest


@pytest.fixture
def names(any_quick: QuickShell) -> QuickShell:
    """A list of four, on a fresh database of each kind."""
    any_quick("add", "names", "a", "b b", "c", "d")
    return any_quick


def claimed(shell: QuickShell, *options: str) -> tuple[str, str, list[str]]:
    first, *keys = shell("claim", "names", *options).lines
    session, token = first.split("\t")
    return session, token, keys


def ack(shell: QuickShell, session: str, token: str, *words: str, given: str = "") -> Ran:
    return shell("ack", token, "--session", session, *words, given=given)


def test_a_claim_is_a_session_a_token_and_keys(names: QuickShell) -> None:
    _, _, keys = claimed(names, "-n", "3")
    assert keys == ["a", "b b", "c"]
    assert [line.split("\t")[2] for line in names("ls", "names").lines] == ["claimed", "claimed", "claimed", "ready"]


def test_a_claim_may_be_json(names: QuickShell) -> None:
    document = names("claim", "names", "--json").document
    assert [item["key"] for item in document["items"]] == ["a"]
    assert ack(names, document["session"], document["token"], "a").lines == ["a\tdone"]


def test_each_item_is_settled_once_by_its_key(names: QuickShell) -> None:
    names("settings", "names", "backoff=10h")
    session, token, _ = claimed(names, "-n", "4")
    ran = ack(names, session, token, "a", "--retry", "b b", "--fail", "c", "--error", "too bad")
    assert (ran.status, ran.lines) == (0, ["a\tdone", "b b\tretried", "c\tfailed"])
    assert names("ls", "names").lines == ["b b\t1\tdelayed", "c\t1\tfailed", "d\t0\tclaimed"]
    assert names("failures", "names").lines == ["names\t1\tfail\ttoo bad\tc"]


def test_keys_may_be_read_from_stdin(names: QuickShell) -> None:
    session, token, _ = claimed(names, "-n", "2")
    assert ack(names, session, token, "-", given="a\nb b\n").lines == ["a\tdone", "b b\tdone"]


def test_all_others_may_be_done(names: QuickShell) -> None:
    session, token, _ = claimed(names, "-n", "3")
    assert ack(names, session, token, "--retry", "a", "--all").lines == ["a\tretried", "b b\tdone", "c\tdone"]


def test_all_is_only_what_was_handed_out(names: QuickShell) -> None:
    session, token, _ = claimed(names, "-n", "3")
    names("abandon", "names", "b b")
    names("add", "names", "b b")
    assert ack(names, session, token, "--all").lines == ["a\tdone", "c\tdone"]
    assert names("ls", "names", "-k").lines == ["b b", "d"]


def test_closing_hands_back_the_rest(names: QuickShell) -> None:
    session, token, _ = claimed(names, "-n", "3")
    ack(names, session, token, "a", "--close")
    assert [line.split("\t")[2] for line in names("ls", "names").lines] == ["ready"] * 3
    assert names("sessions").out == ""


def test_a_claim_that_is_no_more_is_stale(names: QuickShell) -> None:
    session, token, _ = claimed(names)
    ack(names, session, token, "a")
    ran = ack(names, session, token, "a")
    assert ran.status == 4
    assert "it was settled, closed, or has expired" in ran.error


def test_a_key_that_is_gone_gets_the_verdict_gone(names: QuickShell) -> None:
    session, token, _ = claimed(names, "-n", "2")
    names("abandon", "names", "a")
    assert ack(names, session, token, "a", "b b").lines == ["a\tgone", "b b\tdone"]


def test_a_session_claims_again(names: QuickShell) -> None:
    session, first, _ = claimed(names)
    again, second, keys = claimed(names, "--session", session)
    assert (again, keys) == (session, ["b b"])
    assert ack(names, session, first, "--all").lines == ["a\tdone"]
    assert ack(names, session, second, "--all").lines == ["b b\tdone"]


def test_a_session_that_has_ended_is_stale(names: QuickShell) -> None:
    assert names("claim", "names", "--session", "0" * 32).status == 4


@pytest.mark.parametrize("expiry", ["0s", "1ms", "25h"])
def test_an_expiry_out_of_bounds_is_refused(names: QuickShell, expiry: str) -> None:
    for command in (["claim", "names", "--expiry", expiry], ["work", "names", "--expiry", expiry, "--", "true"]):
        ran = names(*command)
        assert (ran.status, ran.error) == (2, f"rowlock: expiry must be 1s to 24h, got '{expiry}'\n")


def test_items_of_an_expired_claim_go_to_the_next_claim(names: QuickShell, url: str) -> None:
    with Engine(url) as engine:
        engine.run(sessions.open_session, "0" * 32, holder="ann", expiry=1, beats=False)
        engine.run(claims.take_thoroughly, ClaimRequest("0" * 32, "names", 4, "1" * 32))
    assert claimed(names, "-n", "4")[2]


def test_items_of_a_dead_worker_go_to_the_next_claim(names: QuickShell, url: str) -> None:
    with Engine(url) as engine:
        engine.run(sessions.open_session, "0" * 32, holder="ann", expiry=1)
        engine.run(claims.take_thoroughly, ClaimRequest("0" * 32, "names", 4, "1" * 32))
    assert claimed(names, "-n", "4")[2]


def test_nothing_ready_ends_with_six(names: QuickShell) -> None:
    claimed(names, "-n", "4")
    ran = names("claim", "names")
    assert (ran.status, ran.out, ran.error) == (6, "", "nothing of names is ready\n")
    assert len(names("sessions").lines) == 1


def test_a_list_that_is_not_there_is_refused(names: QuickShell) -> None:
    ran = names("claim", "nams")
    assert ran.status == 3
    assert "did you mean 'names'?" in ran.error


@pytest.mark.parametrize("words", [(), ("a", "a"), ("a", "--fail", "a")])
def test_a_confused_ack_is_refused(names: QuickShell, words: tuple[str, ...]) -> None:
    session, token, _ = claimed(names)
    assert ack(names, session, token, *words).status == 2


def test_sessions_show_how_many_items_each_holder_has_claimed(names: QuickShell) -> None:
    session, _, _ = claimed(names, "-n", "3")
    [line] = names("sessions").lines
    assert line.split("\t")[0] == session
    assert line.split("\t")[4:] == ["1", "3", ""]
    assert names("sessions", "--json").document["sessions"][0]["items"] == 3


def test_an_exclusive_list_is_in_the_hands_of_one_session(names: QuickShell) -> None:
    names("settings", "names", "exclusive=true")
    session, token, _ = claimed(names)
    [line] = names("sessions").lines
    assert line.split("\t")[-1] == "names"
    holder = names("sessions", "--json").document["sessions"][0]["holder"]
    refused = names("claim", "names")
    assert (refused.status, refused.error) == (6, f"names is exclusive, and {holder} has it\n")
    assert names("status", "names", "--json").document["holder"] == holder
    assert (ack(names, session, token, "a").status, claimed(names)[2]) == (0, ["b b"])
