"""`rowlock run`: the handlers of a program in this folder."""

import re
import signal
from itertools import count

import pytest
from tests.faces.shell import QuickShell, Shell
from tests.faces.waiting import lines, started, until
from tests.waiting import WAIT_SECONDS

APP = """
from rowlock import Engine, Worker

worker = Worker(Engine(), concurrency=2)
nothing = 7

@worker.on("names")
def note(item):
    with open("{to}", "a") as file:
        print(item.key, file=file)
"""


@pytest.fixture
def names(quick: QuickShell) -> QuickShell:
    """A list of two, and a program that notes them."""
    quick("add", "names", "a", "b")
    quick.write("app.py", APP.format(to="noted"))
    return quick


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_handlers_run_until_a_signal(shell: Shell, names: Shell, number: signal.Signals, status: int) -> None:
    with started(shell, "run", "app:worker") as running:
        until(lambda: sorted(lines(shell.folder / "noted")) == ["a", "b"])
        until(lambda: names("ls", "names").out == "")
        running.send_signal(number)
        assert running.wait(WAIT_SECONDS) == status


def test_the_configured_database_is_the_programs(shell: Shell, names: Shell) -> None:
    names("-d", "other.db", "add", "names", "c")
    with started(shell, "-d", "other.db", "run", "app:worker") as running:
        until(lambda: lines(shell.folder / "noted") == ["c"])
        running.terminate()


@pytest.mark.parametrize(
    ("place", "wrong", "hint"),
    [
        ("app", "the worker must be MODULE:WORKER, got 'app'", "rowlock run app:worker"),
        ("ap:worker", "there is no module 'ap' here", "from the folder"),
        ("app.py:worker", "'app.py' is a file, not a module", "write it like: rowlock run app:worker"),
        ("app:wrker", "'app' has no 'wrker'", "did you mean 'worker'?"),
        ("app:nothing", "app:nothing must be a Worker, got int", ""),
        ("broken:worker", "'broken' cannot be imported: SyntaxError", "line 1"),
        ("raises:worker", "'raises' cannot be imported: RuntimeError: no luck", "raises.py, line 2"),
        ("needs:worker", "'needs' needs a module 'nosuchmodule', which is not installed", "needs.py, line 1"),
    ],
)
def test_what_cannot_be_run_is_refused(shell: Shell, names: Shell, place: str, wrong: str, hint: str) -> None:
    shell.write("broken.py", "worker = = 1\n")
    shell.write("raises.py", "\nraise RuntimeError('no luck')\n")
    shell.write("needs.py", "import nosuchmodule\n")
    ran = shell("run", place)
    assert ran.status == 2
    assert wrong in ran.error
    assert hint in ran.error
    assert "Traceback" not in ran.error


def test_a_changed_file_begins_anew(shell: Shell, names: Shell) -> None:
    more = count()
    with started(shell, "run", "app:worker", "--reload") as running:
        until(lambda: sorted(lines(shell.folder / "noted")) == ["a", "b"])
        shell.write("app.py", APP.format(to="noted anew"))
        until(lambda: names("add", "names", f"{next(more)}") and lines(shell.folder / "noted anew"))
        running.send_signal(signal.SIGINT)
        assert running.wait(WAIT_SECONDS) == 130


FAILING = """
from rowlock import Engine, Worker

worker = Worker(Engine())

@worker.on("names", attempts=1)
def fail(item):
    raise OSError("no answer for " + item.key)
"""


def test_a_handler_that_raises_says_so_and_where_if_asked(shell: Shell, names: Shell) -> None:
    shell.write("failing.py", FAILING)
    with started(shell, "run", "failing:worker", "-v") as running:
        written = iter(running.stderr)
        line = next(line for line in written if b"warning" in line).decode()
        [key] = re.findall("names '([ab])' failed", line)  # threads run both, and either may be first
        assert f"names '{key}' failed, attempt 1 of 1: OSError: no answer for {key} (failing.py:8 in fail)\n" in line
        assert next(written) == b"Traceback (most recent call last):\n"
        assert next(written).endswith(b'failing.py", line 8, in fail\n')
        running.terminate()
