"""Process groups: each command runs in one, so that it can be ended with all that it has started."""

import errno
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

from rowlock.worker.exec import supervisor

TERMINATE_SECONDS = 1.0
"""How long a command may take to end after SIGTERM, before it is killed."""
CHECK_SECONDS = 0.1
"""How often it is checked whether a command's turn is over; its end is noticed at once."""

START_SCRIPT = 'echo "+$$" >&0 && exec "$@" <"$0"'
"""A command reports to the supervisor itself, so that there is no moment at which it could be forgotten."""


class Overdue(Exception):
    """A command has timed out and was ended."""


class ProcessGroup:
    """A command: the process that leads its group."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.id = process.pid
        self.terminated = False
        """Whether it was asked to end: then its exit status does not count."""

    def wait(self, seconds: float) -> bool:
        """Wait for its end up to that long, and return whether it has ended."""
        try:
            watch = os.pidfd_open(self.id)
        except (AttributeError, OSError):  # not on every system; then `subprocess` polls
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(max(0.0, seconds))
            return self._process.poll() is not None
        try:
            poll = select.poll()
            poll.register(watch, select.POLLIN)
            poll.poll(max(0.0, seconds) * 1_000)
        finally:
            os.close(watch)
        return self._process.poll() is not None

    @property
    def status(self) -> int:
        """Its exit status; minus the signal if one has ended it."""
        return self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole group."""
        with suppress(OSError):  # the group has ended
            os.killpg(self.id, number)

    def terminate(self) -> None:
        """Ask the whole group to end."""
        self.terminated = self.terminated or self._process.poll() is None
        self.signal(signal.SIGTERM)

    def end(self, until: float) -> None:
        """Give the group time to end, then kill it."""
        self.wait(until - time.monotonic())
        while self._is_alive() and time.monotonic() < until:
            time.sleep(0.01)
        self.signal(signal.SIGKILL)
        self._process.wait()

    def _is_alive(self) -> bool:
        try:
            os.killpg(self.id, 0)
        except OSError:
            return False
        return True


class ProcessGroups:
    """The commands of a worker. If the worker is killed, its supervisor kills them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, ProcessGroup] = {}
        self._supervisor = _supervisor()

    @property
    def count(self) -> int:
        """How many commands run."""
        return len(self._running)

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        stdin: str,
        output: tuple[IO[bytes], IO[bytes]],
        is_over: Callable[[], bool],
        timeout: float | None,
    ) -> int | None:
        """Run a command and return its exit status, or None if it was ended because its turn is over.

        It reads the file `stdin` and writes the two files of `output`. Overdue if it times out, OSError if it cannot
        be run.
        """
        group = self._start(command, environment, stdin, output)
        try:
            return _watched(group, is_over, timeout)
        finally:
            self._forget(group)

    def _start(
        self, command: Sequence[str], environment: Mapping[str, str], stdin: str, output: tuple[IO[bytes], IO[bytes]]
    ) -> ProcessGroup:
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            number = errno.EACCES if os.path.lexists(command[0]) else errno.ENOENT
            raise OSError(number, os.strerror(number))
        with self._lock:
            if self._supervisor.poll() is not None:
                self._supervisor = _supervisor()
            # In a session of its own: neither Ctrl-C nor the terminal reaches it.
            process = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", START_SCRIPT, stdin, *command],
                env=environment,
                stdin=self._supervisor.stdin,
                stdout=output[0],
                stderr=output[1],
                start_new_session=True,
            )
            group = self._running[process.pid] = ProcessGroup(process)
        return group

    def _forget(self, group: ProcessGroup) -> None:
        with self._lock:
            self._running.pop(group.id, None)
            assert self._supervisor.stdin is not None, "it was opened as a pipe"  # noqa: S101
            with suppress(OSError, ValueError):  # the supervisor has ended: it needs no more reports
                os.write(self._supervisor.stdin.fileno(), f"-{group.id}\n".encode())

    def terminate(self) -> None:
        """Ask all commands to end, without waiting for them."""
        for group in list(self._running.values()):
            group.terminate()

    def end(self) -> None:
        """End all commands that still run, and the supervisor."""
        self.terminate()
        until = time.monotonic() + TERMINATE_SECONDS
        for group in list(self._running.values()):
            group.end(until)
        with self._lock:
            self._supervisor.communicate()


def _supervisor() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-I", "-S", str(Path(supervisor.__file__))]
    return subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )


def _watched(group: ProcessGroup, is_over: Callable[[], bool], timeout: float | None) -> int | None:
    until = None if timeout is None else time.monotonic() + timeout
    while not group.wait(CHECK_SECONDS if until is None else min(CHECK_SECONDS, until - time.monotonic())):
        late = until is not None and time.monotonic() >= until
        if late or is_over():
            group.terminate()
            group.end(time.monotonic() + TERMINATE_SECONDS)
            if late:
                raise Overdue
    return None if group.terminated else group.status
