"""The help of commands: examples that run, defaults, summaries in one piece, topics and man pages."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import click
import pytest
from tests.faces.shell import QuickShell, Shell
from tests.house.examples import BIN, SERVER
from tests.waiting import WAIT_SECONDS

from rowlock.cli.help import all_commands, topics
from rowlock.cli.invocation import command_help
from rowlock.cli.program import program

ROOT = click.Context(program, info_name="rowlock", **program.context_settings)
PATHS = [context.command_path for context in all_commands(ROOT)]
# They run until somebody stops them.
ENDLESS = re.compile(r"rowlock (up|serve|run|schedule run|topic deliver(?!.*--once))\b")
APP = """
from rowlock import Engine, Worker

worker = Worker(Engine())


@worker.on("thumbs")
def handle(item):
    return None
"""


def examples(path: str) -> list[str]:
    """The commands of the section Examples in the help of a command."""
    section = command_help().get(path, "").partition("Examples:\n")[2].partition("\n\n")[0]
    return [line.strip() for line in section.splitlines() if not line.strip().startswith("#")]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the lists, topics and files that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    quick = QuickShell(folder)
    for name in ("a.jpg", "b.jpg", "c.jpg", "d.jpg"):
        quick.write(name, "picture")
    quick.write("small/b.jpg", "small picture")
    quick.write("urls.txt", "https://example.org/1\nhttps://example.org/2\n")
    quick.write("app.py", APP)
    for line in (
        "add thumbs a.jpg b.jpg c.jpg d.jpg",
        "settings thumbs attempts=1",
        "increment thumbs c.jpg --error timeout",
        "add flow one",
        "settings flow gates=start,fetch manual=true",
        "done flow one",
        "schedule add nightly reports --cron @daily",
        "topic define comics series=text issue=integer",
        "subscribe comics ann series=Saga",
        "counter raise invoices 3",
        "token create --role worker",
        "export thumbs -o lists.ndjson",
    ):
        ran = quick(*line.split())
        assert ran.status == 0, (line, ran.error)
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    """A copy of the prepared folder, to be changed by one test."""
    return Path(shutil.copytree(prepared, tmp_path / "folder"))


@pytest.mark.parametrize("path", PATHS)
def test_the_examples_of_a_command_run(path: str, folder: Path, request: pytest.FixtureRequest) -> None:
    lines = examples(path)
    assert len(lines) >= 2
    if any(SERVER in line for line in lines):
        server = request.getfixturevalue("unmigrated_url")
        lines = [line.replace(SERVER, f"'{server}'") for line in lines]
    for number, line in enumerate(lines):
        copy = Path(shutil.copytree(folder, folder.parent / str(number)))
        status, said = stopped(line, copy) if ENDLESS.match(line) else run(line, copy)
        assert status == 0, (line, said)


def run(line: str, folder: Path) -> tuple[int, str]:
    """Run an example; commands of ours without shell syntax in this process, for a start takes a while."""
    *before, last = line.split(" | ")
    shell_needed = re.search(r"""[$`]| [<>] """, last) or any("rowlock " in each for each in before)
    if shell_needed or not last.startswith("rowlock "):
        return run_in_shell(line, folder)
    given = subprocess.run(before[0], shell=True, cwd=folder, capture_output=True, check=True).stdout if before else b""
    quick = QuickShell(folder)
    words = subprocess.run(f"printf '%s\\0' {last}", shell=True, capture_output=True, check=True).stdout
    ran = quick(*words.decode().split("\0")[1:-1], given=given)
    return ran.status, ran.error


def run_in_shell(line: str, folder: Path) -> tuple[int, str]:
    """Run an example by the shell; a claim's session and token are variables."""
    quick = QuickShell(folder)
    session, token = quick("claim", "thumbs", "-n", "2").lines[0].split("\t") if "$TOKEN" in line else ("", "")
    variables = {"SESSION": session, "TOKEN": token, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    environment = {**quick.environment, **variables}
    ran = subprocess.run(["bash", "-c", line], cwd=folder, env=environment, capture_output=True, check=False)
    return ran.returncode, ran.stderr.decode()


def stopped(line: str, folder: Path) -> tuple[int, str]:
    """Start an example, and stop it when it says that it runs; 0 if it ended well. Ports are any free ones."""
    words = re.sub(r" --port \d+", "", line).split()[1:]
    port = ["--port", "0"] if words[0] in ("up", "serve") else []
    process = Shell(folder).start(*words, *port)
    assert process.stderr is not None
    said = process.stderr.readline().decode()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=WAIT_SECONDS)
    return 0 if process.returncode in (0, 130) else process.returncode, said


def test_options_show_their_defaults(quick: QuickShell) -> None:
    shown = " ".join(quick("work", "--help").out.split())
    assert "the list's setting, or 5" in shown
    assert "[default: 15s]" in shown


def test_the_help_of_work_names_the_environment_of_its_commands(quick: QuickShell) -> None:
    assert "ROWLOCK_ATTEMPT" in quick("work", "--help").out


def test_summaries_are_not_cut_off(quick: QuickShell) -> None:
    shown = [quick("--help").out, quick("schedule", "--help").out]
    assert [text for text in shown if "..." in text.partition("\n\n")[2].replace("[ARGS]...", "")] == []


def test_help_without_arguments_lists_the_topics(quick: QuickShell) -> None:
    assert [line.split()[0] for line in quick("help").lines] == topics()


def test_help_explains_a_topic(quick: QuickShell) -> None:
    assert "{stem}" in quick("help", "placeholders").out


def test_help_of_a_command_is_its_help_option(quick: QuickShell) -> None:
    assert quick("help", "schedule", "add").out == quick("schedule", "add", "--help").out


def test_a_mistyped_topic_is_refused_with_the_closest(quick: QuickShell) -> None:
    ran = quick("help", "enviroment")
    assert (ran.status, "did you mean 'environment'?" in ran.error) == (2, True)


def test_man_pages_are_well_formed(quick: QuickShell, tmp_path: Path) -> None:
    mandoc = shutil.which("mandoc")
    if mandoc is None:
        pytest.skip("mandoc is not installed")
    assert quick("help", "--man", str(tmp_path / "man")).status == 0
    pages = sorted((tmp_path / "man").iterdir())
    ran = subprocess.run([mandoc, "-T", "lint", "-W", "all", *pages], capture_output=True, text=True, check=False)
    assert ran.stdout + ran.stderr == ""
    assert {"rowlock.1", "rowlock-add.1", "rowlock-placeholders.7"} <= {page.name for page in pages}
