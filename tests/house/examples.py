"""The examples of a page, in order: Python that runs, and transcripts of a terminal that must come out as printed.

A transcript's lines after `$ ` are commands, the rest is what they print, on a terminal without colours; `…` stands for
anything within a line, and alone on a line for any lines. Blocks of other languages (text, sql, toml) are only read.
"""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import msgspec

BIN = Path(sys.executable).parent
# Where an example needs a server: tests put the address of theirs in its place.
SERVER = "postgresql://ann@db.example.org/work"
SERVICE = "http://work.example.org:8642"
# The service that `rowlock up` starts, as transcripts of curl name it.
LOCAL_SERVICE = "localhost:8642"
# The environment of the tests is the one that this makes.
DONE_BEFORE = ("make setup",)

_BLOCK = re.compile(r"^```(python|console|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n?)*)", re.MULTILINE)


class Example(msgspec.Struct, frozen=True):
    """One block of a page."""

    language: str
    text: str
    line: int


def examples(page: Path) -> list[Example]:
    """The blocks of a page that can be run."""
    text = page.read_text()
    return [Example(found[1], found[2], text.count("\n", 0, found.start(2))) for found in _BLOCK.finditer(text)]


def commands(transcript: str) -> list[tuple[str, str]]:
    """Each command of a transcript with the output that it shows."""
    return [(found[1].replace("\n> ", "\n"), found[2].strip("\n")) for found in _COMMAND.finditer(transcript)]


def like(shown: str) -> re.Pattern[str]:
    """What an output must look like; dots alone on a line stand for any lines."""
    lines = ["(?s:.*)" if line == "…" else re.escape(line).replace("…", ".*") for line in shown.split("\n")]
    return re.compile("\n".join(lines))


def run(command: str, folder: Path) -> str:
    """What a command prints on a terminal, stdout and stderr as they come."""
    if command in DONE_BEFORE:
        return ""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=folder,
        env=_environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    printed = b"".join(iter(lambda: _read(ours), b""))
    process.wait()
    os.close(ours)
    return "\n".join(line.rstrip() for line in printed.decode().replace("\r\n", "\n").strip("\n").split("\n"))


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so when the other side has closed
        return b""


def _environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ROWLOCK_")}
    path = f"{BIN}{os.pathsep}{kept.get('PATH', '')}"
    return kept | {"PATH": path, "HOME": str(folder), "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "100"}
