"""Children: commands that run in process groups of their own, so that each can be ended with all it has started."""

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
from pathlib import Path
from typing import IO

from rowlock.worker.exec import supervisor

PATIENCE = 1.0
"""Seconds between asking a command to end and ending it."""
LOOK = 0.1
"""How often a running command's turn is looked at; that it ends is noticed at once."""

ANNOUNCED = 'echo "+$$" >&0 && exec "$@" <"$0"'
"""How a command begins: it tells the supervisor itself, so that there is no moment at which it could be forgotten."""


class Overdue(Exception):
    """A command took longer than it may, and was ended."""


class ProcessGroup:
    """One command: a process that leads its group."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self.id = process.pid
        self.told = False
        """Whether we asked it to end: what it says then is no answer."""

    def wait(self, seconds: float) -> bool:
        """Wait for its end, so long at most; whether it has come."""
        try:
            watch = os.pidfd_open(self.id)
        except (AttributeError, OSError):  # not everywhere; asking again and again is what is left
            return self._ended(seconds)
        try:
            poll = select.poll()
            poll.register(watch, select.POLLIN)
            poll.poll(max(0.0, seconds) * 1_000)
        finally:
            os.close(watch)
        return self._process.poll() is not None

    def _ended(self, seconds: float) -> bool:
        try:
            self._process.wait(max(0.0, seconds))
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def status(self) -> int:
        """Its exit status; less than zero for the signal that ended it."""
        return self._process.wait()

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to it and all it has started."""
        try:
            os.killpg(self.id, number)
        except OSError:  # nobody is left
            return

    def ask_to_end(self) -> None:
        """Ask it and all it has started to end."""
        self.told = self.told or self._process.poll() is None
        self.signal(signal.SIGTERM)

    def end(self, until: float) -> None:
        """Give it time to end, then end it, with all it has started."""
        self.wait(until - time.monotonic())
        while self._has_company() and time.monotonic() < until:
            time.sleep(0.01)
        self.signal(signal.SIGKILL)
        self._process.wait()

    def _has_company(self) -> bool:
        try:
            os.killpg(self.id, 0)
        except OSError:
            return False
        return True


class ProcessGroups:
    """All commands of a worker. If the worker is killed, its supervisor kills them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: dict[int, ProcessGroup] = {}
        self._supervisor = _supervisor()

    @property
    def count(self) -> int:
        """How many run now."""
        return len(self._running)

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        given: str,
        written: tuple[IO[bytes], IO[bytes]],
        is_over: Callable[[], bool],
        timeout: float | None,
    ) -> int | None:
        """Run a command to its end; its status, or None if it was ended because its turn is over.

        It reads the file that is given and writes the other two. Overdue if its time ran out, OSError if it cannot be
        run.
        """
        group = self._started(command, environment, given, written)
        try:
            return _watched(group, is_over, timeout)
        finally:
            self._forget(group)

    def _started(
        self, command: Sequence[str], environment: Mapping[str, str], given: str, written: tuple[IO[bytes], IO[bytes]]
    ) -> ProcessGroup:
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            missing = not os.path.lexists(command[0])
            raise OSError(*(_as_error(errno.ENOENT) if missing else _as_error(errno.EACCES)))
        with self._lock:
            if self._supervisor.poll() is not None:
                self._supervisor = _supervisor()
            # A session of its own: neither our Ctrl-C nor our terminal reaches it.
            process = subprocess.Popen(  # noqa: S603
                ["/bin/sh", "-c", ANNOUNCED, given, *command],
                env=environment,
                stdin=self._supervisor.stdin,
                stdout=written[0],
                stderr=written[1],
                start_new_session=True,
            )
            group = self._running[process.pid] = ProcessGroup(process)
        return group

    def _forget(self, group: ProcessGroup) -> None:
        with self._lock:
            self._running.pop(group.id, None)
            assert self._supervisor.stdin is not None, "it was opened as a pipe"  # noqa: S101
            try:
                os.write(self._supervisor.stdin.fileno(), f"-{group.id}\n".encode())
            except (OSError, ValueError):  # it was killed, or has been dismissed: nobody needs to know
                return

    def ask_to_end(self) -> None:
        """Ask all to end now, and do not wait for them."""
        for group in list(self._running.values()):
            group.ask_to_end()

    def end(self) -> None:
        """End all that still run, and the supervisor."""
        self.ask_to_end()
        until = time.monotonic() + PATIENCE
        for group in list(self._running.values()):
            group.end(until)
        with self._lock:
            self._supervisor.communicate()


def _supervisor() -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-I", "-S", str(Path(supervisor.__file__))]
    return subprocess.Popen(  # noqa: S603
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
    )


def _as_error(number: int) -> tuple[int, str]:
    return number, os.strerror(number)


def _watched(group: ProcessGroup, is_over: Callable[[], bool], timeout: float | None) -> int | None:
    until = None if timeout is None else time.monotonic() + timeout
    while not group.wait(LOOK if until is None else min(LOOK, until - time.monotonic())):
        late = until is not None and time.monotonic() >= until
        if late or is_over():
            group.ask_to_end()
            group.end(time.monotonic() + PATIENCE)
            if late:
                raise Overdue
    return None if group.told else group.status
