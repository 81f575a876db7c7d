"""Process groups: each command runs in one, so that it can be ended with all that it has started."""

import marshal
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from rowlock.errors import Unavailable
from rowlock.worker.exec import supervisor


class CommandEnd(msgspec.Struct, frozen=True):
    """How a command ended, as the supervisor reports it."""

    number: int
    word: str
    """`exit`, `late`, `ended`; `error` if it could not be run, `files` if its files could not be opened."""
    status: int
    """Its exit status, minus the signal if one has ended it; the number of the error if it could not be run."""
    started_at: float = 0.0
    seconds: float = 0.0


class ProcessGroups:
    """The commands of a worker, started by its supervisor. If the worker is killed, the supervisor kills them."""

    def __init__(self, environment: Mapping[str, str], *, nice: int = 0) -> None:
        self.folder = _make_folder()
        """A folder for files of commands; the supervisor removes it."""
        command = [sys.executable, "-I", "-S", str(Path(supervisor.__file__)), str(nice), self.folder]
        self._lock = threading.Lock()
        self._processes: dict[int, int] = {}
        self._supervisor = subprocess.Popen(  # noqa: S603
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            start_new_session=True,
        )
        assert self._supervisor.stdin is not None, "it was opened as a pipe"  # noqa: S101
        assert self._supervisor.stdout is not None, "it was opened as a pipe"  # noqa: S101
        self._requests, self._reports = self._supervisor.stdin, self._supervisor.stdout
        self._unread = b""
        self._poll = select.poll()
        self._poll.register(self._reports, select.POLLIN)

    def start(
        self,
        number: int,
        words: Sequence[str],
        *,
        environment: Mapping[str, str],
        stdin: str | None,
        output: tuple[str, str],
        timeout: float | None,
    ) -> None:
        """Have a command started, which reads the file `stdin` and appends to the two files of `output`."""
        self._send((number, list(words), dict(environment), stdin, output, timeout))

    def end(self, number: int) -> None:
        """Have a command ended, with all that it has started: asked first, killed a second later."""
        self._send((number,))

    def _send(self, request: tuple[Any, ...]) -> None:
        content = marshal.dumps(request)
        with self._lock, suppress(OSError, ValueError):  # the supervisor has ended: `ends` says so
            _write_all(self._requests.fileno(), len(content).to_bytes(supervisor.LENGTH_BYTES, "big") + content)

    def ends(self, seconds: float | None) -> Iterator[CommandEnd] | None:
        """Wait for commands that end, up to that long, and return them; None if the supervisor has ended."""
        if not self._poll.poll(None if seconds is None else seconds * 1_000):
            return iter(())
        chunk = os.read(self._reports.fileno(), supervisor.READ_BYTES)
        *lines, self._unread = (self._unread + chunk).split(b"\n")
        return self._read(lines) if chunk else None

    def _read(self, lines: Sequence[bytes]) -> Iterator[CommandEnd]:
        for line in lines:
            number, word, status, *times = line.decode().split(" ")
            if word == "began":
                self._processes[int(number)] = int(status)
            else:
                self._processes.pop(int(number), None)
                yield CommandEnd(int(number), word, int(status), *map(float, times))

    def finish(self) -> None:
        """Let the supervisor end, which kills what still runs."""
        with self._lock, suppress(OSError):
            self._requests.close()
        self._supervisor.wait()

    def close(self) -> None:
        """Close the supervisor's reports, when nothing reads them, and remove the folder if the supervisor has not."""
        self._reports.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def kill(self) -> None:
        """Kill the commands of a supervisor that has ended before its worker."""
        for process in self._processes.values():
            with suppress(OSError):
                os.killpg(process, signal.SIGKILL)


def _make_folder() -> str:
    try:
        return tempfile.mkdtemp(prefix="rowlock-")
    except OSError:
        what = "the output of commands needs a folder for temporary files, and none can be written"
        raise Unavailable(what, "set TMPDIR to a folder that this user may write to") from None


def _write_all(stream: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(stream, rest) :]
