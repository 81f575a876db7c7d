"""`rowlock --server URL`: every command works by a server as on the database, or says in a line why it cannot."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faces.shell import QuickShell, Ran
from tests.http.serving import Serving, serving

from rowlock import Engine
from rowlock.cli.program import COMMANDS

# Times, tokens and sessions are never the same twice.
PARTICULAR = re.compile(r"\d{4}-\d\d-\d\dT[^\s\"]+|[0-9a-f]{32}|rl_\w+|rl_…\w+|in [\d.]+ s")

STORY = [
    ("a\nb\nc\nd\ne", "add work"),
    ("", "add work a f --data {} --due 1h"),
    ("", "add other x --strict"),
    ("", "add other x --strict"),
    ("", "add other --gate none y"),
    ("1\n2\n3\n", "add work --stream"),
    ("", "status"),
    ("", "status work --json"),
    ("", "ls work"),
    ("", "ls work --state delayed --ndjson"),
    ("", "ls wrok"),
    ("", "show work a --json"),
    ("", "show work nowhere"),
    ("", "save work a --data [1]"),
    ("", "increment work b --error slow"),
    ("b\nnone\n", "done work - --dry-run"),
    ("b\nnone\n", "done work -"),
    ("", "retry work f --dry-run"),
    ("", "retry work f"),
    ("", "abandon work f none"),
    ("", "work work -j 1 --attempts 1 -- test {} != c"),
    ("", "failures work"),
    ("", "failures work c"),
    ("", "settings fruit once=true keep_results=true"),
    ("", "add fruit a b c"),
    ("", "done fruit a b"),
    ("", "add fruit a b c"),
    ("", "add fruit a --strict"),
    ("", "results fruit"),
    ("", "status fruit"),
    ("", "forget fruit a"),
    ("", "forget fruit --older 0s"),
    ("", "forget wrok a"),
    ("", "retry work --failed --dry-run"),
    ("", "abandon work --error status --dry-run"),
    ("", "abandon work --error nothing-like-it --yes"),
    ("", "retry work --failed"),
    ("", "abandon work c --dry-run"),
    ("", "split other 3"),
    ("", "settings other attempts=3 gates=one,two"),
    ("", "settings other attempts=many"),
    ("", "gate other two"),
    ("", "gate other"),
    ("", "throughput other --json"),
    ("", "pause other"),
    ("", "work other -- true"),
    ("", "resume other --version 99"),
    ("", "resume other"),
    ("", "seal other"),
    ("", "complete other"),
    ("", "reopen other"),
    ("", "claim nothing"),
    ("", "claim other --json -n 2"),
    ("", "sessions"),
    ("", "rename other others"),
    ("", "drop others --dry-run"),
    ("", "drop others --yes"),
    ("", "counter numbers --take 3"),
    ("", "counter raise numbers 10"),
    ("", "counter ls"),
    ("", "counter show numbers"),
    ("", "schedule add daily work --cron @daily"),
    ("", "schedule trigger daily"),
    ("", "schedule next daily -n 2"),
    ("", "schedule ls"),
    ("", "schedule pause daily"),
    ("", "schedule rm daily"),
    ("", "topic define comics series=text"),
    ("", "subscribe comics ann series=Saga"),
    ("", "publish comics series=Saga"),
    ("", "topic ls"),
    ("", "topic show comics"),
    ("", "notifications comics"),
    ("", "unsubscribe comics ann"),
    ("", "token ls"),
    ("", "token revoke 7"),
    ("", "ack 00 a --session 00"),
    ("", "audit --list nowhere"),
]
DATABASE_ONLY = ("migrate", "doctor", "serve", "up", "upkeep")
# Tried elsewhere: they have nothing to do with where the work is, or are tried below.
ELSEWHERE = {"help", "config", "completion", "export", "import", "openapi", "run", "mcp", *DATABASE_ONLY}


@pytest.fixture
def served(sqlite_url: str) -> Iterator[Serving]:
    with Engine(sqlite_url) as engine, serving(engine) as found:
        yield found


@pytest.fixture
def far(tmp_path: Path, served: Serving) -> QuickShell:
    """A shell that has only the address of a server."""
    (tmp_path / "far").mkdir()
    return QuickShell(tmp_path / "far", ROWLOCK_SERVER=f"http://127.0.0.1:{served.client.port}")


def told(ran: Ran) -> tuple[int, str, str]:
    return ran.status, PARTICULAR.sub("…", ran.out), PARTICULAR.sub("…", ran.error)


def test_every_command_says_the_same_by_a_server(quick: QuickShell, far: QuickShell) -> None:
    differing = {
        line: (told(near), told(distant))
        for given, line in STORY
        for near, distant in [(quick(*line.split(), given=given), far(*line.split(), given=given))]
        if told(near) != told(distant)
    }
    assert differing == {}
    assert list(far.folder.iterdir()) == []


def test_no_command_is_forgotten() -> None:
    assert {line.split()[0] for _, line in STORY} | ELSEWHERE == set(COMMANDS)


def test_what_needs_the_database_says_so_in_a_line(far: QuickShell) -> None:
    for command in (*DATABASE_ONLY, "schedule run", "import"):
        ran = far(*command.split())
        first, *hint = ran.error.splitlines()
        assert (ran.status, first.startswith(f"rowlock: rowlock {command} needs a database, got the server")) == (
            2,
            True,
        )
        assert hint == ["  run it where the database is, and name that with -d"]
    assert "rowlock export needs a database" in far("export", "work").error
    assert far("work", "a", "--http", "https://example.org").status == 3


def test_without_a_token_the_variable_is_named_that_holds_one(far: QuickShell, served: Serving) -> None:
    token = served.service.engine.tokens.create("admin").text
    ran = far("status")
    assert (ran.status, "ROWLOCK_TOKEN" in ran.error, "Authorization" in ran.error) == (4, True, False)
    assert far("status", ROWLOCK_TOKEN=token).status == 0


def test_a_claim_of_one_command_is_settled_by_another(far: QuickShell) -> None:
    far("add", "work", "a", "b", "c")
    session, token = far("claim", "work", "-n", "3").lines[0].split("\t")
    assert far("ack", token, "a", "--session", session, "--retry", "b").lines == ["a\tdone", "b\tretried"]
    assert far("ack", token, "--session", session, "--close").status == 0
    assert (far("sessions").out, far("ls", "work", "--keys").lines) == ("", ["b", "c"])


def test_the_nearest_configuration_names_the_database_or_server(quick: QuickShell, served: Serving) -> None:
    url = f"http://127.0.0.1:{served.client.port}"
    served.service.engine["there"].add("a")
    quick("add", "here", "a")
    quick.write("rowlock.toml", f'server = "{url}"\n')
    assert "there" in quick("status").out
    assert "here" in quick("status", ROWLOCK_DATABASE_URL="rowlock.db").out
    assert "there" in quick("status", ROWLOCK_DATABASE_URL="rowlock.db", ROWLOCK_SERVER=url).out
    assert "here" in quick("-d", "rowlock.db", "status", ROWLOCK_SERVER=url).out
    assert "there" in quick("status", "--server", url, ROWLOCK_DATABASE_URL="rowlock.db").out
    both = quick("-d", "rowlock.db", "status", "--server", url)
    assert (both.status, both.error.splitlines()[0]) == (2, "rowlock: both --database and --server were given")
    assert f"server\t{url}\tfile rowlock.toml" in quick("config", "show").lines


def test_a_wrong_address_and_a_wrong_token_are_reported(quick: QuickShell, served: Serving) -> None:
    url = f"http://127.0.0.1:{served.client.port}"
    made = served.service.engine.tokens.create("worker", lists="mine")
    assert quick("--server", "http://127.0.0.1:9", "status").status == 5
    assert quick("--server", "work.example.org", "status").status == 2
    assert quick("--server", url, "status").status == 4
    assert quick("--server", url, "work", "mine", "--", "true", ROWLOCK_TOKEN="rl_wrong").status == 4
    quick.write("token", made.text)
    assert quick("--server", url, "add", "mine", "a", ROWLOCK_TOKEN_FILE="token").status == 0
    assert quick("--server", url, "add", "yours", "a", ROWLOCK_TOKEN_FILE="token").status == 4
    shown = quick("config", "show", ROWLOCK_TOKEN=made.text)
    assert (made.text in shown.out, "token\t***\tenvironment ROWLOCK_TOKEN" in shown.lines) == (False, True)
