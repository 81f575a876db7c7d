"""The supervisor: a small process that starts the commands of a worker, and kills them when the worker is gone.

It reads requests from its standard input, one marshalled tuple after its length, and writes a line for each event to
its standard output. Every command is its child from the first moment, so that none can be forgotten. When its input
closes, it kills all commands that still run, with all that they have started, and removes the folder of their files.
It runs as a file of its own, because importing more would only cost memory and time.
"""

import errno
import marshal
import os
import select
import signal
import sys
import time

TERMINATE_SECONDS = 1.0
"""How long a command may take to end after SIGTERM, before it is killed."""
GROUP_CHECK_SECONDS = 0.01
READ_BYTES = 1 << 20
LENGTH_BYTES = 4
WITHOUT_HEADER = ("/bin/sh", "-c", 'exec "$0" "$@"')
"""Runs a script that names no interpreter, as execvp does."""
_IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class SupervisedCommand:
    """A process that leads a group of its own."""

    def __init__(self, number: int, timeout: float | None) -> None:
        self.number = number
        self.started_at = time.time()
        self.since = time.monotonic()
        self.deadline = None if timeout is None else self.since + timeout
        self.word = "exit"
        """How it ended: `exit` by itself, `late` by its timeout, `ended` on request."""
        self.kill_at: float | None = None
        self.status: int | None = None


