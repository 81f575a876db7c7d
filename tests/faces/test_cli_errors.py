"""What goes wrong is one sentence and a hint, with the right exit code; no traceback, no driver's words."""

import os
import re
import sqlite3
import subprocess
import sys
from typing import Any

import pytest
from tests.faces.shell import QuickShell, Ran, Shell


@pytest.fixture
def small_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of half a megabyte at most, as SQLite keeps to it itself: nobody else lets us have a full disk."""
    connect = sqlite3.connect

    def bounded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*arguments, **options)
        connection.execute("pragma max_page_count = 150")
        return connection

    monkeypatch.setattr(sqlite3, "connect", bounded)


def is_short(ran: Ran) -> bool:
    lines = ran.error.splitlines()
    return 1 <= len(lines) <= 2 and lines[0].startswith("rowlock: ") and all(line[:2] == "  " for line in lines[1:])


@pytest.mark.parametrize(
    ("address", "status", "wrong"),
    [
        ("mysql://ann:hush@host/x", 2, "unknown scheme 'mysql'"),
        ("postgresql://ann:hush@host:port/x", 2, "is its port a number?"),
        (
            "postgresql://ann:hush@127.0.0.1:1/x",
            5,
            "postgresql://ann:***@127.0.0.1:1/x cannot be reached: nothing listens there",
        ),
        ("postgresql://ann:hush@127.0.0.1:1/x?nonsense=1", 2, "has a part that PostgreSQL does not know: nonsense"),
        ("postgresql://ann:hush@127.0.0.1:1/x?shema=a", 2, "did you mean 'schema'?"),
        ("sqlite://", 2, "names no file"),
        (":memory:", 2, ":memory: is not supported"),
        ("nowhere/work.db", 5, "the folder of nowhere/work.db does not exist"),
        (".", 5, ". is a directory"),
        (" ", 2, "the database address is empty"),
    ],
)
def test_a_database_that_cannot_be_had(quick: Shell, address: str, status: int, wrong: str) -> None:
    ran = quick("-d", address, "add", "fruit", "apple")
    assert (ran.status, ran.out, is_short(ran)) == (status, "", True)
    assert wrong in ran.error
    assert "hush" not in ran.error


@pytest.mark.parametrize(
    ("arguments", "wrong"),
    [
        (["work", "fruit", "-j", "many", "true"], "give a whole number from 1 to 10000"),
        (["add", "fruit", ""], "the key '' is empty"),
        (["add", "fruit", "a", "--due", "yesterday"], "write it like 90s, 1h30m or 2030-01-31T12:00Z"),
        (["-d", "nowhere/x.db", "status"], "the folder nowhere is missing too: create it, then begin with"),
        (["-d", "x.db", "status"], "begin with: rowlock -d x.db add LIST KEY"),
        (["status", "--quie"], "did you mean '--quiet'?"),
    ],
)
def test_an_error_says_what_is_allowed(quick: Shell, arguments: list[str], wrong: str) -> None:
    assert wrong.lower() in quick(*arguments).error.lower()


@pytest.mark.parametrize("arguments", [["help", "nope"], ["status", "--list"], ["xyzzy"]])
def test_a_name_that_is_not_close_gets_no_guess(quick: Shell, arguments: list[str]) -> None:
    assert "did you mean" not in quick(*arguments).error.lower()


@pytest.mark.parametrize("command", [["add", "fruit", "apple"], ["ls", "fruit"], ["migrate"]])
def test_a_file_that_is_no_database(quick: Shell, command: list[str]) -> None:
    path = quick.write("rowlock.db", "this is a letter to my aunt, and no database\n" * 40)
    ran = quick(*command)
    assert (ran.status, ran.out, is_short(ran)) == (5, "", True)
    assert "rowlock.db is damaged or not a SQLite database" in ran.error
    assert path.read_text().startswith("this is a letter")


def test_a_missing_database_on_a_server_is_reported(shell: Shell, postgres_url: str) -> None:
    ran = shell("-d", re.sub(r"(?<=/)\w+(?=\?)", "nowhere", postgres_url), "ls", "fruit")
    assert (ran.status, is_short(ran)) == (5, True)
    assert "has no such database" in ran.error


def test_a_database_without_tables_suggests_to_migrate(shell: Shell, unmigrated_url: str) -> None:
    ran = shell("-d", unmigrated_url, "add", "fruit", "apple")
    assert (ran.status, is_short(ran)) == (4, True)
    assert "migrate" in ran.error


@pytest.mark.usefixtures("small_disk")
def test_a_full_disk_writes_nothing_at_all(quick: QuickShell) -> None:
    quick("add", "fruit", "seed")
    quick.write("many", "".join(f"{'x' * 60}-{number}\n" for number in range(20_000)))
    ran = quick("add", "fruit", "-f", "many")
    assert (ran.status, ran.out, is_short(ran)) == (5, "", True)
    assert "no room is left for rowlock.db" in ran.error
    assert quick("ls", "fruit", "-k").out == "seed\n"


# Root may write whatever a file's mode says, unless it gives that right away.
BOUND_BY_MODES = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []


@pytest.mark.parametrize("what", ["rowlock.db", "."])
def test_what_this_user_may_not_write(shell: Shell, what: str) -> None:
    shell("add", "fruit", "seed")
    (shell.folder / what).chmod(0o555)
    command = [*BOUND_BY_MODES, sys.executable, "-m", "rowlock", "add", "fruit", "apple"]
    ran = subprocess.run(command, cwd=shell.folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    (shell.folder / what).chmod(0o755)
    assert (ran.returncode, ran.stdout, len(ran.stderr.splitlines())) == (5, "", 2)
    assert "rowlock.db cannot be written" in ran.stderr


def test_an_unknown_command_suggests_the_closest_name(shell: Shell) -> None:
    ran = shell("stauts")
    assert (ran.status, is_short(ran)) == (2, True)
    assert "unknown command 'stauts'; did you mean 'status'?" in ran.error


@pytest.mark.parametrize(
    "arguments", [["ls", "--nonsense"], ["show", "fruit"], ["ls", "-n", "some"], ["config", "shwo"]]
)
def test_wrong_usage_names_the_help(quick: Shell, arguments: list[str]) -> None:
    ran = quick(*arguments)
    assert (ran.status, ran.out, is_short(ran)) == (2, "", True)
    assert "--help" in ran.error


def test_a_bug_is_one_sentence(shell: Shell) -> None:
    ran = broken(shell, "ls", "fruit")
    assert (ran.status, is_short(ran)) == (70, True)
    assert "something unexpected went wrong (ZeroDivisionError)" in ran.error


def test_a_bug_shows_its_traceback_with_verbose(shell: Shell) -> None:
    ran = broken(shell, "ls", "fruit", "-v")
    assert ran.status == 70
    assert "Traceback" in ran.error


def broken(shell: Shell, *arguments: str) -> Ran:
    """A run of the program in whose engine there is a bug."""
    program = "import sys, rowlock.cli.invocation as i; i.parse = lambda _: 1 / 0; import rowlock.cli as c; c.main()"
    ran = subprocess.run([sys.executable, "-c", program, *arguments], cwd=shell.folder, capture_output=True, text=True)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def test_an_empty_address_is_refused_instead_of_using_the_default(shell: Shell) -> None:
    shell("add", "fruit", "seed")
    ran = shell("-d", "", "add", "fruit", "apple")
    assert (ran.status, ran.out, is_short(ran)) == (2, "", True)
    assert "is empty" in ran.error


LOADING = """
import sys

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "rowlock.cli.invocation":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted())
from rowlock.cli import main
main()
"""


def test_an_interrupt_while_modules_load_is_reported() -> None:
    ran = subprocess.run([sys.executable, "-c", LOADING], capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (130, "rowlock: interrupted\n")
