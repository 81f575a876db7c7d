"""A shell for the command line's tests: the real program in a folder of its own, in a pipe or on a terminal."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from io import BytesIO, TextIOWrapper
from pathlib import Path
from unittest.mock import patch

import msgspec
import pexpect
from tests.waiting import WAIT_SECONDS

from rowlock.cli.program import run

PROGRAM = (sys.executable, "-m", "rowlock")


def says(process: "subprocess.Popen[bytes]", text: str) -> bool:
    """Whether the program writes such a line to standard error before it ends; its lines up to there are read."""
    assert process.stderr is not None
    return any(text in line.decode() for line in process.stderr)


class Ran(msgspec.Struct, frozen=True):
    """How a command ended, and what it wrote."""

    status: int
    out: str
    error: str

    @property
    def lines(self) -> list[str]:
        """The lines of its output."""
        return self.out.splitlines()

    @property
    def document(self) -> object:
        """Its output as JSON."""
        return msgspec.json.decode(self.out)


class Shell:
    """Runs rowlock in one folder, with nothing configured but what a test says."""

    def __init__(self, folder: Path, **environment: str) -> None:
        self.folder = folder
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ROWLOCK_", "XDG_"))}
        self.environment = {**kept, "HOME": str(folder / "home"), "TERM": "xterm", **environment}

    def __call__(self, *arguments: str | bytes, given: str | bytes = b"", **environment: str) -> Ran:
        """Run a command in a pipe, with what is given on its standard input."""
        ran = subprocess.run(
            [*PROGRAM, *arguments],
            input=given.encode() if isinstance(given, str) else given,
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            timeout=WAIT_SECONDS,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout.decode(), ran.stderr.decode())

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start a command with pipes at its ends, and do not wait for it."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*PROGRAM, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, cwd=self.folder, env=self.environment
        )

    def on_terminal(self, *arguments: str, **environment: str) -> "pexpect.spawn[str]":
        """Start a command on a terminal of its own."""
        return pexpect.spawn(
            PROGRAM[0],
            [*PROGRAM[1:], *arguments],
            cwd=self.folder,
            env={**self.environment, **environment},
            encoding="utf-8",
            timeout=WAIT_SECONDS,
            dimensions=(40, 120),
        )

    def screen(self, *arguments: str, **environment: str) -> str:
        """What a command shows on a terminal until it ends."""
        terminal = self.on_terminal(*arguments, **environment)
        shown: str = terminal.read()
        terminal.close()
        return shown.replace("\r\n", "\n")

    def write(self, name: str, content: str | bytes) -> Path:
        """A file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path


class QuickShell(Shell):
    """Runs the same program inside this process: for the many small cases that need no process of their own."""

    def __call__(self, *arguments: str | bytes, given: str | bytes = b"", **environment: str) -> Ran:
        """Run a command, with what is given on its standard input."""
        out, error = TextIOWrapper(BytesIO()), TextIOWrapper(BytesIO())
        around = patch.dict(os.environ, {**self.environment, **environment}, clear=True)
        with around, chdir(self.folder), _standard_input(given), redirect_stdout(out), redirect_stderr(error):
            status = run([os.fsdecode(argument) for argument in arguments])
        return Ran(status, _written(out), _written(error))


def _written(stream: TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read()


@contextmanager
def _standard_input(given: str | bytes) -> Iterator[None]:
    reading, writing = os.pipe()
    content = given.encode() if isinstance(given, str) else given
    # In a thread: a pipe holds less than some tests give.
    writer = threading.Thread(target=_write_all, args=(writing, content))
    writer.start()
    kept = os.dup(0)
    os.dup2(reading, 0)
    try:
        yield
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(reading)
        writer.join()


def _write_all(descriptor: int, content: bytes) -> None:
    with suppress(BrokenPipeError), os.fdopen(descriptor, "wb", buffering=0) as file:
        while content:
            content = content[file.write(content) :]
