"""Beginning anew when a program's files change: the same command in a child, watched by this one. For development."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rowlock.cli.stopping import Stopping

LOOK = 0.3


class Reloading:
    """Runs a command without its `--reload`, and again whenever a .py file below a folder changes."""

    def __init__(self, arguments: Sequence[str], folder: Path, *, say: Callable[[str], None]) -> None:
        words = [word for word in arguments[1:] if word != "--reload"]
        self._command = [sys.executable, "-m", "rowlock", *words]
        self._folder = folder
        self._say = say
        self._child: subprocess.Popen[bytes] | None = None
        self._told = False

    def run(self) -> int:
        """Until a signal comes; the exit code."""
        with Stopping(self._stop) as stopping:
            while not self._told:
                seen = stamps(self._folder)
                self._child = subprocess.Popen(self._command, start_new_session=True)  # noqa: S603
                self._watch(self._child, seen)
        return stopping.status or 0

    def _stop(self, _: bool) -> None:  # noqa: FBT001
        # The child counts its signals itself: the second one stops now.
        self._told = True
        if self._child is not None:
            self._child.send_signal(signal.SIGINT)

    def _watch(self, child: "subprocess.Popen[bytes]", seen: dict[str, int]) -> None:
        ended = False
        while not self._told and stamps(self._folder) == seen:
            if not ended and child.poll() is not None:
                ended = True
                self._say("it has ended; waiting for a change")
            time.sleep(LOOK)
        if not self._told:
            self._say("a file has changed: beginning anew")
            child.send_signal(signal.SIGTERM)
        child.wait()


def stamps(folder: Path) -> dict[str, int]:
    """When each .py file below the folder was changed last; hidden folders and virtual environments are left out."""
    return {str(path): time_ns for path in _sources(folder) if (time_ns := _changed(path))}


def _sources(folder: Path) -> Iterator[Path]:
    for here, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if not each.startswith((".", "__")) and each != "node_modules"]
        yield from (Path(here, file) for file in files if file.endswith(".py"))


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # it went while we looked
        return 0
