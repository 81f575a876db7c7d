"""Waiting for what other processes do: for a condition, never for a while."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.faces.shell import Shell
from tests.waiting import until as until


def lines(path: Path) -> list[str]:
    """The lines of a file that others write; none if it is not there yet."""
    return path.read_text().splitlines() if path.exists() else []


def is_alive(process: str | int) -> bool:
    """Whether a process runs; one that has ended and waits to be noticed does not."""
    return _state(process) not in ("Z", "")


def is_asleep(process: str | int) -> bool:
    """Whether a process waits for something."""
    return _state(process) == "S"


def _state(process: str | int) -> str:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


@contextmanager
def started(shell: Shell, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A command that runs; whatever happens to the test, it is not left behind."""
    with shell.start(*arguments) as process:
        try:
            yield process
        finally:
            process.kill()
