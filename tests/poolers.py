"""Debian's PgBouncer in front of a test server: transaction mode, and fewer server connections than clients."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import psycopg
from tests.servers import LAUNCHER, Server, quick_place, unprivileged
from tests.waiting import WAIT_SECONDS

SHARED = {
    "pool_mode": "transaction",
    "default_pool_size": "2",
    "max_client_conn": "200",
    # A server that is back is tried again at once.
    "server_login_retry": "0.1",
    "auth_type": "any",
    "admin_users": "postgres",
    "verbose": "0",
}


class NoPooler(Exception):
    """There is no PgBouncer to start here; the message says what to do."""


class PgBouncer:
    """One PgBouncer on a socket in a temporary folder, in front of every database of a server."""

    def __init__(self, server: Server, **settings: str) -> None:
        program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
        if program is None:
            raise NoPooler("pgbouncer is not installed; run: apt-get install pgbouncer")
        self._program = program
        self._server = server
        self._user = unprivileged()
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = Path(tempfile.mkdtemp(prefix=f"rowlock-{os.getpid()}-", dir=quick_place()))
        self._configure(SHARED | settings)
        if self._user[0]:
            for path in (self.folder, self.folder / "ini"):
                os.chown(path, *self._user)

    def url(self, name: str, scheme: str = "postgresql") -> str:
        """The address of a database of the server, by way of the pooler."""
        return f"{scheme}://postgres@/{name}?host={quote(str(self.folder), safe='')}&port=6432"

    def before(self, url: str) -> str:
        """The same for the address of a database as its server gives it."""
        return self.url(urlsplit(url).path[1:])

    def start(self) -> "PgBouncer":
        """Start it and wait until it takes connections."""
        identity = [str(number) for number in (os.getpid(), *self._user)]
        command = [sys.executable, "-I", "-S", "-c", LAUNCHER, *identity, self._program, str(self.folder / "ini")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise NoPooler(f"pgbouncer did not start: {(self.folder / 'log').read_text()[-2000:]}")
            time.sleep(0.01)
        return self

    def ask(self, command: str) -> list[dict[str, object]]:
        """Say a command on its console, and what it answers."""
        with psycopg.connect(self.url("pgbouncer"), autocommit=True, row_factory=psycopg.rows.dict_row) as console:
            cursor = console.execute(command)
            return cursor.fetchall() if cursor.description else []

    def stop(self) -> None:
        """Cut everybody off, as a crash does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None
            (self.folder / ".s.PGSQL.6432").unlink(missing_ok=True)

    def remove(self) -> None:
        """Stop it and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _configure(self, settings: dict[str, str]) -> None:
        lines = [
            "[databases]",
            f"* = host={self._server.folder} user=postgres",
            "[pgbouncer]",
            f"unix_socket_dir = {self.folder}",
            "listen_port = 6432",
            *(f"{name} = {value}" for name, value in settings.items()),
        ]
        (self.folder / "ini").write_text("\n".join(lines) + "\n")

    def _answers(self) -> bool:
        try:
            self.ask("show version")
        except psycopg.OperationalError:
            return False
        return True