class Supervisor:
    """Starts commands, and reports their ends."""

    def __init__(self, requests: int, reports: int, folder: str) -> None:
        self._folder = folder
        self._requests, self._reports = requests, reports
        self._unread, self._unwritten = bytearray(), bytearray()
        self._running: dict[int, SupervisedCommand] = {}
        self._environment = dict(os.environb)
        self._programs: dict[str, str] = {}
        """Where the programs of commands were found."""
        self._nothing = os.open(os.devnull, os.O_RDONLY)
        self._child_ended, wake = os.pipe()
        for descriptor in (self._child_ended, wake, reports):
            os.set_blocking(descriptor, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(requests, select.POLLIN)
        self._poll.register(self._child_ended, select.POLLIN)

    def run(self) -> None:
        """Serve until the worker is gone, then kill what it has left behind."""
        is_open = True
        while is_open:
            self._poll.register(self._reports, select.POLLOUT if self._unwritten else 0)
            seconds = self._seconds_to_deadline()
            ready = dict(self._poll.poll(None if seconds is None else seconds * 1_000 + 1))
            if self._child_ended in ready:
                os.read(self._child_ended, READ_BYTES)
            self._reap()
            self._end_overdue()
            self._write()  # first: the worker sends the next requests while commands are started here
            if self._requests in ready:
                is_open = self._read()
        for process in self._running:
            _signal(process, signal.SIGKILL)
        for name in os.listdir(self._folder):  # noqa: PTH208 - pathlib is slow to import
            os.unlink(f"{self._folder}/{name}")  # noqa: PTH108
        os.rmdir(self._folder)  # noqa: PTH106

    def _read(self) -> bool:
        """Serve the requests that have arrived; return whether more can come."""
        chunk = os.read(self._requests, READ_BYTES)
        self._unread += chunk
        while len(self._unread) >= LENGTH_BYTES:
            end = LENGTH_BYTES + int.from_bytes(self._unread[:LENGTH_BYTES], "big")
            if len(self._unread) < end:
                break
            request = marshal.loads(self._unread[LENGTH_BYTES:end])  # noqa: S302 - from the worker alone
            del self._unread[:end]
            if len(request) == 1:
                self._end(*request)
            else:
                self._start(*request)
        return bool(chunk)

    def _start(
        self,
        number: int,
        words: list[str],
        environment: dict[str, str],
        stdin: str | None,
        output: tuple[str, str],
        timeout: float | None,
    ) -> None:
        files: list[int] = []
        try:
            files.append(self._nothing if stdin is None else os.open(stdin, os.O_RDONLY))
            files.extend(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for path in output)
        except OSError as error:
            self._report(f"{number} files {error.errno}")
        else:
            known = {os.fsencode(name): os.fsencode(value) for name, value in environment.items()}
            self._spawn(SupervisedCommand(number, timeout), words, {**self._environment, **known}, files)
        for file in files:
            if file != self._nothing:
                os.close(file)

    def _spawn(
        self, command: SupervisedCommand, words: list[str], environment: dict[bytes, bytes], files: list[int]
    ) -> None:
        try:
            process = _spawned(self._find(words[0]), words, environment, files)
        except (OSError, ValueError) as error:
            self._report(f"{command.number} error {getattr(error, 'errno', None) or 22}")
            return
        self._running[process] = command
        self._report(f"{command.number} began {process}")

    def _find(self, program: str) -> str:
        """Return where a program is. PATH is searched once: a search by each command would cost it a tenth."""
        if "/" in program or os.access(self._programs.get(program, ""), os.X_OK):
            return self._programs.get(program, program)
        found = (f"{folder or '.'}/{program}" for folder in os.get_exec_path())
        self._programs[program] = next((path for path in found if _is_program(path)), program)
        return self._programs[program]

    def _end(self, number: int) -> None:
        for process, command in self._running.items():
            if command.number == number and command.kill_at is None:
                self._terminate(process, "ended")

    def _terminate(self, process: int, word: str) -> None:
        command = self._running[process]
        command.word, command.kill_at = word, time.monotonic() + TERMINATE_SECONDS
        _signal(process, signal.SIGTERM)

    def _reap(self) -> None:
        while self._running:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            command = self._running[process]
            command.status = os.waitstatus_to_exitcode(status)
            if command.kill_at is None:
                self._forget(process)

    def _end_overdue(self) -> None:
        now = time.monotonic()
        for process, command in list(self._running.items()):
            if command.kill_at is not None:
                # What it has started may outlive it: the whole group ends before that is reported.
                if now >= command.kill_at:
                    _signal(process, signal.SIGKILL)
                if command.status is not None and (now >= command.kill_at or not _signal(process, 0)):
                    self._forget(process)
            elif command.deadline is not None and now >= command.deadline:
                self._terminate(process, "late")

    def _seconds_to_deadline(self) -> float | None:
        if any(command.kill_at is not None for command in self._running.values()):
            return GROUP_CHECK_SECONDS
        deadlines = [command.deadline for command in self._running.values() if command.deadline is not None]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _forget(self, process: int) -> None:
        command = self._running.pop(process)
        seconds = time.monotonic() - command.since
        self._report(f"{command.number} {command.word} {command.status} {command.started_at:.3f} {seconds:.3f}")

    def _report(self, line: str) -> None:
        self._unwritten += line.encode() + b"\n"

    def _write(self) -> None:
        try:
            while self._unwritten:
                del self._unwritten[: os.write(self._reports, self._unwritten)]
        except BlockingIOError:  # the worker reads slowly; requests are served meanwhile
            return
        except BrokenPipeError:  # the worker is gone, and the input ends too
            self._unwritten.clear()


def _spawned(path: str, words: list[str], environment: dict[bytes, bytes], files: list[int]) -> int:
    # In a session of its own: neither Ctrl-C nor the terminal reaches it.
    actions = [(os.POSIX_SPAWN_DUP2, file, place) for place, file in enumerate(files)]
    for program, command in ((path, words), (WITHOUT_HEADER[0], [*WITHOUT_HEADER, *words])):
        try:
            return os.posix_spawnp(
                program, command, environment, file_actions=actions, setsid=True, setsigdef=_IGNORED_BY_PYTHON
            )
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
    raise OSError(errno.ENOEXEC, os.strerror(errno.ENOEXEC))


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)  # noqa: PTH113 - pathlib is slow to import


def _signal(group: int, number: int) -> bool:
    """Send a signal to a group, and return whether it still exists."""
    try:
        os.killpg(group, number)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    os.nice(int(sys.argv[1]))
    Supervisor(0, 1, sys.argv[2]).run()
