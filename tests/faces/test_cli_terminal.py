"""What a person sees: the program on a real terminal."""

import pexpect
import pytest
from tests.faces.shell import QuickShell, Shell

from rowlock import Engine


@pytest.fixture
def fruit(shell: Shell) -> Shell:
    with Engine(str(shell.folder / "rowlock.db")) as engine:
        engine["fruit"].add(["apple", "a\x1b[31mb", "日本"])
    return shell


def test_an_add_answers_with_a_sentence(fruit: Shell) -> None:
    assert fruit.screen("add", "fruit", "apple", "pear") == "added 1 item to fruit; 1 was there already\n"


def test_an_add_with_nothing_to_read_shows_its_help(shell: Shell) -> None:
    assert shell.screen("add", "fruit").startswith("Usage: rowlock add [OPTIONS] LIST [KEY]...")


def test_control_characters_are_shown_escaped(fruit: Shell) -> None:
    shown = fruit.screen("ls", "fruit", "--no-color")
    assert "a\\x1b[31mb         0  ○ ready\n" in shown
    assert "\x1b" not in shown


def test_items_have_headings_and_icons(fruit: Shell) -> None:
    assert fruit.screen("ls", "fruit", NO_COLOR="1").startswith("KEY         ATTEMPTS  STATE\na")


def test_colours_are_only_where_they_are_wanted(fruit: Shell) -> None:
    fruit("add", "fruit", "fig", "--due", "1h")
    assert "\x1b[33m" in fruit.screen("ls", "fruit")
    assert "\x1b" not in fruit.screen("ls", "fruit", NO_COLOR="1")


def test_status_is_a_table_with_a_bar(fruit: Shell) -> None:
    fruit("done", "fruit", "apple")
    heading, row = fruit.screen("status").splitlines()
    assert heading.split()[:4] == ["LIST", "STATE", "GATE", "READY"]
    assert row.split()[-2:] == ["████", "33%"]


def test_dropping_asks_and_a_no_drops_nothing(fruit: Shell) -> None:
    terminal = fruit.on_terminal("drop", "fruit")
    terminal.expect_exact("Delete 'fruit' with 3 items and its history? [y/N]: ")
    terminal.sendline("n")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130
    assert len(fruit("ls", "fruit").lines) == 3


def test_dropping_asks_and_a_yes_drops(fruit: Shell) -> None:
    terminal = fruit.on_terminal("drop", "fruit")
    terminal.expect_exact("[y/N]: ")
    terminal.sendline("y")
    terminal.expect_exact("dropped fruit with 3 items")
    terminal.expect(pexpect.EOF)


def test_an_interrupt_while_reading_ends_with_130(shell: Shell) -> None:
    shell("add", "fruit", "apple")
    terminal = shell.on_terminal("-v", "done", "fruit", "-")
    terminal.expect_exact("database rowlock.db")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130


def test_work_that_waits_says_for_what(shell: Shell, quick: QuickShell) -> None:
    quick("add", "fruit", "fig", "pear", "--due", "90m")
    terminal = shell.on_terminal("work", "fruit", "--", "true")
    terminal.expect(r"2 delayed, next in 1h [12]\dm")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 130


def test_a_long_add_draws_its_progress_and_takes_it_away(shell: Shell) -> None:
    shell.write("sitecustomize.py", "import rowlock.cli.progress as p; p.QUIET_SECONDS = p.ADD_REDRAW_SECONDS = 0.0")
    shell.write("many.txt", "".join(f"key-{number}\n" for number in range(60_000)))
    shown = shell.screen("add", "many", "-f", "many.txt", PYTHONPATH=str(shell.folder))
    assert "writing" in shown
    assert shown.endswith("added 60,000 items to many\n")


def test_a_document_is_indented_for_a_person(fruit: Shell) -> None:
    assert '\n  "lists": [\n' in fruit.screen("status", "--json")


def test_a_plain_migration_says_that_all_is_well(fruit: Shell) -> None:
    assert fruit.screen("migrate").startswith("up to date at schema ")


def test_an_export_is_not_written_to_a_terminal(fruit: Shell) -> None:
    terminal = fruit.on_terminal("export", "fruit")
    terminal.expect("an export is for files and pipes")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 2
